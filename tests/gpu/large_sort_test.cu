// large_sort_test.cu - sizes that overflow 32-bit counts. Keys are made and judged on the device: their
// order, and the multiset by a sum over mixed keys or by the places that the values name.
#include "backend/cuda_sort.hpp"
#include "catch.hpp"
#include "core/fingerprint.hpp"
#include "device_array.hpp"
#include "large_arrays.cuh"
#include "seed.hpp"

#include <cstdint>

namespace sweepsort {
namespace {

/// Even keys; the AND of three, which is sorted by digits; a thousand values.
enum class Keys { even, skewed, few };

template <class Key>
__global__ void make_keys_kernel(Key* keys, uint64_t count, uint64_t seed, Keys kind) {
  for (uint64_t i = first_index(); i < count; i += grid_threads()) {
    uint64_t key = fingerprint_mix(i + seed);
    if (kind == Keys::skewed) key &= fingerprint_mix(key) & fingerprint_mix(key + 1);
    if (kind == Keys::few) key = fingerprint_mix(key % 1000);
    keys[i] = static_cast<Key>(key);
  }
}

/// Each value says where its record came from.
__global__ void number_kernel(uint32_t* values, uint64_t count) {
  for (uint64_t i = first_index(); i < count; i += grid_threads()) values[i] = static_cast<uint32_t>(i);
}

struct Judgement {
  unsigned long long sum;
  unsigned long long falls;
  bool operator==(const Judgement&) const = default;
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

/// Counts values that do not name a place of their key, and equal keys whose values do not rise. If there are
/// none, no value comes twice.
template <class Key>
__global__ void judge_values_kernel(const Key* in, const Key* out, const uint32_t* values, uint64_t count,
                                    unsigned long long* wrong) {
  for (uint64_t i = first_index(); i < count; i += grid_threads())
    if (values[i] >= count || in[values[i]] != out[i] ||
        (i > 0 && out[i - 1] == out[i] && values[i - 1] >= values[i]))
      atomicAdd(wrong, 1ull);
}

/// Whether the device has room for `arrays` arrays of `count` records, and a workspace. Reports if not.
bool has_room(uint64_t count, uint64_t record_bytes, uint64_t arrays) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes));
  const uint64_t wanted = count * record_bytes * arrays + (uint64_t{256} << 20);
  if (wanted <= free_bytes) return true;
  WARN("skipped: " << count << " records of " << record_bytes << " bytes want " << wanted
                   << " bytes of the GPU, and " << free_bytes << " are free");
  return false;
}

template <class Key>
void sort_large(uint64_t count, SortAlgorithm algorithm, Keys kind = Keys::even) {
  if (!has_room(count, sizeof(Key), 3)) return;
  INFO("u" << sizeof(Key) * 8 << " n=" << count << " kind " << static_cast<int>(kind) << ", "
           << replay_text());
  const DeviceArray<Key> in(count);
  const DeviceArray<Key> out(count);
  make_keys_kernel<<<blocks, threads>>>(in.data(), count, test_seed(), kind);
  check(cudaGetLastError());
  const Judgement before = judge(in);
  const DeviceSort sort{.type = key_type_of<Key>(),
                        .algorithm = algorithm,
                        .count = count,
                        .keys_in = in.data(),
                        .keys_out = out.data()};
  const DeviceArray<std::byte> memory(device_sort_workspace_bytes(sort));
  device_sort(sort, Workspace(memory.span()), nullptr);
  const Judgement after = judge(out);
  REQUIRE(before.falls > 0);
  REQUIRE(after.falls == 0);
  REQUIRE(before.sum == after.sum);
  REQUIRE(judge(in) == before);
  in.check_zones();
  out.check_zones();
  memory.check_zones();
}

/// The value is the place of the record, so there are fewer than 2^32 records.
template <class Key>
void sort_large_pairs(uint64_t count, Keys kind) {
  if (!has_room(count, sizeof(Key) + sizeof(uint32_t), 3)) return;
  INFO("u" << sizeof(Key) * 8 << "+u32 n=" << count << " kind " << static_cast<int>(kind) << ", "
           << replay_text());
  const DeviceArray<Key> in(count);
  const DeviceArray<Key> out(count);
  const DeviceArray<uint32_t> values_in(count);
  const DeviceArray<uint32_t> values_out(count);
  make_keys_kernel<<<blocks, threads>>>(in.data(), count, test_seed(), kind);
  number_kernel<<<blocks, threads>>>(values_in.data(), count);
  check(cudaGetLastError());
  const Judgement keys_before = judge(in);
  const Judgement values_before = judge(values_in);
  const DeviceSort sort{.type = key_type_of<Key>(),
                        .count = count,
                        .value_bytes = sizeof(uint32_t),
                        .keys_in = in.data(),
                        .keys_out = out.data(),
                        .values_in = values_in.data(),
                        .values_out = values_out.data()};
  const DeviceArray<std::byte> memory(device_sort_workspace_bytes(sort));
  device_sort(sort, Workspace(memory.span()), nullptr);
  const Judgement after = judge(out);
  REQUIRE(keys_before.falls > 0);
  REQUIRE(after.falls == 0);
  REQUIRE(keys_before.sum == after.sum);
  REQUIRE(judge(in) == keys_before);
  REQUIRE(judge(values_in) == values_before);
  const DeviceArray<unsigned long long> wrong(1);
  check(cudaMemset(wrong.data(), 0, sizeof(unsigned long long)));
  judge_values_kernel<<<blocks, threads>>>(in.data(), out.data(), values_out.data(), count, wrong.data());
  check(cudaGetLastError());
  REQUIRE(wrong.download()[0] == 0);
  in.check_zones();
  values_in.check_zones();
  out.check_zones();
  values_out.check_zones();
  memory.check_zones();
}

