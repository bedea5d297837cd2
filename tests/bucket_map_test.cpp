// bucket_map_test.cpp - the maps from keys to buckets, and the sample that they are made from, tested alone.
#include "kernels/bucket_map.cuh"

#include "catch.hpp"
#include "kernels/bucket_parts.cuh"
#include "kernels/msd_survey.cuh"
#include "seed.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
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

TEMPLATE_TEST_CASE("a closed interval holds its bucket's keys, whatever the map's range", "", uint32_t,
                   uint64_t) {
  std::mt19937_64 random(test_seed());
  constexpr uint32_t bits = sizeof(TestType) * 8;
  constexpr auto all = static_cast<TestType>(~TestType{0});
  const auto any_width = [&] { return static_cast<TestType>(random()) >> (random() % bits); };
  const auto power = [&] { return static_cast<TestType>(TestType{1} << (random() % bits)); };
  for (int round = 0; round < 20'000; ++round) {
    const TestType lowest = round % 8 == 0    ? TestType{0}
                            : round % 16 == 1 ? static_cast<TestType>(all - random() % 5)
                                              : any_width();
    const TestType wanted = round % 5 == 0   ? all
                            : round % 5 == 1 ? static_cast<TestType>(power() - random() % 3)
                                             : any_width();
    const TestType range = std::min(wanted, static_cast<TestType>(all - lowest));
    const uint32_t bucket_bits = 1 + random() % 16;
    // A value apart leaves 254 of 256 parents.
    const uint32_t buckets =
        round % 3 == 0 && bucket_bits > 8 ? 254u << (bucket_bits - 8) : 1u << bucket_bits;
    if (range == 0 && lowest == all) continue;
    const LinearBuckets<TestType> linear{BucketMap<TestType>::over(lowest, range, buckets)};
    const auto& map = linear.map;
    INFO("lowest " << lowest << " range " << range << " buckets " << buckets);
    std::vector<TestType> keys{0, all, lowest, static_cast<TestType>(lowest + map.range)};
    for (int k = 0; k < 6; ++k) {
      keys.push_back(static_cast<TestType>(random()));
      keys.push_back(static_cast<TestType>(
          lowest + (map.range == all ? static_cast<TestType>(random())
                                     : static_cast<TestType>(random()) % (map.range + 1))));
    }
    std::ranges::sort(keys);
    uint32_t last = 0;
    for (const TestType key : keys) {
      const uint32_t bucket = linear(key);
      const auto interval = interval_of(linear, bucket);
      const auto inside = closed(interval, map);
      const bool is_contained = key >= lowest && static_cast<TestType>(key - lowest) <= map.range;
      const bool is_right = bucket >= last && bucket < buckets && interval.first <= key &&
                            key <= interval.last && map.contains(key) == is_contained && !inside.is_open &&
                            (!is_contained || (inside.first <= key && key <= inside.last));
      if (!is_right) FAIL("key " << key << " bucket " << bucket);
      last = bucket;
    }
  }
}

TEMPLATE_TEST_CASE("the parts of a bucket never fall, and their words are as many as there is room for", "",
                   uint32_t, uint64_t) {
  std::mt19937_64 random(test_seed());
  constexpr uint32_t key_bits = sizeof(TestType) * 8;
  constexpr auto all = static_cast<TestType>(~TestType{0});
  const auto any_width = [&] { return static_cast<TestType>(random()) >> (random() % key_bits); };
  for (int round = 0; round < 100'000; ++round) {
    const uint32_t bits = 10 + random() % 8;
    TestType first = round % 16 == 0 ? TestType{0} : any_width();
    TestType last = round % 16 == 1 ? all : any_width();
    if (round % 4 == 2)
      last = static_cast<TestType>(first + (TestType{1} << (random() % key_bits)) - random() % 3);
    if (first > last) std::swap(first, last);
    const auto parts = BucketParts::over(first, last, bits);
    const auto range = static_cast<TestType>(last - first);
    const auto above = static_cast<TestType>(random());
    const auto one = static_cast<TestType>(first + (range == all ? above : above % (range + 1)));
    auto other = static_cast<TestType>(round % 2 == 0 ? one : one + random() % 40);
    if (other > last || other < one) other = last;
    const uint32_t word = parts.word_of(one);
    const uint32_t other_word = parts.word_of(other);
    constexpr uint32_t in_word = BucketParts::max_in_word;
    const bool is_right =
        parts.word_of(first) == 0 && parts.word_of(last) < (1u << bits) / in_word && word <= other_word &&
        (word != other_word || one == other ||
         (!parts.words_have_one_value() && parts.in_word(one) % in_word <= parts.in_word(other) % in_word));
    if (!is_right)
      FAIL("from " << first << " to " << last << ", " << one << " and " << other << ", " << bits);
  }
}

