// bucket_list.cuh - what the kernels that finish an MSD sort's buckets share: which buckets a block takes,
// where their records come from and go to, and how a bucket is written that begins or ends in the middle of a
// vector.
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "core/rounding.hpp"
#include "kernels/bucket_parts.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/ptx.cuh"
#include "kernels/vector16.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort::bucket_list {

template <class Bits, class Value>
struct BucketArrays {
  const Bits* keys_in = nullptr;
  Bits* keys_out = nullptr;
  const Value* values_in = nullptr;
  Value* values_out = nullptr;
};

/// Keys in chunks of dealt_chunk keys in `region`. `numbers` gives the chunks in their order. Of narrow keys,
/// the low bits are there.
template <class Bits>
struct ChunkedKeys {
  const Bits* region;
  const uint16_t* numbers;
  Bits lowest;
  bool is_narrow;

  /// Address of key number i. The keys behind it are contiguous up to the end of its chunk.
  template <class Stored>
  __device__ __forceinline__ const Stored* at(uint32_t i) const {
    constexpr uint32_t chunk = dealt_chunk<Stored>;
    return reinterpret_cast<const Stored*>(region) + numbers[i / chunk] * chunk + i % chunk;
  }
};

/// Where uncounted_partition.cuh leaves its buckets, for the kernels that take them from there.
template <class Bits>
struct DealtBuckets {
  const Bits* regions;     // of the parents
  uint32_t region;         // keys of one region
  uint32_t children_bits;  // a region has 2^this buckets
  const uint16_t* chunks;
  uint32_t chunks_per_bucket;

  __device__ __forceinline__ const Bits* region_of(uint32_t bucket) const {
    return regions + uint64_t{bucket >> children_bits} * region;
  }
  __device__ __forceinline__ const uint16_t* numbers_of(uint32_t bucket) const {
    return chunks + uint64_t{bucket} * chunks_per_bucket;
  }
  /// `numbers`: a copy of the bucket's chunk numbers.
  __device__ __forceinline__ ChunkedKeys<Bits> keys_of(const ListedBucket& bucket,
                                                       const uint16_t* numbers) const {
    return {region_of(bucket.number), numbers, static_cast<Bits>(bucket.lowest), bucket.is_narrow != 0};
  }
};

/// The parameters that all buckets share.
template <class Bits, class Value>
struct BucketTask {
  BucketArrays<Bits, Value> arrays;  // where the counted partition left the records, and where they go
  Bits* rest;                        // the same for the keys if frequent values were taken out
  BucketList list;                   // the buckets to sort
  BucketList next_list;              // buckets that are left alone join this list
  KeyMap<Bits> map;
  DealtBuckets<Bits> dealt;

  __device__ __forceinline__ const Bits* source(const MsdPlan<Bits>& plan) const {
    return value_bytes<Value> == 0 && plan.frequent.count != 0 ? rest : arrays.keys_in;
  }
  /// Pairs: the narrow keys of a bucket.
  __device__ __forceinline__ const NarrowKey<Bits>* narrow_source(const ListedBucket& bucket) const {
    return reinterpret_cast<const NarrowKey<Bits>*>(arrays.keys_in) +
           first_narrow_key<Bits, Value>(bucket.first);
  }
  /// Where a bucket's sorted keys go. They stay where they are if frequent keys belong between them.
  __device__ __forceinline__ Bits* destination(const MsdPlan<Bits>& plan, const ListedBucket& bucket) const {
    if (value_bytes<Value> != 0 || plan.frequent.count == 0) return arrays.keys_out + bucket.first;
    if (bucket.taken_out_before == has_frequent_value) return rest + bucket.first;
    return arrays.keys_out + bucket.first + bucket.taken_out_before;
  }
};

/// Whether there are buckets to sort. Nothing is set up for an empty list.
template <class Bits, class Value>
__device__ __forceinline__ bool has_buckets(const BucketTask<Bits, Value>& task, const MsdPlan<Bits>& plan) {
  return plan.listed[task.list.which] != 0 && plan.partitions();
}

