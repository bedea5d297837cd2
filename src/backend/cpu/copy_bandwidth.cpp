// copy_bandwidth.cpp - see copy_bandwidth.hpp.
#include "backend/cpu/copy_bandwidth.hpp"

#include "backend/cpu/scan_kernel.hpp"
#include "core/clock.hpp"
#include "core/page_array.hpp"
#include "core/team.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace sweepsort {

namespace {

/// Time in seconds of the best of five runs of work(begin, bytes) by all threads, each with its slice of
/// `bytes` bytes.
template <class Work>
double best_time(uint32_t threads, size_t bytes, Work work) {
  double best_s = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto start = Clock::now();
    run_team(threads, [&](uint32_t thread) {
      const size_t begin = slice_begin(bytes, thread, threads);
      work(begin, slice_begin(bytes, thread + 1, threads) - begin);
    });
    best_s = std::min(best_s, seconds_since(start));
  }
  return best_s;
}

/// Returns an array in which every thread has touched its slice.
PageArray touched_array(uint32_t threads, int value) {
  PageArray array(min_yardstick_bytes);
  run_team(threads, [&](uint32_t thread) {
    const size_t begin = slice_begin(array.size(), thread, threads);
    std::memset(array.data() + begin, value, slice_begin(array.size(), thread + 1, threads) - begin);
  });
  return array;
}

}  // namespace

double measure_copy_bandwidth(uint32_t threads, std::span<const std::byte> from, std::span<std::byte> to) {
  if (std::min(from.size(), to.size()) < min_yardstick_bytes) {
    const PageArray own_from = touched_array(threads, 1);
    const PageArray own_to = touched_array(threads, 2);
    return measure_copy_bandwidth(threads, {own_from.data(), own_from.size()},
                                  {own_to.data(), own_to.size()});
  }
  const size_t bytes = std::min(from.size(), to.size());
  const double time_s = best_time(threads, bytes, [&](size_t begin, size_t count) {
    std::memcpy(to.data() + begin, from.data() + begin, count);
  });
  return 2.0 * static_cast<double>(bytes) / time_s;
}

double measure_read_bandwidth(uint32_t threads, std::span<const std::byte> from) {
  if (from.size() < min_yardstick_bytes) {
    const PageArray own = touched_array(threads, 1);
    return measure_read_bandwidth(threads, {own.data(), own.size()});
  }
  const auto reader = make_scan_kernel(KeyType::u8, ScanOp::bit_xor);
  std::atomic<uint64_t> sum = 0;  // uses the results, so that the reads are not optimised away
  const double time_s = best_time(threads, from.size(), [&](size_t begin, size_t count) {
    sum ^= reader->reduce(from.data() + begin, count);
  });
  return static_cast<double>(from.size()) / time_s;
}

}  // namespace sweepsort
