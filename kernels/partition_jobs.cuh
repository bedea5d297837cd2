// partition_jobs.cuh - the jobs of the second level of a partition (radix_partition.cuh): pieces of the first
// level's buckets that one block each takes. If a bucket is cut into several jobs, their digits are counted
// first, so that each job knows where its records go. If keys are counted by level (splitters.cuh), the
// digits of all jobs are, and added to the counts of the buckets.
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "core/rounding.hpp"
#include "kernels/bin_counts.cuh"
#include "kernels/block.cuh"
#include "kernels/bucket_map.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/pair_arrays.cuh"
#include "kernels/partition_task.cuh"
#include "kernels/ptx.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace partition_detail {

inline constexpr uint32_t count_threads = 1024;

template <class Bits>
struct CountShared {
  Bits splitters[msd_digits];
  uint64_t warp_sums[count_threads / warp_threads];
  PartitionJob jobs[msd_max_jobs];
  uint32_t counts[count_threads / warp_threads][msd_digits];
};

/// Cuts the first level's buckets into the jobs of the second one, for an array of `count` keys. One thread
/// per parent. The jobs of parents that are cut come last: they are small, and fill the time that the others
/// leave some blocks. Every block makes the same jobs. Returns their number.
template <class Bits>
__device__ __forceinline__ uint32_t make_jobs(CountShared<Bits>& shared, const uint64_t* offsets,
                                              uint64_t count, const MsdPlan<Bits>& plan) {
  const uint32_t parent = threadIdx.x;
  const uint32_t children_bits = plan.bucket_bits - msd_digit_bits;
  const auto first_of = [&](uint32_t p) { return p < msd_digits ? offsets[p << children_bits] : plan.keys; };
  const uint64_t first = first_of(parent);
  // A value that stands apart has a parent of its own, which needs no partition.
  const bool is_apart = plan.apart.exists && parent == plan.apart.bucket >> children_bits;
  const uint64_t keys = is_apart ? 0 : first_of(parent + 1) - first;
  const bool is_cut = keys > msd_job_keys(count);
  const uint64_t each = is_cut ? min(max(keys / 64, msd_cut_keys(count)), msd_job_keys(count)) : keys;
  const uint64_t mine = keys == 0 ? 0 : ceil_divide(keys, each);
  // Both kinds are counted at once, in the two halves of a word.
  uint64_t total = 0;
  const uint64_t before =
      block_exclusive_sum<count_threads>(is_cut ? mine << 32 : mine, shared.warp_sums, total);
  const auto whole = static_cast<uint32_t>(total);
  // A job that is counted has a row. If all are, it has the number of the job.
  const bool counts_all = plan.counts_by_level != 0;
  const uint32_t first_row = counts_all ? whole : 0;
  if (keys != 0 && !is_cut)
    shared.jobs[static_cast<uint32_t>(before)] = {.first = first,
                                                  .count = keys,
                                                  .parent = parent,
                                                  .row = static_cast<uint32_t>(before),
                                                  .rows_before = 0,
                                                  .has_row = counts_all};
  for (uint32_t cut = __ballot_sync(full_warp, is_cut); cut != 0; cut &= cut - 1) {
    const uint32_t lane = static_cast<uint32_t>(__ffs(static_cast<int>(cut))) - 1;
    const auto from_lane = [&](uint64_t value) { return shuffle_from(value, lane); };
    const auto its_row = static_cast<uint32_t>(from_lane(before) >> 32);
    const uint64_t its_first = from_lane(first), its_keys = from_lane(keys), its_each = from_lane(each);
    for (uint32_t j = ptx::lane_id(); j * its_each < its_keys; j += warp_threads)
      shared.jobs[whole + its_row + j] = {.first = its_first + j * its_each,
                                          .count = min(its_each, its_keys - j * its_each),
                                          .parent = parent / warp_threads * warp_threads + lane,
                                          .row = first_row + its_row + j,
                                          .rows_before = j,
                                          .has_row = 1};
  }
  __syncthreads();
  return whole + static_cast<uint32_t>(total >> 32);
}

/// For jobs that share a parent with others: counts how many keys have each digit.
template <class Bits, class Records>
class JobCounter {
 public:
  /// `is_split`: digits come from splitters, not from a map.
  __device__ JobCounter(CountShared<Bits>& shared, const Records& records, uint32_t digit_bits, bool is_split)
      : shared_(shared),
        records_(records),
        counts_(shared.counts[threadIdx.x / warp_threads]),
        digits_(1u << digit_bits),
        is_split_(is_split),
        tree_{shared.splitters, digit_bits} {}

  /// `splitters`: of the job's parent, if there are any. to(digit, keys) gets the counts. Called by the whole
  /// block.
  template <class DigitOf, class To>
  __device__ __forceinline__ void count(const PartitionJob& job, const Bits* splitters,
                                        const DigitOf& digit_of, To to) const {
    if (is_split_) {
      tree_.plant(splitters, 0);
      __syncthreads();
    }
    for (uint32_t d = ptx::lane_id(); d < msd_digits; d += warp_threads) counts_[d] = 0;
    __syncwarp();
    for (uint64_t row = 0; row < job.count; row += uint64_t{count_threads} * in_flight)
      count_rows(job, row, digit_of);
    __syncthreads();
    if (threadIdx.x < digits_) {
      uint32_t sum = 0;
      for (uint32_t w = 0; w < count_threads / warp_threads; ++w) sum += shared_.counts[w][threadIdx.x];
      to(threadIdx.x, sum);
    }
    __syncthreads();
  }