/// Adds `bucket` to task.next_list. Called by the whole block.
template <class Bits, class Value>
__device__ __forceinline__ void leave_alone(const BucketTask<Bits, Value>& task, const ListedBucket& bucket,
                                            MsdPlan<Bits>* plan) {
  if (threadIdx.x != 0)
    return;  // this thread alone: it will soon put another bucket in the place of this one
  const BucketList& list = task.next_list;
  ListedBucket* const listed = list.at(atomicAdd(&plan->listed[list.which], 1u));
  *listed = bucket;
  if (value_bytes<Value> != 0 && bucket.parts.are_placed()) listed->parts = BucketParts::not_known();
}
/// The same, but the next kernel has to find its parts.
template <class Bits, class Value>
__device__ __forceinline__ void leave_alone_without_parts(const BucketTask<Bits, Value>& task,
                                                          const ListedBucket& bucket, MsdPlan<Bits>* plan) {
  if (threadIdx.x != 0) return;
  ListedBucket listed = bucket;
  listed.parts = BucketParts::not_known();
  leave_alone(task, listed, plan);
}

/// The current bucket of a block and those behind it, in turn; and at most `max_chunks` chunk numbers for
/// each.
template <uint32_t max_chunks>
struct Queue {
  static constexpr uint32_t numbers_per_vector = sizeof(uint4) / sizeof(uint16_t);

  ListedBucket buckets[4];
  alignas(16) uint16_t chunks[3][round_up(max_chunks, numbers_per_vector)];
};

/// Prefetches at most the first 64 KiB of `count` records: those of all blocks must fit the second-level
/// cache.
template <class T>
__device__ __forceinline__ void prefetch(const T* records, uint32_t count) {
  ptx::prefetch(records, min(count, static_cast<uint32_t>((1u << 16) / sizeof(T))));
}

/// Run by the first warp of a block: looks up the buckets that come next, and prefetches their keys.
template <class Bits, class Value, class BucketQueue>
struct LookAhead {
  BucketQueue& queue;
  const BucketTask<Bits, Value>& task;
  const MsdPlan<Bits>& plan;
  uint32_t listed;
  bool was_dealt;

  /// The bucket with the number `entry` of the list.
  __device__ __forceinline__ void look_up(uint32_t entry, uint32_t place) const {
    if (entry >= listed || ptx::lane_id() != 0) return;
    static_assert(sizeof(ListedBucket) == 2 * sizeof(uint4));
    const uint4* const from = reinterpret_cast<const uint4*>(task.list.at(entry));
    uint4* const to = reinterpret_cast<uint4*>(&queue.buckets[place]);
    ptx::load_async(to, from);
    ptx::load_async(to + 1, from + 1);
  }
  /// Looks up where the bucket's keys are, if it is in chunks.
  __device__ __forceinline__ void look_up_chunks(uint32_t entry, uint32_t place, uint32_t row) const {
    if (entry >= listed || !was_dealt) return;
    const ListedBucket& bucket = queue.buckets[place];
    constexpr uint32_t bytes_per_vector = BucketQueue::numbers_per_vector * dealt_chunk<char>;
    const uint4* const from = reinterpret_cast<const uint4*>(task.dealt.numbers_of(bucket.number));
    for (uint32_t v = ptx::lane_id(); v * bytes_per_vector < dealt_bytes(bucket); v += warp_threads)
      ptx::load_async(reinterpret_cast<uint4*>(queue.chunks[row]) + v, from + v);
  }
  __device__ __forceinline__ void ask_for(uint32_t entry, uint32_t place, uint32_t row) const {
    if (entry >= listed) return;
    const ListedBucket& bucket = queue.buckets[place];
    if (was_dealt) {
      constexpr uint32_t line = 128;
      const auto keys = task.dealt.keys_of(bucket, queue.chunks[row]);
      const uint32_t bytes = min(dealt_bytes(bucket), 1u << 16);
      for (uint32_t k = ptx::lane_id() * line; k < bytes; k += warp_threads * line)
        ptx::prefetch_line(keys.template at<char>(k));
    } else if (ptx::lane_id() == 0) {
      if (value_bytes<Value> != 0 && bucket.is_narrow)
        prefetch(task.narrow_source(bucket), bucket.size);
      else
        prefetch(task.source(plan) + bucket.first, bucket.size);
    }
  }
  static __device__ __forceinline__ uint32_t dealt_bytes(const ListedBucket& bucket) {
    return static_cast<uint32_t>(bucket.size *
                                 (bucket.is_narrow != 0 ? sizeof(NarrowKey<Bits>) : sizeof(Bits)));
  }
  /// Waits until this warp sees what it has looked up.
  __device__ __forceinline__ static void wait() {
    ptx::loads_async_have_arrived();
    __syncwarp();
  }
};

