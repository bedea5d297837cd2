// candidate.cu - times one candidate row of a tuning table (kernels/policy.cuh: MSD sort, grid sort or tiled
// grid sort) and checks its result. tune.py compiles it once per candidate, with the row as macros, and runs
// all candidates in turns.
//
//     candidate COUNT RUNS      prints one line: median and minimum in milliseconds, "ok" or "WRONG"
#include "kernels/grid_sort.cuh"
#include "kernels/radix_msd.cuh"
#include "kernels/tiled_grid_sort.cuh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <vector>

#ifndef SWEEPSORT_TUNE_KEY  // compiled without tune.py, as in every build for checking: a row of u64 keys
#define SWEEPSORT_TUNE_KEY uint64_t
#define SWEEPSORT_TUNE_VALUE NoValue
#define SWEEPSORT_TUNE_PARTITION 512, 24, 8, 1
#define SWEEPSORT_TUNE_SMALL 512, 9, 2, 65536
#define SWEEPSORT_TUNE_BUCKET 4096
#define SWEEPSORT_TUNE_DEAL 512, 24, 8, 1
#endif

namespace sweepsort {
namespace {

using Bits = SWEEPSORT_TUNE_KEY;
using Value = SWEEPSORT_TUNE_VALUE;

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

/// Counts wrong neighbours and values separated from their keys, and adds up the mixed bits of all keys.
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

/// Device memory with the layout of `Memory`. Its first memory.zeroed_bytes() bytes are cleared before each
/// sort.
template <class Memory>
struct Candidate {
  Memory memory;
  std::byte* begin;

  explicit Candidate(uint64_t count) : Candidate(count, bytes(count)) {}

  void sort(const SortArrays<Bits, Value>& arrays) const {
    check(cudaMemsetAsync(begin, 0, memory.zeroed_bytes(), nullptr));
    memory.sort(arrays);
  }

 private:
  Candidate(uint64_t count, size_t size) : memory(count), begin(allocate<std::byte>(size)) {
    Workspace carved({begin, size});
    memory.carve(carved);
  }
  static size_t bytes(uint64_t count) {
    Workspace counter;
    Memory(count).carve(counter);
    return counter.used();
  }
};

#if defined(SWEEPSORT_TUNE_GRID)

struct Method {
  using Policy = GridSortPolicy<SWEEPSORT_TUNE_GRID>;
  using Memory = GridSortWorkspace<Bits>;
  std::optional<Memory> workspace;

  explicit Method(uint64_t count) {
    if (count > grid_capacity<Bits, Value, Policy>())
      throw std::length_error("more records than a grid takes");
  }
  static uint64_t scratch_keys(uint64_t count) { return count; }
  void carve(Workspace& from) { workspace.emplace(from); }
  size_t zeroed_bytes() const { return 0; }
  void sort(const SortArrays<Bits, Value>& arrays) const {
    grid_sort<Policy>(arrays, KeyMap<Bits>{}, *workspace, nullptr);
  }
  bool was_taken() const { return true; }  // there is no other method
};

#elif defined(SWEEPSORT_TUNE_TILED)

struct Method {
  using Policy = TiledGridPolicy<SWEEPSORT_TUNE_TILED>;
  using Memory = TiledGridWorkspace<Policy>;
  std::optional<Memory> workspace;
  size_t bytes = 0;

  explicit Method(uint64_t count) {
    if (count > tiled_grid_capacity<Bits, Policy>())
      throw std::length_error("more keys than a tiled grid takes");
  }
  static uint64_t scratch_keys(uint64_t count) { return tiled_grid_scratch<Policy>(count); }
  void carve(Workspace& from) {
    workspace.emplace(from);
    bytes = from.used();
  }
  size_t zeroed_bytes() const { return bytes; }
  void sort(const SortArrays<Bits, Value>& arrays) const {
    tiled_grid_sort(arrays.keys_in, arrays.keys_scratch, arrays.keys_out, arrays.count, KeyMap<Bits>{},
                    *workspace, nullptr);
  }
  bool was_taken() const {
    uint32_t falls_back = 0;
    check(cudaMemcpy(&falls_back, workspace->falls_back.data(), sizeof(falls_back), cudaMemcpyDeviceToHost));
    return falls_back == 0;
  }
};

#else

struct Method {
  using Counting = MsdPolicy<PartitionPolicy<SWEEPSORT_TUNE_PARTITION>,
                             BucketSortPolicy<SWEEPSORT_TUNE_SMALL>, typename TunedMsd<Bits, Value>::Large,
                             MsdLimits{.bucket_keys = SWEEPSORT_TUNE_BUCKET, .min_count = 1}>;
#ifdef SWEEPSORT_TUNE_DEAL
  using Policy = DealingMsd<Counting, PartitionPolicy<SWEEPSORT_TUNE_DEAL>, 1,
                            sizeof(Bits) == 4 ? uint64_t{1} << 30 : uint64_t{1} << 29>;
#else
  using Policy = Counting;
#endif
  using Memory = MsdWorkspace<Bits, Value, Policy>;
  uint64_t count;
  std::optional<Memory> workspace;

