// host_pass.cpp - passes in host memory: the input, the standard library's result, and the check of a result.
#include "bench/host_pass.hpp"

#include "core/team.hpp"
#include "datasets/distributions.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

namespace sweepsort::bench {
namespace {

/// Calls f(operator, identity) on values of T; sums wrap.
template <class T, class F>
void with_operator(ScanOp op, F&& f) {
  using Limits = std::numeric_limits<T>;
  using Plain = std::conditional_t<std::is_floating_point_v<T>, T, BitsOf<T>>;
  constexpr T largest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  constexpr T smallest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  switch (op) {
    case ScanOp::sum:
      return f([](T a, T b) { return static_cast<T>(static_cast<Plain>(a) + static_cast<Plain>(b)); }, T{0});
    case ScanOp::min: return f([](T a, T b) { return std::min(a, b); }, largest);
    case ScanOp::max: return f([](T a, T b) { return std::max(a, b); }, smallest);
    case ScanOp::bit_xor:
      if constexpr (std::is_integral_v<T>) f([](T a, T b) { return static_cast<T>(a ^ b); }, T{0});
  }
}

/// Whether holds(i) is true for every i below `count`.
template <class Holds>
bool all_hold(uint64_t count, uint32_t threads, const Holds& holds) {
  constexpr uint64_t worth_per_thread = 1 << 16;
  const auto team = static_cast<uint32_t>(
      std::clamp<uint64_t>(count / worth_per_thread, 1, std::max<uint32_t>(threads, 1)));
  std::atomic<bool> all = true;
  run_team(team, [&](uint32_t thread) {
    const uint64_t end = slice_begin(count, thread + 1, team);
    for (uint64_t i = slice_begin(count, thread, team); i < end; ++i)
      if (!holds(i)) {
        all = false;
        return;
      }
  });
  return all;
}

template <class T>
PassFound found_at(const T* first, const T* place) {
  PassFound found{.index = static_cast<uint64_t>(place - first)};
  std::memcpy(&found.bits, place, sizeof(T));
  return found;
}

}  // namespace

void fill_pass_input(const PassCase& what, uint64_t seed, uint32_t threads, std::span<std::byte> in) {
  fill_all(*find_distribution("uniform"), what.type, seed, in, threads);
  if (!what.sums_floats()) return;
  dispatch(what.type, [&]<class Key>(std::type_identity<Key>) {
    auto* const elements = reinterpret_cast<Key*>(in.data());
    const uint64_t count = in.size() / sizeof(Key);
    for (uint64_t i = 0; i < count; ++i) {
      BitsOf<Key> bits;
      std::memcpy(&bits, elements + i, sizeof bits);
      elements[i] = static_cast<Key>(static_cast<int>(bits % 3) - 1);
    }
  });
}

void std_scan(const PassCase& what, const std::byte* in, std::byte* out) {
  dispatch(what.type, [&]<class Key>(std::type_identity<Key>) {
    const auto* const first = reinterpret_cast<const Key*>(in);
    auto* const to = reinterpret_cast<Key*>(out);
    with_operator<Key>(what.op, [&](const auto& op, Key identity) {
      if (what.kind == ScanKind::inclusive)
        std::inclusive_scan(first, first + what.count, to, op);
      else
        std::exclusive_scan(first, first + what.count, to, identity, op);
    });
  });
}

PassFound std_search(const PassCase& what, const std::byte* in) {
  PassFound found;
  dispatch(what.type, [&]<class Key>(std::type_identity<Key>) {
    const auto* const first = reinterpret_cast<const Key*>(in);
    const auto* const last = first + what.count;
    const bool wants_min = what.extreme == Extreme::min;
    if (what.wants_index) {
      found = found_at(first, wants_min ? std::min_element(first, last) : std::max_element(first, last));
      return;
    }
    with_operator<Key>(wants_min ? ScanOp::min : ScanOp::max, [&](const auto& op, Key identity) {
      const Key value = std::reduce(first, last, identity, op);
      found = found_at(&value, &value);
    });
  });
  return found;
}

bool scan_is_right(const PassCase& what, const std::byte* in, const std::byte* out, uint32_t threads) {
  return with_scan_rule(what, [&]<class T, class Op>(const ScanRule<T, Op>& rule) {
    const auto* const from = reinterpret_cast<const T*>(in);
    const auto* const to = reinterpret_cast<const T*>(out);
    return all_hold(what.count, threads, [&](uint64_t i) { return rule.holds(from, to, i); });
  });
}

bool search_is_right(const PassCase& what, const std::byte* in, const PassFound& found, uint32_t threads) {
  return dispatch(what.type, [&]<class Key>(std::type_identity<Key>) {
    using Bits = BitsOf<Key>;
    const auto map = extreme_map<Bits>(what.type, what.extreme);
    const Bits best = map.to_ordered(static_cast<Bits>(found.bits));
    const auto* const elements = reinterpret_cast<const Bits*>(in);
    if (what.wants_index &&
        (found.index >= what.count || elements[found.index] != static_cast<Bits>(found.bits)))
      return false;
    // No element is smaller. Equal elements must come after the found one or, without an index, exist
    // anywhere.
    std::atomic<bool> stands = what.wants_index;
    const bool nothing_smaller = all_hold(what.count, threads, [&](uint64_t i) {
      const Bits ordered = map.to_ordered(elements[i]);
      if (ordered == best && !what.wants_index) stands.store(true, std::memory_order_relaxed);
      return ordered > best || (ordered == best && (!what.wants_index || i >= found.index));
    });
    return nothing_smaller && stands;
  });
}

}  // namespace sweepsort::bench
