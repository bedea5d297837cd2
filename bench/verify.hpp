// verify.hpp - checks a sorted array in host memory, without a second sort, so that large sizes stay cheap.
//
// Keys alone must be in order, and the same multiset as the input according to a fingerprint with a random
// secret. For pairs, the values number the input's keys: keys must be in order, each value must be with the
// key that it numbers, and the values of equal keys must rise. This proves that pairs are right: if a value
// occurred twice, it would be with equal keys both times, and the second would not be larger.
#pragma once

#include "bench/float_order.hpp"
#include "bench/sort_case.hpp"
#include "core/fingerprint.hpp"

#include <cstring>
#include <span>

namespace sweepsort::bench {

/// The input and the output of a sort, as bytes. `values_out` is empty for keys alone.
struct HostResult {
  std::span<const std::byte> keys_in;
  std::span<const std::byte> keys_out;
  std::span<const std::byte> values_out;
};

template <class T>
T load(std::span<const std::byte> bytes, uint64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

namespace detail {

template <class Bits, class Value>
bool pairs_are_right(const SortCase& what, const HostResult& result, const KeyRank<Bits>& rank) {
  for (uint64_t i = 0; i < what.count; ++i) {
    const Value from = load<Value>(result.values_out, i);
    const Bits key = load<Bits>(result.keys_out, i);
    if (from >= what.count || load<Bits>(result.keys_in, from) != key) return false;
    if (i == 0) continue;
    const Bits before = load<Bits>(result.keys_out, i - 1);
    if (rank(key) < rank(before)) return false;
    if (rank(key) == rank(before) && from <= load<Value>(result.values_out, i - 1)) return false;
  }
  return true;
}

template <class Bits>
bool keys_are_right(const SortCase& what, const HostResult& result, const KeyRank<Bits>& rank) {
  for (uint64_t i = 1; i < what.count; ++i)
    if (rank(load<Bits>(result.keys_out, i)) < rank(load<Bits>(result.keys_out, i - 1))) return false;
  const uint64_t secret = random_secret();
  return fingerprint(result.keys_in, sizeof(Bits), secret) ==
         fingerprint(result.keys_out, sizeof(Bits), secret);
}

}  // namespace detail

inline bool is_right(const SortCase& what, FloatOrder float_order, const HostResult& result) {
  if (result.keys_in.size() != what.keys_bytes() || result.keys_out.size() != what.keys_bytes() ||
      result.values_out.size() != what.values_bytes())
    return false;
  return dispatch(what.type, [&]<class Key>(std::type_identity<Key>) {
    const KeyRank<BitsOf<Key>> rank(what.type, what.order, float_order);
    if (what.value_bytes == 4) return detail::pairs_are_right<BitsOf<Key>, uint32_t>(what, result, rank);
    if (what.value_bytes == 8) return detail::pairs_are_right<BitsOf<Key>, uint64_t>(what, result, rank);
    return detail::keys_are_right<BitsOf<Key>>(what, result, rank);
  });
}

}  // namespace sweepsort::bench
