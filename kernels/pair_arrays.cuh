// pair_arrays.cuh - two layouts of pairs in memory, for code that handles both.
//
//     PairColumns    k k k k k ..   v v v v v ..       as the caller has them; also keys alone
//     PairRecords    k v k v k v k v k v ..            between the levels of a partition, and LSD passes
//
// A run of records is one piece of memory, whereas columns have two shorter ones. The same bytes in longer
// pieces take less time (bench/notes/gpu-sort.md, "MSD sort").
#pragma once

#include "core/no_value.hpp"
#include "kernels/ptx.cuh"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>

namespace sweepsort {

namespace pair_detail {

/// Moves 16-byte vectors. All are loaded before the first is stored.
template <uint32_t bytes>
__device__ __forceinline__ void move(const void* from, void* to) {
  constexpr uint32_t vectors = bytes / sizeof(uint4);
  static_assert(bytes % sizeof(uint4) == 0);
  uint4 kept[vectors];
#pragma unroll
  for (uint32_t v = 0; v < vectors; ++v) kept[v] = static_cast<const uint4*>(from)[v];
#pragma unroll
  for (uint32_t v = 0; v < vectors; ++v) static_cast<uint4*>(to)[v] = kept[v];
}

}  // namespace pair_detail

/// An array of keys and one of values, if there are any.
template <class Key, class Value>
struct PairColumns {
  static constexpr bool with_values = value_bytes<std::remove_const_t<Value>> != 0;

  Key* keys;
  Value* values;

  __device__ __forceinline__ PairColumns from(uint64_t first) const {
    return {keys + first, values + (with_values ? first : 0)};
  }
  __device__ __forceinline__ Key key_at(uint64_t i) const { return keys[i]; }
  /// `streaming`: the pair will not be read again.
  template <bool streaming, class Index>
  __device__ __forceinline__ void load(Index i, std::remove_const_t<Key>& key,
                                       std::remove_const_t<Value>& value) const {
    key = streaming ? __ldcs(keys + i) : keys[i];
    if constexpr (with_values) value = streaming ? __ldcs(values + i) : values[i];
  }
  template <class Index>
  __device__ __forceinline__ void store(Index i, Key key, const Value& value) const {
    keys[i] = key;
    if constexpr (with_values) values[i] = value;
  }
  /// Prefetches the pairs [first, first + count) into the second-level cache.
  __device__ __forceinline__ void prefetch(uint64_t first, uint32_t count) const {
    ptx::prefetch(keys + first, count);
    if constexpr (with_values) ptx::prefetch(values + first, count);
  }
  /// Copies the `count` pairs from `slot` on of `bins`, in shared memory, to place `first` here. Calls
  /// copy(to, from, bytes) once for each piece of memory.
  template <class Copy>
  __device__ __forceinline__ void copy_from(const PairColumns& bins, uint32_t slot, uint64_t first,
                                            uint32_t count, Copy copy) const {
    copy(keys + first, bins.keys + slot, static_cast<uint32_t>(count * sizeof(Key)));
    if constexpr (with_values)
      copy(values + first, bins.values + slot, static_cast<uint32_t>(count * sizeof(Value)));
  }
  /// In shared memory: moves `count` pairs. All are read before the first is written.
  template <uint32_t count>
  __device__ __forceinline__ void move(uint32_t from, uint32_t to) const {
    pair_detail::move<count * sizeof(Key)>(keys + from, keys + to);
    if constexpr (with_values) pair_detail::move<count * sizeof(Value)>(values + from, values + to);
  }
};

/// A key and its value side by side, in the largest words that need no padding.
template <class Key, class Value>
struct PairRecord {
  static constexpr uint32_t bytes = sizeof(Key) + sizeof(Value);
  using Word = std::conditional_t<bytes == 16, uint4, std::conditional_t<bytes == 8, uint2, uint32_t>>;
  static constexpr uint32_t words = bytes / sizeof(Word);
  /// The number of records that advances the address by whole sectors.
  static constexpr uint32_t granule = 32 / std::gcd(32u, bytes);

