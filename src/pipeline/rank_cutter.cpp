// rank_cutter.cpp - the halving of windows.
#include "pipeline/rank_cutter.hpp"

#include "core/error.hpp"
#include "pipeline/key_scan.hpp"

#include <array>
#include <iterator>
#include <set>
#include <utility>

namespace sweepsort {

RankCutter::RankCutter(std::span<const IndexedRun> runs, KeyType type, Order order)
    : runs_(runs), type_(type), order_(order), cuts_(runs.size()), windows_(runs.size()) {
  for (const IndexedRun& indexed : runs) total_ += indexed.run->count();
}

uint64_t RankCutter::key_at(size_t run, uint64_t position) const {
  const IndexedRun& indexed = runs_[run];
  if (!indexed.samples.empty() && position % indexed.stride == 0)
    return indexed.samples[position / indexed.stride];
  std::array<std::byte, 8> key;
  const size_t width = key_bytes(type_);
  indexed.run->read(Column::keys, position * width, std::span(key).first(width));
  return ordered_key(key.data(), type_, order_);
}

void RankCutter::look_at_middle(size_t run) {
  Window& window = windows_[run];
  window.middle = window.low + (window.high - window.low) / 2;
  // A sample in the window's middle half costs nothing and cuts off a quarter at least.
  const uint64_t stride = runs_[run].stride;
  const uint64_t sampled = (window.middle + stride / 2) / stride * stride;
  const uint64_t quarter = (window.high - window.low) / 4;
  if (sampled >= window.low + quarter && sampled + quarter < window.high) window.middle = sampled;
  window.key = key_at(run, window.middle);
}

const std::vector<uint64_t>& RankCutter::cut(uint64_t rank) {
  uint64_t taken = 0;
  for (const uint64_t cut : cuts_) taken += cut;
  if (rank < taken || rank > total_) throw Error("internal: a cut at a rank that is not there");
  uint64_t to_take = rank - taken;
  uint64_t to_leave = total_ - rank;

  using Middle = std::pair<uint64_t, size_t>;  // key and run: the order of all records
  std::set<Middle> middles;
  uint64_t up_to_middles = 0;  // records at or below the middle of their window
  uint64_t from_middles = 0;   // at or above
  const auto enter = [&](size_t run) {
    const Window& window = windows_[run];
    if (window.low == window.high) return;
    look_at_middle(run);
    middles.emplace(window.key, run);
    up_to_middles += window.middle - window.low + 1;
    from_middles += window.high - window.middle;
  };
  const auto leave = [&](std::set<Middle>::iterator middle) {
    const size_t run = middle->second;
    middles.erase(middle);
    up_to_middles -= windows_[run].middle - windows_[run].low + 1;
    from_middles -= windows_[run].high - windows_[run].middle;
    return run;
  };
  for (size_t run = 0; run < runs_.size(); ++run) {
    windows_[run] = {.low = cuts_[run], .high = runs_[run].run->count()};
    if (to_take != 0 && to_leave != 0) enter(run);
  }
  while (to_take != 0 && to_leave != 0) {
    if (up_to_middles > to_take) {
      const size_t run = leave(std::prev(middles.end()));
      to_leave -= windows_[run].high - windows_[run].middle;
      windows_[run].high = windows_[run].middle;
      enter(run);
    } else {
      const size_t run = leave(middles.begin());
      to_take -= windows_[run].middle + 1 - windows_[run].low;
      windows_[run].low = windows_[run].middle + 1;
      enter(run);
    }
  }
  for (size_t run = 0; run < runs_.size(); ++run)
    cuts_[run] = to_take == 0 ? windows_[run].low : windows_[run].high;
  return cuts_;
}

}  // namespace sweepsort
