// partition_task.cuh - what the kernels of both levels of a partition are told (radix_partition.cuh).
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "kernels/msd_plan.cuh"
#include "kernels/pair_arrays.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// Keys for which the second-level cache is asked to keep the ends of bins, if the arrays are larger than the
/// cache. Measured with values; counted keys alone were not timed by themselves.
template <class Bits>
inline constexpr bool may_outgrow_cache = sizeof(Bits) == 8;

/// Whether lines of the second-level cache that a tile leaves partly written are displaced before the next
/// tile comes. H200, uniform records in columns, us, streaming loads and stores without a hint -> plain loads
/// and stores to be kept: u64+u32 2^21 146 -> 158, 2^22 218 -> 222, 2^23 337 -> 329, 2^24 562 -> 540, 2^28
/// 7,300 -> 6,830; u64+u64 2^21 148 -> 153, 2^22 as before, 2^23 356 -> 349, 2^28 8,540 -> 8,220; u32+u32
/// 2^21 121 -> 132, 2^24 405 -> 399, 2^28 4,440 -> 4,470.
template <class Bits, class Value>
constexpr bool outgrows_cache(uint64_t count) {
  return may_outgrow_cache<Bits> && count * (sizeof(Bits) + value_bytes<Value>) > uint64_t{64} << 20;
}

/// The three arrays of the keys. All keys move from `in` to `scratch` to `out`. If the frequent ones were
/// taken out, the others were left in `scratch`, and move to `out` and back.
template <class Bits>
struct KeyArrays {
  const Bits* in;
  Bits* scratch;
  Bits* out;

  __device__ __forceinline__ const Bits* source(uint32_t level, const MsdPlan<Bits>& plan) const {
    if (plan.frequent.count != 0) return level == 0 ? scratch : out;
    return level == 0 ? in : scratch;
  }
  __device__ __forceinline__ Bits* destination(uint32_t level, const MsdPlan<Bits>& plan) const {
    return (level == 0) == (plan.frequent.count != 0) ? out : scratch;
  }
};

/// The arrays that both levels of the sort read and write, and the tables that say where records go.
template <class Bits, class Value>
struct PartitionTask {
  KeyArrays<Bits> keys;
  const Value* values_in;  // first level
  Value* values_out;       // second level
  uint64_t count;
  uint64_t span;                // first level: records per job
  const uint32_t* rest_counts;  // first level, if the frequent keys were taken out: records of each job
  const uint64_t* offsets;      // of all buckets
  const Bits* splitters;
  const uint8_t* has_one_value;  // by bucket, between splitters
  const PartitionJob* jobs;      // second level
  const uint32_t* job_counts;
  MsdPlan<Bits>* plan;
  KeyMap<Bits> map;
  bool outgrows;  // see outgrows_cache()

  __device__ __forceinline__ bool outgrows_cache() const { return may_outgrow_cache<Bits> && outgrows; }
};

namespace partition_detail {

/// The array of keys between the levels: it holds pairs, as records.
template <class Bits, class Value>
__device__ __forceinline__ PairRecords<Bits, Value> records_of(const Bits* keys) {
  return {reinterpret_cast<PairRecord<Bits, Value>*>(const_cast<Bits*>(keys))};
}

}  // namespace partition_detail

}  // namespace sweepsort
