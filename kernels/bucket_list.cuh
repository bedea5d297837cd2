// bucket_list.cuh - what the kernels that finish an MSD sort's buckets share: which buckets are a block's,
// where their records come from and go to, and how a bucket is written that begins or ends in the midst of a
// vector.
#pragma once

#include "core/key_bits.hpp"
#include "kernels/histogram.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/policy.cuh"
#include "kernels/ptx.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort::bucket_list {

template <class Bits, class Value>
struct BucketArrays {
  const Bits* keys_in;
  Bits* keys_out;
  const Value* values_in;
  Value* values_out;
};

/// What all buckets have in common.
template <class Bits, class Value>
struct BucketTask {
  BucketArrays<Bits, Value> arrays;  // where the last partition left the records, and where they belong
  Bits* rest;                        // the same of the keys if frequent values were taken out
  const ListedBucket* list;          // the buckets to sort
  uint32_t which;                    // plan->listed[which]: its length
  ListedBucket* next_list;           // buckets that are left alone join it ...
  uint32_t next;                     // ... and are counted there
  KeyMap<Bits> map;

  __device__ __forceinline__ const Bits* source(const MsdPlan<Bits>& plan) const {
    return value_bytes<Value> == 0 && plan.frequent != 0 ? rest : arrays.keys_in;
  }
  /// Where a bucket's sorted keys go: those that frequent ones belong between stay where they are.
  __device__ __forceinline__ Bits* destination(const MsdPlan<Bits>& plan, const ListedBucket& bucket) const {
    if (value_bytes<Value> == 0 && plan.frequent != 0 && bucket.taken_out_before == has_frequent_value)
      return rest + bucket.first;
    return arrays.keys_out + bucket.first + bucket.taken_out_before;
  }
};

/// The present bucket of a block and the two behind it, in turns.
struct Queue {
  ListedBucket buckets[3];
};

/// Asks for the first 64 KiB of `count` records: all blocks' must fit the second-level cache.
template <class T>
__device__ __forceinline__ void prefetch(const T* records, uint32_t count) {
  ptx::prefetch(records, min(count, static_cast<uint32_t>((1u << 16) / sizeof(T))));
}

/// Calls sort(bucket, next) for the buckets of task.list that are this block's, one after the other; the whole
/// block does, and sort() has a barrier at least, behind which `next` is the bucket that follows, or null.
/// While a bucket is sorted, one thread looks up those behind it and asks for their keys: 2 % of a whole
/// sort's time.
template <class Bits, class Value, class Sort>
__device__ __forceinline__ void for_listed(Queue& queue, const BucketTask<Bits, Value>& task,
                                           const MsdPlan<Bits>& plan, Sort sort) {
  const uint32_t listed = plan.listed[task.which];
  const bool looks_ahead = threadIdx.x == 0;
  const auto look_up = [&](uint32_t entry, uint32_t place) {
    if (entry >= listed) return;
    static_assert(sizeof(ListedBucket) == 2 * sizeof(uint4));
    const uint4* const from = reinterpret_cast<const uint4*>(task.list + entry);
    uint4* const to = reinterpret_cast<uint4*>(&queue.buckets[place]);
    ptx::load_async(to, from);
    ptx::load_async(to + 1, from + 1);
  };
  if (looks_ahead) {
    look_up(blockIdx.x, 0);
    look_up(blockIdx.x + gridDim.x, 1);
    ptx::loads_async_have_arrived();
  }
  __syncthreads();
  uint32_t place = 0;
  for (uint32_t entry = blockIdx.x; entry < listed; entry += gridDim.x) {
    const uint32_t next_place = place == 2 ? 0 : place + 1;
    if (looks_ahead) {
      ptx::loads_async_have_arrived();  // the next bucket; all know of it behind a barrier of this one's
      const ListedBucket& next = queue.buckets[next_place];
      if (entry + gridDim.x < listed) prefetch(task.source(plan) + next.first, next.size);
      if constexpr (value_bytes<Value> != 0)
        prefetch(task.arrays.values_in + queue.buckets[place].first, queue.buckets[place].size);
      look_up(entry + 2 * gridDim.x, next_place == 2 ? 0 : next_place + 1);
    }
    sort(queue.buckets[place], entry + gridDim.x < listed ? &queue.buckets[next_place] : nullptr);
    place = next_place;
  }
}

/// Writes those elements of number `v` of the vectors from `first_vector` on that are the caller's: its own
/// places, counted from there, are [begin, end). By 16 bytes if all are.
template <class T>
__device__ __forceinline__ void store_own(T* first_vector, uint32_t v, const digest_detail::Vector<T>& vector,
                                          uint32_t begin, uint32_t end) {
  constexpr uint32_t width = sizeof(uint4) / sizeof(T);
  if (v * width >= begin && (v + 1) * width <= end) {
    __stcs(reinterpret_cast<uint4*>(first_vector) + v, vector.whole);
  } else {
#pragma unroll
    for (uint32_t k = 0; k < width; ++k)
      if (v * width + k >= begin && v * width + k < end) first_vector[v * width + k] = vector.keys[k];
  }
}

}  // namespace sweepsort::bucket_list
