// sort_arrays.hpp - chooses the algorithm according to the digest and sorts arrays in memory.
#pragma once

#include "backend/backend.hpp"
#include "backend/cpu/columns.hpp"
#include "backend/cpu/digest.hpp"
#include "backend/cpu/radix_sort.hpp"
#include "backend/cpu/tuning.hpp"
#include "core/page_array.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace sweepsort {

/// How many of `threads` threads are worth using for `count` keys.
uint32_t useful_threads(uint64_t count, uint32_t threads, const CpuTuning& tuning);

/// Whether a sort of this job may distribute records to buckets and not only count them. Pure.
bool takes_workspace(const SortJob& job);

/// Whether a sort of this job may need a second array as large as the first. Pure.
bool needs_second_array(const SortJob& job, const CpuTuning& tuning);

/// The number of bytes in which keys can differ if the largest is `range` above the smallest; and this as a
/// reason for SortSummary.
template <class Bits>
uint32_t live_bytes(Bits range) {
  return (bit_count(range) + 7) / 8;
}
template <class Bits>
std::string describe_range(Bits range) {
  return fmt::format("the keys' range takes {} of {} bytes", live_bytes(range), sizeof(Bits));
}

/// Whether a radix sort finishes its buckets with VQSort.
template <class Bits, class Value>
bool uses_vqsort(const SortJob& job, const CpuTuning& tuning) {
  if (has_values<Value> || sizeof(Bits) < 4 || job.algorithm == SortAlgorithm::radix) return false;
  switch (tuning.accelerator) {
    case Accelerator::never: return false;
    case Accelerator::always: return vqsort_available();
    case Accelerator::automatic: break;
  }
  return vqsort_pays(sizeof(Bits));
}

/// The memory of one sort besides its input: the second array and the threads' workspace.
template <class Bits, class Value>
class SortMemory {
 public:
  SortMemory(const SortJob& job, uint32_t threads, const CpuTuning& tuning)
      : count_(job.count), threads_(useful_threads(job.count, threads, tuning)), tuning_(tuning) {}

  /// Allocates the memory unless it is already allocated. Throws Error if there is not enough.
  void take_workspace() {
    if (!workspace_) workspace_.emplace(threads_, count_, tuning_);
  }
  void take_second_array() {
    if (keys_.size() > 0) return;
    keys_ = PageArray(count_ * sizeof(Bits));
    values_ = PageArray(count_ * value_size<Value>);
  }

  RadixWorkspace<Bits, Value>& workspace() { return *workspace_; }
  Columns<Bits, Value> second_array() const {
    return {reinterpret_cast<Bits*>(keys_.data()), reinterpret_cast<Value*>(values_.data())};
  }
  uint32_t threads() const { return threads_; }

 private:
  uint64_t count_;
  uint32_t threads_;
  CpuTuning tuning_;
  PageArray keys_;
  PageArray values_;
  std::optional<RadixWorkspace<Bits, Value>> workspace_;
};

/// Where the result may be. either_array: the input or the second array in SortMemory, whichever is faster.
enum class SortedInto : uint8_t { the_input, either_array };

template <class Bits, class Value>
struct SortedArrays {
  Columns<Bits, Value> sorted;  // in the input or the second array
  SortSummary summary;          // without sort_s
};

/// Sorts job.count keys (and values, stably) by the map of job.type and job.order. Throws Error if the job
/// asks for counting and the range is too wide. Compiled for the four key widths without values and with
/// values of 4 and 8 bytes.
template <class Bits, class Value>
SortedArrays<Bits, Value> sort_arrays(Columns<Bits, Value> input, const SortJob& job,
                                      const KeyDigest<Bits>& digest, SortedInto into,
                                      SortMemory<Bits, Value>& memory, const CpuTuning& tuning);

}  // namespace sweepsort
