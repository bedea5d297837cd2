// large_scan_test.cu - scans and searches of more elements than 31 and 32 bits can count. Elements are made
// so that every result follows from its index alone; a kernel compares each one.
#include "backend/cuda_scan.hpp"
#include "catch.hpp"
#include "core/fingerprint.hpp"
#include "device_array.hpp"
#include "large_arrays.cuh"
#include "seed.hpp"

#include <cstdint>

namespace sweepsort {
namespace {

/// Random sums. Element i is the difference between the i-th sum and the next.
template <class T>
struct RandomSums {
  static constexpr ScanOp op = ScanOp::sum;
  uint64_t seed;
  /// The sum of the elements before `index`.
  __device__ T before(uint64_t index) const {
    return static_cast<T>(fingerprint_mix(index + seed) - fingerprint_mix(seed));
  }
  __device__ T element(uint64_t index) const { return static_cast<T>(before(index + 1) - before(index)); }
};

/// The maximum so far grows by one every 256 elements. Between these are random smaller elements.
template <class T>
struct RisingMaxima {
  static constexpr ScanOp op = ScanOp::max;
  uint64_t seed;
  __device__ T before(uint64_t index) const { return index == 0 ? T{0} : static_cast<T>((index - 1) / 256); }
  __device__ T element(uint64_t index) const {
    const uint64_t largest = index / 256;
    return static_cast<T>(index % 256 == 0 ? largest : fingerprint_mix(index + seed) % (largest + 1));
  }
};

template <class T, class Elements>
__global__ void make_elements_kernel(T* out, uint64_t count, Elements elements) {
  for (uint64_t i = first_index(); i < count; i += grid_threads()) out[i] = elements.element(i);
}

template <class T, class Elements>
__global__ void count_wrong_kernel(const T* out, uint64_t count, bool exclusive, Elements elements,
                                   unsigned long long* wrong) {
  unsigned long long found = 0;
  for (uint64_t i = first_index(); i < count; i += grid_threads())
    found += out[i] != elements.before(exclusive ? i : i + 1);
  if (found != 0) atomicAdd(wrong, found);
}

template <class T, class Elements>
void scan_large(uint64_t count, ScanAlgorithm algorithm, ScanKind kind, uint64_t ring_from_bytes = 0) {
  const Elements elements{test_seed()};
  INFO(name(key_type_of<T>()) << " " << name(algorithm) << " " << name(Elements::op) << " " << name(kind)
                              << " n=" << count << " ring from " << ring_from_bytes << ", " << replay_text());
  const DeviceArray<T> in(count);
  const DeviceArray<T> out(count);
  make_elements_kernel<<<blocks, threads>>>(in.data(), count, elements);
  check(cudaGetLastError());

  const DeviceArray<T> start(1);
  check(cudaMemset(start.data(), 0, sizeof(T)));
  DeviceScan scan{
      .type = key_type_of<T>(), .op = Elements::op, .kind = kind, .algorithm = algorithm, .count = count};
  scan.in = in.data();
  scan.out = out.data();
  scan.initial = start.data();
  scan.ring_from_bytes = ring_from_bytes;
  const DeviceArray<std::byte> memory(device_scan_workspace_bytes(scan));
  device_scan_prepare(scan, Workspace(memory.span()), nullptr);
  device_scan(scan, Workspace(memory.span()), nullptr);

  const DeviceArray<unsigned long long> wrong(1);
  check(cudaMemset(wrong.data(), 0, sizeof(unsigned long long)));
  count_wrong_kernel<<<blocks, threads>>>(out.data(), count, kind == ScanKind::exclusive, elements,
                                          wrong.data());
  check(cudaGetLastError());
  REQUIRE(wrong.download()[0] == 0);
  out.check_zones();
  memory.check_zones();
}

constexpr ScanAlgorithm gpu_algorithms[] = {ScanAlgorithm::lookback, ScanAlgorithm::shuffle,
                                            ScanAlgorithm::blelloch, ScanAlgorithm::blelloch_padded,
                                            ScanAlgorithm::hillis_steele};
constexpr uint64_t no_ring = ~uint64_t{0};

}  // namespace

TEST_CASE("every scan counts beyond 31 and 32 bits", "[gpu]") {
  for (const uint64_t count : {two_to_31 + 1, two_to_32 + 3})
    for (const ScanKind kind : {ScanKind::inclusive, ScanKind::exclusive}) {
      for (const ScanAlgorithm algorithm : gpu_algorithms)
        scan_large<uint8_t, RandomSums<uint8_t>>(count, algorithm, kind);
      scan_large<uint8_t, RandomSums<uint8_t>>(count, ScanAlgorithm::lookback, kind, no_ring);
      scan_large<uint32_t, RisingMaxima<uint32_t>>(count, ScanAlgorithm::lookback, kind);
    }
  scan_large<uint64_t, RandomSums<uint64_t>>(two_to_31 + 1, ScanAlgorithm::lookback, ScanKind::inclusive);
}

TEST_CASE("the smallest of more than 2^32 elements is found, and where it is first", "[gpu]") {
  constexpr uint64_t count = two_to_32 + 3;
  constexpr uint64_t place = two_to_32 + 1;
  const DeviceArray<uint8_t> in(count);
  check(cudaMemset(in.data(), 9, count));
  check(cudaMemset(in.data() + place, 7, 2));
  for (const ReduceAlgorithm algorithm : {ReduceAlgorithm::single_pass, ReduceAlgorithm::two_launch}) {
    INFO(name(algorithm));
    DeviceReduce reduce{.type = KeyType::u8, .algorithm = algorithm, .count = count};
    reduce.in = in.data();
    reduce.wants_index = true;
    const DeviceArray<std::byte> memory(device_reduce_workspace_bytes(reduce));
    device_reduce_begin(reduce, Workspace(memory.span()), nullptr);
    device_reduce(reduce, Workspace(memory.span()), nullptr);
    const DeviceReduced result = device_reduce_result(reduce, Workspace(memory.span()), nullptr);
    REQUIRE(result.found);
    REQUIRE(result.bits == 7);
    REQUIRE(result.index == place);
    memory.check_zones();
  }
}

}  // namespace sweepsort
