// bucket_histogram.cuh - how many keys each of up to 65,536 buckets has, in one read.
// Shams & Kennedy, "Efficient histogram algorithms for NVIDIA CUDA compatible devices", 2007. Reads n keys.
//
//     block 0 | block 1 | ...      each block counts a span of neighbouring keys in its shared memory, and
//     \__span_/                    leaves behind: its counts added to all others', and how many keys of its
//                                  span have each leading digit
//
// With the latter a block that later partitions the same span knows where in each bucket its keys go.
#pragma once

#include "kernels/histogram.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/policy.cuh"
#include "kernels/ptx.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace bucket_histogram_detail {

/// Two counters of 16 bits a word. A counter that reaches `half` hands `half` over to device memory.
struct Shared {
  uint32_t words[msd_most_buckets / 2];
  uint32_t handed_over[msd_digits];  // keys by leading digit that are in device memory already
};
inline constexpr uint32_t half = 1u << 15;

/// Keys that share many bits would meet in few banks.
__device__ __forceinline__ uint32_t spread(uint32_t word) { return word ^ (word >> 5) ^ (word >> 10); }

/// Vectors a thread takes between two barriers. Right after a barrier every counter is below `half`; until
/// the next one the block adds at most `half` in all, so that no 16-bit counter overflows, whatever the keys.
template <class Bits>
inline constexpr uint32_t vectors_a_round = half / counting_policy.histogram_threads /
                                            digest_detail::keys_a_vector<Bits>;

/// What a block counts with. `plain`: keys are ordered bits as they are, their bucket is their leading bits,
/// and neighbours seldom share it.
template <class Bits, bool plain>
struct Counter {
  Shared& shared;
  BucketMap<Bits> buckets;
  KeyMap<Bits> map;
  uint32_t bucket_bits;
  unsigned long long* counts;
  bool outside = false;

  __device__ __forceinline__ uint32_t bucket_of(Bits raw) {
    if (plain) return static_cast<uint32_t>(raw >> (sizeof(Bits) * 8 - bucket_bits));
    const Bits ordered = map.to_ordered(raw);
    outside |= static_cast<Bits>(ordered - buckets.lowest) > buckets.range;
    return buckets(ordered);
  }

  __device__ __forceinline__ void add(uint32_t bucket, uint32_t keys) {
    const uint32_t shift = bucket % 2 * 16;
    const uint32_t added = keys << shift;
    uint32_t* const word = &shared.words[spread(bucket / 2)];
    const uint32_t before = atomicAdd(word, added);
    if ((~before & (before + added) & (half << shift)) != 0) {
      atomicSub(word, half << shift);
      atomicAdd(&counts[bucket], static_cast<unsigned long long>(half));
      atomicAdd(&shared.handed_over[bucket >> (bucket_bits - msd_digit_bits)], half);
    }
  }

  __device__ __forceinline__ void add_vector(const digest_detail::Vector<Bits>& vector) {
    constexpr uint32_t width = digest_detail::keys_a_vector<Bits>;
    if (plain) {
#pragma unroll
      for (const Bits key : vector.keys) add(bucket_of(key), 1);
      return;
    }
    // Neighbouring keys of one bucket cost one atomic together.
    uint32_t bucket = bucket_of(vector.keys[0]);
    uint32_t run = 1;
#pragma unroll
    for (uint32_t k = 1; k < width; ++k) {
      const uint32_t next = bucket_of(vector.keys[k]);
      if (next == bucket) {
        ++run;
      } else {
        add(bucket, run);
        bucket = next;
        run = 1;
      }
    }
    add(bucket, run);
  }

  /// Counts all keys of a span. All threads of the block call it.
  __device__ __forceinline__ void add_all(const Bits* keys, uint64_t count) {
    constexpr uint32_t width = digest_detail::keys_a_vector<Bits>;
    constexpr uint32_t in_flight = counting_policy.histogram_vectors_in_flight;
    constexpr uint32_t round = vectors_a_round<Bits>;
    static_assert(round % in_flight == 0);
    const uint64_t vectors = count / width;
    const uint4* const body = reinterpret_cast<const uint4*>(keys);
    for (uint64_t row = 0; row < vectors; row += uint64_t{blockDim.x} * round) {
      for (uint32_t batch = 0; batch < round; batch += in_flight) {
        digest_detail::Vector<Bits> vector[in_flight];
        const uint64_t mine = row + batch * blockDim.x + threadIdx.x;
#pragma unroll
        for (uint32_t u = 0; u < in_flight; ++u)
          if (mine + u * blockDim.x < vectors)
            vector[u].whole = ptx::load_streaming(body + mine + u * blockDim.x);
#pragma unroll
        for (uint32_t u = 0; u < in_flight; ++u)
          if (mine + u * blockDim.x < vectors) add_vector(vector[u]);
      }
      __syncthreads();
    }
    for (uint64_t i = vectors * width + threadIdx.x; i < count; i += blockDim.x) add(bucket_of(keys[i]), 1);
  }
};

/// Block b counts the keys [b * span, (b + 1) * span); `span` is a whole number of vectors.
template <class Bits>
__global__ __launch_bounds__(counting_policy.histogram_threads) void bucket_histogram_kernel(
    const Bits* keys, uint64_t count, uint64_t span, KeyMap<Bits> map, MsdPlan<Bits>* plan,
    unsigned long long* counts, uint32_t* span_counts) {
  if (plan->is_other || plan->is_in_order()) return;
  Shared& shared = shared_memory<Shared>();
  for (uint32_t i = threadIdx.x; i < sizeof(shared) / 4; i += blockDim.x) shared.words[i] = 0;
  __syncthreads();

  const uint32_t bucket_bits = plan->bucket_bits;
  const uint64_t first = min(blockIdx.x * span, count);
  const uint64_t size = min(span, count - first);
  if (map.is_identity() && plan->map.is_leading_bits() && !plan->has_runs) {
    Counter<Bits, true> counter{shared, plan->map, map, bucket_bits, counts};
    counter.add_all(keys + first, size);
    __syncthreads();
  } else {
    Counter<Bits, false> counter{shared, plan->map, map, bucket_bits, counts};
    counter.add_all(keys + first, size);
    if (__syncthreads_or(counter.outside) != 0 && threadIdx.x == 0) atomicOr(&plan->has_outside, 1u);
  }

  const auto counted = [&](uint32_t bucket) {
    return (shared.words[spread(bucket / 2)] >> (bucket % 2 * 16)) & 0xffff;
  };
  const uint32_t buckets = 1u << bucket_bits;
  for (uint32_t i = threadIdx.x; i < buckets; i += blockDim.x)
    if (const uint32_t keys_here = counted(i)) atomicAdd(&counts[i], static_cast<unsigned long long>(keys_here));
  const uint32_t children = 1u << (bucket_bits - msd_digit_bits);
  for (uint32_t digit = threadIdx.x / warp_threads; digit < msd_digits; digit += blockDim.x / warp_threads) {
    uint32_t sum = 0;
    for (uint32_t child = ptx::lane_id(); child < children; child += warp_threads)
      sum += counted(digit * children + child);
    sum = warp_reduce(sum, [](uint32_t a, uint32_t b) { return a + b; });
    if (ptx::lane_id() == 0)
      span_counts[blockIdx.x * msd_digits + digit] = sum + shared.handed_over[digit];
  }
}

}  // namespace bucket_histogram_detail

}  // namespace sweepsort
