// bucket_map_test.cpp - the maps from keys to buckets, and the sample that they are made from, tested alone.
#include "kernels/bucket_map.cuh"

#include "catch.hpp"
#include "kernels/msd_survey.cuh"
#include "seed.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace sweepsort {

TEMPLATE_TEST_CASE("a bucket map never falls, and a bucket's interval holds its keys and no others", "",
                   uint32_t, uint64_t) {
  std::mt19937_64 random(test_seed());
  const auto any_bits = [&] {
    return static_cast<TestType>(random() >> (64 - sizeof(TestType) * 8 + random() % 24));
  };
  for (int round = 0; round < 2000; ++round) {
    const TestType lowest = round % 4 == 0 ? TestType{0} : any_bits();
    const TestType room = static_cast<TestType>(~lowest);
    const TestType range =
        round % 4 == 0 ? room : std::min(room, static_cast<TestType>(any_bits() >> (round % 30)));
    const uint32_t buckets = 1u << (9 + round % 8);
    const auto map = BucketMap<TestType>::over(lowest, range, buckets);
    const uint32_t piece_bits = round % 2 == 0 ? coarse_piece_bits : fine_piece_bits;
    std::vector<MapPiece> pieces(1u << piece_bits);
    const bool is_pieced = round % 3 == 0;
    uint32_t given = 0;
    for (uint32_t piece = 0; piece < pieces.size(); ++piece) {
      const auto more = static_cast<uint32_t>(random() % 4 != 0 ? 0 : random() % (buckets - given) / 8);
      pieces[piece] = given | more << 16;
      given += more;
    }
    const auto bucket_of = [&](TestType key) {
      return is_pieced ? PiecedBuckets<TestType>{map, pieces.data(), piece_bits}(key)
                       : LinearBuckets<TestType>{map}(key);
    };
    INFO("lowest " << lowest << " range " << range << " buckets " << buckets);
    std::vector<TestType> keys{0, lowest, static_cast<TestType>(lowest + range),
                               static_cast<TestType>(~TestType{0})};
    for (int k = 0; k < 60; ++k) {
      keys.push_back(any_bits());
      keys.push_back(static_cast<TestType>(lowest + any_bits() % (range == room ? range : range + 1)));
    }
    std::sort(keys.begin(), keys.end());
    uint32_t last = 0;
    for (const TestType key : keys) {
      const uint32_t bucket = bucket_of(key);
      const auto interval = is_pieced
                                ? interval_of(PiecedBuckets<TestType>{map, pieces.data(), piece_bits}, bucket)
                                : interval_of(LinearBuckets<TestType>{map}, bucket);
      const bool is_right =
          bucket >= last && bucket < buckets && interval.first <= key && key <= interval.last &&
          (interval.first == 0 || bucket_of(static_cast<TestType>(interval.first - 1)) < bucket) &&
          (static_cast<TestType>(~interval.last) == 0 ||
           bucket_of(static_cast<TestType>(interval.last + 1)) > bucket);
      if (!is_right)
        FAIL("key " << key << " bucket " << bucket << " [" << interval.first << ", " << interval.last << "]");
      last = bucket;
    }
  }
}