  Word word[words];
};

/// The same pairs in one array.
template <class Key, class Value>
struct PairRecords {
  using Record = PairRecord<Key, Value>;

  Record* records;

  __device__ __forceinline__ PairRecords from(uint64_t first) const { return {records + first}; }
  __device__ __forceinline__ Key key_at(uint64_t i) const {
    Key key;
    Value value;
    load<false>(i, key, value);
    return key;
  }
  template <bool streaming, class Index>
  __device__ __forceinline__ void load(Index i, Key& key, Value& value) const {
    Record record;
#pragma unroll
    for (uint32_t w = 0; w < Record::words; ++w)
      record.word[w] = streaming ? __ldcs(&records[i].word[w]) : records[i].word[w];
    memcpy(&key, &record, sizeof(Key));
    memcpy(&value, reinterpret_cast<const std::byte*>(&record) + sizeof(Key), sizeof(Value));
  }
  template <class Index>
  __device__ __forceinline__ void store(Index i, Key key, const Value& value) const {
    Record record;
    memcpy(&record, &key, sizeof(Key));
    memcpy(reinterpret_cast<std::byte*>(&record) + sizeof(Key), &value, sizeof(Value));
#pragma unroll
    for (uint32_t w = 0; w < Record::words; ++w) records[i].word[w] = record.word[w];
  }
  __device__ __forceinline__ void prefetch(uint64_t first, uint32_t count) const {
    ptx::prefetch(records + first, count);
  }
  template <class Copy>
  __device__ __forceinline__ void copy_from(const PairRecords& bins, uint32_t slot, uint64_t first,
                                            uint32_t count, Copy copy) const {
    copy(records + first, bins.records + slot, count * Record::bytes);
  }
  template <uint32_t count>
  __device__ __forceinline__ void move(uint32_t from, uint32_t to) const {
    pair_detail::move<count * Record::bytes>(records + from, records + to);
  }
};

/// Records in the memory that two columns have for as many pairs. The first records are in that of the keys,
/// the others in that of the values. The last record may fit in neither; it lies elsewhere.
template <class Key, class Value>
class RecordsInColumns {
 public:
  using Records = PairRecords<Key, Value>;
  using Record = typename Records::Record;

  RecordsInColumns() = default;
  __device__ __forceinline__ RecordsInColumns(const PairColumns<Key, Value>& columns, uint64_t count,
                                              Record* elsewhere)
      : in_keys_(reinterpret_cast<Record*>(columns.keys)),
        in_values_(reinterpret_cast<Record*>(columns.values)),
        elsewhere_(elsewhere),
        first_in_values_(count * sizeof(Key) / Record::bytes),
        first_elsewhere_(first_in_values_ + count * sizeof(Value) / Record::bytes) {}
  /// All records in one piece of memory.
  __device__ __forceinline__ explicit RecordsInColumns(Record* records)
      : in_keys_(records), first_in_values_(~uint64_t{0}), first_elsewhere_(~uint64_t{0}) {}

  __device__ __forceinline__ Records at(uint64_t i) const {
    if (i < first_in_values_) return {in_keys_ + i};
    if (i < first_elsewhere_) return {in_values_ + (i - first_in_values_)};
    return {elsewhere_};
  }
  /// Whether the records [first, first + count), count > 1, are one piece of memory.
  __device__ __forceinline__ bool are_together(uint64_t first, uint32_t count) const {
    const uint64_t end = first + count;
    if (first < first_in_values_) return end <= first_in_values_;
    return end <= first_elsewhere_;
  }

 private:
  Record* in_keys_ = nullptr;
  Record* in_values_ = nullptr;
  Record* elsewhere_ = nullptr;
  uint64_t first_in_values_ = 0;
  uint64_t first_elsewhere_ = 0;
};

}  // namespace sweepsort
