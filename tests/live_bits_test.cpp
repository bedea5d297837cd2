// live_bits_test.cpp - passes by the bits in which keys differ: packing keys, when it is chosen, and the
// result. On the emulator and on a GPU.
#include "catch.hpp"
#include "kernels/bit_pack.cuh"
#include "on_device.hpp"
#include "onesweep_run.hpp"
#include "seed.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace sweepsort {
namespace {

constexpr uint64_t record_count = on_gpu ? 1'100'001 : 5'001;

#ifdef __SANITIZE_ADDRESS__
constexpr uint32_t step = 3;  // there is time for a third of the variants
#else
constexpr uint32_t step = 1;
#endif

/// Keys that agree except in their `live` bits, and differ in each of these.
template <class Bits>
std::vector<Bits> keys_of(Bits live, std::mt19937_64& random) {
  const Bits rest = static_cast<Bits>(random()) & ~live;
  std::vector<Bits> keys(record_count);
  for (Bits& key : keys) key = rest | (static_cast<Bits>(random()) & live);
  keys[1] = rest | live;
  keys[record_count / 2] = rest;
  return keys;
}

/// The same bits in every byte.
template <class Bits>
constexpr Bits every_byte(uint8_t bits) {
  return static_cast<Bits>(~Bits{0} / 0xff * bits);
}

}  // namespace

TEMPLATE_TEST_CASE("live bits move together, and back to where they were", "", uint32_t, uint64_t) {
  using Bits = TestType;
  std::mt19937_64 random(test_seed());
  constexpr Bits all = ~Bits{0};
  std::vector<Bits> cases{
      0, 1, all, all - 1, all / 2, all / 2 + 1, every_byte<Bits>(0x0f), every_byte<Bits>(0x81)};
  for (uint32_t i = 0; i < 3000; ++i) {
    const Bits half = static_cast<Bits>(random());
    const Bits other = static_cast<Bits>(random());
    cases.push_back(i % 3 == 0 ? half : i % 3 == 1 ? half & other : half | other);
  }
  for (const Bits live : cases) {
    const Bits base = static_cast<Bits>(random());
    const Bits key = (base & ~live) | (static_cast<Bits>(random()) & live);
    Bits expected = 0;
    uint32_t below = 0;
    for (uint32_t bit = 0; bit < BitPack<Bits>::width; ++bit)
      if ((live >> bit & 1) != 0) expected |= (key >> bit & 1) << below++;
    const BitPack<Bits> pack = BitPack<Bits>::of(live, base);
    INFO("live bits " << live << ", key " << key);
    REQUIRE(pack.pack(key) == expected);
    REQUIRE(pack.unpack(expected) == key);
  }
}

TEMPLATE_PRODUCT_TEST_CASE("keys are passed by their live bits where these have fewer digits", "[device]",
                           std::pair,
                           ((uint32_t, NoValue), (float, uint32_t), (int32_t, uint64_t), (uint64_t, NoValue),
                            (int64_t, uint32_t), (double, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  using Bits = BitsOf<Key>;
  constexpr uint32_t places = digit_places<Bits>;
  constexpr Bits all = ~Bits{0};
  const Bits cases[] = {every_byte<Bits>(0x0f),         every_byte<Bits>(0x87), every_byte<Bits>(0x01),
                        every_byte<Bits>(0x7f),         all >> 8 << 4,          all,
                        1 | Bits{1} << (8 * places - 1)};
  std::mt19937_64 random(test_seed());
  uint32_t variant = value_bytes<Value> / 4;
  for (const Bits live : cases)
    for (const bool in_place : {false, true}) {
      if (++variant % step != 0) continue;
      const auto outcome = sort_by_passes<Key, Value>(
          keys_of(live, random), {.order = variant / step % 3 == 0 ? Order::descending : Order::ascending,
                                  .in_place = in_place,
                                  .portion = variant % 5 == 2 ? record_count / 2 : uint64_t{1} << 28,
                                  .may_pack = true});
      INFO("live bits " << live << ", variant " << variant);
      // In place, an odd number of passes costs one more, as the result is copied back. Records pass faster.
      const auto digits = static_cast<uint32_t>(std::popcount(live) + 7) / 8;
      uint32_t unpacked = 0;
      for (uint32_t place = 0; place < places; ++place) unpacked += (live >> (8 * place) & 0xff) != 0;
      const auto cost = [&](uint32_t passes) { return passes + (in_place && passes % 2 == 1); };
      const bool packs = cost(digits) + outcome.plan.as_records < cost(unpacked);
      CHECK((outcome.plan.pack.packs != 0) == packs);
      CHECK(outcome.plan.live_digits == (packs ? digits : unpacked));
    }
}

TEST_CASE("live bits of skewed keys, of text, and of fields", "[device]") {
  std::mt19937_64 random(test_seed() + 1);
  constexpr uint64_t live = every_byte<uint64_t>(0x3c);
  std::vector<uint64_t> frequent = keys_of(live, random);
  for (uint64_t i = 0; i < record_count; ++i)
    if (i % 10 != 0) frequent[i] = frequent[0];
  const SortPlan<uint64_t> plan = sort_by_passes<uint64_t, uint32_t>(frequent, {.may_pack = true}).plan;
  REQUIRE(plan.live_digits == 4);
  CHECK(plan.passes[0].hot.share_is_high != 0);
  CHECK(plan.passes[0].hot.digits[0] == (BitPack<uint64_t>::of(live, frequent[0]).pack(frequent[0]) & 0xff));

  std::vector<uint64_t> text(record_count);
  for (uint64_t& key : text)
    for (uint32_t character = 0; character < 8; ++character) key = key << 8 | ('0' + random() % 10);
  CHECK(sort_by_passes<uint64_t, uint64_t>(text, {.may_pack = true}).plan.live_digits == 4);
  CHECK(sort_by_passes<uint64_t, uint64_t>(text, {.may_pack = false}).plan.live_digits == 8);

  std::vector<uint64_t> ids(record_count);
  for (uint64_t& id : ids) id = random() % (1 << 20) << 40 | random() % 1024 << 20 | random() % 16;
  CHECK(sort_by_passes<int64_t, uint32_t>(ids, {.may_pack = true}).plan.live_digits == 5);
}

#ifdef SWEEPSORT_EMULATED  // elsewhere, only larger arrays are passed as records
TEST_CASE("keys whose passes would be of records are packed if that saves two", "[device]") {
  std::mt19937_64 random(test_seed() + 2);
  for (const auto& [bits, packs] : {std::pair{uint8_t{0x7f}, false}, {uint8_t{0x3f}, true}}) {
    const auto keys = keys_of(every_byte<uint64_t>(bits), random);
    const SortPlan<uint64_t> plan = sort_by_passes<uint64_t, uint64_t>(keys, {.may_pack = true}).plan;
    CHECK(plan.as_records != 0);
    CHECK((plan.pack.packs != 0) == packs);
    CHECK(plan.live_digits == (packs ? 6 : 8));
  }
}
#endif

}  // namespace sweepsort
