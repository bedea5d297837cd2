// sort_results_test.cpp - what is written of sorted keys (each once, counts, positions, values), from one
// file or several, in memory and beyond it.
#include "catch.hpp"
#include "on_device.hpp"
#include "oracle.hpp"
#include "pipeline/record_sink.hpp"
#include "small_split.hpp"
#include "sort_file_fixture.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <numeric>
#include <thread>

using namespace sweepsort;
using namespace sweepsort::test;
using Catch::Matchers::ContainsSubstring;

namespace {

SortEnvironment cpu_environment() {
  SortEnvironment environment = plain_environment(8u << 20);
  environment.make_cpu = [](uint32_t threads) { return make_cpu_backend(threads); };
  return environment;
}

/// In memory, also by a session that splits keys while they are read; in runs that stay in memory; in spilled
/// runs with one merge or several, past the page cache or through it. On a GPU: all at once, or in spilled
/// runs.
struct Way {
  Bytes memory;
  bool splits = false;
  uint64_t min_runs = 1;
  bool leaves_no_cache = false;
};
#if defined(SWEEPSORT_RESULTS_ON_GPU)
constexpr BackendChoice backend = BackendChoice::cuda;
constexpr Way ways[] = {{{1u << 30}}, {.memory = {1u << 30}, .min_runs = 5}};
#else
constexpr BackendChoice backend = BackendChoice::automatic;
constexpr Way ways[] = {{{1u << 30}},
                        {{1u << 30}, true},
                        {{1'400'000}},
                        {{500'000}},
                        {.memory = {500'000}, .leaves_no_cache = true},
                        {{1u << 16}}};
#endif
#if defined(SWEEPSORT_EMULATED)
constexpr size_t count = 3'001;
constexpr size_t gpu_chunk = 4u << 10;
const OnDevice schedule;
#else
constexpr size_t count = 70'001;
constexpr size_t gpu_chunk = 64u << 10;
#endif

SortEnvironment environment_of(const Way& way) {
  if (backend == BackendChoice::cuda) return {.chunk_bytes = gpu_chunk, .min_runs = way.min_runs};
  SortEnvironment environment = cpu_environment();
  if (way.leaves_no_cache) environment.memory = [&way] { return MemoryLimit{way.memory, "the test"}; };
  if (way.splits)
    environment.make_cpu = [](uint32_t threads) { return make_tuned_cpu_backend(threads, small_split()); };
  return environment;
}

SortFileOptions options_for(Bytes memory, Order order, KeyType type) {
  return {.file = {.type = type},
          .where = {.threads = 3},
          .memory = {.memory = memory},
          .order = order,
          .overwrite = true};
}
SortFileOptions options_for(const Way& way, Order order, KeyType type) {
  SortFileOptions options = options_for(way.memory, order, type);
  options.where.backend = backend;
  // The length of a stream is unknown, so its runs are as large as this lets them be.
  if (backend == BackendChoice::cuda && !on_gpu) options.memory.gpu_memory = Bytes{2u << 20};
  return options;
}

/// So few values that most of them stand several times, and that the last chunk of a block shares one with
/// the next.
template <class Key>
std::vector<Key> repeating_keys(uint64_t stream = 0, size_t n = count) {
  std::vector<Key> keys = random_keys<Key>(500, stream);
  std::vector<Key> all(n);
  std::mt19937_64 random(test_seed() + stream);
  for (Key& key : all) key = keys[random() % keys.size()];
  std::fill(all.begin(), all.begin() + n / 3, keys[0]);
  return all;
}

/// Makes a file of these keys or, for a stream, a named pipe with a writer.
template <class Key>
std::jthread supply(const std::string& path, const std::vector<Key>& keys, bool is_stream) {
  std::filesystem::remove(path);
  if (!is_stream) {
    write_keys(path, keys);
    return {};
  }
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  return std::jthread([&keys, path] { write_keys(path, keys); });
}

template <class Key>
auto ordered(Order order) {
  return oracle::Ordered<Key>(order);
}

/// Where each key stands, in the order of the keys; stable.
template <class Key>
std::vector<uint32_t> sorted_positions(const std::vector<Key>& keys, Order order) {
  std::vector<uint32_t> positions(keys.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::ranges::stable_sort(positions, {}, [&](uint32_t i) { return ordered<Key>(order)(keys[i]); });
  return positions;
}

/// Where each distinct key first stands, in the order of the keys.
template <class Key>
std::vector<uint32_t> first_positions(const std::vector<Key>& keys, Order order) {
  std::map<BitsOf<Key>, uint32_t> firsts;
  for (uint32_t i = 0; i < keys.size(); ++i) firsts.try_emplace(ordered<Key>(order)(keys[i]), i);
  std::vector<uint32_t> positions;
  for (const auto& [key, position] : firsts) positions.push_back(position);
  return positions;
}

/// Checks that "out" and "second" hold what is expected of each key, by its ordered bits.
template <class Key>
void require_unique(const TemporaryFolder& folder, Order order, const SortReport& report,
                    const std::map<BitsOf<Key>, uint64_t>& expected) {
  CHECK(report.verified);
  CHECK(report.distinct == expected.size());
  CHECK(report.output_bytes == expected.size() * (sizeof(Key) + 8));
  const auto keys = read_keys<Key>(folder / "out");
  const auto second = read_keys<uint64_t>(folder / "second");
  REQUIRE(keys.size() == expected.size());
  REQUIRE(second.size() == expected.size());
  size_t i = 0;
  bool all_right = true;
  for (const auto& [key, number] : expected) {
    all_right &= ordered<Key>(order)(keys[i]) == key && second[i] == number;
    ++i;
  }
  CHECK(all_right);
}

}  // namespace

TEMPLATE_TEST_CASE("each key is written once, with how often it stood", "", uint8_t, int16_t, uint32_t,
                   double) {
  const TemporaryFolder folder;
  const KeyType type = key_type_of<TestType>();
  for (const Way& way : ways)
    for (const Order order : {Order::ascending, Order::descending}) {
      const auto keys = repeating_keys<TestType>();
      std::map<BitsOf<TestType>, uint64_t> expected;
      for (const TestType key : keys) ++expected[ordered<TestType>(order)(key)];
      write_keys(folder / "in", keys);
      SortFileOptions options = options_for(way, order, type);
      options.result = SortResult::unique;
      options.counts_output = folder / "second";
      const SortReport report = sort_file_with(environment_of(way), folder / "in", folder / "out", options);
      if (way.splits && sizeof(TestType) >= 4) CHECK_THAT(report.algorithm, ContainsSubstring("split while"));
      require_unique<TestType>(folder, order, report, expected);
    }
}

TEMPLATE_TEST_CASE("each key is written once, with the sum of its values", "", uint8_t, int16_t, uint32_t,
                   double) {
  const TemporaryFolder folder;
  const KeyType type = key_type_of<TestType>();
  const auto keys = repeating_keys<TestType>();
  write_keys(folder / "in", keys);
  const bool are_wide = GENERATE(false, true);
  std::vector<uint64_t> values = random_keys<uint64_t>(count, 1);
  for (uint64_t& value : values) value &= are_wide ? uint64_t{1} << 46 | 0xffff : 0xffff'ffffu;
  const std::vector<uint32_t> narrow(values.begin(), values.end());
  if (are_wide)
    write_keys(folder / "values", values);
  else
    write_keys(folder / "values", narrow);
  for (const Way& way : ways)
    for (const Order order : {Order::ascending, Order::descending}) {
      std::map<BitsOf<TestType>, uint64_t> expected;
      for (size_t i = 0; i < count; ++i) expected[ordered<TestType>(order)(keys[i])] += values[i];
      SortFileOptions options = options_for(way, order, type);
      options.result = SortResult::unique;
      options.values = {folder / "values"};
      options.counts_output = folder / "second";
      const SortReport report = sort_file_with(environment_of(way), folder / "in", folder / "out", options);
      require_unique<TestType>(folder, order, report, expected);
    }
}

TEST_CASE("a sum that leaves 64 bits is an error, in a chunk and across them, and nothing is written") {
  const TemporaryFolder folder;
  const size_t distance = GENERATE(size_t{1}, count - 1);
  write_keys(folder / "in", std::vector<uint16_t>(count, 7));
  std::vector<uint64_t> values(count);
  values[0] = values[distance] = uint64_t{1} << 63;
  write_keys(folder / "values", values);
  for (const Way& way : ways) {
    SortFileOptions options = options_for(way, Order::ascending, KeyType::u16);
    options.result = SortResult::unique;
    options.values = {folder / "values"};
    options.counts_output = folder / "sums";
    CHECK_THROWS_WITH(sort_file_with(environment_of(way), folder / "in", folder / "out", options),
                      ContainsSubstring("the values of key 7 add up to more than 64 bits can hold"));
    CHECK(folder.names() == std::vector<std::string>{"in", "values"});
  }
}

TEMPLATE_TEST_CASE("of equal keys a run keeps one, if nobody asks how often each stood", "", uint8_t, int16_t,
                   uint32_t, double) {
  const TemporaryFolder folder;
  const KeyType type = key_type_of<TestType>();
  const bool is_stream = GENERATE(false, true);
  for (const Way& way : ways)
    for (const Order order : {Order::ascending, Order::descending}) {
      const auto keys = repeating_keys<TestType>();
      std::map<BitsOf<TestType>, TestType> expected;
      for (const TestType key : keys) expected.emplace(ordered<TestType>(order)(key), key);
      const std::jthread writer = supply(folder / "in", keys, is_stream);
      SortFileOptions options = options_for(way, order, type);
      options.result = SortResult::unique;
      uint64_t merged = 0;
      options.progress = [&](Phase phase, uint64_t done, uint64_t) {
        if (phase == Phase::merge) merged = done;
      };
      const SortReport report = sort_file_with(environment_of(way), folder / "in", folder / "out", options);
      CHECK(report.count == keys.size());
      CHECK(report.distinct == expected.size());
      CHECK(report.verified);
      const auto unique = read_keys<TestType>(folder / "out");
      REQUIRE(unique.size() == expected.size());
      CHECK(std::ranges::equal(unique, expected, [](TestType key, const auto& wanted) {
        return std::memcmp(&key, &wanted.second, sizeof key) == 0;
      }));
      CHECK(merged <= report.plan.passes * report.plan.runs * expected.size() * sizeof(TestType));
      if (report.plan.strategy == "external") CHECK(merged >= expected.size() * sizeof(TestType));
    }
}

TEST_CASE("runs keep how often a key stood where keys repeat, and all keys where they do not") {
  const TemporaryFolder folder;
  const bool is_stream = GENERATE(false, true);
  size_t packed = 0;
  constexpr size_t n = std::max<size_t>(count, 20'000);  // runs of some pages each
  constexpr size_t beginning = n / 2;
  const auto few = repeating_keys<uint32_t>(0, n);
  std::vector<uint32_t> keys = random_keys<uint32_t>(n, 1);
  uint64_t least_merged = 0;            // bytes, where runs keep counts
  uint64_t most_merged = ~uint64_t{0};  // of each run, too
  SECTION("all repeat") {
    keys = few;
    most_merged = 500 * 8;
  }
  // The first run decides whether runs keep counts. The later ones then have all their keys.
  SECTION("those at the beginning repeat") {
    std::copy_n(few.begin(), beginning, keys.begin());
    least_merged = (n - beginning) * 8;
  }
  SECTION("those at the end repeat") { std::copy_n(few.begin(), beginning, keys.end() - beginning); }
  SECTION("none repeats") {}
  for (const Way& way : ways) {
    std::map<uint32_t, uint64_t> expected;
    for (const uint32_t key : keys) ++expected[key];
    const std::jthread writer = supply(folder / "in", keys, is_stream);
    SortFileOptions options = options_for(way, Order::ascending, KeyType::u32);
    options.result = SortResult::unique;
    options.counts_output = folder / "second";
    uint64_t merged = 0;
    options.progress = [&](Phase phase, uint64_t done, uint64_t) {
      if (phase == Phase::merge) merged = done;
    };
    const SortReport report = sort_file_with(environment_of(way), folder / "in", folder / "out", options);
    CHECK(report.count == keys.size());
    require_unique<uint32_t>(folder, Order::ascending, report, expected);
    // Runs keep counts if they are merged once, but not those of a stream on a GPU.
    const bool keeps_counts = report.plan.passes == 2 && !(is_stream && backend == BackendChoice::cuda);
    packed += keeps_counts ? 1 : 0;
    if (!keeps_counts) continue;
    CHECK(merged >= least_merged);
    CHECK(merged / report.plan.runs <= most_merged);
  }
  CHECK((packed != 0 || (is_stream && backend == BackendChoice::cuda)));
}

TEST_CASE("a backend whose keys change more often than they have values is caught") {
  const TemporaryFolder folder;
  std::vector<uint8_t> keys(5'000);
  std::iota(keys.begin(), keys.end(), 0);
  write_keys(folder / "in.u8", keys);
  // A run in the middle becomes three.
  const SortEnvironment environment = plain_environment(8u << 20, Fault::flips_bit);
  SortFileOptions options = options_for(Bytes{1u << 20}, Order::ascending, KeyType::u8);
  options.result = SortResult::unique;
  options.counts_output = folder / "counts";
  CHECK_THROWS_AS(sort_file_with(environment, folder / "in.u8", folder / "out", options), Error);
  CHECK(folder.names() == std::vector<std::string>{"in.u8"});
}

TEST_CASE("keys that a backend packs are written once, and it is caught if they are not the right ones") {
  const TemporaryFolder folder;
  // Even keys, so that there is room between them. Each stands two or three times.
  std::vector<uint32_t> keys(5'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<uint32_t>(i * 2 / 5) * 2;
  write_keys(folder / "in.u32", keys);
  SortFileOptions options =
      options_for(GENERATE(Bytes{1u << 20}, Bytes{1u << 16}), Order::ascending, KeyType::u32);
  options.result = SortResult::unique;
  if (GENERATE(false, true)) options.counts_output = folder / "counts";
  const size_t chunk_bytes = GENERATE(size_t{4} << 10, size_t{8} << 20);
  const auto sort_with = [&](Fault fault) {
    return sort_file_with(plain_environment(chunk_bytes, fault), folder / "in.u32", folder / "out", options);
  };
  for (const Fault fault : {Fault::packs, Fault::packs_too_many}) {
    CHECK(sort_with(fault).distinct == 2'000);
    CHECK(read_keys<uint32_t>(folder / "out") == [] {
      std::vector<uint32_t> even(2'000);
      for (size_t i = 0; i < even.size(); ++i) even[i] = static_cast<uint32_t>(2 * i);
      return even;
    }());
    if (options.counts_output.empty()) continue;
    const auto counts = read_keys<uint64_t>(folder / "counts");
    bool all_right = counts.size() == 2'000;
    for (size_t i = 0; i < counts.size(); ++i) all_right &= counts[i] == 2 + (i + 1) % 2;
    CHECK(all_right);
  }
  std::filesystem::remove(folder / "out");
  std::filesystem::remove(folder / "counts");
  for (const Fault fault : {Fault::packs_nothing, Fault::packs_too_few}) {
    CHECK_THROWS_WITH(sort_with(fault), ContainsSubstring("do not match its keys"));
    CHECK(folder.names() == std::vector<std::string>{"in.u32"});
  }
  for (const Fault fault : {Fault::packs_without_one, Fault::packs_one_twice, Fault::packs_one_of_none,
                            Fault::packs_flipped_bit, Fault::packs_wrong_count}) {
    CAPTURE(fault);
    CHECK_THROWS_WITH(sort_with(fault), ContainsSubstring("the result was discarded"));
    CHECK(folder.names() == std::vector<std::string>{"in.u32"});
  }
}

TEST_CASE("keys that are all different, all equal, one or none are written once") {
  const TemporaryFolder folder;
  for (const Way& way : ways)
    for (const size_t size : {size_t{0}, size_t{1}, count}) {
      for (const bool equal : {false, true}) {
        std::vector<uint64_t> keys(size, 5);
        if (!equal) std::iota(keys.begin(), keys.end(), 0);
        write_keys(folder / "in.u64", keys);
        SortFileOptions options = options_for(way, Order::ascending, KeyType::u64);
        options.result = SortResult::unique;
        sort_file_with(environment_of(way), folder / "in.u64", folder / "out", options);
        if (equal && size != 0) keys = {5};
        CHECK(read_keys<uint64_t>(folder / "out") == keys);
      }
    }
}

/// Its header is as short as the format allows, shorter than those that we write.
template <class Element>
void write_short_npy(const std::string& name, const std::string& type, const std::vector<Element>& elements) {
  std::string text = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (30000,)}";
  text.resize((10 + text.size() + 1 + 15) / 16 * 16 - 10 - 1, ' ');
  text += '\n';
  std::string file = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size()) + '\0' + text;
  file.append(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(Element));
  write_file(name, std::as_bytes(std::span(file)));
}

TEST_CASE("a .npy file of unique keys says how many there are, and so does one of their values") {
  const TemporaryFolder folder;
  std::vector<uint32_t> keys(30'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<uint32_t>(i % 7);
  std::vector<double> values(keys.size());
  std::iota(values.begin(), values.end(), 0.5);
  write_short_npy(folder / "in.npy", "<u4", keys);
  write_short_npy(folder / "values.npy", "<f8", values);
  for (const Bytes memory : {Bytes{1u << 16}, Bytes{1u << 26}}) {
    SortFileOptions options{.memory = {.memory = memory}, .result = SortResult::unique, .overwrite = true};
    const auto sorted_again = [&]<class Element>(const std::string& input, std::type_identity<Element>) {
      const SortFileOptions again{.output_format = FileFormat::raw, .overwrite = true};
      CHECK(sort_file_with(cpu_environment(), input, folder / "again", again).count == 7);
      return read_keys<Element>(folder / "again");
    };
    options.values = {folder / "values.npy"};
    options.values_output = folder / "first.npy";
    sort_file_with(cpu_environment(), folder / "in.npy", folder / "out.npy", options);
    const std::vector<uint32_t> first_seven{0, 1, 2, 3, 4, 5, 6};
    CHECK(sorted_again(folder / "out.npy", std::type_identity<uint32_t>{}) == first_seven);
    CHECK(sorted_again(folder / "first.npy", std::type_identity<double>{}) ==
          std::vector<double>{0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5});
    options.result = SortResult::first_positions;
    options.values = {};
    options.values_output = {};
    sort_file_with(cpu_environment(), folder / "in.npy", folder / "positions.npy", options);
    CHECK(sorted_again(folder / "positions.npy", std::type_identity<uint32_t>{}) == first_seven);
  }
  const SortFileOptions unique{.result = SortResult::unique};
  CHECK_THROWS_WITH(sort_file_with(cpu_environment(), folder / "in.npy", "/dev/null", unique),
                    ContainsSubstring("begins with the number of keys"));
}

TEMPLATE_TEST_CASE("the permutation of an argsort is stable and sorts the keys", "", uint8_t, uint32_t,
                   int64_t, float) {
  const TemporaryFolder folder;
  const auto keys = repeating_keys<TestType>();
  write_keys(folder / "in", keys);
  for (const Way& way : ways)
    for (const Order order : {Order::ascending, Order::descending}) {
      SortFileOptions options = options_for(way, order, key_type_of<TestType>());
      options.result = SortResult::permutation;
      const SortReport report = sort_file_with(environment_of(way), folder / "in", folder / "out", options);
      CHECK(report.verified);
      CHECK(read_keys<uint32_t>(folder / "out") == sorted_positions(keys, order));
    }
}

TEMPLATE_TEST_CASE("values are sorted by their keys, stably", "", uint32_t, uint64_t) {
  const TemporaryFolder folder;
  const auto keys = repeating_keys<uint16_t>();
  const auto values = random_keys<TestType>(count, 9);
  write_keys(folder / "in.u16", keys);
  write_keys(folder / "values", values);
  for (const Way& way : ways)
    for (const Order order : {Order::ascending, Order::descending}) {
      SortFileOptions options = options_for(way, order, KeyType::u16);
      options.values = {folder / "values"};
      options.values_output = folder / "values.out";
      const SortReport report =
          sort_file_with(environment_of(way), folder / "in.u16", folder / "out", options);
      CHECK(report.output_bytes == count * (2 + sizeof(TestType)));
      oracle::require_sorted_pairs<uint16_t, TestType>(keys, values, read_keys<uint16_t>(folder / "out"),
                                                       read_keys<TestType>(folder / "values.out"), order);
    }
  CHECK(folder.names() == std::vector<std::string>{"in.u16", "out", "values", "values.out"});
}

TEMPLATE_TEST_CASE("each key is written once, with its first value, or where it first stood", "", uint8_t,
                   int32_t, double) {
  const TemporaryFolder folder;
  const auto keys = repeating_keys<TestType>();
  const auto values = random_keys<uint64_t>(count, 9);
  write_keys(folder / "in", keys);
  write_keys(folder / "values.u64", values);
  for (const Way& way : ways)
    for (const Order order : {Order::ascending, Order::descending}) {
      const std::vector<uint32_t> firsts = first_positions(keys, order);
      std::vector<TestType> expected;
      std::vector<uint64_t> expected_values;
      for (const uint32_t position : firsts) {
        expected.push_back(keys[position]);
        expected_values.push_back(values[position]);
      }
      SortFileOptions options = options_for(way, order, key_type_of<TestType>());
      options.result = SortResult::first_positions;
      const SortReport report = sort_file_with(environment_of(way), folder / "in", folder / "out", options);
      CHECK(report.verified);
      CHECK(report.distinct == firsts.size());
      CHECK(report.output_bytes == firsts.size() * 4);
      CHECK(read_keys<uint32_t>(folder / "out") == firsts);
      options.result = SortResult::unique;
      options.values = {folder / "values.u64"};
      options.values_output = folder / "values.out";
      uint64_t merged = 0;
      options.progress = [&](Phase phase, uint64_t done, uint64_t) {
        if (phase == Phase::merge) merged = done;
      };
      const SortReport pairs = sort_file_with(environment_of(way), folder / "in", folder / "out", options);
      CHECK(merged <= pairs.plan.passes * pairs.plan.runs * firsts.size() * (sizeof(TestType) + 8));
      if (pairs.plan.strategy == "external") CHECK(merged >= firsts.size() * (sizeof(TestType) + 8));
      CHECK(pairs.distinct == firsts.size());
      CHECK(pairs.output_bytes == firsts.size() * (sizeof(TestType) + 8));
      const auto bits = ordered<TestType>(order);
      CHECK(std::ranges::equal(read_keys<TestType>(folder / "out"), expected, {}, bits, bits));
      CHECK(read_keys<uint64_t>(folder / "values.out") == expected_values);
    }
  CHECK(folder.names() == std::vector<std::string>{"in", "out", "values.out", "values.u64"});
}

TEST_CASE("first values and positions go to a pipe in order") {
  const TemporaryFolder folder;
  const auto keys = random_keys<uint32_t>(count);
  write_keys(folder / "in.u32", keys);
  std::vector<uint32_t> positions(count);
  std::iota(positions.begin(), positions.end(), 0);
  write_keys(folder / "values.u32", positions);
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const std::vector<uint32_t> firsts = first_positions(keys, Order::ascending);
  for (const Way& way : ways)
    for (const SortResult result : {SortResult::unique, SortResult::first_positions}) {
      SortFileOptions options = options_for(way, Order::ascending, KeyType::u32);
      options.result = result;
      const bool has_values = result == SortResult::unique;
      if (has_values) options.values = {folder / "values.u32"};
      if (has_values) options.values_output = folder / "pipe";
      SortEnvironment environment = environment_of(way);
      environment.chunk_bytes = 4u << 10;
      auto read = std::async(std::launch::async, [&] { return read_keys<uint32_t>(folder / "pipe"); });
      sort_file_with(environment, folder / "in.u32", folder / (has_values ? "out" : "pipe"), options);
      CHECK(read.get() == firsts);
    }
}

TEST_CASE("positions that do not ascend where keys are equal are found") {
  struct Record {
    uint32_t key;
    uint64_t position;
  };
  using Chunk = std::vector<Record>;
  using Sessions = std::vector<std::vector<Chunk>>;
  const auto is_ordered = [](const Sessions& sessions) {
    const Transfer transfer{.shape = {KeyType::u32, 8}, .values = ValueKind::positions};
    RecordCheck check(transfer);
    for (const std::vector<Chunk>& chunks : sessions) {
      check.begin(chunks.size());
      for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
        std::vector<uint32_t> keys;
        std::vector<uint64_t> positions;
        for (const auto& [key, position] : chunks[chunk]) {
          keys.push_back(key);
          positions.push_back(position);
        }
        check.see_keys(chunk, std::as_bytes(std::span(keys)));
        check.see_pairs(chunk, std::as_bytes(std::span(keys)), std::as_bytes(std::span(positions)));
      }
      check.end();
    }
    return check.result().is_ordered;
  };
  CHECK(is_ordered({{{{1, 5}, {2, 3}, {2, 4}}, {{2, 6}, {3, 0}}}, {{{3, 1}, {4, 2}}}}));
  CHECK_FALSE(is_ordered({{{{1, 5}, {2, 4}, {2, 3}}, {{2, 6}, {3, 0}}}, {{{3, 1}, {4, 2}}}}));
  CHECK_FALSE(is_ordered({{{{1, 5}, {2, 3}, {2, 6}}, {{2, 4}, {3, 0}}}, {{{3, 1}, {4, 2}}}}));
  CHECK_FALSE(is_ordered({{{{1, 5}, {2, 3}, {2, 4}}, {{2, 6}, {3, 1}}}, {{{3, 0}, {4, 2}}}}));
  CHECK_FALSE(is_ordered({{{{1, 5}}, {{1, 5}}}}));
}

TEST_CASE("a count of zero is found, which the fingerprint does not notice") {
  const std::vector<uint32_t> keys{1, 2, 3};
  std::vector<uint32_t> counts{7, 1, 5};
  const auto check_them = [&] {
    const Transfer transfer{.shape = {KeyType::u32, 4}, .values = ValueKind::counts};
    RecordCheck check(transfer);
    check.begin(1);
    check.see_keys(0, std::as_bytes(std::span(keys)));
    check.see_pairs(0, std::as_bytes(std::span(keys)), std::as_bytes(std::span(counts)));
    check.end();
    return check.result();
  };
  CHECK(check_them().is_ordered);
  CHECK(check_them().fingerprint.count == 13);
  counts[1] = 0;
  CHECK_FALSE(check_them().is_ordered);
}

TEST_CASE("values that change while their keys are sorted or merged are refused") {
  const TemporaryFolder folder;
  auto keys = random_keys<uint32_t>(count);
  std::ranges::sort(keys);
  write_keys(folder / "in.u32", keys);
  write_keys(folder / "values.u32", keys);
  const Bytes memory{GENERATE(1u << 20, 1u << 30)};
  SortFileOptions options = options_for(memory, Order::ascending, KeyType::u32);
  options.inputs_are_sorted = GENERATE(false, true);
  options.values = {folder / "values.u32"};
  options.values_output = folder / "values.out";
  SortEnvironment environment = cpu_environment();
  environment.make_cpu = [&](uint32_t threads) {
    std::ofstream(folder / "values.u32", std::ios::app) << "more";
    return make_cpu_backend(threads);
  };
  CHECK_THROWS_WITH(sort_file_with(environment, folder / "in.u32", folder / "out", options),
                    ContainsSubstring("values.u32") && ContainsSubstring("changed while it was being read"));
  CHECK(folder.names() == std::vector<std::string>{"in.u32", "values.u32"});
}

TEST_CASE("a stream beyond memory has values and positions, too") {
  const TemporaryFolder folder;
  const auto keys = repeating_keys<uint32_t>();
  const auto values = random_keys<uint64_t>(count, 9);
  write_keys(folder / "in", keys);
  write_keys(folder / "values.u64", values);
  const std::vector<uint32_t> expected = sorted_positions(keys, Order::ascending);
  const std::vector<uint32_t> firsts = first_positions(keys, Order::ascending);
  for (const Way& way : ways) {
    const auto from_pipe = [&](SortFileOptions options) {
      std::filesystem::remove(folder / "pipe");
      REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
      std::thread writer([&] { write_keys(folder / "pipe", keys); });
      sort_file_with(environment_of(way), folder / "pipe", folder / "out", options);
      writer.join();
    };
    SortFileOptions options = options_for(way, Order::ascending, KeyType::u32);
    options.result = SortResult::permutation;
    from_pipe(options);
    CHECK(read_keys<uint32_t>(folder / "out") == expected);
    options.result = SortResult::first_positions;
    from_pipe(options);
    CHECK(read_keys<uint32_t>(folder / "out") == firsts);
    options.result = SortResult::keys;
    options.values = {folder / "values.u64"};
    options.values_output = folder / "values.out";
    from_pipe(options);
    oracle::require_sorted_pairs<uint32_t, uint64_t>(keys, values, read_keys<uint32_t>(folder / "out"),
                                                     read_keys<uint64_t>(folder / "values.out"));
  }
}

TEST_CASE("a backend that does not move the values with their keys is caught, also in a merge") {
  const TemporaryFolder folder;
  const bool merges = GENERATE(false, true);
  std::vector<std::string> inputs;
  for (const char* name : {"a.u32", "b.u32"}) {
    auto keys = random_keys<uint32_t>(1000, inputs.size());
    if (merges) std::ranges::sort(keys);
    inputs.push_back(folder / name);
    write_keys(inputs.back(), keys);
  }
  write_keys(folder / "values.u32", random_keys<uint32_t>(2000, 2));
  SortFileOptions options = options_for(Bytes{1u << 20}, Order::ascending, KeyType::u32);
  options.inputs_are_sorted = merges;
  options.values = {folder / "values.u32"};
  options.values_output = folder / "values.out";
  const auto sort_with = [&](Fault fault) {
    sort_files_with(plain_environment(64, fault), inputs, folder / "out", options);
  };
  CHECK_THROWS_WITH(sort_with(Fault::leaves_values), ContainsSubstring("the result was discarded"));
  CHECK(folder.names() == std::vector<std::string>{"a.u32", "b.u32", "values.u32"});
  CHECK_NOTHROW(sort_with(Fault::none));
}

TEST_CASE("several files of any format are sorted into one, or merged where they are sorted already") {
  const TemporaryFolder folder;
  std::vector<uint64_t> all;
  std::vector<std::string> inputs;
  for (size_t i = 0; i < 23; ++i) {
    auto keys = random_keys<uint64_t>(i == 3 ? 0 : i * 431 + 1, i);
    if (i % 4 == 1) std::ranges::fill(keys, 42);
    std::ranges::sort(keys);
    all.insert(all.end(), keys.begin(), keys.end());
    inputs.push_back(folder / std::to_string(i) + (i % 5 == 2 ? "_uint64" : ".u64"));
    if (i % 5 == 2) keys.insert(keys.begin(), keys.size());  // SOSD
    write_keys(inputs.back(), keys);
  }
  for (const Way& way : ways)
    for (const bool merge : {false, true}) {
      SortFileOptions options = options_for(way, Order::ascending, KeyType::u64);
      options.inputs_are_sorted = merge;
      const SortReport report = sort_files_with(environment_of(way), inputs, folder / "out", options);
      CHECK(report.count == all.size());
      CHECK(report.verified);
      oracle::require_sorted<uint64_t>(all, read_keys<uint64_t>(folder / "out"));
    }
}

TEST_CASE("files are merged with their values, which may be added up, and into positions") {
  const TemporaryFolder folder;
  const Order order = GENERATE(Order::ascending, Order::descending);
  std::vector<uint32_t> keys;
  std::vector<std::string> inputs;
  std::vector<std::string> value_files;
  const auto values = random_keys<uint32_t>(count, 9);
  for (size_t i = 0; i < 11; ++i) {
    auto part = repeating_keys<uint32_t>(i);
    part.resize(i == 3 ? 0 : i == 10 ? count - keys.size() : count / (2 * i + 2) / 2);
    std::ranges::sort(part, {}, ordered<uint32_t>(order));
    inputs.push_back(folder / std::to_string(i) + ".u32");
    value_files.push_back(folder / std::to_string(i) + "_values.u32");
    write_keys(inputs.back(), part);
    write_keys(value_files.back(),
               std::vector(values.begin() + static_cast<ptrdiff_t>(keys.size()),
                           values.begin() + static_cast<ptrdiff_t>(keys.size() + part.size())));
    keys.insert(keys.end(), part.begin(), part.end());
  }
  write_keys(folder / "values.u32", values);
  const std::vector<uint32_t> positions = sorted_positions(keys, order);
  const std::vector<uint32_t> firsts = first_positions(keys, order);
  std::map<uint32_t, uint64_t> sums;
  for (size_t i = 0; i < count; ++i) sums[ordered<uint32_t>(order)(keys[i])] += values[i];
  for (const Way& way : ways) {
    SortFileOptions options = options_for(way, order, KeyType::u32);
    options.inputs_are_sorted = true;
    const auto merge = [&] {
      const SortReport report = sort_files_with(environment_of(way), inputs, folder / "out", options);
      CHECK(report.verified);
      return report;
    };
    options.values_output = folder / "values.out";
    for (const auto& files : {std::vector<std::string>{folder / "values.u32"}, value_files}) {
      options.values = files;
      merge();
      oracle::require_sorted_pairs<uint32_t, uint32_t>(keys, values, read_keys<uint32_t>(folder / "out"),
                                                       read_keys<uint32_t>(folder / "values.out"), order);
    }
    options.result = SortResult::unique;
    CHECK(merge().distinct == firsts.size());
    const auto first_values = read_keys<uint32_t>(folder / "values.out");
    CHECK(std::ranges::equal(first_values, firsts, {}, {}, [&](uint32_t i) { return values[i]; }));
    options.values_output = {};
    options.counts_output = folder / "second";
    require_unique<uint32_t>(folder, order, merge(), sums);
    options.counts_output = {};
    options.values = {};
    options.result = SortResult::permutation;
    merge();
    CHECK(read_keys<uint32_t>(folder / "out") == positions);
    options.result = SortResult::first_positions;
    merge();
    CHECK(read_keys<uint32_t>(folder / "out") == firsts);
  }
}

TEST_CASE("pipes are merged with files, in any memory, and each key written once") {
  const TemporaryFolder folder;
  constexpr size_t pipes = 3;
  std::vector<std::vector<uint64_t>> parts;
  std::vector<uint64_t> all;
  std::vector<std::string> inputs;
  for (size_t i = 0; i < 2 * pipes; ++i) {
    auto keys = repeating_keys<uint64_t>(i);
    keys.resize(i == 2 ? 0 : count / (i + 1));
    std::ranges::sort(keys, std::greater<>());
    all.insert(all.end(), keys.begin(), keys.end());
    inputs.push_back(folder / std::to_string(i) + ".u64");
    if (i < pipes)
      REQUIRE(::mkfifo(inputs.back().c_str(), 0600) == 0);
    else
      write_keys(inputs.back(), keys);
    parts.push_back(std::move(keys));
  }
  for (const Way& way : ways)
    for (const SortResult result : {SortResult::keys, SortResult::unique}) {
      std::vector<std::thread> writers;
      for (size_t i = 0; i < pipes; ++i) writers.emplace_back([&, i] { write_keys(inputs[i], parts[i]); });
      SortFileOptions options = options_for(way, Order::descending, KeyType::u64);
      options.inputs_are_sorted = true;
      options.result = result;
      if (result == SortResult::unique) options.counts_output = folder / "counts";
      const SortReport report = sort_files_with(environment_of(way), inputs, folder / "out", options);
      for (std::thread& writer : writers) writer.join();
      CHECK(report.count == all.size());
      CHECK(report.verified);
      CHECK(report.plan.strategy == "streams");
      if (result == SortResult::keys) {
        CHECK(report.output_bytes == all.size() * 8);
        oracle::require_sorted<uint64_t>(all, read_keys<uint64_t>(folder / "out"), Order::descending);
        continue;
      }
      std::map<uint64_t, uint64_t, std::greater<>> expected;
      for (const uint64_t key : all) ++expected[key];
      std::vector<uint64_t> keys;
      std::vector<uint64_t> counts;
      for (const auto& [key, often] : expected) {
        keys.push_back(key);
        counts.push_back(often);
      }
      CHECK(read_keys<uint64_t>(folder / "out") == keys);
      CHECK(read_keys<uint64_t>(folder / "counts") == counts);
    }
}

TEST_CASE("one writer of several pipes is not held up by windows that are full") {
  const TemporaryFolder folder;
  constexpr size_t pipes = 18;
  constexpr size_t rounds = 400;
  std::vector<std::string> inputs;
  for (size_t i = 0; i < pipes; ++i) {
    inputs.push_back(folder / std::to_string(i) + ".u32");
    REQUIRE(::mkfifo(inputs.back().c_str(), 0600) == 0);
  }
  // Goes round by round, and writes five times as much to the last pipe as to each of the others.
  std::thread writer([&] {
    std::vector<std::ofstream> to;
    for (const std::string& name : inputs) to.emplace_back(name, std::ios::binary);
    for (uint32_t round = 0; round < rounds; ++round)
      for (size_t i = 0; i < pipes; ++i) {
        const std::vector<uint32_t> keys(i + 1 == pipes ? 500 : 100, round);
        to[i].write(reinterpret_cast<const char*>(keys.data()),
                    static_cast<std::streamsize>(keys.size() * 4));
        to[i].flush();
      }
  });
  SortFileOptions options = options_for(Bytes{4u << 20}, Order::ascending, KeyType::u32);
  options.inputs_are_sorted = true;
  const SortReport report = sort_files_with(cpu_environment(), inputs, folder / "out", options);
  writer.join();
  constexpr size_t of_each = (pipes - 1) * 100 + 500;
  CHECK(report.count == rounds * of_each);
  std::vector<uint32_t> all(rounds * of_each);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint32_t>(i / of_each);
  oracle::require_sorted<uint32_t>(all, read_keys<uint32_t>(folder / "out"));
}

TEST_CASE("a pipe whose keys have all come may stay open while another one is read") {
  const bool merges = GENERATE(true, false);
  const TemporaryFolder folder;
  const std::vector<std::string> inputs{folder / "a_uint32", folder / "b_uint32"};
  for (const std::string& name : inputs) REQUIRE(::mkfifo(name.c_str(), 0600) == 0);
  constexpr uint32_t few = 5000, many = 300'000;  // more than a beginning; more than a pipe holds
  std::vector<uint32_t> keys(many);
  std::iota(keys.begin(), keys.end(), 1);
  std::thread writer([&] {
    std::ofstream first(inputs[0], std::ios::binary), second(inputs[1], std::ios::binary);
    const auto write = [&](std::ofstream& to, uint64_t n) {
      to.write(reinterpret_cast<const char*>(&n), sizeof n);  // SOSD: the count comes first
      to.write(reinterpret_cast<const char*>(keys.data()), static_cast<std::streamsize>(n * 4));
      to.flush();
    };
    write(first, few);
    write(second, many);
  });
  SortFileOptions options = options_for(Bytes{1u << 20}, Order::ascending, KeyType::u32);
  options.file.type.reset();
  options.inputs_are_sorted = merges;
  const SortReport report = sort_files_with(cpu_environment(), inputs, folder / "out_uint32", options);
  writer.join();
  CHECK(report.count == few + many);
  CHECK(read_keys<uint64_t>(folder / "out_uint32").at(0) == few + many);
  keys.resize(few + many);
  std::iota(keys.begin() + many, keys.end(), 1);
  oracle::require_sorted<uint32_t>(keys, read_keys<uint32_t>(folder / "out_uint32", 8));
}

TEST_CASE("a pipe that has more than its header says is found while another one stays open") {
  const bool merges = GENERATE(true, false);
  const Bytes memory = GENERATE(Bytes{1u << 20}, Bytes{1u << 16});
  const TemporaryFolder folder;
  const std::vector<std::string> inputs{folder / "a_uint32", folder / "b_uint32"};
  for (const std::string& name : inputs) REQUIRE(::mkfifo(name.c_str(), 0600) == 0);
  std::promise<void> has_ended;
  std::thread writer([&] {
    std::ofstream first(inputs[0], std::ios::binary), second(inputs[1], std::ios::binary);
    constexpr uint64_t announced = 5000;
    for (std::ofstream* to : {&first, &second}) {
      const std::vector<uint32_t> ones(announced + (to == &second), 1);
      to->write(reinterpret_cast<const char*>(&announced), sizeof announced);
      to->write(reinterpret_cast<const char*>(ones.data()), static_cast<std::streamsize>(ones.size() * 4));
      to->flush();
    }
    second.close();
    has_ended.get_future().wait();
  });
  SortFileOptions options = options_for(memory, Order::ascending, KeyType::u32);
  options.file.type.reset();
  options.inputs_are_sorted = merges;
  CHECK_THROWS_WITH(sort_files_with(cpu_environment(), inputs, folder / "out_uint32", options),
                    ContainsSubstring("b_uint32: its header says 5000 keys, but more data follow"));
  has_ended.set_value();
  writer.join();
}

TEST_CASE("a named pipe that has ended is not read from once more, whoever writes into it then") {
  const TemporaryFolder folder;
  const std::vector<std::string> inputs{folder / "a.u32", folder / "b.u32"};
  for (const std::string& name : inputs) REQUIRE(::mkfifo(name.c_str(), 0600) == 0);
  constexpr size_t few = 10'000, many = 1'000'000;
  std::vector<uint32_t> keys(many);
  std::iota(keys.begin(), keys.end(), 1);
  std::promise<void> has_ended;
  std::thread writer([&] {
    std::ofstream first(inputs[0], std::ios::binary), second(inputs[1], std::ios::binary);
    const auto write = [&](std::ofstream& to, size_t n) {
      to.write(reinterpret_cast<const char*>(keys.data()), static_cast<std::streamsize>(n * 4));
    };
    // Less than a pipe holds. The reader waits for the second pipe's beginning before it has read all of
    // this.
    write(first, few);
    first.close();
    // More than a pipe holds. When this is written, the end of the first pipe has been read.
    write(second, many);
    std::ofstream next(inputs[0], std::ios::binary);
    second.close();
    has_ended.get_future().wait();
  });
  SortFileOptions options = options_for(Bytes{1u << 16}, Order::ascending, KeyType::u32);
  CHECK(sort_files_with(cpu_environment(), inputs, folder / "out", options).count == few + many);
  has_ended.set_value();
  writer.join();
  keys.resize(few + many);
  std::iota(keys.begin() + many, keys.end(), 1);
  oracle::require_sorted<uint32_t>(keys, read_keys<uint32_t>(folder / "out"));
}

TEST_CASE("every phase moves as many bytes as it says that it will, whatever is written") {
  const TemporaryFolder folder;
  write_keys(folder / "in.u64", repeating_keys<uint64_t>());
  write_keys(folder / "values.u32", random_keys<uint32_t>(count));
  SortFileOptions options =
      options_for(GENERATE(Bytes{1u << 30}, Bytes{500'000}), Order::ascending, KeyType::u64);
  SECTION("keys") {}
  SECTION("positions") { options.result = SortResult::permutation; }
  SECTION("unique keys and counts") {
    options.result = SortResult::unique;
    options.counts_output = folder / "counts.u64";
  }
  SECTION("unique keys and sums of values") {
    options.result = SortResult::unique;
    options.values = {folder / "values.u32"};
    options.counts_output = folder / "counts.u64";
  }
  SECTION("first positions") { options.result = SortResult::first_positions; }
  SECTION("values, of keys or of each key once, sorted or merged") {
    options.values = {folder / "values.u32"};
    options.values_output = folder / "sorted.u32";
    options.result = GENERATE(SortResult::keys, SortResult::unique);
    options.inputs_are_sorted = GENERATE(false, true);
    if (options.inputs_are_sorted) {
      auto keys = repeating_keys<uint64_t>();
      std::ranges::sort(keys);
      write_keys(folder / "in.u64", keys);
    }
  }
  SECTION("the same, of a stream of keys") {
    options.values = {folder / "values.u32"};
    options.values_output = folder / "sorted.u32";
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  }
  std::map<Phase, std::pair<uint64_t, uint64_t>> moved;
  options.progress = [&](Phase phase, uint64_t done, uint64_t total) { moved[phase] = {done, total}; };
  const bool is_stream = std::filesystem::exists(folder / "pipe");
  std::thread writer([&] {
    if (is_stream)
      std::ofstream(folder / "pipe", std::ios::binary) << std::ifstream(folder / "in.u64").rdbuf();
  });
  const SortReport report = sort_files_with(
      cpu_environment(), {is_stream ? folder / "pipe" : folder / "in.u64"}, folder / "out", options);
  writer.join();
  for (const PhaseTime& phase : report.phases) {
    const auto [done, total] = moved.at(phase.phase);
    CAPTURE(name(phase.phase), done, total);
    const bool loads = phase.phase == Phase::read || phase.phase == Phase::runs;
    if (loads || phase.phase == Phase::write || phase.phase == Phase::merge) {
      CHECK(phase.bytes != 0);
      // How long a stream is that does not fit in memory is known when its runs are formed.
      CHECK(total == (loads && is_stream && report.plan.strategy == "external" ? 0 : done));
      CHECK(done != 0);
    }
  }
}

TEST_CASE("a merge of pipes whose headers say how many keys come tells it in its own header") {
  const TemporaryFolder folder;
  std::vector<std::string> inputs{folder / "a_uint64", folder / "b_uint64"};
  for (const std::string& name : inputs) REQUIRE(::mkfifo(name.c_str(), 0600) == 0);
  const std::vector<uint64_t> keys{3, 10, 20, 30};  // SOSD: the count comes first
  std::vector<std::thread> writers;
  for (const std::string& name : inputs) writers.emplace_back([&] { write_keys(name, keys); });
  REQUIRE(::mkfifo((folder / "out").c_str(), 0600) == 0);
  std::vector<uint64_t> got;
  std::thread reader([&] { got = read_keys<uint64_t>(folder / "out"); });
  sort_files_with(cpu_environment(), inputs, folder / "out", {.inputs_are_sorted = true});
  for (std::thread& writer : writers) writer.join();
  reader.join();
  CHECK(got == std::vector<uint64_t>{6, 10, 10, 20, 20, 30, 30});
}

TEST_CASE("a merge names the key that is out of order, wherever it stands") {
  const TemporaryFolder folder;
  std::vector<uint32_t> keys(20'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<uint32_t>(2 * i + 2);
  write_keys(folder / "good.u32", keys);
  for (const size_t at : {1u, 2u, 4095u, 4096u, 10'000u, 19'999u})
    for (const Bytes memory : {Bytes{1u << 16}, Bytes{1u << 26}}) {
      auto bad = keys;
      bad[at] = bad[at - 1] - 1;
      write_keys(folder / "bad.u32", bad);
      SortFileOptions options = options_for(memory, Order::ascending, KeyType::u32);
      options.inputs_are_sorted = true;
      const std::vector<std::string> inputs{folder / "good.u32", folder / "bad.u32"};
      CHECK_THROWS_WITH(sort_files_with(cpu_environment(), inputs, folder / "out", options),
                        ContainsSubstring("bad.u32: not sorted: key " + std::to_string(at) + " is"));
      CHECK(folder.names() == std::vector<std::string>{"bad.u32", "good.u32"});
    }
  // Alone, its blocks begin at multiples of their size.
  SortFileOptions options = options_for(Bytes{1u << 16}, Order::ascending, KeyType::u32);
  options.inputs_are_sorted = true;
  SortFileOptions plan = options;
  plan.plan_only = true;
  const FilePlan planned = sort_file_with(cpu_environment(), folder / "good.u32", folder / "out", plan).plan;
  REQUIRE(planned.run_records * 2 < keys.size());
  for (const uint64_t block : {1u, 2u}) {
    auto bad = keys;
    const uint64_t at = block * planned.run_records;
    bad[at] = bad[at - 1] - 1;
    write_keys(folder / "bad.u32", bad);
    CHECK_THROWS_WITH(sort_file_with(cpu_environment(), folder / "bad.u32", folder / "out", options),
                      ContainsSubstring("bad.u32: not sorted: key " + std::to_string(at) + " is"));
  }
}
