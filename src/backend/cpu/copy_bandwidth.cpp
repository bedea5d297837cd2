// copy_bandwidth.cpp - see copy_bandwidth.hpp.
#include "backend/cpu/copy_bandwidth.hpp"

#include "backend/cpu/page_array.hpp"
#include "backend/cpu/team.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace sweepsort {

double measure_copy_bandwidth(uint32_t threads) {
  constexpr size_t bytes = 256u << 20;
  const PageArray from(bytes), to(bytes);
  const auto slice = [&](uint32_t thread) { return slice_begin(bytes, thread, threads); };
  run_team(threads, [&](uint32_t thread) {  // first touch
    const size_t begin = slice(thread), size = slice(thread + 1) - begin;
    std::memset(from.data() + begin, 1, size);
    std::memset(to.data() + begin, 2, size);
  });
  double best_s = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    run_team(threads, [&](uint32_t thread) {
      const size_t begin = slice(thread);
      std::memcpy(to.data() + begin, from.data() + begin, slice(thread + 1) - begin);
    });
    best_s =
        std::min(best_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return 2.0 * bytes / best_s;
}

}  // namespace sweepsort
