// candidate.cu - times one candidate row of the MSD sort's tuning table (kernels/policy.cuh) and checks its
// result. tune.py compiles it once a candidate, with the row as macros, and runs all of them in turns.
//
//     candidate COUNT RUNS      prints one line: median and minimum in milliseconds, "ok" or "WRONG"
#include "kernels/radix_msd.cuh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#ifndef SWEEPSORT_TUNE_KEY  // compiled by itself: a row of u64 keys, which every build checks that way
#define SWEEPSORT_TUNE_KEY uint64_t
#define SWEEPSORT_TUNE_VALUE NoValue
#define SWEEPSORT_TUNE_PARTITION 512, 24, 8, 1
#define SWEEPSORT_TUNE_SMALL 512, 9, 2, 16384
#define SWEEPSORT_TUNE_BUCKET 4096
#define SWEEPSORT_TUNE_DEAL 512, 24, 8, 1
#endif

namespace sweepsort {
namespace {

using Bits = SWEEPSORT_TUNE_KEY;
using Value = SWEEPSORT_TUNE_VALUE;
using Counting = MsdPolicy<PartitionPolicy<SWEEPSORT_TUNE_PARTITION>, BucketSortPolicy<SWEEPSORT_TUNE_SMALL>,
                           BucketSortPolicy<1024, sizeof(Bits) + value_bytes<Value> <= 8 ? 16 : 12, 1, 32768>,
                           SWEEPSORT_TUNE_BUCKET, 1>;
#ifdef SWEEPSORT_TUNE_DEAL
using Policy = DealingMsd<Counting, PartitionPolicy<SWEEPSORT_TUNE_DEAL>, 1, uint64_t{1} << 29>;
#else
using Policy = Counting;
#endif

/// Uniform keys: splitmix64 of the index (Steele, Lea & Flood, 2014).
__device__ uint64_t random_of(uint64_t index) {
  uint64_t z = (index + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

template <class Value>
__global__ void fill_kernel(Bits* keys, Value* values, uint64_t count) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += uint64_t{gridDim.x} * blockDim.x) {
    keys[i] = static_cast<Bits>(random_of(i));
    if constexpr (value_bytes<Value> != 0) values[i] = static_cast<Value>(i);
  }
}

/// Wrong neighbours, values away from their keys; and the sum of all keys' mixed bits.
template <class Value>
__global__ void check_kernel(const Bits* keys, const Value* values, uint64_t count, unsigned long long* wrong,
                             unsigned long long* sum) {
  unsigned long long my_sum = 0;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += uint64_t{gridDim.x} * blockDim.x) {
    my_sum += random_of(keys[i]);
    bool is_wrong = i > 0 && keys[i - 1] > keys[i];
    if constexpr (value_bytes<Value> != 0) {
      is_wrong |= keys[i] != static_cast<Bits>(random_of(values[i]));
      is_wrong |= i > 0 && keys[i - 1] == keys[i] && values[i - 1] >= values[i];
    }
    if (is_wrong) atomicAdd(wrong, 1ull);
  }
  atomicAdd(sum, my_sum);
}

template <class T>
T* allocate(uint64_t count) {
  T* memory = nullptr;
  check(cudaMalloc(&memory, std::max<uint64_t>(count, 1) * sizeof(T)));
  check(cudaMemset(memory, 0xee, std::max<uint64_t>(count, 1) * sizeof(T)));
  return memory;
}

int run(uint64_t count, int runs) {
  using Memory = MsdWorkspace<Bits, Value, Policy>;
  const uint64_t values = value_bytes<Value> != 0 ? count : 0;
  const MsdArrays<Bits, Value> made{.keys_in = allocate<Bits>(count),
                                    .keys_scratch = allocate<Bits>(Memory::scratch_keys(count)),
                                    .keys_out = allocate<Bits>(count),
                                    .values_in = allocate<Value>(values),
                                    .values_scratch = allocate<Value>(values),
                                    .values_out = allocate<Value>(values),
                                    .count = count};
  Workspace counter;
  (void)Memory(counter, true, true, count);
  std::byte* const memory = allocate<std::byte>(counter.used());
  Workspace carved({memory, counter.used()});
  const Memory workspace(carved, true, true, count);
  fill_kernel<<<1024, 256>>>(const_cast<Bits*>(made.keys_in), const_cast<Value*>(made.values_in), count);

  cudaEvent_t begun;
  cudaEvent_t done;
  check(cudaEventCreate(&begun));
  check(cudaEventCreate(&done));
  std::vector<float> times;
  for (int run = -2; run < runs; ++run) {  // two to warm up
    check(cudaEventRecord(begun));
    check(cudaMemsetAsync(memory, 0, workspace.zeroed, nullptr));
    radix_msd<Ranking::lane_order>(made, MsdSettings<Bits>{}, workspace, nullptr);
    check(cudaEventRecord(done));
    check(cudaEventSynchronize(done));
    float time = 0;
    check(cudaEventElapsedTime(&time, begun, done));
    if (run >= 0) times.push_back(time);
  }
  unsigned long long* const found = allocate<unsigned long long>(3);
  check(cudaMemset(found, 0, 3 * sizeof(*found)));
  check_kernel<<<1024, 256>>>(made.keys_out, made.values_out, count, found, found + 1);
  check(cudaGetLastError());
  fill_kernel<<<1024, 256>>>(made.keys_out, made.values_out, count);  // the same keys, for their sum
  unsigned long long result[3];
  unsigned long long* const ignored = allocate<unsigned long long>(1);
  check_kernel<<<1024, 256>>>(made.keys_out, made.values_out, count, ignored, found + 2);
  check(cudaMemcpy(result, found, sizeof(result), cudaMemcpyDeviceToHost));
  MsdPlan<Bits> plan;
  check(cudaMemcpy(&plan, workspace.plan.data(), sizeof(plan), cudaMemcpyDeviceToHost));
  const bool took_its_road = !plan.falls_back && plan.was_dealt() == Policy::deals;
  const bool is_right = result[0] == 0 && result[1] == result[2] && took_its_road;
  std::sort(times.begin(), times.end());
  std::printf("%.4f %.4f %s\n", times[times.size() / 2], times.front(), is_right ? "ok" : "WRONG");
  return is_right ? 0 : 1;
}

}  // namespace
}  // namespace sweepsort

int main(int argc, char** argv) {
  const uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : uint64_t{1} << 28;
  return sweepsort::run(count, argc > 2 ? std::atoi(argv[2]) : 11);
}
