// scan.hpp - what a scan or a search for the smallest key can be asked for, by name.
#pragma once

#include "core/key_bits.hpp"
#include "core/key_type.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

namespace sweepsort {

/// How two elements are combined. Sums of integers wrap in their type (who scans for others finds that and
/// says so); `min` and `max` follow the order of the sort (-0.0 before +0.0) and pass over NaN; `bit_xor` is
/// for integers alone.
enum class ScanOp : uint8_t { sum, min, max, bit_xor };

/// Whether element i of the result has the input's element i in it, or only those before it.
enum class ScanKind : uint8_t { inclusive, exclusive };

/// `sequential` and `threads` run on the CPU, the others on the GPU; kernels/README.md tells them apart.
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

/// Which end of the order is looked for.
enum class Extreme : uint8_t { min, max };

/// `two_launch`: partial results of many blocks, then one block over those.
enum class ReduceAlgorithm : uint8_t { automatic, single_pass, two_launch };

/// The map by which the wanted key is the one with the smallest bits, and NaN of either sign has the largest
/// in both directions (in a descending sort NaN comes first).
template <class Bits>
constexpr KeyMap<Bits> extreme_map(KeyType type, Extreme extreme) {
  KeyMap<Bits> map = key_map<Bits>(type, extreme == Extreme::min ? Order::ascending : Order::descending);
  // The other way round, it is the positive NaNs that join the negative ones at the bottom.
  if (extreme == Extreme::max) map.add = static_cast<Bits>(Bits{0} - map.add);
  return map;
}

/// Algorithms of the GPU's kernels; `automatic` is neither.
constexpr bool is_gpu_algorithm(ScanAlgorithm algorithm) {
  return algorithm >= ScanAlgorithm::lookback && algorithm <= ScanAlgorithm::hillis_steele;
}
constexpr bool is_cpu_algorithm(ScanAlgorithm algorithm) {
  return algorithm == ScanAlgorithm::sequential || algorithm == ScanAlgorithm::threads;
}

/// Every value of `from` is a value of `to`, which is as wide or wider.
constexpr bool can_widen(KeyType from, KeyType to) {
  if (from == to) return true;
  if (is_floating(from)) return is_floating(to) && key_bytes(to) > key_bytes(from);
  if (is_floating(to)) return key_bytes(to) > key_bytes(from);  // its mantissa holds half its width and more
  if (is_signed(from) && !is_signed(to)) return false;
  return key_bytes(to) > key_bytes(from);
}

/// What an exclusive scan writes first, in the low bytes: 0 for sum and xor, the type's last value (of floats
/// an infinity) for min and max.
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
