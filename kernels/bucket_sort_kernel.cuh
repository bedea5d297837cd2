// bucket_sort_kernel.cuh - the last launches of an MSD radix sort: each block takes buckets from a list, one
// after the other, and sorts them in its shared memory (bucket_sort.cuh).
#pragma once

#include "core/no_value.hpp"
#include "kernels/bucket_list.cuh"
#include "kernels/bucket_parts.cuh"
#include "kernels/bucket_shared.cuh"
#include "kernels/bucket_sort.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/ptx.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

namespace bucket_sort_detail {

using bucket_list::BucketTask;

/// Sorts the buckets of task.list. Those that are left alone join task.next_list. `Parts`: BucketParts, which
/// the list gives; or RealParts, which are found from the keys, if buckets divide the values of floats.
template <class Bits, class Value, class Policy, Crowded crowded, class Parts>
__global__ __launch_bounds__(Policy::threads, Policy::blocks_per_multiprocessor) void bucket_sort_kernel(
    BucketTask<Bits, Value> task, MsdPlan<Bits>* plan) {
  if (ptx::is_before_90()) return;
  ptx::wait_for_previous_launch();
  if (!bucket_list::has_buckets(task, *plan)) return;
  constexpr bool of_reals = !std::is_same_v<Parts, BucketParts>;
  if (crowded == Crowded::by_digits && plan->is_of_reals() != of_reals) return;
  // Buckets between splitters are sorted digit by digit, but the largest ones of those that were counted at
  // once try parts first.
  if constexpr (may_split<Bits, Value>) {
    const bool is_split = crowded == Crowded::by_digits ? plan->counts_by_level != 0 : plan->is_split != 0;
    if (is_split != (crowded == Crowded::only_digits)) return;
  }
  auto& shared = shared_memory<Shared<Bits, Value, Policy>>();
  Bucket<Bits, Value, Policy, crowded, Parts> sorter(shared, task.arrays, task.map);
  const auto keys_of = [&](const ListedBucket& bucket) { return task.source(*plan) + bucket.first; };
  // Loads ahead if no other block computes while this one loads. Digits would need the registers. H200, 2^30
  // keys, ms: u64 21.35 -> 20.46, but u32 10.42 -> 10.53.
  constexpr bool loads_ahead = value_bytes<Value> == 0 && sizeof(Bits) == 8 &&
                               Policy::blocks_per_multiprocessor == 1 && Policy::number_bits == 8 &&
                               crowded == Crowded::left_alone;
  // Only these kernels find parts, which costs registers. So only their lists have buckets without known
  // parts, besides the lists of only_digits, which needs none.
  [[maybe_unused]] constexpr bool finds_parts = Policy::number_bits == 16 || crowded == Crowded::by_digits;
  // Narrow buckets of pairs come from bucket_pairs.cuh, which left them alone.
  constexpr bool takes_narrow = leaves_narrow_pairs<Bits, Value> && crowded == Crowded::by_digits;
  const bool was_dealt = plan->was_dealt();
  const auto load = [&](const ListedBucket& bucket, const uint16_t* chunks) {
    if (value_bytes<Value> == 0 && was_dealt)
      sorter.keys().load(bucket.size, task.dealt.keys_of(bucket, chunks));
    else if (takes_narrow && bucket.is_narrow)
      sorter.keys().load_as(bucket.size, task.narrow_source(bucket), [&](NarrowKey<Bits> key, uint32_t) {
        return widen(key, static_cast<Bits>(bucket.lowest));
      });
    else
      sorter.keys().load(bucket.size, keys_of(bucket));
  };
  bool is_loaded = false;
  const auto sort = [&](const ListedBucket& bucket, const uint16_t* chunks, const ListedBucket* next,
                        const uint16_t* next_chunks) {
    if (!is_loaded) load(bucket, chunks);
    is_loaded = false;
    const auto load_next = [&] {
      is_loaded = loads_ahead && next != nullptr;
      if (is_loaded) load(*next, next_chunks);
    };
    const BucketRange range{bucket.first, bucket.size};
    Bits* const to = task.destination(*plan, bucket);
    if constexpr (of_reals)
      return sorter.sort_loaded(range, to, load_next);
    else
      return sorter.template sort_loaded<finds_parts>(range, bucket.parts, to, load_next);
  };
  bucket_list::for_listed(shared.queue, task, *plan, [&](const ListedBucket& bucket, auto... others) {
    if (!sort(bucket, others...)) bucket_list::leave_alone(task, bucket, plan);
  });
}

}  // namespace bucket_sort_detail

/// Sorts the buckets of task.list, each of which fits a block. If `crowded` is left_alone, some may join
/// task.next_list.
template <class Policy, Crowded crowded, class Parts = BucketParts, class Bits, class Value>
void sort_buckets(const bucket_list::BucketTask<Bits, Value>& task, MsdPlan<Bits>* plan,
                  cudaStream_t stream) {
  const auto kernel = bucket_sort_detail::bucket_sort_kernel<Bits, Value, Policy, crowded, Parts>;
  constexpr size_t shared_bytes = sizeof(bucket_sort_detail::Shared<Bits, Value, Policy>);
  const uint32_t blocks = std::min(resident_blocks(kernel, Policy::threads, shared_bytes), msd_max_buckets);
  launch_chained(kernel, {blocks, Policy::threads, shared_bytes}, stream, task, plan);
}

}  // namespace sweepsort
