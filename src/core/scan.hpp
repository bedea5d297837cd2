// scan.hpp - the options of a scan or of a search for the smallest key, by name.
#pragma once

#include "core/key_bits.hpp"
#include "core/key_type.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

namespace sweepsort {

/// How two elements are combined. Sums of integers wrap in their type; code that must not wrap detects this
/// itself and reports it. `min` and `max` follow the order of the sort (-0.0 before +0.0) and skip NaN.
/// `bit_xor` is for integers only.
enum class ScanOp : uint8_t { sum, min, max, bit_xor };

/// Whether element i of the result includes the input's element i, or only those before it.
enum class ScanKind : uint8_t { inclusive, exclusive };

/// `sequential` and `threads` run on the CPU, the others on the GPU; kernels/README.md describes them.
enum class ScanAlgorithm : uint8_t {
  automatic,
  lookback,
  shuffle,
  blelloch,
  blelloch_padded,
  hillis_steele,
  sequential,
  threads
};

/// Which end of the order to look for.
enum class Extreme : uint8_t { min, max };

/// `two_launch`: many blocks compute partial results, then one block combines them.
enum class ReduceAlgorithm : uint8_t { automatic, single_pass, two_launch };

/// The map that gives the wanted key the smallest bits. NaN of either sign gets the largest bits for both
/// extremes (in a descending sort NaN comes first).
template <class Bits>
constexpr KeyMap<Bits> extreme_map(KeyType type, Extreme extreme) {
  KeyMap<Bits> map = key_map<Bits>(type, extreme == Extreme::min ? Order::ascending : Order::descending);
  // Adding the opposite moves the positive NaNs to the largest bits, next to the negative ones.
  if (extreme == Extreme::max) map.add = static_cast<Bits>(Bits{0} - map.add);
  return map;
}

/// Whether this names an algorithm of the GPU or of the CPU; `automatic` is neither.
constexpr bool is_gpu_algorithm(ScanAlgorithm algorithm) {
  return algorithm >= ScanAlgorithm::lookback && algorithm <= ScanAlgorithm::hillis_steele;
}
constexpr bool is_cpu_algorithm(ScanAlgorithm algorithm) {
  return algorithm == ScanAlgorithm::sequential || algorithm == ScanAlgorithm::threads;
}

/// Whether every value of `from` is also a value of `to`. `to` is then at least as wide.
constexpr bool can_widen(KeyType from, KeyType to) {
  if (from == to) return true;
  if (is_floating(from)) return is_floating(to) && key_bytes(to) > key_bytes(from);
  // the mantissa has more than half of the width
  if (is_floating(to)) return key_bytes(to) > key_bytes(from);
  if (is_signed(from) && !is_signed(to)) return false;
  return key_bytes(to) > key_bytes(from);
}

/// The first element that an exclusive scan writes, in the low bytes: 0 for sum and xor, the type's last
/// value (for floats an infinity) for min and max.
inline uint64_t exclusive_start(KeyType type, ScanOp op) {
  return dispatch(type, [op](auto identity) -> uint64_t {
    using T = typename decltype(identity)::type;
    using Limits = std::numeric_limits<T>;
    T start{};
    if (op == ScanOp::min) start = Limits::has_infinity ? Limits::infinity() : Limits::max();
    if (op == ScanOp::max) start = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    return std::bit_cast<BitsOf<T>>(start);
  });
}

constexpr std::string_view name(ScanOp op) {
  constexpr std::string_view names[] = {"sum", "min", "max", "xor"};
  return names[static_cast<uint8_t>(op)];
}

constexpr std::string_view name(ScanKind kind) {
  return kind == ScanKind::inclusive ? "inclusive" : "exclusive";
}

constexpr std::string_view name(ScanAlgorithm algorithm) {
  constexpr std::string_view names[] = {
      "auto", "lookback", "shuffle", "blelloch", "blelloch-padded", "hillis-steele", "sequential", "threads"};
  return names[static_cast<uint8_t>(algorithm)];
}

constexpr std::string_view name(Extreme extreme) { return extreme == Extreme::min ? "min" : "max"; }

constexpr std::string_view name(ReduceAlgorithm algorithm) {
  constexpr std::string_view names[] = {"auto", "single-pass", "two-launch"};
  return names[static_cast<uint8_t>(algorithm)];
}

}  // namespace sweepsort
