// sort_arrays_impl.hpp - the body of sort_arrays, for files that each compile it for one key width.
#pragma once

#include "backend/cpu/counting_sort.hpp"
#include "backend/cpu/sort_arrays.hpp"
#include "core/error.hpp"

#include <fmt/format.h>

namespace sweepsort {
namespace {

/// Reverses the array by swapping its halves; each thread swaps its share.
template <class Bits, class Value>
void reverse(Columns<Bits, Value> array, uint64_t count, uint32_t threads) {
  run_team(threads, [&](uint32_t thread) {
    const uint64_t begin = slice_begin(count / 2, thread, threads);
    const uint64_t end = slice_begin(count / 2, thread + 1, threads);
    for (uint64_t i = begin; i < end; ++i) {
      std::swap(array.keys[i], array.keys[count - 1 - i]);
      if constexpr (has_values<Value>) std::swap(array.values[i], array.values[count - 1 - i]);
    }
  });
}

template <class Bits, class Value, bool floats>
class ArraySort {
 public:
  using Array = Columns<Bits, Value>;
  using Codec = Distance<Bits, floats>;
  using Result = SortedArrays<Bits, Value>;

  ArraySort(Array input, const SortJob& job, const KeyDigest<Bits>& digest, const Codec& codec,
            SortMemory<Bits, Value>& memory, const CpuTuning& tuning)
      : input_(input),
        job_(job),
        digest_(digest),
        codec_(codec),
        memory_(memory),
        tuning_(tuning),
        range_(static_cast<Bits>(digest.largest - digest.smallest)) {}

  Result run(SortedInto into) {
    switch (job_.algorithm) {
      case SortAlgorithm::counting: return as_asked_for(counting());
      case SortAlgorithm::radix: return as_asked_for(radix(into));
      case SortAlgorithm::automatic: break;
    }
    if (job_.count < 2 || range_ == 0) return {input_, {.algorithm = "all equal"}};
    if (digest_.ascending) return {input_, {.algorithm = "already sorted"}};
    if (digest_.descending) {
      reverse(input_, job_.count, memory_.threads());
      return {input_, {.algorithm = "reversed"}};
    }
    // With values, a split is as fast as a counting scatter. With few keys, a counter per value does not pay
    // off (u16, two threads: 2^17 keys took 1.5 ms by counting and 0.5 ms by radix; 2^19 keys 2.1 and 2.6
    // ms).
    const bool few = range_ < tuning_.counting_range && (sizeof(Bits) == 1 || job_.count / 8 >= range_);
    return few && !has_values<Value> ? counting() : radix(into);
  }

 private:
  static Result as_asked_for(Result result) {
    result.summary.why = "asked for";
    return result;
  }

  Result counting() {
    if (range_ >= tuning_.forced_counting_range)
      throw Error(fmt::format("--algorithm counting: the keys span {}, more than the {} that can be counted",
                              uint64_t{range_}, tuning_.forced_counting_range - 1),
                  "use --algorithm radix, or auto, which chooses by the data");
    // Counters take 12 bytes per value and thread: use at most 48 MiB, and at most the size of the keys.
    const uint64_t max_bytes = std::min<uint64_t>(uint64_t{48} << 20, job_.count * sizeof(Bits));
    const uint64_t max_threads = max_bytes / 12 / (uint64_t{range_} + 1);
    const auto threads = static_cast<uint32_t>(std::clamp<uint64_t>(max_threads, 1, memory_.threads()));
    SortSummary summary{.algorithm = "counting",
                        .why = fmt::format("the keys span {} values", uint64_t{range_} + 1)};
    if constexpr (has_values<Value>) {
      memory_.take_second_array();
      const Array to = memory_.second_array();
      counting_scatter(input_, to, job_.count, range_, codec_, threads);
      return {to, summary};
    } else {
      counting_sort(input_.keys, job_.count, range_, codec_, threads);
      return {input_, summary};
    }
  }

  Result radix(SortedInto into) {
    if (job_.count == 0) return {input_, {.algorithm = "radix"}};
    memory_.take_workspace();
    const bool splits = job_.count > memory_.workspace().bucket_capacity();
    const bool uses_two = splits && has_values<Value>;
    if (uses_two) memory_.take_second_array();
    RadixJob<Bits, Value, Codec> radix_job{
        .input = input_,
        .other = memory_.second_array(),
        .output = uses_two && into == SortedInto::either_array ? memory_.second_array() : input_,
        .count = job_.count,
        .range = range_,
        .codec = codec_,
        .use_vqsort = uses_vqsort<Bits, Value>(job_, tuning_)};
    RadixSort<Bits, Value, Codec>(radix_job, memory_.workspace(), tuning_).run();
    SortSummary summary;
    summary.algorithm = splits ? "radix-msd" : "radix";
    summary.algorithm += radix_job.use_vqsort ? "+vqsort" : "-lsd";
    summary.why = fmt::format(
        "{}; {}", describe_range(range_),
        splits ? "dealt out to buckets that one core's cache holds" : "one core's cache holds them");
    return {radix_job.output, summary};
  }

  Array input_;
  const SortJob& job_;
  const KeyDigest<Bits>& digest_;
  Codec codec_;
  SortMemory<Bits, Value>& memory_;
  const CpuTuning& tuning_;
  Bits range_;
};

template <class Bits, class Value>
void copy_columns(Columns<Bits, Value> from, Columns<Bits, Value> to, uint64_t count, uint32_t threads) {
  run_team(threads, [&](uint32_t thread) {
    const uint64_t begin = slice_begin(count, thread, threads);
    const uint64_t n = slice_begin(count, thread + 1, threads) - begin;
    std::memcpy(to.keys + begin, from.keys + begin, n * sizeof(Bits));
    if constexpr (has_values<Value>) std::memcpy(to.values + begin, from.values + begin, n * sizeof(Value));
  });
}

}  // namespace

template <class Bits, class Value>
SortedArrays<Bits, Value> sort_arrays(Columns<Bits, Value> input, const SortJob& job,
                                      const KeyDigest<Bits>& digest, SortedInto into,
                                      SortMemory<Bits, Value>& memory, const CpuTuning& tuning) {
  const KeyMap<Bits> map = key_map<Bits>(job.type, job.order);
  const auto run = [&]<bool floats>() {
    return ArraySort<Bits, Value, floats>(input, job, digest, {map, digest.smallest}, memory, tuning)
        .run(into);
  };
  const auto choose = [&]() -> SortedArrays<Bits, Value> {
    if constexpr (sizeof(Bits) >= 4) {
      if (is_floating(job.type)) return run.template operator()<true>();
    }
    return run.template operator()<false>();
  };
  SortedArrays<Bits, Value> result = choose();
  if (into == SortedInto::the_input && job.count > 0 && result.sorted.keys != input.keys) {
    copy_columns(result.sorted, input, job.count, memory.threads());
    result.sorted = input;
  }
  return result;
}

}  // namespace sweepsort