  explicit Method(uint64_t count) : count(count) {}
  static uint64_t scratch_keys(uint64_t count) { return Memory::scratch_keys(count); }
  void carve(Workspace& from) { workspace.emplace(from, true, true, count); }
  size_t zeroed_bytes() const { return workspace->zeroed; }
  void sort(const SortArrays<Bits, Value>& arrays) const {
    radix_msd(arrays, MsdSettings<Bits>{}, *workspace, nullptr);
  }
  bool was_taken() const {
    MsdPlan<Bits> plan;
    check(cudaMemcpy(&plan, workspace->plan.data(), sizeof(plan), cudaMemcpyDeviceToHost));
    return !plan.falls_back && plan.was_dealt() == Policy::deals;
  }
};

#endif

int run(uint64_t count, int runs) {
  const uint64_t values = value_bytes<Value> != 0 ? count : 0;
  const SortArrays<Bits, Value> made{.keys_in = allocate<Bits>(count),
                                     .keys_scratch = allocate<Bits>(Method::scratch_keys(count)),
                                     .keys_out = allocate<Bits>(count),
                                     .values_in = allocate<Value>(values),
                                     .values_scratch = allocate<Value>(values),
                                     .values_out = allocate<Value>(values),
                                     .count = count};
  const Candidate<Method> candidate(count);
  fill_kernel<<<1024, 256>>>(const_cast<Bits*>(made.keys_in), const_cast<Value*>(made.values_in), count);

  cudaEvent_t begun;
  cudaEvent_t done;
  check(cudaEventCreate(&begun));
  check(cudaEventCreate(&done));
  const int sorts = count < 1 << 25 ? 20 : 1;  // in a row, so that the launches of short sorts overlap
  std::vector<float> times;
  for (int run = -2; run < runs; ++run) {  // two to warm up
    check(cudaEventRecord(begun));
    for (int sort = 0; sort < sorts; ++sort) candidate.sort(made);
    check(cudaEventRecord(done));
    check(cudaEventSynchronize(done));
    float time = 0;
    check(cudaEventElapsedTime(&time, begun, done));
    if (run >= 0) times.push_back(time / static_cast<float>(sorts));
  }
  unsigned long long* const found = allocate<unsigned long long>(3);
  check(cudaMemset(found, 0, 3 * sizeof(*found)));
  check_kernel<<<1024, 256>>>(made.keys_out, made.values_out, count, found, found + 1);
  check(cudaGetLastError());
  const bool took_its_method = candidate.memory.was_taken();
  // generates the same keys again, for their sum
  fill_kernel<<<1024, 256>>>(made.keys_out, made.values_out, count);
  unsigned long long result[3];
  unsigned long long* const ignored = allocate<unsigned long long>(1);
  check_kernel<<<1024, 256>>>(made.keys_out, made.values_out, count, ignored, found + 2);
  check(cudaMemcpy(result, found, sizeof(result), cudaMemcpyDeviceToHost));
  const bool is_right = result[0] == 0 && result[1] == result[2] && took_its_method;
  std::sort(times.begin(), times.end());
  std::printf("%.4f %.4f %s\n", times[times.size() / 2], times.front(), is_right ? "ok" : "WRONG");
  return is_right ? 0 : 1;
}

}  // namespace
}  // namespace sweepsort

int main(int argc, char** argv) {
  const uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : uint64_t{1} << 28;
  return sweepsort::run(count, argc > 2 ? std::max(std::atoi(argv[2]), 1) : 11);
}
