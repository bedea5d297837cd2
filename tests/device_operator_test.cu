// device_operator_test.cu - scans with operators that do not commute, every policy of the look-back, and
// searches over an index range: what a user of the kernels writes. Compiled twice, like device_scan_test.cpp.
#include "catch.hpp"
#include "device_array.hpp"
#include "kernels/reduce.cuh"
#include "kernels/scan.cuh"
#include "on_device.hpp"
#include "seed.hpp"

#include <cstring>
#include <random>
#include <vector>

namespace sweepsort {
namespace {

/// x -> a x + b. In a composition, the left one comes first.
struct Affine {
  uint32_t a, b;
  friend bool operator==(const Affine&, const Affine&) = default;
};

struct Compose {
  static constexpr bool is_commutative = false;
  SWEEPSORT_HOST_DEVICE Affine identity() const { return {1, 0}; }
  SWEEPSORT_HOST_DEVICE Affine operator()(Affine left, Affine right) const {
    return {right.a * left.a, right.a * left.b + right.b};
  }
};

/// Larger than what a status holds in one piece.
struct Matrix {
  uint32_t at[4];
  friend bool operator==(const Matrix&, const Matrix&) = default;
};

struct Multiply {
  static constexpr bool is_commutative = false;
  SWEEPSORT_HOST_DEVICE Matrix identity() const { return {{1, 0, 0, 1}}; }
  SWEEPSORT_HOST_DEVICE Matrix operator()(const Matrix& l, const Matrix& r) const {
    return {{l.at[0] * r.at[0] + l.at[1] * r.at[2], l.at[0] * r.at[1] + l.at[1] * r.at[3],
             l.at[2] * r.at[0] + l.at[3] * r.at[2], l.at[2] * r.at[1] + l.at[3] * r.at[3]}};
  }
};

template <class T>
std::vector<T> random_elements(uint64_t count) {
  std::mt19937_64 random(test_seed() + count);
  std::vector<T> elements(count);
  std::vector<uint32_t> words((count * sizeof(T) + 3) / 4);
  for (uint32_t& word : words) word = static_cast<uint32_t>(random());
  std::memcpy(elements.data(), words.data(), count * sizeof(T));
  return elements;
}

/// Runs `launch(arrays, workspace)` and compares with a plain loop, which starts from in[0].
template <class T, class Op, class Launch>
void check_scan(const std::vector<T>& in, const Op& op, bool exclusive, size_t workspace_bytes,
                Launch launch_scan) {
  const OnDevice session;
  INFO("n=" << in.size() << (exclusive ? " exclusive, " : " inclusive, ") << replay_text());
  const DeviceArray<T> source{std::span<const T>(in)};
  const DeviceArray<T> target(in.size());
  const DeviceArray<T> total(1);
  const DeviceArray<std::byte> memory(workspace_bytes);
  check(cudaMemsetAsync(memory.data(), 0, memory.size(), nullptr));
  const ScanArrays<T> arrays{source.data(), target.data(), in.size(), exclusive, source.data(), total.data()};
  launch_scan(arrays, Workspace(memory.span()));
  std::vector<T> expected(in.size());
  T sum = in[0];
  for (size_t i = 0; i < in.size(); ++i) {
    const T next = op(sum, in[i]);
    expected[i] = exclusive ? sum : next;
    sum = next;
  }
  CHECK((target.download() == expected));
  CHECK((total.download()[0] == sum));
  target.check_zones();
  memory.check_zones();
}

template <class T, class Op>
void check_algorithms(const Op& op) {
  const auto in = random_elements<T>(on_gpu ? 600'011 : 4'611);
  for (const ScanAlgorithm algorithm :
       {ScanAlgorithm::lookback, ScanAlgorithm::shuffle, ScanAlgorithm::blelloch,
        ScanAlgorithm::blelloch_padded, ScanAlgorithm::hillis_steele})
    for (const bool exclusive : {false, true}) {
      INFO(name(algorithm));
      check_scan(in, op, exclusive, scan_workspace_bytes<T>(algorithm, in.size()),
                 [&](const ScanArrays<T>& arrays, Workspace workspace) {
                   scan(algorithm, arrays, op, workspace, nullptr);
                 });
    }
}

template <class Policy, class T, class Op>
void check_policy(const Op& op) {
  using Tile = ScanLookbackTile<T, Policy>;
  for (const uint64_t size :
       {uint64_t{1}, uint64_t{Tile::elements}, uint64_t{on_gpu ? 999 : 3} * Tile::elements + 1})
    check_scan(random_elements<T>(size), op, size % 2 == 0, 65536 + size * 64,
               [&](const ScanArrays<T>& arrays, Workspace workspace) {
                 scan_lookback<Policy>(arrays, op, LookbackMemory<T>(workspace, Tile::tiles(size)), nullptr);
               });
}

}  // namespace

TEST_CASE("operators that do not commute are applied in order by every scan", "[device]") {
  check_algorithms<Affine>(Compose());
  check_algorithms<Matrix>(Multiply());
}

TEST_CASE("the look-back is right with every policy and element size", "[device]") {
  check_policy<SmallScan, Affine>(Compose());
  check_policy<MediumScan, Matrix>(Multiply());
  check_policy<LargeScan, Matrix>(Multiply());
  check_policy<SmallScan, uint16_t>(Sum<uint16_t>());
}

TEST_CASE("a scan in one wave is right, whichever blocks run first", "[device]") {
  using Policy = ScanWavePolicy<64, 1>;
  const auto check_wave = [&]<class T>(const auto& op, uint64_t tiles, std::type_identity<T>) {
    const uint64_t size = tiles * ScanLookbackTile<T, Policy>::elements - 3;
    check_scan(random_elements<T>(size), op, tiles % 2 == 0,
               65536 + ScanWave::statuses * sizeof(StatusSlot<T>),
               [&](const ScanArrays<T>& arrays, Workspace workspace) {
                 REQUIRE(suits_scan_wave(arrays));
                 scan_wave<Policy>(arrays, op, ScanWaveMemory<T>(workspace), nullptr);
               });
  };
  for (const uint64_t tiles : {1, 2, 33, on_gpu ? 256 : 60}) {
    check_wave(Sum<uint32_t>(), tiles, std::type_identity<uint32_t>());
    check_wave(Xor<uint64_t>(), tiles, std::type_identity<uint64_t>());
    check_wave(Sum<uint8_t>(), tiles, std::type_identity<uint8_t>());
  }
}

TEST_CASE("the epochs of a look-back begin anew without mistaking an old status", "[device]") {
  const auto in = random_elements<uint32_t>(5'000);
  const DeviceArray<uint32_t> source{std::span<const uint32_t>(in)};
  const DeviceArray<std::byte> memory(scan_workspace_bytes<uint32_t>(ScanAlgorithm::lookback, in.size()));
  check(cudaMemset(memory.data(), 0, memory.size()));
  Workspace layout(memory.span());
  const ScanWaveMemory<uint32_t> wave(layout);
  const LookbackMemory<uint32_t> lookback(layout, 1);
  const auto state_on_host = [](auto* state) {
    std::remove_pointer_t<decltype(state)> copy;
    check(cudaMemcpy(&copy, state, sizeof(copy), cudaMemcpyDeviceToHost));
    return copy;
  };
  for (const uint32_t epoch : {0u, epochs - 1, 0u, 1u}) {  // the epoch before each scan
    const OnDevice session;
    ScanState state = state_on_host(lookback.state);
    CountedScanState counted = state_on_host(wave.state);
    if (epoch == epochs - 1) {
      state.epoch = epoch;
      counted.drawn = uint64_t{epoch} << 32;
      check(cudaMemcpy(lookback.state, &state, sizeof(state), cudaMemcpyHostToDevice));
      check(cudaMemcpy(wave.state, &counted, sizeof(counted), cudaMemcpyHostToDevice));
    }
    REQUIRE(state.epoch == epoch);
    REQUIRE(counted.drawn == uint64_t{epoch} << 32);
    for (const bool in_place : {false, true}) {  // by a wave, and by tickets
      const DeviceArray<uint32_t> target{std::span<const uint32_t>(in)};
      const uint32_t* const from = in_place ? target.data() : source.data();
      scan(ScanAlgorithm::lookback,
           ScanArrays<uint32_t>{from, target.data(), in.size(), false, nullptr, nullptr}, Sum<uint32_t>(),
           Workspace(memory.span()), nullptr);
      const auto out = target.download();
      uint32_t sum = 0;
      for (size_t i = 0; i < in.size(); ++i) REQUIRE(out[i] == (sum += in[i]));
    }
  }
}

namespace {

struct Distance {  // from 1000; each distance comes twice
  uint64_t target;
  SWEEPSORT_HOST_DEVICE uint32_t operator()(uint64_t i) const {
    return static_cast<uint32_t>(i > target ? i - target : target - i) / 2;
  }
};

}  // namespace

TEST_CASE("the argument that makes a function smallest is found, of equals the first", "[device]") {
  const OnDevice session;
  const std::vector<Candidate<uint32_t>> nothing{{0xffffffffu, ~uint64_t{0}}};
  const DeviceArray<Candidate<uint32_t>> result{std::span<const Candidate<uint32_t>>(nothing)};
  const DeviceArray<std::byte> memory(transform_argmin_workspace_bytes<uint32_t>());
  const uint64_t far = on_gpu ? 5'000'000'000 : 3'000;
  transform_argmin<uint32_t>(5, far, Distance{1'000}, result.data(), Workspace(memory.span()), nullptr);
  CHECK(result.download()[0].index == 999);
  CHECK(result.download()[0].value == 0);
  transform_argmin<uint32_t>(7, 7, Distance{7}, result.data(), Workspace(memory.span()), nullptr);
  CHECK(result.download()[0].index == 999);
  memory.check_zones();
}

}  // namespace sweepsort
