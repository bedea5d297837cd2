// byte_sort_test.cpp - the counting sort of bytes in one block. On the emulator and on a GPU.
#include "kernels/byte_sort.cuh"

#include "catch.hpp"
#include "datasets/distributions.hpp"
#include "on_device.hpp"
#include "record_arrays.hpp"
#include "seed.hpp"

#include <random>
#include <string>
#include <vector>

namespace sweepsort {
namespace {

struct Case {
  Order order = Order::ascending;
  bool in_place = false;
};

template <class Key>
void sort_bytes(const std::vector<Key>& input, const Case& test) {
  INFO(name(key_type_of<Key>()) << " n=" << input.size() << " " << name(test.order)
                                << (test.in_place ? " in place" : ""));
  const OnDevice session;
  RecordArrays<Key, NoValue> records(input, test.in_place);
  const auto arrays = records.arrays();
  byte_sort(arrays.keys_in, arrays.keys_out, static_cast<uint32_t>(arrays.count),
            key_map<uint8_t>(key_type_of<Key>(), test.order), nullptr);
  records.require_sorted(test.order);
}

TEMPLATE_TEST_CASE("bytes are sorted in one block", "[device]", uint8_t, int8_t) {
  using Key = TestType;
  constexpr uint64_t most = ByteSortPolicy::max_keys;
  uint32_t variant = 0;
  const auto sort_all = [&](uint64_t count) {
    for (const Distribution& distribution : all_distributions()) {
      if (!distribution.suits(key_type_of<Key>())) continue;
      INFO(distribution.name);
      ++variant;
      sort_bytes(
          make_keys<Key>(distribution.name, count, test_seed()),
          {.order = variant % 2 == 0 ? Order::ascending : Order::descending, .in_place = variant % 3 == 0});
    }
  };
  // A word, a lane's places, a warp's, all warps' at once, and one more or less.
  for (const uint64_t size : {uint64_t{4}, uint64_t{8}, uint64_t{256}, uint64_t{4096}, most - 1})
    for (const uint64_t count : {size - 1, size, size + 1}) sort_all(count);
}

TEST_CASE("each value alone, and all but one, are found again", "[device]") {
  std::mt19937_64 random(test_seed());
  for (const uint32_t value : {0u, 1u, 31u, 127u, 128u, 254u, 255u}) {
    std::vector<uint8_t> keys(1 + random() % 600, static_cast<uint8_t>(value));
    sort_bytes(keys, {});
    keys.insert(keys.begin() + static_cast<std::ptrdiff_t>(random() % keys.size()),
                static_cast<uint8_t>(value + 1));
    sort_bytes(keys, {.order = Order::descending, .in_place = true});
    for (uint8_t& key : keys) {
      do key = static_cast<uint8_t>(random());
      while (key == value);
    }
    sort_bytes(keys, {});
  }
}

}  // namespace
}  // namespace sweepsort
