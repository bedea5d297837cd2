// device_scan_test.cpp - checks the kernels' scans and reductions against plain loops. Compiled twice: for
// the emulator, where every commit runs it, and for a GPU.
#include "backend/cuda_scan.hpp"
#include "catch.hpp"
#include "device_array.hpp"
#include "on_device.hpp"
#include "seed.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <vector>

namespace sweepsort {
namespace {

constexpr ScanAlgorithm gpu_algorithms[] = {ScanAlgorithm::lookback, ScanAlgorithm::shuffle,
                                            ScanAlgorithm::blelloch, ScanAlgorithm::blelloch_padded,
                                            ScanAlgorithm::hillis_steele};
constexpr ScanOp all_ops[] = {ScanOp::sum, ScanOp::min, ScanOp::max, ScanOp::bit_xor};
constexpr ScanKind both_kinds[] = {ScanKind::inclusive, ScanKind::exclusive};

/// Any bits. Floats are small whole numbers, so that their sums are exact in any order. With `nan`, there are
/// also some NaN of either sign, infinities and zeros.
template <class T>
std::vector<T> random_elements(uint64_t count, bool nan = false) {
  std::mt19937_64 random(test_seed() + count);
  std::vector<T> elements(count);
  for (T& element : elements) {
    const uint64_t bits = random();
    if constexpr (std::is_floating_point_v<T>) {
      constexpr T special[] = {std::numeric_limits<T>::quiet_NaN(),
                               -std::numeric_limits<T>::quiet_NaN(),
                               std::numeric_limits<T>::infinity(),
                               -std::numeric_limits<T>::infinity(),
                               T{0},
                               -T{0}};
      element =
          nan && bits % 4 == 0 ? special[bits / 4 % 6] : static_cast<T>(static_cast<int>(bits >> 60) - 8);
    } else {
      element = static_cast<T>(bits);
    }
  }
  return elements;
}

/// One step of an operator, in the type itself.
template <class T>
T combine(ScanOp op, T left, T right) {
  if constexpr (std::is_floating_point_v<T>) {
    const auto takes = [&](T wanted, T other) {
      if (std::isnan(other)) return wanted;
      return std::isnan(wanted) ? other : wanted;
    };
    const bool right_first = right < left || (right == left && std::signbit(right) && !std::signbit(left));
    if (op == ScanOp::sum) return left + right;
    if (std::isnan(left) || std::isnan(right)) return takes(left, right);
    return right_first == (op == ScanOp::min) ? right : left;
  } else {
    using Bits = std::make_unsigned_t<T>;
    switch (op) {
      case ScanOp::sum:
        return static_cast<T>(static_cast<Bits>(static_cast<Bits>(left) + static_cast<Bits>(right)));
      case ScanOp::min: return std::min(left, right);
      case ScanOp::max: return std::max(left, right);
      default: return static_cast<T>(left ^ right);
    }
  }
}

/// Whether both have the same bits, or both are NaN.
template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) && std::isnan(b)) return true;
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T>
struct Expected {
  std::vector<T> out;
  T total;
};

/// `initial`: where the scan begins. Without it, nobody looks at the first element of an exclusive scan.
template <class T>
Expected<T> plain_scan(ScanOp op, ScanKind kind, const std::vector<T>& in, std::optional<T> initial) {
  Expected<T> expected{std::vector<T>(in.size()), initial.value_or(T{})};
  std::optional<T> sum = initial;
  for (size_t i = 0; i < in.size(); ++i) {
    if (kind == ScanKind::exclusive && sum) expected.out[i] = *sum;
    sum = sum ? combine(op, *sum, in[i]) : in[i];
    if (kind == ScanKind::inclusive) expected.out[i] = *sum;
  }
  if (sum) expected.total = *sum;
  return expected;
}

struct Variant {
  bool in_place = false;
  bool starts = true;            // with `initial`
  uint64_t ring_from_bytes = 0;  // 1: the ring, if it takes the arrays
  uint64_t shift = 0;            // both arrays begin this many elements behind an aligned place
};