TEMPLATE_TEST_CASE("a bucket of floats begins with the least key that its map gives to it", "", uint32_t,
                   uint64_t) {
  using Real = typename RealBuckets<TestType>::Real;
  std::mt19937_64 random(test_seed());
  int found = 0;
  for (const Order order : {Order::ascending, Order::descending}) {
    const KeyMap<TestType> map = key_map<TestType>(key_type_of<Real>(), order);
    for (int round = 0; round < 300; ++round) {
      const auto any_real = [&] {
        const auto fraction =
            static_cast<Real>(static_cast<int64_t>(random())) / static_cast<Real>(1ull << 63);
        return std::ldexp(fraction, static_cast<int>(random() % 60) - 30);
      };
      const TestType one = map.to_ordered(std::bit_cast<TestType>(any_real()));
      const TestType other = map.to_ordered(std::bit_cast<TestType>(round % 4 == 0 ? Real{0} : any_real()));
      if (one == other) continue;
      const uint32_t buckets = 2u << random() % 15;
      const auto real = RealBuckets<TestType>::over(std::min(one, other), std::max(one, other),
                                                    round % 2 == 0 ? Real{0} : Real{1} / 64, buckets, map);
      if (!real.is_usable()) continue;
      for (int k = 0; k < 20; ++k) {
        const auto bucket = static_cast<uint32_t>(random() % (buckets + 1));
        INFO(name(order) << " from " << real.lowest << " to " << real.highest << ", " << bucket << " of "
                         << buckets);
        bool behind = false;
        const TestType first = real.first_key(bucket, behind);
        const auto all = static_cast<TestType>(~TestType{0});
        if (behind != (real(all) < bucket)) FAIL("behind: " << behind);
        if (behind) continue;
        if (real(first) < bucket || (first != 0 && real(static_cast<TestType>(first - 1)) >= bucket))
          FAIL("not the first: " << first);
        // No key of the bucket is outside its interval, which is not much longer than the bucket.
        if (bucket < buckets) {
          const auto interval = interval_of(real, bucket);
          const bool is_last = bucket + 1 == buckets;
          const TestType last = is_last ? all : static_cast<TestType>(real.first_key(bucket + 1, behind) - 1);
          if (interval.first > first || interval.last < last)
            FAIL("not all: " << interval.first << ", " << interval.last);
          if (interval.is_open != (bucket == 0 || is_last)) FAIL("open: " << interval.is_open);
          const auto near = [&](TestType key) { return real(key) + 1 >= bucket && real(key) <= bucket + 1; };
          if (!interval.is_open && !(near(interval.first) && near(interval.last)))
            FAIL("too long: " << interval.first << ", " << interval.last);
        }
        ++found;
      }
    }
  }
  CHECK(found > 5'000);
}

TEMPLATE_TEST_CASE(
    "buckets of pieces of floats' values never fall, and begin with the least key that is in them", "",
    uint32_t, uint64_t) {
  using Real = typename RealBuckets<TestType>::Real;
  std::mt19937_64 random(test_seed());
  const auto all = static_cast<TestType>(~TestType{0});
  for (const Order order : {Order::ascending, Order::descending}) {
    const KeyMap<TestType> map_of_keys = key_map<TestType>(key_type_of<Real>(), order);
    const auto any_real = [&] {
      const auto fraction = static_cast<Real>(static_cast<int64_t>(random())) / static_cast<Real>(1ull << 63);
      return map_of_keys.to_ordered(
          std::bit_cast<TestType>(std::ldexp(fraction, static_cast<int>(random() % 60) - 30)));
    };
    for (int round = 0; round < 100; ++round) {
      const TestType one = any_real();
      const TestType other = any_real();
      const auto map =
          RealMap<TestType>::over(std::min(one, other), std::max(one, other), Real{1} / 2, map_of_keys);
      if (one == other || !map.is_usable()) continue;
      const uint32_t buckets = 1u << (9 + round % 8);
      const uint32_t piece_bits = round % 2 == 0 ? coarse_piece_bits : fine_piece_bits;
      std::vector<MapPiece> pieces(1u << piece_bits);
      uint32_t given = 0;
      for (MapPiece& piece : pieces) {
        const auto more = static_cast<uint32_t>(random() % 4 != 0 ? 0 : random() % (buckets - given) / 8);
        piece = given | more << 16;
        given += more;
      }
      const PiecedBuckets<TestType, RealMap<TestType>> bucket_of{map, pieces.data(), piece_bits};
      std::vector<TestType> keys{0, one, other, all};
      for (int k = 0; k < 60; ++k) keys.push_back(k % 10 == 0 ? static_cast<TestType>(random()) : any_real());
      std::ranges::sort(keys);
      INFO(name(order) << " from " << map.by_word.lowest << " to " << map.by_word.highest);
      uint32_t last = 0;
      for (const TestType key : keys) {
        const uint32_t bucket = bucket_of(key);
        const auto interval = interval_of(bucket_of, bucket);
        const bool is_right =
            bucket >= last && bucket < buckets && interval.first <= key && key <= interval.last &&
            (interval.first == 0 || bucket_of(static_cast<TestType>(interval.first - 1)) < bucket) &&
            (interval.last == all || bucket_of(static_cast<TestType>(interval.last + 1)) > bucket);
        if (!is_right)
          FAIL("key " << key << " bucket " << bucket << " [" << interval.first << ", " << interval.last
                      << "]");
        last = bucket;
      }
    }
  }
}

TEST_CASE("a sample's places are all there, and the first ones as far from each other as all", "") {
  using namespace survey_detail;
  for (const uint32_t places : {places_per_round, piece_places, fine_piece_places}) {
    const CollectedSample<uint32_t> sample{nullptr, nullptr, places};
    for (uint32_t first = places_per_round; first <= places; first *= 2) {
      INFO("the first " << first << " of " << places);
      std::vector<uint32_t> found;
      std::vector<uint32_t> expected;
      for (uint32_t at = 0; at < first; ++at) {
        found.push_back(sample.place_at(at));
        expected.push_back(at * (places / first));
      }
      std::ranges::sort(found);
      REQUIRE(found == expected);
    }
  }
}

TEST_CASE("samples at equal distances meet in no counter more often than chance has it", "") {
  using namespace survey_detail;
  std::mt19937_64 random(test_seed());
  uint32_t max_met = 0;
  uint32_t max_in_counter = 0;
  for (int round = 0; round < 2'000; ++round) {
    // Parts of the buckets, one flank or two, of an array in order or nearly so.
    const uint32_t around = 1u << (12 + random() % 8);
    const auto distance = static_cast<uint32_t>(around - random() % (around / 64));
    const auto first = static_cast<uint32_t>(random() % distance);
    std::vector<uint32_t> parts;
    for (uint32_t s = 0; s < samples; ++s)
      parts.push_back(first + s * distance + static_cast<uint32_t>(random() % 4));
    std::vector<bool> bits(1u << 18);
    std::vector<uint32_t> counters(bucket_counters);
    uint32_t met = 0;
    for (const uint32_t part : parts) {
      const uint32_t bit = scattering_hash<18>(part);
      met += bits[bit];
      bits[bit] = true;
      max_in_counter = std::max(max_in_counter,
                                ++counters[scattering_hash<std::countr_zero(bucket_counters)>(part >> 10)]);
    }
    max_met = std::max(max_met, met);
  }
  CHECK(max_met < 74);  // what find_clumps() allows
  CHECK(max_in_counter < min_crowded);
}

TEMPLATE_TEST_CASE("a map around samples covers the block of 2^k values whose ends lie within the slack", "",
                   uint32_t, uint64_t) {
  std::mt19937_64 random(test_seed());
  constexpr uint32_t bits = sizeof(TestType) * 8;
  constexpr uint32_t buckets = 512;
  for (uint32_t block_bits = 12; block_bits <= bits; ++block_bits) {
    const auto inside = static_cast<TestType>(static_cast<TestType>(~TestType{0}) >> (bits - block_bits));
    const auto begin = static_cast<TestType>(static_cast<TestType>(random()) & ~inside);
    const TestType slack = inside / 64;
    const auto least = static_cast<TestType>(begin + random() % slack);
    const auto most = static_cast<TestType>(begin + inside - random() % slack);
    INFO("least " << least << " most " << most << " slack " << slack);

    const LinearBuckets<TestType> block{BucketMap<TestType>::filling(least, most, slack, buckets)};
    CHECK(block.map.lowest == begin);
    CHECK(block.map.range == inside);
    if (block_bits < 64) {
      CHECK(block.may_hold(uint64_t{inside} + 1));
      CHECK_FALSE(block.may_hold(uint64_t{inside} + 2));
    }
    const auto interval = interval_of(block, buckets / 2);
    CHECK(interval.first == static_cast<TestType>(begin + inside / 2 + 1));
    CHECK(static_cast<TestType>(interval.last - interval.first) == inside / buckets);
    CHECK_FALSE(interval.is_open);
    CHECK(interval_of(block, 0).is_open == (begin != 0));
    CHECK(interval_of(block, buckets - 1).is_open ==
          (static_cast<TestType>(begin + inside) != static_cast<TestType>(~TestType{0})));

    const auto higher = static_cast<TestType>(begin + slack + 1);
    const auto beside = BucketMap<TestType>::filling(higher, most, slack, buckets);
    const auto all = static_cast<TestType>(~TestType{0});
    CHECK(beside.lowest == begin + 1);
    CHECK(beside.lowest + beside.range == (most < all - slack ? static_cast<TestType>(most + slack) : all));
  }
}

}  // namespace sweepsort