 private:
  static constexpr uint32_t in_flight = 8;

  template <class DigitOf>
  __device__ __forceinline__ void count_rows(const PartitionJob& job, uint64_t row,
                                             const DigitOf& digit_of) const {
    Bits key[in_flight];
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u) {
      const uint64_t i = row + u * count_threads + threadIdx.x;
      if (i < job.count) key[u] = records_.key_at(job.first + i);
    }
    uint32_t split[in_flight];
    if (is_split_) tree_.find(key, split);
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u) {
      const bool is_present = row + u * count_threads + threadIdx.x < job.count;
      const uint32_t digit = is_split_ ? split[u] : is_present ? digit_of(key[u]) : 0;
      // Between splitters, a frequent value fills most of its parent: its lanes would queue up for one
      // counter.
      uint32_t times = is_present;
      if (is_split_) {
        const bool is_first = digit == shuffle_from(digit, 0);
        const uint32_t peers = __ballot_sync(full_warp, is_present && is_first);
        if (is_first) times = ptx::lane_id() == 0 ? static_cast<uint32_t>(__popc(peers)) : 0;
      }
      if (times != 0) atomicAdd(&counts_[digit], times);
    }
  }

  CountShared<Bits>& shared_;
  const Records& records_;
  uint32_t (&counts_)[msd_digits];  // of the warp
  uint32_t digits_;
  bool is_split_;
  SplitterTree<Bits> tree_;
};

/// Makes the jobs of the second level, and counts the digits of those that share a parent with others.
template <class Bits, class Value>
__global__ __launch_bounds__(count_threads) void count_jobs_kernel(KeyArrays<Bits> keys,
                                                                   const uint64_t* offsets, uint64_t count,
                                                                   MsdPlan<Bits>* plan, PartitionJob* jobs,
                                                                   uint32_t* job_counts,
                                                                   const Bits* splitters, BinCounts counts) {
  ptx::wait_for_previous_launch();
  if (!plan->partitions_by_counts()) return;
  auto& shared = shared_memory<CountShared<Bits>>();
  const auto records = [&] {
    if constexpr (value_bytes<Value> != 0)
      return records_of<Bits, Value>(keys.source(1, *plan));
    else
      return PairColumns<const Bits, const Value>{keys.source(1, *plan), nullptr};
  }();
  const uint32_t made = make_jobs(shared, offsets, count, *plan);
  if (blockIdx.x == 0) {
    for (uint32_t number = threadIdx.x; number < made; number += count_threads)
      jobs[number] = shared.jobs[number];
    if (threadIdx.x == 0) plan->jobs = made;
  }
  const uint32_t digits = 1u << (plan->bucket_bits - msd_digit_bits);
  const LinearBuckets<Bits> linear = plan->linear_buckets();
  const BucketsBeside<Bits> beside = plan->buckets_beside(plan->pieces);
  const auto real_pieces = plan->real_pieces(plan->pieces);
  const bool is_pieced = plan->is_pieced != 0;
  const bool has_real_pieces = is_pieced && plan->has_real_pieces != 0;
  const bool has_apart = may_stand_apart<Bits> && plan->apart.exists != 0;
  const auto digit_of = [&](Bits ordered) {
    const uint32_t bucket = has_apart         ? beside(ordered)
                            : has_real_pieces ? real_pieces(ordered)
                            : is_pieced       ? beside.pieced(ordered)
                                              : linear(ordered);
    return bucket & (digits - 1);
  };
  const JobCounter counter(shared, records, plan->bucket_bits - msd_digit_bits,
                           may_split<Bits, Value> && plan->is_split != 0);
  for (uint32_t number = blockIdx.x; number < made; number += gridDim.x) {
    const PartitionJob& job = shared.jobs[number];
    if (!job.has_row) continue;
    counter.count(job, splitters + job.parent * digits, digit_of,
                  [&](uint32_t digit, uint32_t keys_of_digit) {
                    job_counts[job.row * msd_digits + digit] = keys_of_digit;
                    if constexpr (may_split<Bits, Value>)
                      if (plan->counts_by_level && keys_of_digit != 0)
                        counts.add(job.parent * digits + digit, keys_of_digit);
                  });
  }
}

}  // namespace partition_detail

/// Between the levels of a partition: makes the jobs of the second one, with their counts, and tells `task`.
/// If keys are counted by level, adds to `counts`, by bucket.
template <class Bits, class Value>
void make_partition_jobs(PartitionTask<Bits, Value>& task, PartitionJob* jobs, uint32_t* job_counts,
                         const BinCounts& counts, cudaStream_t stream) {
  using namespace partition_detail;
  launch_chained(count_jobs_kernel<Bits, Value>,
                 {multiprocessors(), count_threads, sizeof(CountShared<Bits>)}, stream, task.keys,
                 task.offsets, task.count, task.plan, jobs, job_counts, task.splitters, counts);
  task.jobs = jobs;
  task.job_counts = job_counts;
}

}  // namespace sweepsort
