// copy_bandwidth.cpp - see copy_bandwidth.hpp.
#include "backend/cpu/copy_bandwidth.hpp"

#include "backend/cpu/scan_kernel.hpp"
#include "backend/cpu/team.hpp"
#include "core/page_array.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

namespace sweepsort {

namespace {

constexpr size_t array_bytes = 256u << 20;

size_t slice(uint32_t thread, uint32_t threads) { return slice_begin(array_bytes, thread, threads); }

/// Seconds of the best of five runs of work(begin, bytes) by all threads, a slice each.
template <class Work>
double best_time(uint32_t threads, Work work) {
  double best_s = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    run_team(threads, [&](uint32_t thread) {
      const size_t begin = slice(thread, threads);
      work(begin, slice(thread + 1, threads) - begin);
    });
    best_s =
        std::min(best_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best_s;
}

/// An array that every thread has touched its slice of.
PageArray touched_array(uint32_t threads, int value) {
  PageArray array(array_bytes);
  run_team(threads, [&](uint32_t thread) {
    const size_t begin = slice(thread, threads);
    std::memset(array.data() + begin, value, slice(thread + 1, threads) - begin);
  });
  return array;
}

}  // namespace

double measure_copy_bandwidth(uint32_t threads) {
  const PageArray from = touched_array(threads, 1);
  const PageArray to = touched_array(threads, 2);
  const double time_s = best_time(threads, [&](size_t begin, size_t bytes) {
    std::memcpy(to.data() + begin, from.data() + begin, bytes);
  });
  return 2.0 * array_bytes / time_s;
}

double measure_read_bandwidth(uint32_t threads) {
  const PageArray from = touched_array(threads, 1);
  const auto reader = make_scan_kernel(KeyType::u64, ScanOp::bit_xor);
  std::atomic<uint64_t> sum = 0;  // so that the reads have a purpose
  const double time_s = best_time(threads, [&](size_t begin, size_t bytes) {
    begin = begin / sizeof(uint64_t) * sizeof(uint64_t);
    sum ^= reader->reduce(from.data() + begin, bytes / sizeof(uint64_t));
  });
  return array_bytes / time_s;
}

}  // namespace sweepsort