TEMPLATE_TEST_CASE("buckets of floats hold all there are, be they infinite, denormal or no numbers", "",
                   uint32_t, uint64_t) {
  using Real = typename RealBuckets<TestType>::Real;
  std::mt19937_64 random(test_seed());
  constexpr uint32_t bits = sizeof(TestType) * 8;
  constexpr auto sign = static_cast<TestType>(TestType{1} << (bits - 1));
  constexpr auto all = static_cast<TestType>(~TestType{0});
  const auto infinity = std::bit_cast<TestType>(std::numeric_limits<Real>::infinity());
  const auto up_to = [&](TestType end) { return static_cast<TestType>(random() % end); };
  const auto any_sign = [&] { return random() % 2 == 0 ? TestType{0} : sign; };
  int usable = 0;
  for (int round = 0; round < 6'000; ++round) {
    const KeyMap<TestType> map =
        key_map<TestType>(key_type_of<Real>(), round % 2 == 0 ? Order::ascending : Order::descending);
    TestType ends[2] = {static_cast<TestType>(random()), static_cast<TestType>(random())};
    if (round % 5 == 0)  // the largest numbers
      for (TestType& end : ends) end = static_cast<TestType>((infinity - 1 - up_to(100'000)) | any_sign());
    if (round % 5 == 1)  // denormal ones
      for (TestType& end : ends) end = up_to(100'000) | any_sign();
    if (round % 5 == 2) ends[1] = static_cast<TestType>(ends[0] + up_to(8));
    if (round % 5 == 3)  // their distance may be more than there are numbers
      ends[1] = static_cast<TestType>((ends[0] = infinity - 1 - up_to(infinity / 8)) ^ sign);
    const TestType one = map.to_ordered(ends[0]);
    const TestType other = map.to_ordered(ends[1]);
    const TestType least = std::min(one, other);
    const TestType most = std::max(one, other);
    const Real slack = std::array{Real{0}, Real{1} / 64, Real{1} / 2}[random() % 3];
    const uint32_t buckets = 2u << random() % 15;
    const auto real = RealBuckets<TestType>::over(least, most, slack, buckets, map);
    const auto by_word = RealMap<TestType>::over(least, most, slack, map);
    usable += real.is_usable();
    INFO(name(map.flip == 0 ? Order::ascending : Order::descending)
         << " from " << real.lowest << " to " << real.highest << ", " << buckets << " buckets");
    std::vector<TestType> keys{0, all, least, most};
    for (const TestType special : {TestType{0}, infinity, static_cast<TestType>(infinity + 1)})
      for (const TestType signed_ : {special, static_cast<TestType>(special | sign)})
        keys.push_back(map.to_ordered(signed_));
    for (int k = 0; k < 6; ++k) {
      keys.push_back(static_cast<TestType>(random()));
      keys.push_back(static_cast<TestType>(least + (least == most ? TestType{0} : up_to(most - least))));
    }
    std::ranges::sort(keys);
    uint32_t last = 0;
    uint32_t last_word = 0;
    for (const TestType key : keys) {
      if (real.is_usable()) {
        const uint32_t bucket = real(key);
        const auto interval = interval_of(real, bucket);
        if (bucket < last || bucket >= buckets || interval.first > key || interval.last < key)
          FAIL("key " << key << " bucket " << bucket << " after " << last);
        last = bucket;
      }
      if (by_word.is_usable()) {
        const uint32_t word = by_word.word_of(key);
        bool none = false;
        const TestType first = by_word.by_word.first_key(word, none);
        if (word < last_word || word > by_word.last_word() || none || first > key ||
            by_word.word_of(first) != word ||
            (first != 0 && by_word.word_of(static_cast<TestType>(first - 1)) >= word))
          FAIL("key " << key << " word " << word << " after " << last_word);
        last_word = word;
      }
    }
  }
  CHECK(usable > 1'000);
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
  for (const uint32_t places : {places_per_round, piece_places, fine_piece_places, 8 * fine_piece_places}) {
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
