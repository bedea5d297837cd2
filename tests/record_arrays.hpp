// record_arrays.hpp - the arrays of one sort in device memory, for tests of the kernels that take SortArrays.
// They have poison and red zones, are in place or not, and are judged by the oracle.
#pragma once

#include "core/key_type.hpp"
#include "device_array.hpp"
#include "kernels/policy.cuh"
#include "kernels/sort_arrays.cuh"
#include "oracle.hpp"

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace sweepsort {

template <class Key, class Value>
class RecordArrays {
 public:
  using Bits = BitsOf<Key>;
  static constexpr bool with_values = !std::is_same_v<Value, NoValue>;

  RecordArrays(const std::vector<Key>& input, bool in_place) : RecordArrays(input, in_place, input.size()) {}
  /// Values say where their records were. `input` must outlive this.
  RecordArrays(const std::vector<Key>& input, bool in_place, uint64_t scratch_keys)
      : input_(input),
        in_place_(in_place),
        values_(numbered(with_values ? input.size() : 0)),
        keys_in_(std::span<const Key>(input)),
        values_in_(std::span<const Value>(values_)),
        keys_elsewhere_(in_place ? 0 : input.size()),
        values_elsewhere_(in_place ? 0 : values_.size()),
        keys_scratch_(scratch_keys),
        values_scratch_(values_.size()) {}

  SortArrays<Bits, Value> arrays() {
    return {.keys_in = reinterpret_cast<const Bits*>(keys_in_.data()),
            .keys_scratch = keys_scratch_.data(),
            .keys_out = reinterpret_cast<Bits*>(keys_out().data()),
            .values_in = values_in_.data(),
            .values_scratch = values_scratch_.data(),
            .values_out = values_out().data(),
            .count = input_.size()};
  }

  void check_zones() {
    for (const DeviceArray<Key>* keys : {&keys_in_, &keys_elsewhere_}) keys->check_zones();
    for (const DeviceArray<Value>* values : {&values_in_, &values_elsewhere_, &values_scratch_})
      values->check_zones();
    keys_scratch_.check_zones();
  }

  /// Checks that the sort wrote nothing over its input.
  void require_kept_input() { oracle::require(oracle::compare<Key>(input_, keys_in_.download())); }

  /// Checks that the sort wrote only to the scratch arrays.
  void require_untouched() {
    check_zones();
    require_kept_input();
    if constexpr (with_values) REQUIRE(values_in_.download() == values_);
    REQUIRE(keys_elsewhere_.is_poisoned());
    REQUIRE(values_elsewhere_.is_poisoned());
  }

  /// Checks red zones, order, values, and the input if it is not the output.
  void require_sorted(Order order) {
    check_zones();
    if (!in_place_) require_kept_input();
    if constexpr (with_values)
      oracle::require_sorted_pairs<Key, Value>(input_, values_, keys_out().download(),
                                               values_out().download(), order);
    else
      oracle::require_sorted<Key>(input_, keys_out().download(), order);
  }

 private:
  static std::vector<Value> numbered(uint64_t count) {
    std::vector<Value> values(count);
    if constexpr (with_values)
      for (uint64_t i = 0; i < count; ++i) values[i] = static_cast<Value>(i * 0x9e3779b97f4a7c15ull);
    return values;
  }
  DeviceArray<Key>& keys_out() { return in_place_ ? keys_in_ : keys_elsewhere_; }
  DeviceArray<Value>& values_out() { return in_place_ ? values_in_ : values_elsewhere_; }

  const std::vector<Key>& input_;
  bool in_place_;
  std::vector<Value> values_;
  DeviceArray<Key> keys_in_;
  DeviceArray<Value> values_in_;
  DeviceArray<Key> keys_elsewhere_;
  DeviceArray<Value> values_elsewhere_;
  DeviceArray<Bits> keys_scratch_;
  DeviceArray<Value> values_scratch_;
};

}  // namespace sweepsort
