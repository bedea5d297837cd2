// sweepsort_parallel.hpp - scans with an operator of the caller's, and the smallest value of a function, on
// all threads of the CPU. Part of sweepsort.hpp.
// Call these functions with sweepsort:: in front: for arguments from std, argument-dependent lookup also
// finds std::inclusive_scan.
#pragma once

#include "core/error.hpp"
#include "core/first_failure.hpp"
#include "core/team.hpp"
#include "core/turnstile.hpp"
#include "sweepsort_types.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace sweepsort {

/// out[i] = in[0] op in[1] op ... op in[i]. `op` must be associative, op(a, op(b, c)) == op(op(a, b), c), but
/// need not be commutative: its left operand always comes from earlier elements. Several threads call it at
/// once. T is any trivially copyable type. `out` has the length of `in` and may be the same memory. O(n): op
/// is called about twice per element. An exception from op ends the scan and leaves `out` unspecified. Throws
/// Error if the lengths differ. threads 0: all.
template <ContiguousRange In, WritableRange Out, class Op>
void inclusive_scan(const In& in, Out&& out, Op op, uint32_t threads = 0);

/// out[0] = initial, and out[i] = initial op in[0] op ... op in[i - 1]. Otherwise like inclusive_scan.
template <ContiguousRange In, WritableRange Out, class Op>
void exclusive_scan(const In& in, Out&& out, ElementOf<In> initial, Op op, uint32_t threads = 0);

template <class Value>
struct Argmin {
  Value value;
  uint64_t index;
};

/// The smallest f(i) for first <= i < last, and the lowest i that gives it. Only f itself reads memory.
/// Several threads call f at once. A floating-point NaN loses against every number. Throws Error if first >=
/// last, and whatever f throws. threads 0: all.
template <class F>
auto transform_argmin(uint64_t first, uint64_t last, F f, uint32_t threads = 0)
    -> Argmin<std::remove_cvref_t<std::invoke_result_t<F&, uint64_t>>>;

namespace detail {

inline uint32_t team_size(uint32_t threads, uint64_t blocks) {
  if (blocks <= 1) return 1;
  return static_cast<uint32_t>(std::clamp<uint64_t>(blocks, 1, threads_or_all(threads)));
}

/// A thread combines a block's elements, takes the carry of the block before, passes on its own carry, and
/// then scans the block.
template <bool exclusive, class T, class Op>
void scan_blocks(std::span<const T> in, std::span<T> out, std::optional<T> carry, Op& op, uint32_t threads) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (in.size() != out.size()) throw Error("scan: input and output differ in length");
  constexpr size_t block = std::max<size_t>(1, (128u << 10) / sizeof(T));
  const uint64_t blocks = in.size() / block + (in.size() % block != 0);
  Turnstile turnstile;
  FirstFailure failure;
  std::atomic<uint64_t> next = 0;
  const auto scan_block = [&](uint64_t index) {
    const size_t begin = index * block;
    const size_t end = std::min(in.size(), begin + block);
    T combined = in[begin];
    for (size_t i = begin + 1; i < end; ++i) combined = op(combined, in[i]);
    turnstile.wait(index);
    std::optional<T> before = carry;
    carry = before ? op(*before, combined) : combined;
    turnstile.pass(index);
    for (size_t i = begin; i < end; ++i) {
      const T with = before ? op(*before, in[i]) : in[i];
      // In an exclusive scan there is always a value before: at least the initial value.
      out[i] = exclusive ? *before : with;
      before = with;
    }
  };
  run_team(team_size(threads, blocks), [&](uint32_t) {
    try {
      for (uint64_t index = next++; index < blocks; index = next++) scan_block(index);
    } catch (...) {
      failure.note();
      turnstile.cancel();
    }
  });
  failure.rethrow();
}

template <class Value>
bool is_less(const Value& a, const Value& b) {
  if constexpr (std::is_floating_point_v<Value>) return a < b || (b != b && a == a);
  return a < b;
}

}  // namespace detail

template <ContiguousRange In, WritableRange Out, class Op>
void inclusive_scan(const In& in, Out&& out, Op op, uint32_t threads) {
  detail::scan_blocks<false, ElementOf<In>>(in, out, std::nullopt, op, threads);
}

template <ContiguousRange In, WritableRange Out, class Op>
void exclusive_scan(const In& in, Out&& out, ElementOf<In> initial, Op op, uint32_t threads) {
  detail::scan_blocks<true, ElementOf<In>>(in, out, initial, op, threads);
}

template <class F>
auto transform_argmin(uint64_t first, uint64_t last, F f, uint32_t threads)
    -> Argmin<std::remove_cvref_t<std::invoke_result_t<F&, uint64_t>>> {
  using Value = std::remove_cvref_t<std::invoke_result_t<F&, uint64_t>>;
  if (first >= last) throw Error("transform_argmin: the range is empty");
  const uint64_t count = last - first;
  threads = detail::team_size(threads, count);
  // Many blocks per thread, so that no thread waits long for the last block; large blocks, so that taking one
  // is cheap.
  const uint64_t block = std::clamp<uint64_t>(count / threads / 16, 1, 1u << 20);
  std::atomic<uint64_t> next = 0;  // the first index not taken yet, relative to `first`
  std::vector<std::optional<Argmin<Value>>> found(threads);
  const auto search = [&](uint32_t thread) {
    std::optional<Argmin<Value>> best;
    for (;;) {
      uint64_t begin = next.load();
      // Not fetch_add: it could wrap if `last` is close to 2^64.
      while (begin < count && !next.compare_exchange_weak(begin, begin + std::min(block, count - begin))) {
      }
      if (begin >= count) break;
      for (uint64_t i = begin, end = begin + std::min(block, count - begin); i < end; ++i) {
        const Value value = f(first + i);
        if (!best || detail::is_less(value, best->value)) best = {value, first + i};
      }
    }
    found[thread] = best;
  };
  run_team(threads, [&](uint32_t thread) {
    try {
      search(thread);
    } catch (...) {
      next = count;  // no thread begins another block
      throw;
    }
  });
  std::optional<Argmin<Value>> best;
  for (const auto& candidate : found) {
    if (!candidate) continue;
    const bool wins = !best || detail::is_less(candidate->value, best->value) ||
                      (!detail::is_less(best->value, candidate->value) && candidate->index < best->index);
    if (wins) best = candidate;
  }
  return *best;
}

}  // namespace sweepsort