/// Calls sort(bucket, chunks, next, next_chunks) for this block's buckets of task.list, one after the other.
/// The whole block calls sort(), which has at least one barrier. After this barrier, `next` is the bucket
/// that follows, or null. While a bucket is sorted, one warp looks up those behind it and prefetches their
/// keys, which saves 2 % of a whole sort's time.
template <class Bits, class Value, class BucketQueue, class Sort>
__device__ __forceinline__ void for_listed(BucketQueue& queue, const BucketTask<Bits, Value>& task,
                                           const MsdPlan<Bits>& plan, Sort sort) {
  const uint32_t listed = plan.listed[task.list.which];
  const bool looks_ahead = threadIdx.x < warp_threads;
  const LookAhead<Bits, Value, BucketQueue> ahead{queue, task, plan, listed,
                                                  value_bytes<Value> == 0 && plan.was_dealt()};
  if (looks_ahead) {
    for (uint32_t k = 0; k < 3; ++k) ahead.look_up(blockIdx.x + k * gridDim.x, k);
    ahead.wait();
    for (uint32_t k = 0; k < 2; ++k) ahead.look_up_chunks(blockIdx.x + k * gridDim.x, k, k);
    ahead.wait();
  }
  __syncthreads();
  uint32_t place = 0;
  uint32_t row = 0;
  for (uint32_t entry = blockIdx.x; entry < listed; entry += gridDim.x) {
    const uint32_t next_place = (place + 1) % 4;
    const uint32_t next_row = row == 2 ? 0 : row + 1;
    if (looks_ahead) {
      ahead.wait();  // the next bucket; all threads may use it after a barrier of this one's sort
      ahead.ask_for(entry + gridDim.x, next_place, next_row);
      if constexpr (value_bytes<Value> != 0)
        if (threadIdx.x == 0)
          prefetch(task.arrays.values_in + queue.buckets[place].first, queue.buckets[place].size);
      ahead.look_up_chunks(entry + 2 * gridDim.x, (place + 2) % 4, next_row == 2 ? 0 : next_row + 1);
      ahead.look_up(entry + 3 * gridDim.x, (place + 3) % 4);
    }
    sort(queue.buckets[place], queue.chunks[row],
         entry + gridDim.x < listed ? &queue.buckets[next_place] : nullptr, queue.chunks[next_row]);
    place = next_place;
    row = next_row;
  }
}

/// Stores vector number `v` of the output, which begins at `first_vector`, but only its places in [begin,
/// end), counted from there. If these are all places of the vector, one store of 16 bytes does it.
template <class T>
__device__ __forceinline__ void store_own(T* first_vector, uint32_t v, const Vector16<T>& vector,
                                          uint32_t begin, uint32_t end) {
  constexpr uint32_t width = sizeof(uint4) / sizeof(T);
  if (v * width >= begin && (v + 1) * width <= end) {
    __stcs(reinterpret_cast<uint4*>(first_vector) + v, vector.whole);
  } else {
#pragma unroll
    for (uint32_t k = 0; k < width; ++k)
      if (v * width + k >= begin && v * width + k < end) first_vector[v * width + k] = vector.elements[k];
  }
}

/// Writes the places [begin, end), counted from `first_vector` on, by 16 bytes where all of a vector is
/// inside. vector(n): the n-th vector. element(p): the element at place p. The first vector contains one of
/// the places.
template <uint32_t threads, class T, class Vector, class Element>
__device__ __forceinline__ void store_places(T* first_vector, uint32_t begin, uint32_t end, Vector vector,
                                             Element element) {
  constexpr uint32_t width = sizeof(uint4) / sizeof(T);
  const uint32_t first = ceil_divide(begin, width);  // the whole vectors
  const uint32_t behind = max(end / width, first);
  for (uint32_t v = first + threadIdx.x; v < behind; v += threads)
    __stcs(reinterpret_cast<uint4*>(first_vector) + v, vector(v).whole);
  if (threadIdx.x >= 2 * width) return;
  const bool is_in_front = threadIdx.x < width;
  const uint32_t place = is_in_front ? threadIdx.x : behind * width + threadIdx.x - width;
  if (place >= begin && place < (is_in_front ? min(end, first * width) : end))
    first_vector[place] = element(place);
}

}  // namespace sweepsort::bucket_list
