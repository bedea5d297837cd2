// counting_sort.hpp - for keys of a small range: count each value, then write it as often.
//
// Seward, 1954; Knuth, TAOCP 5.2, algorithm D. Keys alone need no scatter: histogram, scan, then runs of
// equal keys overwrite the array in place. This reads n keys and writes n. With values, every key goes to its
// place in another array, stably.
#pragma once

#include "backend/cpu/columns.hpp"
#include "core/team.hpp"

#include <algorithm>
#include <vector>

namespace sweepsort {

namespace counting {

/// The number of keys at each distance, 0 to `range`.
template <class Bits, class Codec>
std::vector<uint64_t> count(const Bits* keys, uint64_t n, uint64_t range, const Codec& codec) {
  const size_t values = static_cast<size_t>(range) + 1;
  // With one table, equal neighbours would wait for each other's increment. Four tables take turns while they
  // fit in a cache.
  const size_t tables = values <= 4096 ? 4 : 1;
  std::vector<uint64_t> total(values);
  std::vector<uint32_t> part(values * tables);
  for (constexpr uint64_t most = uint64_t{1} << 31; n > 0;) {  // as many as 32-bit counters can count
    const uint64_t round = std::min(n, most);
    std::fill(part.begin(), part.end(), 0u);
    uint64_t i = 0;
    if (tables == 4) {
      for (; i + 4 <= round; i += 4)
        for (size_t table = 0; table < 4; ++table) ++part[table * values + codec.encode(keys[i + table])];
    }
    for (; i < round; ++i) ++part[codec.encode(keys[i])];
    for (size_t at = 0; at < part.size(); ++at) total[at % values] += part[at];
    keys += round;
    n -= round;
  }
  return total;
}

template <class Bits, class Codec>
std::vector<std::vector<uint64_t>> count_by_slices(const Bits* keys, uint64_t n, uint64_t range,
                                                   const Codec& codec, uint32_t threads) {
  std::vector<std::vector<uint64_t>> counts(threads);
  run_team(threads, [&](uint32_t thread) {
    const uint64_t begin = slice_begin(n, thread, threads);
    counts[thread] = count(keys + begin, slice_begin(n, thread + 1, threads) - begin, range, codec);
  });
  return counts;
}

}  // namespace counting

/// Sorts n keys in place. `range`: the largest distance.
template <class Bits, class Codec>
void counting_sort(Bits* keys, uint64_t n, uint64_t range, const Codec& codec, uint32_t threads) {
  const auto counts = counting::count_by_slices(keys, n, range, codec, threads);
  std::vector<uint64_t> ends(static_cast<size_t>(range) + 1);
  uint64_t sum = 0;
  for (size_t value = 0; value < ends.size(); ++value) {
    for (const auto& slice : counts) sum += slice[value];
    ends[value] = sum;
  }
  run_team(threads, [&](uint32_t thread) {
    const uint64_t end = slice_begin(n, thread + 1, threads);
    uint64_t at = slice_begin(n, thread, threads);
    // The value of the run in which this slice begins.
    size_t value = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), at) - ends.begin());
    for (; at < end; ++value) {
      const uint64_t run_end = std::min(ends[value], end);
      std::fill(keys + at, keys + run_end, codec.decode(static_cast<Bits>(value)));
      at = run_end;
    }
  });
}

/// Sorts n pairs from one array to another, stably.
template <class Bits, class Value, class Codec>
void counting_scatter(Columns<Bits, Value> from, Columns<Bits, Value> to, uint64_t n, uint64_t range,
                      const Codec& codec, uint32_t threads) {
  auto offsets = counting::count_by_slices(from.keys, n, range, codec, threads);
  uint64_t sum = 0;
  for (size_t value = 0; value <= range; ++value)
    for (auto& slice : offsets) sum += std::exchange(slice[value], sum);
  run_team(threads, [&](uint32_t thread) {
    uint64_t* const next = offsets[thread].data();
    const uint64_t end = slice_begin(n, thread + 1, threads);
    for (uint64_t i = slice_begin(n, thread, threads); i < end; ++i)
      to.copy_from(from, next[codec.encode(from.keys[i])]++, i);
  });
}

}  // namespace sweepsort
