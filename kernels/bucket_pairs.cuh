// bucket_pairs.cuh - the end of an MSD radix sort for small buckets of pairs whose keys the partition has
// left as their low 16 bits, since these suffice to tell them apart. Moves 2n - 2 bytes per pair.
//
//     low bits:        5  3  5  4
//     words:           5|0  3|1  5|2  4|3      with the place in the bucket: no two are the same
//     in order:        3|1  4|3  5|0  5|2      by bucket_sort.cuh, as keys alone
//     keys, values:    3 4 5 5, and those from places 1 3 0 2, which wait in shared memory
//
// So placing a pair takes one store, not two, and pairs with equal keys keep their order without further
// work.
#pragma once

#include "core/no_value.hpp"
#include "kernels/bucket_list.cuh"
#include "kernels/bucket_sort.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/ptx.cuh"
#include "kernels/vector16.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace bucket_pairs_detail {

inline constexpr uint32_t blocks_per_multiprocessor = 4;

/// How a word is made of a narrow key and its pair's place in the bucket.
struct WordForm {
  uint32_t lowest;  // of the bucket
  uint32_t shift;   // of places, so that those of equal keys spread over half of their bits or more

  /// For a bucket of `size` pairs, at most 2^16.
  static __device__ __forceinline__ WordForm of(uint32_t lowest, uint32_t size) {
    return {lowest, leading_zeros(size - 1) - 16};
  }
  __device__ __forceinline__ uint32_t word(uint32_t key, uint32_t place) const {
    return ((key - lowest) << 16) + (place << shift);
  }
  __device__ __forceinline__ uint32_t key(uint32_t word) const { return lowest + (word >> 16); }
  __device__ __forceinline__ uint32_t place(uint32_t word) const { return (word & 0xffff) >> shift; }
};

template <class Value, class Policy>
class PairSort {
 public:
  using Words = bucket_sort_detail::Bucket<uint32_t, NoValue, Policy, Crowded::left_alone>;
  using Task = bucket_list::BucketTask<uint32_t, Value>;
  static constexpr uint32_t threads = Policy::threads;
  static constexpr uint32_t width = sizeof(uint4) / sizeof(Value);
  static_assert(Policy::max_keys <= 1u << 16);

  struct PairShared {
    typename Words::BucketShared words;
    alignas(16) Value values[Policy::max_keys + width];  // from the place that the first value has in its
                                                         // vector
  };

  __device__ __forceinline__ PairSort(PairShared& shared, const Task& task, Words& words)
      : shared_(shared), task_(task), words_(words) {}

  /// Returns false, and writes nothing, if the keys crowd in few parts.
  __device__ __forceinline__ bool sort(const ListedBucket& bucket) {
    const auto form = WordForm::of(static_cast<uint32_t>(bucket.lowest), bucket.size);
    words_.keys().load_as(bucket.size, task_.narrow_source(bucket),
                          [=](uint16_t key, uint32_t place) { return form.word(key, place); });
    const Value* const values = task_.arrays.values_in + bucket.first;
    const auto values_lead = static_cast<uint32_t>(bucket.first % width);
    load_values(values - values_lead, values_lead, bucket.size);
    const auto keys_lead = static_cast<uint32_t>(bucket.first % (sizeof(uint4) / sizeof(uint32_t)));
    return words_.sort_to({bucket.first, bucket.size}, bucket.parts, keys_lead, [&](const uint32_t* words) {
      store_keys(words, form, task_.arrays.keys_out + (bucket.first - keys_lead), keys_lead,
                 keys_lead + bucket.size);
      store_values(words + (keys_lead - values_lead), form,
                   task_.arrays.values_out + (bucket.first - values_lead), values_lead,
                   values_lead + bucket.size);
    });
  }

