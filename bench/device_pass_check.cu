// device_pass_check.cu - checks every element of the results of scans and searches on the GPU.
#include "bench/device_pass.hpp"
#include "core/rounding.hpp"
#include "kernels/launch.cuh"

#include <algorithm>
#include <limits>

namespace sweepsort::bench {
namespace {

constexpr uint32_t threads_per_block = 256;

/// One thread per element, up to a number that keeps any GPU busy; kernels use a stride for the rest.
LaunchShape shape_for(uint64_t count) {
  constexpr uint64_t most = 1 << 16;
  const uint64_t blocks = ceil_divide(count, threads_per_block);
  return {.blocks = static_cast<uint32_t>(std::clamp<uint64_t>(blocks, 1, most)),
          .threads = threads_per_block};
}

__device__ uint64_t first_index() { return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ uint64_t stride() { return uint64_t{gridDim.x} * blockDim.x; }

/// The results of the checks, in PassArrays::check.
struct Verdict {
  unsigned long long fault = 0;
  unsigned long long first = std::numeric_limits<unsigned long long>::max();
  unsigned long long exclusive_or = 0;
};
static_assert(sizeof(Verdict) <= check_words * sizeof(uint64_t));

template <class T, class Op>
__global__ void scan_fault_kernel(const T* in, const T* out, uint64_t count, ScanRule<T, Op> rule,
                                  Verdict* verdict) {
  for (uint64_t i = first_index(); i < count; i += stride())
    if (!rule.holds(in, out, i)) verdict->fault = 1;
}

template <class Bits>
__global__ void search_fault_kernel(const Bits* in, uint64_t count, KeyMap<Bits> map, Bits best,
                                    Verdict* verdict) {
  unsigned long long first = std::numeric_limits<unsigned long long>::max();
  for (uint64_t i = first_index(); i < count; i += stride()) {
    const Bits ordered = map.to_ordered(in[i]);
    if (ordered < best) verdict->fault = 1;
    if (ordered == best && i < first) first = i;
  }
  // Many elements may be equal. To limit contention, only threads that found an earlier one update the
  // result.
  if (first < verdict->first) atomicMin(&verdict->first, first);
}

__global__ void exclusive_or_kernel(const unsigned long long* in, uint64_t words, Verdict* verdict) {
  unsigned long long mine = 0;
  for (uint64_t i = first_index(); i < words; i += stride()) mine ^= in[i];
  atomicXor(&verdict->exclusive_or, mine);
}

/// Clears the verdict, lets `judge` fill it in, and waits for it.
template <class F>
Verdict verdict_of(const PassArrays& arrays, cudaStream_t stream, F&& judge) {
  Verdict verdict;
  auto* const on_device = reinterpret_cast<Verdict*>(arrays.check.data());
  check(cudaMemcpyAsync(on_device, &verdict, sizeof verdict, cudaMemcpyHostToDevice, stream));
  judge(on_device);
  check(cudaMemcpyAsync(&verdict, on_device, sizeof verdict, cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  return verdict;
}

}  // namespace

bool scan_is_right(const PassCase& what, const PassArrays& arrays, cudaStream_t stream) {
  const Verdict verdict = verdict_of(arrays, stream, [&](Verdict* on_device) {
    with_scan_rule(what, [&]<class T, class Op>(const ScanRule<T, Op>& rule) {
      launch(scan_fault_kernel<T, Op>, shape_for(what.count), stream, static_cast<const T*>(arrays.in),
             static_cast<const T*>(arrays.out), what.count, rule, on_device);
    });
  });
  return verdict.fault == 0;
}

bool search_is_right(const PassCase& what, const PassFound& found, const PassArrays& arrays,
                     cudaStream_t stream) {
  const Verdict verdict = verdict_of(arrays, stream, [&](Verdict* on_device) {
    dispatch(what.type, [&]<class Key>(std::type_identity<Key>) {
      using Bits = BitsOf<Key>;
      const KeyMap<Bits> map = extreme_map<Bits>(what.type, what.extreme);
      launch(search_fault_kernel<Bits>, shape_for(what.count), stream, static_cast<const Bits*>(arrays.in),
             what.count, map, map.to_ordered(static_cast<Bits>(found.bits)), on_device);
    });
  });
  const bool stands_somewhere = verdict.first < what.count;
  return verdict.fault == 0 && stands_somewhere && (!what.wants_index || verdict.first == found.index);
}

bool read_is_right(const PassCase& what, uint64_t found, const PassArrays& arrays, cudaStream_t stream) {
  const uint64_t words = what.bytes() / sizeof(uint64_t);
  const Verdict verdict = verdict_of(arrays, stream, [&](Verdict* on_device) {
    launch(exclusive_or_kernel, shape_for(words), stream, static_cast<const unsigned long long*>(arrays.in),
           words, on_device);
  });
  return verdict.exclusive_or == found;
}

}  // namespace sweepsort::bench
