// large_sort_test.cu - sizes that 32-bit counts do not survive. Keys are made and judged on the device:
// order, and the multiset by a sum over mixed keys.
#include "backend/cuda_sort.hpp"
#include "catch.hpp"
#include "core/fingerprint.hpp"
#include "device_array.hpp"
#include "large_arrays.cuh"
#include "seed.hpp"

#include <cstdint>

namespace sweepsort {
namespace {

template <class Key>
__global__ void make_keys_kernel(Key* keys, uint64_t count, uint64_t seed) {
  for (uint64_t i = first_index(); i < count; i += grid_threads())
    keys[i] = static_cast<Key>(fingerprint_mix(i + seed));
}

struct Judgement {
  unsigned long long sum;
  unsigned long long falls;
};

template <class Key>
__global__ void judge_kernel(const Key* keys, uint64_t count, Judgement* judgement) {
  unsigned long long sum = 0;
  unsigned long long falls = 0;
  for (uint64_t i = first_index(); i < count; i += grid_threads()) {
    sum += fingerprint_mix(keys[i] + 0x9e3779b97f4a7c15ull);
    if (i > 0 && keys[i - 1] > keys[i]) ++falls;
  }
  atomicAdd(&judgement->sum, sum);
  if (falls != 0) atomicAdd(&judgement->falls, falls);
}

template <class Key>
Judgement judge(const DeviceArray<Key>& keys) {
  const DeviceArray<Judgement> judgement(1);
  check(cudaMemset(judgement.data(), 0, sizeof(Judgement)));
  judge_kernel<<<blocks, threads>>>(keys.data(), keys.size(), judgement.data());
  check(cudaGetLastError());
  return judgement.download()[0];
}

template <class Key>
void sort_large(uint64_t count, SortAlgorithm algorithm) {
  INFO("u" << sizeof(Key) * 8 << " n=" << count);
  const DeviceArray<Key> in(count);
  const DeviceArray<Key> out(count);
  make_keys_kernel<<<blocks, threads>>>(in.data(), count, test_seed());
  check(cudaGetLastError());
  const DeviceSort sort{.type = key_type_of<Key>(),
                        .algorithm = algorithm,
                        .count = count,
                        .keys_in = in.data(),
                        .keys_out = out.data()};
  const DeviceArray<std::byte> memory(device_sort_workspace_bytes(sort));
  device_sort(sort, Workspace(memory.span()), nullptr);
  const Judgement before = judge(in);
  const Judgement after = judge(out);
  REQUIRE(before.falls > 0);
  REQUIRE(after.falls == 0);
  REQUIRE(before.sum == after.sum);
  out.check_zones();
  memory.check_zones();
}

}  // namespace

TEST_CASE("counts beyond 31 and 32 bits, 1-byte keys", "[gpu]") {
  for (const uint64_t count : {two_to_31 - 1, two_to_31, two_to_31 + 1, two_to_32 + 3}) {
    sort_large<uint8_t>(count, SortAlgorithm::automatic);
    sort_large<uint8_t>(count, SortAlgorithm::radix);
  }
}

TEST_CASE("counts beyond 31 and 32 bits, 2-byte keys", "[gpu]") {
  sort_large<uint16_t>(two_to_31 + 1, SortAlgorithm::automatic);
  sort_large<uint16_t>(two_to_32 + 3, SortAlgorithm::automatic);
  sort_large<uint16_t>(two_to_32 + 3, SortAlgorithm::radix);
}

TEST_CASE("counts beyond 31 and 32 bits, 4-byte keys", "[gpu]") {
  sort_large<uint32_t>(two_to_31 - 1, SortAlgorithm::automatic);
  sort_large<uint32_t>(two_to_31 + 1, SortAlgorithm::automatic);
  sort_large<uint32_t>(two_to_32 + 3, SortAlgorithm::automatic);
}

TEST_CASE("counts beyond 31 bits, 8-byte keys", "[gpu]") {
  sort_large<uint64_t>(two_to_31 + 1, SortAlgorithm::automatic);
}

}  // namespace sweepsort
