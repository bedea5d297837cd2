// policy_buckets.cuh - what a tuning row (policy.cuh) says of a block that partitions records, and of one
// that sorts a bucket in its shared memory.
#pragma once

#include <cstdint>

namespace sweepsort {

/// radix_partition.cuh: a thread has `batch` atomics in flight at once.
template <uint32_t threads_, uint32_t keys_per_thread_, uint32_t batch_, uint32_t blocks_per_multiprocessor_>
struct PartitionPolicy {
  static constexpr uint32_t blocks_per_multiprocessor = blocks_per_multiprocessor_;
  static constexpr uint32_t threads = threads_;
  static constexpr uint32_t keys_per_thread = keys_per_thread_;
  static constexpr uint32_t batch = batch_;
  static constexpr uint32_t tile = threads * keys_per_thread;
};

/// bucket_sort.cuh: buckets of up to threads * keys_per_thread records, divided into `parts`. The number of a
/// late key among those of its word has `number_bits`, 8 or 16.
template <uint32_t threads_, uint32_t keys_per_thread_, uint32_t blocks_per_multiprocessor_, uint32_t parts_,
          uint32_t number_bits_ = 8>
struct BucketSortPolicy {
  static constexpr uint32_t threads = threads_;
  static constexpr uint32_t keys_per_thread = keys_per_thread_;
  static constexpr uint32_t blocks_per_multiprocessor = blocks_per_multiprocessor_;
  static constexpr uint32_t parts = parts_;
  static constexpr uint32_t number_bits = number_bits_;
  static constexpr uint32_t max_keys = threads * keys_per_thread;
};

/// The same for buckets whose values repeat, so that many keys come late. Open buckets are sorted with it,
/// too.
template <class Policy>
using ForRepeated = BucketSortPolicy<Policy::threads, Policy::keys_per_thread,
                                     Policy::blocks_per_multiprocessor, Policy::parts, 16>;

}  // namespace sweepsort
