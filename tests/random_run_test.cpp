// random_run_test.cpp - a thousand rounds of sorts of random records, sizes, patterns and circumstances. A
// race between blocks that happens once in a while elsewhere happens here. Records are made and judged on the
// device. Compiled twice: for a GPU, and, with small sizes, for the emulator.
//
//     gpu_random_run_test                    a few rounds
//     gpu_random_run_test "[long]"           a thousand
//
// A run draws its seed and prints it. SWEEPSORT_SEED sets the seed, SWEEPSORT_ROUNDS the number of rounds. A
// fault names the seed of its round; with that seed, SWEEPSORT_ROUNDS=1 repeats this round alone.
#include "backend/cuda_sort.hpp"
#include "catch.hpp"
#include "device_array.hpp"
#include "gpu/handles.hpp"
#include "kernels/radix_sort.cuh"
#include "on_device.hpp"
#include "random_keys.cuh"
#include "seed.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace sweepsort {
namespace {

#if defined(__CUDACC__)
__global__ void occupy_kernel(uint64_t cycles) {
  const auto begun = clock64();
  while (static_cast<uint64_t>(clock64() - begun) < cycles) continue;
}
#endif

using Random = std::mt19937_64;
using Algorithm = DeviceSortOutcome::Algorithm;

uint64_t below(Random& random, uint64_t end) { return random() % end; }
bool one_in(Random& random, uint64_t n) { return below(random, n) == 0; }
/// A number from 1 to `most`; every order of magnitude is equally likely.
uint64_t any_magnitude(Random& random, uint64_t most) {
  const double exponent =
      std::uniform_real_distribution<double>(0, std::log2(static_cast<double>(most)))(random);
  return std::clamp<uint64_t>(static_cast<uint64_t>(std::exp2(exponent)), 1, most);
}
uint64_t nearly(Random& random, uint64_t number) {
  return std::max<uint64_t>(number + 1 - below(random, 3), 1);
}

/// What is sorted in every round.
struct Subject {
  uint32_t key_bytes;
  uint32_t value_bytes;
  SortAlgorithm algorithm;
};
constexpr std::array subjects{
    Subject{4, 0, SortAlgorithm::automatic}, Subject{8, 0, SortAlgorithm::automatic},
    Subject{4, 4, SortAlgorithm::automatic}, Subject{4, 8, SortAlgorithm::automatic},
    Subject{8, 4, SortAlgorithm::automatic}, Subject{8, 8, SortAlgorithm::automatic},
    Subject{4, 0, SortAlgorithm::radix},     Subject{8, 0, SortAlgorithm::radix},
    Subject{4, 4, SortAlgorithm::radix},     Subject{8, 8, SortAlgorithm::radix},
    Subject{4, 0, SortAlgorithm::counting},  Subject{2, 0, SortAlgorithm::automatic},
    Subject{2, 8, SortAlgorithm::automatic}, Subject{1, 0, SortAlgorithm::automatic},
    Subject{1, 4, SortAlgorithm::automatic},
};

KeyType type_of(Random& random, uint32_t key_bytes) {
  constexpr KeyType types[4][3] = {{KeyType::u8, KeyType::i8, KeyType::u8},
                                   {KeyType::u16, KeyType::i16, KeyType::u16},
                                   {KeyType::u32, KeyType::i32, KeyType::f32},
                                   {KeyType::u64, KeyType::i64, KeyType::f64}};
  return types[std::countr_zero(key_bytes)][below(random, 3)];
}

/// The numbers of records at which some step of a sort changes.
template <class Bits, class Value>
std::vector<uint64_t> corners() {
  std::vector<uint64_t> result{1, warp_threads, TunedOnesweep<Bits, Value>::tile};
  if constexpr (has_msd_sort<Bits, Value>) {
    using Msd = TunedMsd<Bits, Value>;
    result.insert(result.end(),
                  {Msd::Small::max_keys, Msd::Large::max_keys, Msd::Partition::tile, Msd::limits.min_count,
                   Msd::limits.min_count + Msd::Partition::tile, uint64_t{Msd::limits.bucket_keys} << 9,
                   uint64_t{Msd::limits.bucket_keys} << 10});
  }
  if constexpr (has_one_block<Bits, Value>) {
    using OneBlock = TunedOneBlock<Bits, Value>;
    result.push_back(OneBlock::max_keys);
    if constexpr (!std::is_same_v<OneBlock, ByteSortPolicy>) result.push_back(OneBlock::Small::max_keys);
  }
  if constexpr (!std::is_void_v<ClusterGridSort<Bits, Value>>)
    result.push_back(max_in_grid<ClusterGridSort<Bits, Value>>);
  if constexpr (has_grid_sort<Bits, Value>)
    result.insert(result.end(),
                  {max_in_grid<SmallGridSort<Bits, Value>>, max_in_grid<MiddleGridSort<Bits, Value>>,
                   max_in_grid<LargestGridSort<Bits, Value>>});
  if constexpr (has_portioned_grid_sort<Bits, Value>)
    result.insert(result.end(),
                  {max_in_grid<PortionedGridSort<Bits, Value>>, PortionedGridSort<Bits, Value>::max_portion});
  return result;
}

constexpr uint64_t max_records = on_gpu ? 3 * uint64_t{1} << 23 : 12'000;

template <class Bits, class Value>
uint64_t draw_count(Random& random) {
  if (!one_in(random, 3)) return any_magnitude(random, max_records);
  const auto numbers = corners<Bits, Value>();
  const uint64_t corner = numbers[below(random, numbers.size())];
  const uint64_t max_times = std::max<uint64_t>(std::min<uint64_t>(64, max_records / corner), 1);
  const uint64_t times = one_in(random, 2) ? 1 : any_magnitude(random, max_times);
  return std::min(nearly(random, corner * times), max_records);
}

/// A number of keys for one bucket: about as many as one block of either kind takes.
template <class Bits, class Value>
uint64_t draw_capacity(Random& random) {
  if constexpr (has_msd_sort<Bits, Value>) {
    using Msd = TunedMsd<Bits, Value>;
    const uint64_t capacities[] = {
        Msd::Small::max_keys, Msd::Large::max_keys, SmallGridSort<Bits, Value>::Finish::max_keys,
        MiddleGridSort<Bits, Value>::Finish::max_keys, LargestGridSort<Bits, Value>::Finish::max_keys};
    return nearly(random, capacities[below(random, std::size(capacities))]);
  }
  return any_magnitude(random, max_records);
}

template <class Bits, class Value>
KeyRecipe draw_recipe(Random& random, uint64_t count) {
  constexpr uint64_t width = sizeof(Bits) * 8;
  const auto pattern = static_cast<KeyPattern>(below(random, patterns));
  KeyRecipe recipe{.pattern = pattern, .seed = random(), .count = count};
  do recipe.multiplier = 1 + below(random, count);
  while (std::gcd(recipe.multiplier, count) != 1);
  switch (pattern) {
    case KeyPattern::uniform:
      recipe.a = one_in(random, 2) ? width : 1 + below(random, width);
      recipe.b = one_in(random, 2) ? 0 : random();
      break;
    case KeyPattern::crowd:
      recipe.a = any_magnitude(random, 1u << 20);
      recipe.b = random();
      break;
    case KeyPattern::full_bucket: {
      const uint64_t buckets =
          std::bit_width(std::max<uint64_t>(count - 1, 1) / 4096);  // as the MSD sort does
      recipe.a = std::min(draw_capacity<Bits, Value>(random), count);
      recipe.b = std::min(one_in(random, 2) ? std::clamp<uint64_t>(buckets, 9, 16) : 1 + below(random, 16),
                          width - 1);
      recipe.c = below(random, uint64_t{1} << recipe.b);
      break;
    }
    case KeyPattern::alternating: {
      const auto numbers = corners<Bits, Value>();
      recipe.a = nearly(random, numbers[below(random, numbers.size())]);
      if (recipe.a >= count) recipe.a = any_magnitude(random, count);
      break;
    }
    case KeyPattern::heavy_values: recipe.b = 1 + below(random, 64); break;
    case KeyPattern::values_of_few: recipe.a = any_magnitude(random, 8192); break;
    case KeyPattern::mostly_one: recipe.a = any_magnitude(random, 1u << 20); break;
    case KeyPattern::ascending:
    case KeyPattern::descending:
      recipe.a = one_in(random, 2) ? 1 : any_magnitude(random, 10'000);
      recipe.b = one_in(random, 2) ? 0 : random();  // keys may pass the largest key and continue at zero
      break;
    case KeyPattern::nearly_ordered:
      recipe.a = below(random, count);
      recipe.b = below(random, count);
      break;
    case KeyPattern::constant_digits:
      for (uint64_t& digits = recipe.a = 0; uint32_t place : {0, 8, 16, 24, 32, 40, 48, 56})
        digits |= (one_in(random, 2) ? 0 : one_in(random, 2) ? 0xff : random() & 0xff) << place;
      break;
    case KeyPattern::spread: break;
  }
  return recipe;
}

/// The circumstances of a sort, besides its records.
struct Circumstances {
  bool in_place;
  bool is_crowded;  // other blocks are on the device
  std::vector<uint64_t> chunks;
};

Circumstances draw_circumstances(Random& random, uint64_t count) {
  Circumstances drawn{.in_place = one_in(random, 2), .is_crowded = one_in(random, 3), .chunks = {}};
  if (!one_in(random, 3)) return drawn;
  for (uint64_t left = count; left > 0; left -= drawn.chunks.back())
    drawn.chunks.push_back(drawn.chunks.size() == 4 ? left : 1 + below(random, left));
  return drawn;
}

void run(const DeviceSort& sort, const Circumstances& circumstances, Workspace workspace,
         cudaStream_t stream) {
  if (circumstances.chunks.empty()) return device_sort(sort, workspace, stream);
  std::vector<uint64_t> starts;
  uint64_t first = 0;
  device_sort_begin(sort, workspace, stream);
  for (const uint64_t chunk : circumstances.chunks) {
    device_sort_digest(sort, first, chunk, workspace, stream);
    starts.push_back(first);
    first += chunk;
  }
  const DeviceArray<uint64_t> device_starts{std::span<const uint64_t>(starts)};
  check(cudaDeviceSynchronize());
  device_sort_digest_borders(sort, device_starts.span(), workspace, stream);
  device_sort_finish(sort, workspace, stream);
  check(cudaStreamSynchronize(stream));
}

/// Occupies the device with other blocks for up to half a million cycles. The emulator's blocks wait for one
/// another in every way as it is.
void occupy([[maybe_unused]] Random& random, [[maybe_unused]] const Stream& stream) {
#if defined(__CUDACC__)
  const uint32_t blocks = static_cast<uint32_t>(1 + below(random, 256));
  launch(occupy_kernel, {blocks, 1024}, stream.get(), any_magnitude(random, 500'000));
#endif
}

template <class Bits, class Value>
Faults judge(const KeyRecipe& recipe, KeyMap<Bits> map, const Bits* input, const Bits* out,
             const Value* values) {
  using namespace random_detail;
  const std::vector<Faults> none(1);
  const DeviceArray<Faults> faults{std::span<const Faults>(none)};
  launch(judge_keys_kernel<Bits>, shape_for(recipe.count), nullptr, input, out, recipe, map, faults.data());
  if constexpr (value_bytes<Value> != 0)
    launch(judge_values_kernel<Bits, Value>, shape_for(recipe.count), nullptr, out, values, recipe, map,
           faults.data());
  return faults.download()[0];
}

/// Does one sort. Returns its algorithm.
template <class Bits, class Value>
Algorithm sort_at_random(const Subject& subject, Random& random, const Stream& stream, const Stream& other) {
  using namespace random_detail;
  constexpr bool with_values = value_bytes<Value> != 0;
  const uint64_t count = draw_count<Bits, Value>(random);
  KeyRecipe recipe = draw_recipe<Bits, Value>(random, count);
  if (subject.algorithm == SortAlgorithm::counting)  // another test covers ranges that are too wide
    recipe = {.pattern = KeyPattern::uniform,
              .a = 1 + below(random, 16),
              .b = random() >> 33,
              .c = 0,
              .seed = random(),
              .count = count,
              .multiplier = 1};
  const Circumstances circumstances = draw_circumstances(random, count);
  DeviceSort sort{.type = type_of(random, sizeof(Bits)),
                  .order = one_in(random, 2) ? Order::ascending : Order::descending,
                  .algorithm = subject.algorithm,
                  .count = count,
                  .value_bytes = subject.value_bytes,
                  .force_portable = one_in(random, 8),
                  .portion_keys = one_in(random, 8) ? 1 + below(random, count) : 0};
  if (sort.portion_keys != 0) sort.portion_keys = std::max(sort.portion_keys, count / 50);
  INFO(name(sort.type) << "+" << sort.value_bytes << " n=" << count << " " << name(sort.order) << " "
                       << name(sort.algorithm) << ", " << pattern_names[static_cast<uint32_t>(recipe.pattern)]
                       << " a=" << recipe.a << " b=" << recipe.b << " c=" << recipe.c << ", "
                       << circumstances.chunks.size() << " chunks"
                       << (circumstances.in_place ? ", in place" : "")
                       << (circumstances.is_crowded ? ", crowded" : "")
                       << (sort.force_portable ? ", portable" : "") << ", portions of " << sort.portion_keys);

  const KeyMap<Bits> map = key_map<Bits>(sort.type, sort.order);
  const uint64_t elsewhere = circumstances.in_place ? 0 : count;
  const DeviceArray<Bits> in(count);
  const DeviceArray<Bits> keys_elsewhere(elsewhere);
  const DeviceArray<Value> values_in(with_values ? count : 0);
  const DeviceArray<Value> values_elsewhere(with_values ? elsewhere : 0);
  const DeviceArray<Bits>& out = circumstances.in_place ? in : keys_elsewhere;
  const DeviceArray<Value>& values_out = circumstances.in_place ? values_in : values_elsewhere;
  const DeviceArray<std::byte> memory(device_sort_workspace_bytes(sort));
  launch(make_keys_kernel<Bits>, shape_for(count), nullptr, in.data(), recipe, map);
  if constexpr (with_values)
    launch(make_values_kernel<Value>, shape_for(count), nullptr, values_in.data(), count);
  sort.keys_in = in.data();
  sort.keys_out = out.data();
  sort.values_in = values_in.data();
  sort.values_out = values_out.data();
  check(cudaDeviceSynchronize());

  if (circumstances.is_crowded) occupy(random, other);
  run(sort, circumstances, Workspace(memory.span()), stream.get());
  const Algorithm algorithm = device_sort_outcome(sort, Workspace(memory.span()), stream.get()).algorithm;
  check(cudaDeviceSynchronize());

  const Faults faults = judge<Bits, Value>(recipe, map, circumstances.in_place ? nullptr : in.data(),
                                           out.data(), values_out.data());
  INFO(faults.out_of_order << " out of order, " << faults.foreign << " foreign, " << faults.altered
                           << " altered in the input" << (faults.missing != 0 ? ", keys missing" : ""));
  REQUIRE_FALSE(faults.any());
  for (const bool intact : {in.zones_intact(), out.zones_intact(), values_in.zones_intact(),
                            values_out.zones_intact(), memory.zones_intact()})
    REQUIRE(intact);
  return algorithm;
}

Algorithm sort_subject(const Subject& subject, Random& random, const Stream& stream, const Stream& other) {
  Algorithm algorithm{};
  const auto with_bits = [&]<class Bits>(std::type_identity<Bits>) {
    if (subject.value_bytes == 0) algorithm = sort_at_random<Bits, NoValue>(subject, random, stream, other);
    if (subject.value_bytes == 4) algorithm = sort_at_random<Bits, uint32_t>(subject, random, stream, other);
    if (subject.value_bytes == 8) algorithm = sort_at_random<Bits, uint64_t>(subject, random, stream, other);
  };
  if (subject.key_bytes == 1) with_bits(std::type_identity<uint8_t>{});
  if (subject.key_bytes == 2) with_bits(std::type_identity<uint16_t>{});
  if (subject.key_bytes == 4) with_bits(std::type_identity<uint32_t>{});
  if (subject.key_bytes == 8) with_bits(std::type_identity<uint64_t>{});
  return algorithm;
}

uint64_t first_seed() {
  if (!on_gpu || std::getenv("SWEEPSORT_SEED") != nullptr) return test_seed();
  return std::random_device{}();
}

/// Returns how often each algorithm was taken.
std::map<Algorithm, uint64_t> run_rounds(uint64_t usual_rounds) {
  const char* const wanted = std::getenv("SWEEPSORT_ROUNDS");
  const uint64_t rounds = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : usual_rounds;
  const uint64_t seed = first_seed();
  std::printf("%llu rounds from SWEEPSORT_SEED=%llu on\n", static_cast<unsigned long long>(rounds),
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  const Stream stream;
  const Stream other;
  const OnDevice session;
  std::map<Algorithm, uint64_t> counts;
  for (uint64_t round = 0; round < rounds; ++round)
    for (uint32_t number = 0; number < subjects.size(); ++number) {
      INFO("replay with SWEEPSORT_SEED=" << seed + round << " SWEEPSORT_ROUNDS=1, subject " << number);
      Random random(fingerprint_mix(seed + round) + number);
      ++counts[sort_subject(subjects[number], random, stream, other)];
    }
  return counts;
}

}  // namespace

TEST_CASE("a few random sorts are right", "[device]") { run_rounds(on_gpu ? 20 : 3); }

TEST_CASE("a thousand rounds of random sorts, by every algorithm, are right", "[.][long]") {
  auto counts = run_rounds(1000);
  const uint64_t sorts =
      std::accumulate(counts.begin(), counts.end(), uint64_t{0},
                      [](uint64_t sum, const auto& algorithm) { return sum + algorithm.second; });
  std::printf(
      "%llu sorts: %llu MSD, %llu by one launch, %llu by one block, %llu LSD, %llu counted, %llu in order, "
      "%llu reversed\n",
      static_cast<unsigned long long>(sorts), static_cast<unsigned long long>(counts[Algorithm::msd]),
      static_cast<unsigned long long>(counts[Algorithm::grid]),
      static_cast<unsigned long long>(counts[Algorithm::block]),
      static_cast<unsigned long long>(counts[Algorithm::radix]),
      static_cast<unsigned long long>(counts[Algorithm::counting]),
      static_cast<unsigned long long>(counts[Algorithm::already_sorted]),
      static_cast<unsigned long long>(counts[Algorithm::reversed]));
  CHECK(counts[Algorithm::unsuitable] == 0);
  if (sorts < 1000 * subjects.size()) return;
  for (const Algorithm algorithm :
       {Algorithm::radix, Algorithm::counting, Algorithm::already_sorted, Algorithm::reversed})
    CHECK(counts[algorithm] > 0);
  if (device_abilities().is_full())
    for (const Algorithm algorithm : {Algorithm::msd, Algorithm::grid, Algorithm::block})
      CHECK(counts[algorithm] > 0);
}

}  // namespace sweepsort
