// host_pass.hpp - passes in host memory: their input, the standard library's answer, and the check of a
// result.
#pragma once

#include "bench/pass_case.hpp"
#include "bench/pass_rule.hpp"

#include <cstddef>
#include <span>

namespace sweepsort::bench {

/// Uniform elements. Where floats are to be summed, -1, 0 and 1 in their place: their sums stay small enough
/// to be exact in any order, so that results can be compared bit for bit.
void fill_pass_input(const PassCase& what, uint64_t seed, uint32_t threads, std::span<std::byte> in);

/// std::inclusive_scan or std::exclusive_scan.
void std_scan(const PassCase& what, const std::byte* in, std::byte* out);
/// std::min_element or std::max_element; without the index std::reduce.
PassFound std_search(const PassCase& what, const std::byte* in);

/// Whether a result is right, asked by `threads` threads.
bool scan_is_right(const PassCase& what, const std::byte* in, const std::byte* out, uint32_t threads);
bool search_is_right(const PassCase& what, const std::byte* in, const PassFound& found, uint32_t threads);

}  // namespace sweepsort::bench
