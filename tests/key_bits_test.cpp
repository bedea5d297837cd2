// key_bits_test.cpp - the maps from keys to unsigned integers keep the order and lose no bit.
#include "core/key_bits.hpp"

#include "catch.hpp"
#include "datasets/distributions.hpp"
#include "seed.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace sweepsort {
namespace {

template <class Key>
BitsOf<Key> ordered(Key key, Order order = Order::ascending) {
  return key_map<BitsOf<Key>>(key_type_of<Key>(), order).to_ordered(std::bit_cast<BitsOf<Key>>(key));
}

TEMPLATE_TEST_CASE("every pattern of a key of one or two bytes has one rank, in the order of the values", "",
                   uint8_t, int8_t, uint16_t, int16_t) {
  using Bits = BitsOf<TestType>;
  const auto ascending = key_map<Bits>(key_type_of<TestType>(), Order::ascending);
  const auto descending = key_map<Bits>(key_type_of<TestType>(), Order::descending);
  for (int value = std::numeric_limits<TestType>::min(); value <= std::numeric_limits<TestType>::max();
       ++value) {
    const Bits raw = static_cast<Bits>(value);
    const int rank = value - std::numeric_limits<TestType>::min();
    REQUIRE(ascending.to_ordered(raw) == rank);
    REQUIRE(ascending.from_ordered(static_cast<Bits>(rank)) == raw);
    REQUIRE(descending.to_ordered(raw) == std::numeric_limits<Bits>::max() - rank);
    REQUIRE(descending.from_ordered(descending.to_ordered(raw)) == raw);
  }
}

TEMPLATE_TEST_CASE("wide integers keep their order", "", uint32_t, int32_t, uint64_t, int64_t) {
  using Limits = std::numeric_limits<TestType>;
  auto keys = make_keys<TestType>("uniform", 2000, test_seed());
  for (TestType key :
       {Limits::min(), Limits::max(), TestType{0}, TestType{1}, static_cast<TestType>(Limits::max() / 2)})
    keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  for (size_t i = 1; i < keys.size(); ++i) {
    REQUIRE((ordered(keys[i - 1]) < ordered(keys[i])) == (keys[i - 1] < keys[i]));
    REQUIRE((ordered(keys[i], Order::descending) < ordered(keys[i - 1], Order::descending)) ==
            (keys[i - 1] < keys[i]));
  }
  REQUIRE(ordered(Limits::min()) == 0);
  REQUIRE(ordered(Limits::max()) == std::numeric_limits<BitsOf<TestType>>::max());
}

TEMPLATE_TEST_CASE("floats rise from -infinity over -0.0 and +0.0 to +infinity, then NaNs of either sign", "",
                   float, double) {
  using Bits = BitsOf<TestType>;
  using Limits = std::numeric_limits<TestType>;
  constexpr Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
  constexpr Bits infinity = std::bit_cast<Bits>(Limits::infinity());
  const std::vector<TestType> rising{
      -Limits::infinity(),  Limits::lowest(), -1, -Limits::min(), -Limits::denorm_min(), TestType(-0.0), 0,
      Limits::denorm_min(), Limits::min(),    1,  Limits::max(),  Limits::infinity()};
  for (size_t i = 1; i < rising.size(); ++i) REQUIRE(ordered(rising[i - 1]) < ordered(rising[i]));

  const auto map = key_map<Bits>(key_type_of<TestType>(), Order::ascending);
  const Bits largest_number = ordered(Limits::infinity());
  for (Bits payload : {Bits{1}, Bits{2}, static_cast<Bits>(~infinity & ~sign)}) {
    for (Bits nan : {static_cast<Bits>(infinity | payload), static_cast<Bits>(sign | infinity | payload)}) {
      REQUIRE(map.to_ordered(nan) > largest_number);
      REQUIRE(map.from_ordered(map.to_ordered(nan)) == nan);
    }
  }
}

TEMPLATE_TEST_CASE("every map gives back the bits it was given, and distinct ranks", "", uint8_t, int8_t,
                   uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float, double) {
  using Bits = BitsOf<TestType>;
  const Order order = GENERATE(Order::ascending, Order::descending);
  const auto map = key_map<Bits>(key_type_of<TestType>(), order);
  std::vector<Bits> bits = make_keys<Bits>("uniform", 3000, test_seed());  // every pattern, NaNs included
  for (int shift = 0; shift < std::numeric_limits<Bits>::digits; ++shift) {
    bits.push_back(static_cast<Bits>(Bits{1} << shift));
    bits.push_back(static_cast<Bits>(~(Bits{1} << shift)));
  }
  std::sort(bits.begin(), bits.end());
  bits.erase(std::unique(bits.begin(), bits.end()), bits.end());
  std::vector<Bits> ranks;
  for (Bits raw : bits) {
    ranks.push_back(map.to_ordered(raw));
    REQUIRE(map.from_ordered(ranks.back()) == raw);
  }
  std::sort(ranks.begin(), ranks.end());
  REQUIRE(std::unique(ranks.begin(), ranks.end()) == ranks.end());
}

TEST_CASE("only unsigned ascending keys need no map") {
  for (KeyType type : all_key_types) {
    const bool plain = dispatch(type, [&](auto key) {
      return key_map<BitsOf<typename decltype(key)::type>>(type, Order::ascending).is_identity();
    });
    REQUIRE(plain == (!is_signed(type) && !is_floating(type)));
    REQUIRE_FALSE(key_map<uint64_t>(type, Order::descending).is_identity());
  }
}

}  // namespace
}  // namespace sweepsort
