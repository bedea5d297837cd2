// unique_test.cpp - checks the kernel that compacts keys in order against a plain loop. Compiled twice: for
// the emulator, where every commit runs it, and for a GPU.
#include "backend/cuda_unique.hpp"
#include "catch.hpp"
#include "device_array.hpp"
#include "kernels/policy.cuh"
#include "on_device.hpp"
#include "seed.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace sweepsort {
namespace {

constexpr uint64_t tile = UniquePolicy::tile;
constexpr uint64_t of_warp = UniquePolicy::rows * 32;
constexpr uint64_t max_keys = on_gpu ? 3'000'000 : 9 * tile;

template <class Bits>
struct Expected {
  std::vector<Bits> keys;
  std::vector<uint32_t> ends;

  explicit Expected(const std::vector<Bits>& all) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (i + 1 < all.size() && all[i + 1] == all[i]) continue;
      keys.push_back(all[i]);
      ends.push_back(static_cast<uint32_t>(i + 1));
    }
  }
};

/// The memory of one thread of a sort, used for chunk after chunk.
template <class Bits>
class Compaction {
 public:
  explicit Compaction(uint64_t most)
      : unique_(most), ends_(most), found_(1), workspace_(device_unique_workspace_bytes(max_keys)) {
    check(cudaMemset(workspace_.data(), 0, workspace_.size()));
  }

  /// Checks everything that is written.
  void run(const std::vector<Bits>& keys) {
    const OnDevice schedule;
    const DeviceArray<Bits> in(keys);
    check(cudaMemset(unique_.data(), 0xcd, unique_.size() * sizeof(Bits)));
    check(cudaMemset(ends_.data(), 0xcd, ends_.size() * sizeof(uint32_t)));
    device_unique({.type = key_type_of<Bits>(),
                   .keys = in.data(),
                   .count = static_cast<uint32_t>(keys.size()),
                   .different = unique_.data(),
                   .ends = ends_.data(),
                   .most = static_cast<uint32_t>(unique_.size()),
                   .found = found_.data()},
                  max_keys, Workspace(workspace_.span()), nullptr);
    const Expected<Bits> expected(keys);
    CAPTURE(keys.size(), unique_.size(), sizeof(Bits));
    REQUIRE(found_.download() == std::vector{static_cast<uint32_t>(expected.keys.size())});
    REQUIRE(as_written(unique_.download(), expected.keys));
    REQUIRE(as_written(ends_.download(), expected.ends));
    REQUIRE(in.download() == keys);
    unique_.check_zones();
    ends_.check_zones();
    found_.check_zones();
    workspace_.check_zones();
  }

 private:
  /// The expected elements must be there as far as there is room, and poison behind them.
  template <class T>
  static bool as_written(const std::vector<T>& written, const std::vector<T>& expected) {
    const size_t size = std::min(written.size(), expected.size());
    T poison;
    std::memset(&poison, 0xcd, sizeof(T));
    const auto behind = written.begin() + static_cast<ptrdiff_t>(size);
    return std::equal(written.begin(), behind, expected.begin()) &&
           std::all_of(behind, written.end(), [=](T element) { return element == poison; });
  }

  DeviceArray<Bits> unique_;
  DeviceArray<uint32_t> ends_;
  DeviceArray<uint32_t> found_;
  DeviceArray<std::byte> workspace_;
};

/// Runs of up to `max_equal` equal keys and then other ones. The runs are in no order, which does not matter.
template <class Bits>
std::vector<Bits> keys_in_runs(uint64_t count, uint64_t max_equal, std::mt19937_64& random) {
  std::vector<Bits> keys;
  keys.reserve(count);
  auto key = static_cast<Bits>(random());
  while (keys.size() < count) {
    keys.insert(keys.end(), std::min<uint64_t>(1 + random() % max_equal, count - keys.size()), key);
    key = static_cast<Bits>(key + 1 + random() % 3);
  }
  return keys;
}

}  // namespace

TEMPLATE_TEST_CASE("of equal neighbours one is left, and where they end", "", uint8_t, uint16_t, uint32_t,
                   uint64_t) {
  std::mt19937_64 random(test_seed());
  Compaction<TestType> compaction(max_keys);
  for (const uint64_t count :
       {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{31}, uint64_t{32}, uint64_t{33}, of_warp - 1, of_warp,
        tile - 1, tile, tile + 1, 3 * tile, max_keys - 17, max_keys})
    for (const uint64_t max_equal : {uint64_t{1}, uint64_t{3}, uint64_t{40}, 2 * tile, 20 * max_keys})
      compaction.run(keys_in_runs<TestType>(count, max_equal, random));
}

TEMPLATE_TEST_CASE("of more different keys than there is room for the rest is left out", "", uint8_t,
                   uint64_t) {
  std::mt19937_64 random(test_seed());
  Compaction<TestType> compaction(256);
  compaction.run(keys_in_runs<TestType>(tile + 100, 1, random));
  compaction.run(keys_in_runs<TestType>(256, 1, random));
  compaction.run(keys_in_runs<TestType>(257, 1, random));
}

TEST_CASE("one memory does for any sizes in any order") {
  std::mt19937_64 random(test_seed());
  Compaction<uint32_t> compaction(max_keys);
  for (int i = 0; i < (on_gpu ? 300 : 20); ++i)
    compaction.run(keys_in_runs<uint32_t>(random() % max_keys, 1 + random() % 10, random));
}

}  // namespace sweepsort
