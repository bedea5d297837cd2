// rank_cutter.cpp - cuts runs by halving windows.
#include "pipeline/rank_cutter.hpp"

#include "core/error.hpp"
#include "pipeline/key_scan.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

namespace sweepsort {
namespace {

/// A greater distance between samples has more pages than the search looks at.
constexpr size_t max_asked_bytes = 64u << 10;

}  // namespace

RankCutter::RankCutter(std::span<const IndexedRun> runs, KeyType type, Order order)
    : runs_(runs),
      type_(type),
      order_(order),
      cuts_(runs.size()),
      windows_(runs.size()),
      guesses_(runs.size()) {
  for (const IndexedRun& indexed : runs) {
    total_ += indexed.run->count();
    may_ask_ |= indexed.run->may_wait() && is_asked(indexed);
  }
}

bool RankCutter::is_asked(const IndexedRun& indexed) const {
  return indexed.stride > 1 && indexed.stride * key_bytes(type_) <= max_asked_bytes;
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

/// Requests the keys near the cut in advance. Bisects the key at the rank, as far as samples show, which also
/// narrows down each run's samples around it. Then requests, in each run, the keys between the last sample at
/// or below that key and the next sample.
void RankCutter::ask_around(uint64_t rank) {
  for (size_t run = 0; run < runs_.size(); ++run) {
    guesses_[run].high = runs_[run].samples.size();
    guesses_[run].low = std::min<size_t>(cuts_[run] / runs_[run].stride, guesses_[run].high);
  }
  uint64_t low = 0;
  uint64_t high = std::numeric_limits<uint64_t>::max();
  while (low < high) {
    const uint64_t key = low + (high - low) / 2;
    uint64_t below = 0;
    for (size_t run = 0; run < runs_.size(); ++run) {
      const auto& samples = runs_[run].samples;
      Guess& guess = guesses_[run];
      const auto begin = samples.begin();
      guess.at = static_cast<size_t>(std::upper_bound(begin + static_cast<ptrdiff_t>(guess.low),
                                                      begin + static_cast<ptrdiff_t>(guess.high), key) -
                                     begin);
      // On average, half of the keys after the last sample.
      below += guess.at * runs_[run].stride - (guess.at == 0 ? 0 : runs_[run].stride / 2);
    }
    const bool is_high = below >= rank;
    (is_high ? high : low) = is_high ? key : key + 1;
    for (Guess& guess : guesses_) (is_high ? guess.high : guess.low) = guess.at;
  }
  const size_t width = key_bytes(type_);
  for (size_t run = 0; run < runs_.size(); ++run) {
    const IndexedRun& indexed = runs_[run];
    const size_t sample = guesses_[run].high;
    if (sample == 0 || sample == guesses_[run].asked || !is_asked(indexed)) continue;
    guesses_[run].asked = sample;
    const uint64_t first = (sample - 1) * indexed.stride;
    const uint64_t keys = std::min(indexed.stride, indexed.run->count() - first);
    indexed.run->will_read(Column::keys, first * width, keys * width);
  }
}

void RankCutter::look_at_middle(size_t run) {
  Window& window = windows_[run];
  window.middle = window.low + (window.high - window.low) / 2;
  // A sample in the window's middle half costs nothing and cuts off at least a quarter.
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
  if (may_ask_ && to_take != 0 && to_leave != 0) ask_around(rank);

  using Middle = std::pair<uint64_t, size_t>;  // (key, run), which gives the order of all records
  std::set<Middle> middles;
  uint64_t up_to_middles = 0;  // number of records at or below the middles of their windows
  uint64_t from_middles = 0;   // number of records at or above them
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
