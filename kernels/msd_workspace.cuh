// msd_workspace.cuh - the device memory of an MSD sort (radix_msd.cuh), and what it is told.
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "core/rounding.hpp"
#include "kernels/bucket_list.cuh"
#include "kernels/device_span.cuh"
#include "kernels/frequent_survey.cuh"
#include "kernels/histogram.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/msd_sample.cuh"
#include "kernels/msd_survey.cuh"
#include "kernels/pair_arrays.cuh"
#include "kernels/policy_msd.cuh"
#include "kernels/sort_plan.cuh"
#include "kernels/splitters.cuh"
#include "kernels/uncounted_layout.cuh"
#include "kernels/value_codes.cuh"
#include "kernels/value_table.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

template <class Bits, class Value>
inline constexpr bool has_msd_sort = !std::is_void_v<TunedMsd<Bits, Value>>;

/// Device memory of an MSD sort besides a scratch array of `count` records. The memory up to `zeroed` must be
/// zero before each sort.
template <class Bits, class Value, class Policy = TunedMsd<Bits, Value>>
struct MsdWorkspace {
  static constexpr uint32_t max_spans = 512;  // blocks of the first level
  static constexpr bool with_values = value_bytes<Value> != 0;
  /// A job has a row if it is one of several of a parent or, between splitters, always.
  static constexpr uint32_t max_rows = Policy::splits ? msd_max_jobs : msd_max_rows;

  DeviceSpan<MsdPlan<Bits>> plan;
  DeviceSpan<value_table::Table<Bits>> values;
  DeviceSpan<SortPlan<Bits>> expansion;
  DeviceSpan<uint64_t> counts;        // by bucket: BinCounts
  DeviceSpan<uint32_t> sample_sizes;  // by finder
  DeviceSpan<uint32_t> dealt_whole;   // by parent: keys dealt to it in whole sectors,
  DeviceSpan<uint32_t> dealt_rest;    // and all other keys dealt to it
  size_t zeroed;
  DeviceSpan<uint64_t> offsets;  // by bucket
  DeviceSpan<value_table::ListedValues<Bits>> listed;
  DeviceSpan<uint32_t> rest_counts;   // by span
  DeviceSpan<ListedBucket> lists;     // BucketLists
  DeviceSpan<uint64_t> dealt_counts;  // by bucket
  SplitterWorkspace<Bits> splitters;
  // Only the partition that counts writes these. It runs if dealing was not tried or has failed, so the
  // numbers of dealt chunks lie in the same memory.
  DeviceSpan<uint32_t> span_counts;
  DeviceSpan<PartitionJob> jobs;
  DeviceSpan<uint32_t> job_counts;
  DeviceSpan<uint16_t> dealt_chunks;

  /// `is_wanted` false: takes almost no memory. The workspace then only serves count_few_values(), if
  /// `counts_few_values`. Up to `dealt` keys may be partitioned without being counted.
  explicit MsdWorkspace(Workspace& workspace, bool is_wanted = true, bool counts_few_values = true,
                        uint64_t dealt = 0)
      : plan(workspace.take<MsdPlan<Bits>>(is_wanted || counts_few_values)),
        values(workspace.take<value_table::Table<Bits>>(is_wanted || counts_few_values)),
        expansion(workspace.take<SortPlan<Bits>>(is_wanted || counts_few_values)),
        counts(workspace.take<uint64_t>(is_wanted ? msd_max_buckets : 0)),
        sample_sizes(workspace.take<uint32_t>(is_wanted && !with_values ? survey_detail::finders : 0)),
        dealt_whole(workspace.take<uint32_t>(has_dealt(dealt) ? msd_digits : 0)),
        dealt_rest(workspace.take<uint32_t>(has_dealt(dealt) ? msd_digits : 0)),
        zeroed(workspace.used()),
        offsets(workspace.take<uint64_t>(is_wanted ? msd_max_buckets : 0)),
        listed(workspace.take<value_table::ListedValues<Bits>>(is_wanted || counts_few_values)),
        rest_counts(workspace.take<uint32_t>(is_wanted ? max_spans : 0)),
        lists(workspace.take<ListedBucket>(is_wanted ? BucketLists::entries : 0)),
        dealt_counts(workspace.take<uint64_t>(has_dealt(dealt) ? msd_max_buckets : 0)),
        splitters(workspace, is_wanted && Policy::splits) {
    Workspace dealing = workspace;
    span_counts = workspace.take<uint32_t>(is_wanted ? uint64_t{max_spans} * msd_digits : 0);
    jobs = workspace.take<PartitionJob>(is_wanted ? msd_max_jobs : 0);
    job_counts = workspace.take<uint32_t>(is_wanted ? uint64_t{max_rows} * msd_digits : 0);
    dealt_chunks = dealing.take<uint16_t>(has_dealt(dealt) ? chunks(dealt) : 0);
    workspace.share_with(dealing);
  }