template <class T>
void check_scan(ScanAlgorithm algorithm, ScanOp op, ScanKind kind, const std::vector<T>& in,
                Variant variant = {}) {
  const OnDevice session;
  INFO(name(key_type_of<T>()) << " " << name(algorithm) << " " << name(op) << " " << name(kind)
                              << " n=" << in.size() << (variant.in_place ? " in place" : "")
                              << (variant.starts ? " with initial" : "")
                              << (variant.ring_from_bytes != 0 ? " ring" : "") << " shift " << variant.shift
                              << ", " << replay_text());
  std::vector<T> shifted(variant.shift, T{77});
  shifted.insert(shifted.end(), in.begin(), in.end());
  DeviceArray<T> source{std::span<const T>(shifted)};
  DeviceArray<T> elsewhere(variant.in_place ? 0 : shifted.size());
  DeviceArray<T>& target = variant.in_place ? source : elsewhere;
  const T start = op == ScanOp::sum ? T{3} : T{100};
  const std::vector<T> one{start};
  const DeviceArray<T> initial{std::span<const T>(one)};
  const DeviceArray<T> total(1);

  DeviceScan scan{
      .type = key_type_of<T>(), .op = op, .kind = kind, .algorithm = algorithm, .count = in.size()};
  scan.in = source.data() + variant.shift;
  scan.out = target.data() + variant.shift;
  scan.initial = variant.starts ? initial.data() : nullptr;
  scan.total = total.data();
  scan.ring_from_bytes = variant.ring_from_bytes;
  const DeviceArray<std::byte> memory(device_scan_workspace_bytes(scan));
  device_scan_prepare(scan, Workspace(memory.span()), nullptr);
  device_scan(scan, Workspace(memory.span()), nullptr);

  const auto out = target.download();
  const auto expected = plain_scan(op, kind, in, variant.starts ? std::optional<T>(start) : std::nullopt);
  for (size_t i = variant.starts || kind == ScanKind::inclusive ? 0 : 1; i < in.size(); ++i) {
    if (same(out[variant.shift + i], expected.out[i])) continue;
    FAIL("element " << i << " is " << +out[variant.shift + i] << ", not " << +expected.out[i]);
  }
  if (!in.empty() || variant.starts) CHECK(same(total.download()[0], expected.total));
  source.check_zones();
  elsewhere.check_zones();
  memory.check_zones();
  total.check_zones();
  if (!variant.in_place) {
    const auto untouched = source.download();
    CHECK(std::ranges::equal(untouched, shifted, same<T>));
  }
}

template <class T>
constexpr bool has_op(ScanOp op) {
  return op != ScanOp::bit_xor || !std::is_floating_point_v<T>;
}

}  // namespace

TEMPLATE_TEST_CASE("every scan is right for every type, operator and kind", "[device]", uint8_t, int8_t,
                   uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float, double) {
  const auto in = random_elements<TestType>(on_gpu ? 70'001 : 2'611);
  for (const ScanAlgorithm algorithm : gpu_algorithms)
    for (const ScanOp op : all_ops)
      for (const ScanKind kind : both_kinds)
        if (has_op<TestType>(op)) check_scan(algorithm, op, kind, in);
}

