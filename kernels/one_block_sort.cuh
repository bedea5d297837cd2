// one_block_sort.cuh - the sort of an array that fits the shared memory of one block: one launch, which
// treats it as a single bucket (bucket_sort.cuh). If there are few keys of one byte, they are counted
// (byte_sort.cuh). Moves 2n records.
//
//     in ──> registers ──> least, most ──> parts ──┬─ few late keys ──> place each ──┬─> shared memory ──> out
//            ordered bits                          └─ else ──> digit by digit ───────┘   in order
//
// Keys of 2 bytes go digit by digit at once.
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "kernels/bucket_parts.cuh"
#include "kernels/bucket_sort.cuh"
#include "kernels/byte_sort.cuh"
#include "kernels/launch.cuh"
#include "kernels/policy_one_launch.cuh"
#include "kernels/ptx.cuh"
#include "kernels/sort_arrays.cuh"

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace sweepsort {

template <class Bits, class Value>
inline constexpr bool has_one_block = !std::is_void_v<TunedOneBlock<Bits, Value>>;

/// The most records that one block sorts by itself, without any workspace.
template <class Bits, class Value>
inline constexpr uint64_t max_in_one_block = TunedOneBlock<Bits, Value>::max_keys;

namespace one_block_detail {

using namespace bucket_sort_detail;

template <class Bits, class Value, class Policy, class Parts>
__global__ __launch_bounds__(Policy::threads) void one_block_kernel(BucketArrays<Bits, Value> arrays,
                                                                    uint32_t count, KeyMap<Bits> map) {
  if (ptx::is_before_90()) return;
  ptx::wait_for_previous_launch();
  auto& shared = shared_memory<Shared<Bits, Value, Policy>>();
  Bucket<Bits, Value, Policy, Crowded::by_inlined_digits, Parts> bucket(shared, arrays, map);
  // Integers alone become ordered bits by one exclusive or. Floats alone have parts of another kind.
  constexpr bool of_integers = value_bytes<Value> == 0 && std::is_same_v<Parts, BucketParts>;
  bucket.template sort_as_one_bucket<of_integers ? InMemory::integers : InMemory::as_given>({0, count});
}

template <class Policy, class Bits, class Value>
void launch_block(const SortArrays<Bits, Value>& arrays, KeyMap<Bits> map, cudaStream_t stream) {
  const BucketArrays<Bits, Value> all{arrays.keys_in, arrays.keys_out, arrays.values_in, arrays.values_out};
  auto kernel = one_block_kernel<Bits, Value, Policy, BucketParts>;
  if constexpr (value_bytes<Value> == 0 && sizeof(Bits) >= 4)
    if (map.is_of_floats()) kernel = one_block_kernel<Bits, Value, Policy, RealParts<Bits>>;
  launch_chained(kernel, {1, Policy::threads, sizeof(Shared<Bits, Value, Policy>)}, stream, all,
                 static_cast<uint32_t>(arrays.count), map);
}

}  // namespace one_block_detail

/// Sorts up to max_in_one_block records in one launch. keys_scratch and values_scratch are not used.
template <class Bits, class Value>
void sort_in_one_block(const SortArrays<Bits, Value>& arrays, KeyMap<Bits> map, cudaStream_t stream) {
  using namespace one_block_detail;
  using Policy = TunedOneBlock<Bits, Value>;
  if constexpr (std::is_same_v<Policy, ByteSortPolicy>)
    byte_sort(arrays.keys_in, arrays.keys_out, static_cast<uint32_t>(arrays.count), map, stream);
  else if (arrays.count <= Policy::Small::max_keys)
    launch_block<typename Policy::Small>(arrays, map, stream);
  else
    launch_block<typename Policy::Large>(arrays, map, stream);
}

}  // namespace sweepsort