  /// The sample lies in the memory where buckets will be listed, one for splitters in the scratch array.
  std::byte* sample() const {
    static_assert(survey_detail::CollectedSample<Bits>::bytes(survey_detail::max_places(with_values)) <=
                  BucketLists::entries * sizeof(ListedBucket));
    return reinterpret_cast<std::byte*>(lists.data());
  }
  /// Whether `count` keys may be partitioned without being counted.
  static constexpr bool deals(uint64_t count) {
    if constexpr (Policy::deals) return count >= Policy::dealt_from && count <= Policy::dealt_to;
    return false;
  }
  /// Whether there is room for that. True for larger counts, too, so that more keys never need less memory.
  static constexpr bool has_dealt(uint64_t count) {
    if constexpr (Policy::deals) return count >= Policy::dealt_from;
    return false;
  }
  static constexpr UncountedLayout<Bits> layout(uint64_t count) {
    return {count, msd_bucket_bits(count, Policy::limits.bucket_keys)};
  }
  /// Elements of the scratch array of keys. For pairs, it also holds the values.
  static constexpr uint64_t scratch_keys(uint64_t count) {
    if constexpr (with_values) {
      const uint64_t keys = ceil_divide(count * PairRecord<Bits, Value>::bytes, sizeof(Bits));
      if constexpr (Policy::splits)
        return std::max(
            keys, splitters_detail::split_shape<Policy>(count).template sample_bytes<Bits>() / sizeof(Bits));
      return keys;
    }
    if constexpr (Policy::deals)
      if (count >= Policy::dealt_from)
        return std::max(count, layout(std::min(count, Policy::dealt_to)).keys());
    return count;
  }
  static constexpr uint64_t chunks(uint64_t count) {
    if constexpr (Policy::deals) count = std::min(count, Policy::dealt_to);
    return uint64_t{layout(count).chunks_per_bucket} << msd_bucket_bits(count, Policy::limits.bucket_keys);
  }
};

/// For records that have no MSD sort.
template <class Bits, class Value>
struct MsdWorkspace<Bits, Value, void> {
  size_t zeroed;
  explicit MsdWorkspace(Workspace& workspace, bool /*is_wanted*/ = false, bool /*counts_few_values*/ = false,
                        uint64_t /*dealt*/ = 0)
      : zeroed(workspace.used()) {}
};

/// What an MSD sort needs to know besides its arrays. Pointers are to device memory and may be null.
template <class Bits>
struct MsdSettings {
  KeyMap<Bits> map;
  const Digest<Bits>* digest = nullptr;   // of all keys; null: they are only sampled
  Digest<Bits>* digest_beside = nullptr;  // all zeros; is taken while one block samples
  const uint32_t* wanted = nullptr;       // if it points to zero, nothing is done
  CodePasses<Bits> codes = {};            // plans what is left to do if the records have few values
};

}  // namespace sweepsort