TEST_CASE("every scan is right for every length, in place and without an initial value", "[device]") {
  std::vector<uint64_t> sizes{0, 1, 2, 31, 33, 1000, 4097};
  // The numbers of 4-byte elements that a tile of an algorithm holds, or at which another algorithm takes
  // over.
  std::vector<uint64_t> borders{1024, 2048, 8192, 16'384};
  if (on_gpu) borders.insert(borders.end(), {131'072, 262'144, 524'288, 2'097'152, 4'194'304});
  for (const uint64_t border : borders) sizes.insert(sizes.end(), {border - 1, border, border + 1});
  for (const uint64_t size : sizes) {
    const auto in = random_elements<uint32_t>(size);
    for (const ScanAlgorithm algorithm : gpu_algorithms)
      for (const ScanKind kind : both_kinds) {
        check_scan(algorithm, ScanOp::sum, kind, in);
        check_scan(algorithm, ScanOp::sum, kind, in, {.in_place = true, .starts = false});
      }
  }
}

TEMPLATE_TEST_CASE("the ring is right for every length and width", "[device]", uint8_t, uint16_t, uint32_t,
                   uint64_t, double) {
  constexpr uint64_t tile = 9 * (sizeof(TestType) == 8 ? 6 : 5) * 512 / sizeof(TestType);  // TunedScanRing
  std::vector<uint64_t> sizes{1, 15, tile - 1, tile, tile + 1};
  if (sizeof(TestType) >= 4) sizes.push_back(11 * tile + 3);
  if (on_gpu) sizes.insert(sizes.end(), {133 * tile, 1500 * tile + 1});
  for (const uint64_t size : sizes) {
    const auto in = random_elements<TestType>(size);
    for (const ScanKind kind : both_kinds) {
      check_scan(ScanAlgorithm::lookback, ScanOp::sum, kind, in, {.ring_from_bytes = 1});
      if (kind == ScanKind::inclusive)
        check_scan(ScanAlgorithm::lookback, has_op<TestType>(ScanOp::bit_xor) ? ScanOp::bit_xor : ScanOp::sum,
                   kind, in, {.in_place = true, .starts = false, .ring_from_bytes = 1});
    }
  }
}

TEST_CASE("an array that begins at an odd address is scanned as well", "[device]") {
  for (const ScanAlgorithm algorithm : gpu_algorithms) {
    check_scan(algorithm, ScanOp::sum, ScanKind::exclusive, random_elements<uint8_t>(5'000), {.shift = 1});
    check_scan(algorithm, ScanOp::sum, ScanKind::inclusive, random_elements<uint32_t>(5'000),
               {.ring_from_bytes = 1, .shift = 3});
  }
}

TEMPLATE_TEST_CASE("scans of floats pass over NaN", "[device]", float, double) {
  auto in = random_elements<TestType>(3'000, true);
  std::fill_n(in.begin(), 5, std::numeric_limits<TestType>::quiet_NaN());
  for (const ScanOp op : {ScanOp::min, ScanOp::max})
    for (const ScanKind kind : both_kinds)
      check_scan(ScanAlgorithm::lookback, op, kind, in, {.starts = false});
}

TEMPLATE_TEST_CASE("a sum of negative zeros is a negative zero", "[device]", float, double) {
  const std::vector<TestType> in(on_gpu ? 70'001 : 2'611, TestType(-0.0));
  for (const ScanAlgorithm algorithm : gpu_algorithms)
    check_scan(algorithm, ScanOp::sum, ScanKind::inclusive, in, {.starts = false});
  check_scan(ScanAlgorithm::lookback, ScanOp::sum, ScanKind::inclusive, in,
             {.starts = false, .ring_from_bytes = 1});
}

TEST_CASE("a workspace serves scan after scan, shorter and longer ones", "[device]") {
  const auto in = random_elements<uint64_t>(on_gpu ? 3'000'000 : 9'000);
  const DeviceArray<uint64_t> source{std::span<const uint64_t>(in)};
  for (const ScanAlgorithm algorithm : gpu_algorithms) {
    DeviceScan scan{.type = KeyType::u64, .algorithm = algorithm, .count = in.size()};
    const DeviceArray<std::byte> memory(device_scan_workspace_bytes(scan));
    {
      const OnDevice session;
      device_scan_prepare(scan, Workspace(memory.span()), nullptr);
    }
    // The ways of the look-back take turns, too: a wave, in place by tickets, the ring.
    struct Turn {
      uint64_t count;
      bool in_place = false;
      uint64_t ring_from_bytes = 0;
    };
    for (const Turn& turn :
         {Turn{in.size()}, Turn{700, true}, Turn{in.size() / 2, false, 1}, Turn{700}, Turn{in.size(), true},
          Turn{in.size() / 2}, Turn{in.size(), false, 1}, Turn{1}}) {
      const OnDevice session;
      const uint64_t count = turn.count;
      INFO(name(algorithm) << " n=" << count << (turn.in_place ? " in place" : ""));
      const DeviceArray<uint64_t> target{std::span<const uint64_t>(in).first(count)};
      scan.count = count;
      scan.in = turn.in_place ? target.data() : source.data();
      scan.out = target.data();
      scan.ring_from_bytes = turn.ring_from_bytes;
      device_scan(scan, Workspace(memory.span()), nullptr);
      const std::vector<uint64_t> part(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(count));
      const auto expected = plain_scan<uint64_t>(ScanOp::sum, ScanKind::inclusive, part, std::nullopt);
      CHECK(target.download() == expected.out);
      memory.check_zones();
    }
  }
}

TEST_CASE("a scan of pieces is the scan of the whole", "[device]") {
  const auto in = random_elements<uint32_t>(20'000);
  const DeviceArray<uint32_t> source{std::span<const uint32_t>(in)};
  const DeviceArray<uint32_t> target(in.size());
  const DeviceArray<uint32_t> carry(2);
  const OnDevice session;
  DeviceScan scan{.type = KeyType::u32, .kind = ScanKind::inclusive, .count = 8'192};
  const DeviceArray<std::byte> memory(device_scan_workspace_bytes(scan));
  device_scan_prepare(scan, Workspace(memory.span()), nullptr);
  uint64_t first = 0;
  for (uint32_t piece = 0; first < in.size(); ++piece, first += scan.count) {
    scan.count = std::min<uint64_t>(8'192, in.size() - first);
    scan.in = source.data() + first;
    scan.out = target.data() + first;
    scan.initial = piece == 0 ? nullptr : carry.data() + piece % 2;
    scan.total = carry.data() + (piece + 1) % 2;
    device_scan(scan, Workspace(memory.span()), nullptr);
  }
  CHECK(target.download() == plain_scan<uint32_t>(ScanOp::sum, ScanKind::inclusive, in, std::nullopt).out);
}

TEST_CASE("an algorithm of the CPU and an exclusive or of floats are refused", "[device]") {
  DeviceScan scan{.algorithm = ScanAlgorithm::threads};
  CHECK_THROWS_AS(device_scan_workspace_bytes(scan), std::invalid_argument);
  scan = {.type = KeyType::f32, .op = ScanOp::bit_xor};
  CHECK_THROWS_AS(device_scan(scan, Workspace(), nullptr), std::invalid_argument);
}

TEST_CASE("widening keeps every value", "[device]") {
  const OnDevice session;
  const auto in = random_elements<int16_t>(3'001);
  const DeviceArray<int16_t> source{std::span<const int16_t>(in)};
  const DeviceArray<int64_t> wide(in.size());
  const DeviceArray<float> floats(in.size());
  device_widen(KeyType::i16, KeyType::i64, source.data(), wide.data(), in.size(), nullptr);
  device_widen(KeyType::i16, KeyType::f32, source.data(), floats.data(), in.size(), nullptr);
  CHECK(wide.download() == std::vector<int64_t>(in.begin(), in.end()));
  CHECK(floats.download() == std::vector<float>(in.begin(), in.end()));
  wide.check_zones();
  CHECK_THROWS_AS(device_widen(KeyType::i16, KeyType::u64, source.data(), wide.data(), 1, nullptr),
                  std::invalid_argument);
  CHECK_THROWS_AS(device_widen(KeyType::u32, KeyType::f32, source.data(), wide.data(), 1, nullptr),
                  std::invalid_argument);
}

namespace {

/// The first place whose sum does not fit the type, as the device finds it. The elements stand at first_index
/// in the whole.
template <class T>
uint64_t overflow_of(const std::vector<T>& in, ScanKind kind, uint64_t first_index) {
  const OnDevice session;
  const DeviceArray<T> source{std::span<const T>(in)};
  const DeviceArray<T> target(in.size());
  const std::vector<uint64_t> none{std::numeric_limits<uint64_t>::max()};
  const DeviceArray<uint64_t> position{std::span<const uint64_t>(none)};
  DeviceScan scan{
      .type = key_type_of<T>(), .kind = kind, .count = in.size(), .in = source.data(), .out = target.data()};
  const DeviceArray<std::byte> memory(device_scan_workspace_bytes(scan));
  device_scan_prepare(scan, Workspace(memory.span()), nullptr);
  device_scan(scan, Workspace(memory.span()), nullptr);
  device_find_overflow(scan, first_index, position.data(), nullptr);
  return position.download()[0];
}

}  // namespace

TEMPLATE_TEST_CASE("the place where a sum overflows is found", "[device]", uint8_t, int8_t, uint16_t, int32_t,
                   uint32_t, int64_t, uint64_t) {
  constexpr uint64_t none = std::numeric_limits<uint64_t>::max();
  std::vector<TestType> in(4'000, TestType{0});
  in[17] = std::numeric_limits<TestType>::max();
  for (const ScanKind kind : both_kinds) {
    CHECK(overflow_of(in, kind, 0) == none);
    auto upwards = in;
    upwards[2'500] = upwards[3'000] = 1;
    CHECK(overflow_of(upwards, kind, 1'000) == 3'500);
    if (std::is_signed_v<TestType>) {
      auto downwards = in;
      downwards[17] = std::numeric_limits<TestType>::min();
      downwards[99] = static_cast<TestType>(-1);
      CHECK(overflow_of(downwards, kind, 0) == 99);
      upwards[2'400] = static_cast<TestType>(-1);
      CHECK(overflow_of(upwards, kind, 0) == 3'000);
    }
  }
}

namespace {

template <class T>
struct Extremum {
  bool found = false;
  T value{};
  uint64_t index = 0;
};

template <class T>
Extremum<T> plain_extreme(Extreme extreme, const std::vector<T>& in) {
  const ScanOp op = extreme == Extreme::min ? ScanOp::min : ScanOp::max;
  Extremum<T> best;
  for (size_t i = 0; i < in.size(); ++i) {
    if (best.found && same(combine(op, best.value, in[i]), best.value)) continue;
    best = {true, in[i], i};
  }
  return best;
}

template <class T>
void check_reduce(const std::vector<T>& in, DeviceReduce reduce, const std::vector<uint64_t>& pieces) {
  const OnDevice session;
  INFO(name(key_type_of<T>()) << " " << name(reduce.extreme) << " " << name(reduce.algorithm)
                              << " n=" << in.size() << (reduce.wants_index ? " with index" : "") << ", "
                              << pieces.size() << " pieces, " << replay_text());
  const DeviceArray<T> source{std::span<const T>(in)};
  reduce.type = key_type_of<T>();
  reduce.count = in.size();
  const DeviceArray<std::byte> memory(device_reduce_workspace_bytes(reduce));
  device_reduce_begin(reduce, Workspace(memory.span()), nullptr);
  uint64_t end = in.size();  // the last piece first
  for (const uint64_t length : pieces) {
    end -= length;
    DeviceReduce piece = reduce;
    piece.count = length;
    piece.in = source.data() + end;
    piece.first_index = end;
    device_reduce(piece, Workspace(memory.span()), nullptr);
  }
  REQUIRE(end == 0);
  const DeviceReduced result = device_reduce_result(reduce, Workspace(memory.span()), nullptr);
  const Extremum<T> expected = plain_extreme(reduce.extreme, in);
  REQUIRE(result.found == expected.found);
  memory.check_zones();
  if (!expected.found) return;
  T value;
  std::memcpy(&value, &result.bits, sizeof(T));
  CHECK(same(value, expected.value));
  bool is_nan = false;
  if constexpr (std::is_floating_point_v<T>) is_nan = std::isnan(expected.value);
  if (reduce.wants_index && !is_nan) CHECK(result.index == expected.index);
}

}  // namespace

TEMPLATE_TEST_CASE("the smallest and the largest are found, where they first stand", "[device]", uint8_t,
                   int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float, double) {
  constexpr uint64_t tile = 512 * 8 * 16 / sizeof(TestType);
  std::vector<uint64_t> sizes{0, 1, 2, 33, 1000};
  if (on_gpu || sizeof(TestType) >= 4) sizes.insert(sizes.end(), {tile - 1, tile, 2 * tile + 17});
  if (on_gpu) sizes.push_back(700 * tile + 5);
  for (const uint64_t size : sizes) {
    auto in = random_elements<TestType>(size, true);
    // Makes equal elements, so that the first of them counts.
    if (size > 40)
      for (TestType& element : in) element = static_cast<TestType>(element / 2);
    for (const Extreme extreme : {Extreme::min, Extreme::max})
      for (const bool wants_index : {false, true})
        check_reduce(in, {.extreme = extreme, .wants_index = wants_index}, {size});
    if (size < tile || on_gpu)
      check_reduce(in, {.wants_index = true, .algorithm = ReduceAlgorithm::two_launch}, {size});
  }
}

TEST_CASE("an array may be searched in pieces, from any address", "[device]") {
  auto in = random_elements<uint32_t>(3'000);
  in[1'501] = in[2'777] = in[17] = 0;
  for (const ReduceAlgorithm algorithm : {ReduceAlgorithm::single_pass, ReduceAlgorithm::two_launch})
    check_reduce(in, {.wants_index = true, .algorithm = algorithm}, {999, 0, 1, 1'000, 1'000});
  const std::vector<uint64_t> wide(in.begin(), in.end());
  check_reduce(wide, {.extreme = Extreme::max, .wants_index = true}, {999, 0, 1, 1'000, 1'000});
}

TEST_CASE("of NaN alone the smallest is NaN", "[device]") {
  const std::vector<float> in(100, -std::numeric_limits<float>::quiet_NaN());
  check_reduce(in, {.wants_index = true}, {100});
  check_reduce(in, {.extreme = Extreme::max}, {100});
}

TEST_CASE("the largest possible key is found where all keys are it", "[device]") {
  check_reduce(std::vector<uint64_t>(500, std::numeric_limits<uint64_t>::max()), {.wants_index = true},
               {500});
  check_reduce(std::vector<uint64_t>(500, 0), {.extreme = Extreme::max, .wants_index = true}, {500});
}

#ifdef SWEEPSORT_EMULATED
TEMPLATE_TEST_CASE("a device without the memory for a ring scans and reduces as well", "[device]", uint8_t,
                   uint16_t, uint32_t, uint64_t, float, double) {
  const OnSmallDevices small;
  const auto in = random_elements<TestType>(9'001);
  for (const ScanAlgorithm algorithm : gpu_algorithms)
    for (const ScanKind kind : both_kinds)
      check_scan(algorithm, ScanOp::sum, kind, in, {.ring_from_bytes = 1});
  for (const ReduceAlgorithm algorithm : {ReduceAlgorithm::automatic, ReduceAlgorithm::two_launch})
    check_reduce(in, {.wants_index = true, .algorithm = algorithm}, {4'000, 5'001});
}
#endif

}  // namespace sweepsort
