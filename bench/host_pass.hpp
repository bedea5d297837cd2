// host_pass.hpp - passes in host memory: the input, the standard library's result, and the check of a result.
#pragma once

#include "bench/pass_case.hpp"
#include "bench/pass_rule.hpp"

#include <cstddef>
#include <span>

namespace sweepsort::bench {

/// Fills `in` with uniform elements. For sums of floats, it uses -1, 0 and 1 instead: their sums stay small
/// enough to be exact in any order, so results can be compared bit for bit.
void fill_pass_input(const PassCase& what, uint64_t seed, uint32_t threads, std::span<std::byte> in);

/// Uses std::inclusive_scan or std::exclusive_scan.
void std_scan(const PassCase& what, const std::byte* in, std::byte* out);
/// Uses std::min_element or std::max_element; without the index, std::reduce.
PassFound std_search(const PassCase& what, const std::byte* in);

/// Whether a result is right, checked by `threads` threads.
bool scan_is_right(const PassCase& what, const std::byte* in, const std::byte* out, uint32_t threads);
bool search_is_right(const PassCase& what, const std::byte* in, const PassFound& found, uint32_t threads);

}  // namespace sweepsort::bench
