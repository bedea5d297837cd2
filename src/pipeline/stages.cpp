// stages.cpp - three turnstiles, one after another.
#include "pipeline/stages.hpp"

#include "core/clock.hpp"
#include "core/turnstile.hpp"
#include "io/parallel_chunks.hpp"

#include <atomic>

namespace sweepsort {
namespace {

/// One stage: lets items pass in order, and measures the time it was busy.
class Stage {
 public:
  template <class Work>
  auto pass(uint64_t item, Work&& work) {
    door_.wait(item);
    const auto start = Clock::now();
    const auto result = work();
    busy_s_ += seconds_since(start);
    door_.pass(item);
    return result;
  }
  void cancel() { door_.cancel(); }
  double busy_s() const { return busy_s_; }

 private:
  Turnstile door_;
  double busy_s_ = 0;  // changed only by the thread inside
};

}  // namespace

StageTimes run_stages(uint32_t lanes, const Stages& stages) {
  Stage load, sort, store;
  bool ended = false;  // changed only by the thread that loads
  const auto pass_all = [&](uint32_t lane, uint64_t item) {
    const bool there = load.pass(item, [&] {
      ended = ended || !stages.load(lane, item);
      return !ended;
    });
    if (!there) return false;
    sort.pass(item, [&] { return stages.sort(lane, item), true; });
    store.pass(item, [&] { return stages.store(lane, item), true; });
    return true;
  };
  parallel_turns(lanes, pass_all, [&] {
    load.cancel();
    sort.cancel();
    store.cancel();
    if (stages.cancel) stages.cancel();
  });
  return {load.busy_s(), sort.busy_s(), store.busy_s()};
}

}  // namespace sweepsort