 private:
  /// The loads are in flight until the keys are sorted.
  __device__ __forceinline__ void load_values(const Value* first_vector, uint32_t begin, uint32_t size) {
    const uint32_t end = begin + size;
    for (uint32_t v = threadIdx.x; v * width < end; v += threads) {
      if (v * width >= begin && (v + 1) * width <= end) {
        ptx::load_async(shared_.values + v * width, first_vector + v * width);
        continue;
      }
#pragma unroll
      for (uint32_t i = v * width; i < (v + 1) * width; ++i)
        if (i >= begin && i < end) shared_.values[i] = first_vector[i];
    }
  }

  /// Writes the places [begin, end), counted from a vector of 16 bytes.
  __device__ __forceinline__ void store_keys(const uint32_t* words, const WordForm& form, uint32_t* to,
                                             uint32_t begin, uint32_t end) const {
    const auto key_of = [&](uint32_t word) { return task_.map.from_ordered(form.key(word)); };
    const auto vector_at = [&](uint32_t v) {
      Vector16<uint32_t> vector{.whole = reinterpret_cast<const uint4*>(words)[v]};
      // A loop by reference would keep the vector in local memory.
#pragma unroll
      for (uint32_t k = 0; k < elements_per_vector<uint32_t>; ++k)
        vector.elements[k] = key_of(vector.elements[k]);
      return vector;
    };
    bucket_list::store_places<threads>(to, begin, end, vector_at,
                                       [&](uint32_t place) { return key_of(words[place]); });
  }

  /// The same for values. words[begin] belongs to the first pair. A vector of values begins where a vector of
  /// as many words does.
  __device__ __forceinline__ void store_values(const uint32_t* words, const WordForm& form, Value* to,
                                               uint32_t begin, uint32_t end) const {
    struct alignas(width * sizeof(uint32_t)) Places {
      uint32_t of[width];
    };
    const auto value_of = [&](uint32_t word) { return shared_.values[begin + form.place(word)]; };
    const auto vector_at = [&](uint32_t v) {
      const Places places = reinterpret_cast<const Places*>(words)[v];
      Vector16<Value> vector;
#pragma unroll
      for (uint32_t k = 0; k < width; ++k) vector.elements[k] = value_of(places.of[k]);
      return vector;
    };
    bucket_list::store_places<threads>(to, begin, end, vector_at,
                                       [&](uint32_t place) { return value_of(words[place]); });
  }

  PairShared& shared_;
  const Task& task_;
  Words& words_;
};

template <class Value, class Policy>
__global__ __launch_bounds__(Policy::threads, blocks_per_multiprocessor) void bucket_pairs_kernel(
    bucket_list::BucketTask<uint32_t, Value> task, MsdPlan<uint32_t>* plan) {
  if (ptx::is_before_90()) return;
  ptx::wait_for_previous_launch();
  if (!bucket_list::has_buckets(task, *plan)) return;
  using Sort = PairSort<Value, Policy>;
  auto& shared = shared_memory<typename Sort::PairShared>();
  const bucket_list::BucketArrays<uint32_t, NoValue> none{};
  typename Sort::Words words(shared.words, none, task.map);
  Sort sorter(shared, task, words);
  bucket_list::for_listed(shared.words.queue, task, *plan, [&](const ListedBucket& bucket, auto...) {
    if (sorter.sort(bucket)) return;
    ptx::loads_async_have_arrived();  // of values that nobody uses
    __syncthreads();
    bucket_list::leave_alone_without_parts(task, bucket, plan);
  });
}

}  // namespace bucket_pairs_detail

/// Sorts the buckets of task.list, pairs with narrow keys, with the bucket row `Policy`. Those that are left
/// alone join task.next_list, where their parts are still to be found.
template <class Policy, class Value>
void sort_narrow_pairs(const bucket_list::BucketTask<uint32_t, Value>& task, MsdPlan<uint32_t>* plan,
                       cudaStream_t stream) {
  using namespace bucket_pairs_detail;
  using Sort = PairSort<Value, Policy>;
  launch_chained(
      bucket_pairs_kernel<Value, Policy>,
      {multiprocessors() * blocks_per_multiprocessor, Sort::threads, sizeof(typename Sort::PairShared)},
      stream, task, plan);
}

}  // namespace sweepsort