struct PairJudgement {
  unsigned long long sum;
  unsigned long long falls;   // of keys
  unsigned long long breaks;  // of values, among equal keys
};

template <class Key>
__global__ void judge_pairs_kernel(const Key* keys, const uint32_t* values, uint64_t count,
                                   PairJudgement* judgement) {
  PairJudgement mine{};
  for (uint64_t i = first_index(); i < count; i += grid_threads()) {
    mine.sum += fingerprint_mix(fingerprint_mix(keys[i] + 0x9e3779b97f4a7c15ull) + values[i]);
    if (i == 0) continue;
    mine.falls += keys[i - 1] > keys[i];
    mine.breaks += keys[i - 1] == keys[i] && values[i - 1] >= values[i];
  }
  atomicAdd(&judgement->sum, mine.sum);
  if (mine.falls != 0) atomicAdd(&judgement->falls, mine.falls);
  if (mine.breaks != 0) atomicAdd(&judgement->breaks, mine.breaks);
}

template <class Key>
PairJudgement judge_pairs(const DeviceArray<Key>& keys, const DeviceArray<uint32_t>& values) {
  const DeviceArray<PairJudgement> judgement(1);
  check(cudaMemset(judgement.data(), 0, sizeof(PairJudgement)));
  judge_pairs_kernel<<<blocks, threads>>>(keys.data(), values.data(), keys.size(), judgement.data());
  check(cudaGetLastError());
  return judgement.download()[0];
}

/// In place, as there is not memory for more. The value is the low half of the record's place. So among equal
/// keys only records from place 2^32 on may have smaller values than those before them.
template <class Key>
void sort_pairs_beyond_32_bits(uint64_t count, Keys kind) {
  if (!has_room(count, sizeof(Key) + sizeof(uint32_t), 2)) return;
  INFO("u" << sizeof(Key) * 8 << "+u32 n=" << count << " kind " << static_cast<int>(kind) << ", "
           << replay_text());
  const DeviceArray<Key> keys(count);
  const DeviceArray<uint32_t> values(count);
  make_keys_kernel<<<blocks, threads>>>(keys.data(), count, test_seed(), kind);
  number_kernel<<<blocks, threads>>>(values.data(), count);
  check(cudaGetLastError());
  const PairJudgement before = judge_pairs(keys, values);
  const DeviceSort sort{.type = key_type_of<Key>(),
                        .count = count,
                        .value_bytes = sizeof(uint32_t),
                        .keys_in = keys.data(),
                        .keys_out = keys.data(),
                        .values_in = values.data(),
                        .values_out = values.data()};
  const DeviceArray<std::byte> memory(device_sort_workspace_bytes(sort));
  device_sort(sort, Workspace(memory.span()), nullptr);
  const PairJudgement after = judge_pairs(keys, values);
  REQUIRE(before.falls > 0);
  REQUIRE(after.falls == 0);
  REQUIRE(after.breaks <= count - two_to_32);
  REQUIRE(before.sum == after.sum);
  keys.check_zones();
  values.check_zones();
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

TEST_CASE("counts beyond 31 and 32 bits, 8-byte keys", "[gpu]") {
  sort_large<uint64_t>(two_to_31 + 1, SortAlgorithm::automatic);
  sort_large<uint64_t>(two_to_32 + 3, SortAlgorithm::automatic);
  sort_large<uint64_t>(two_to_32 + 3, SortAlgorithm::automatic, Keys::skewed);
}

TEST_CASE("counts beyond 31 bits, keys that are not even", "[gpu]") {
  for (const Keys kind : {Keys::skewed, Keys::few}) {
    sort_large<uint32_t>(two_to_31 + 1, SortAlgorithm::automatic, kind);
    sort_large<uint64_t>(two_to_31 + 1, SortAlgorithm::automatic, kind);
  }
}

TEST_CASE("counts beyond 31 bits, pairs", "[gpu]") {
  for (const Keys kind : {Keys::even, Keys::skewed, Keys::few})
    sort_large_pairs<uint32_t>(two_to_31 + 1, kind);
}

TEST_CASE("counts beyond 32 bits, pairs", "[gpu]") {
  for (const Keys kind : {Keys::even, Keys::skewed, Keys::few}) {
    sort_pairs_beyond_32_bits<uint32_t>(two_to_32 + 3, kind);
    sort_pairs_beyond_32_bits<uint64_t>(two_to_32 + 3, kind);
  }
}

}  // namespace sweepsort
