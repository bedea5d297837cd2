// split_session_test.cpp - sessions that split keys while they arrive: every kind of data, good samples and
// wrong ones.
#include "backend/backend.hpp"
#include "backend/cpu/tuning.hpp"
#include "backend/cpu/vqsort.hpp"
#include "catch.hpp"
#include "core/error.hpp"
#include "datasets/distributions.hpp"
#include "oracle.hpp"
#include "pipeline/key_scan.hpp"
#include "pipeline/sort_file.hpp"
#include "seed.hpp"
#include "small_split.hpp"
#include "temporary_folder.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace sweepsort {
namespace {

constexpr uint32_t workers = 3;
constexpr uint64_t chunk_keys = 7'001;  // several buckets, and parts of two

std::vector<std::byte> make_keys(std::string_view distribution, KeyType type, uint64_t count) {
  std::vector<std::byte> keys(count * key_bytes(type));
  fill_all(require_distribution(distribution, type), type, test_seed(), keys, 1);
  return keys;
}

std::vector<uint64_t> honest_sample(const std::vector<std::byte>& keys, KeyType type, Order order) {
  const size_t width = key_bytes(type);
  std::vector<uint64_t> sample;
  for (size_t i = 0; i < 1000; ++i)
    sample.push_back(ordered_key(keys.data() + i * (keys.size() / width / 1000) * width, type, order));
  return sample;
}

struct Outcome {
  std::vector<std::byte> keys;
  bool was_split = false;
};

/// All workers put chunks, and all get chunks of another size.
Outcome sort_by_session(const std::vector<std::byte>& keys, const SortJob& job, const CpuTuning& tuning) {
  const auto backend = make_tuned_cpu_backend(workers, tuning);
  const auto session = backend->begin_sort(job);
  const auto pass = [&](size_t chunk, auto&& step) {
    std::atomic<size_t> next = 0;
    std::vector<std::jthread> threads;
    for (uint32_t worker = 0; worker < workers; ++worker)
      threads.emplace_back([&, worker] {
        for (size_t at = chunk * next++; at < keys.size(); at = chunk * next++)
          step(worker, at, std::min(chunk, keys.size() - at));
      });
  };
  const size_t width = key_bytes(job.type);
  pass(chunk_keys * width, [&](uint32_t worker, size_t at, size_t size) {
    std::memcpy(session->begin_put(worker, Column::keys, at, size).data(), keys.data() + at, size);
    session->end_put(worker);
  });
  Outcome outcome{std::vector<std::byte>(keys.size(), std::byte{0xa5})};
  outcome.was_split = session->sort().algorithm.ends_with("split while read");
  pass(1'237 * width, [&](uint32_t worker, size_t at, size_t size) {
    std::memcpy(outcome.keys.data() + at, session->get(worker, Column::keys, at, size).data(), size);
  });
  return outcome;
}

SortJob job_of(const std::vector<std::byte>& keys, KeyType type, Order order, std::vector<uint64_t> sample) {
  return {.count = keys.size() / key_bytes(type),
          .type = type,
          .order = order,
          .workers = workers,
          .chunk_bytes = chunk_keys * key_bytes(type),
          .sample = std::move(sample)};
}

void require_sorted(const std::vector<std::byte>& keys, const Outcome& outcome, const SortJob& job) {
  oracle::require(oracle::judge_sorted_elements({job.type, keys}, {job.type, outcome.keys}, job.order));
}

TEST_CASE("every distribution of every wide type is sorted, and what spreads is split while it is read") {
  const Order order = GENERATE(Order::ascending, Order::descending);
  CpuTuning tuning = small_split();
  tuning.accelerator = order == Order::ascending ? Accelerator::always : Accelerator::never;
  for (KeyType type : {KeyType::u32, KeyType::f32, KeyType::i64, KeyType::f64}) {
    for (const Distribution& distribution : all_distributions()) {
      if (!distribution.suits(type)) continue;
      INFO(name(type) << ' ' << distribution.name << ' ' << name(order));
      const auto keys = make_keys(distribution.name, type, 60'007);
      const SortJob job = job_of(keys, type, order, honest_sample(keys, type, order));
      const Outcome outcome = sort_by_session(keys, job, tuning);
      require_sorted(keys, outcome, job);
      const std::string_view kind = distribution.name;
      if (kind == "uniform" || (!is_floating(type) && (kind == "gaussian" || kind == "zipf-hashed")))
        REQUIRE(outcome.was_split);
      if (kind == "sorted" || kind == "reversed" || kind == "all-equal") REQUIRE_FALSE(outcome.was_split);
    }
  }
}

TEST_CASE("a sample that lies costs time, and no key") {
  // For u32: what the sample says, and what the keys are.
  std::mt19937_64 random(test_seed());
  const auto numbers = [&](size_t count, auto&& make) {
    std::vector<uint32_t> made;
    for (size_t i = 0; i < count; ++i) made.push_back(static_cast<uint32_t>(make(i)));
    return made;
  };
  const uint32_t low = 1u << 30;
  const std::vector<std::vector<uint32_t>> samples{
      numbers(1000, [&](size_t) { return low + random() % (1u << 20); }),
      // The smallest and the largest value are frequent, too. Keys beyond them must not be mistaken for them.
      numbers(1000,
              [&](size_t i) { return i % 3 == 0   ? low
                                     : i % 3 == 1 ? low + 5000
                                                  : low + random() % 5000; }),
      numbers(1000, [&](size_t i) { return i % 4 == 0 ? low + 777 : random(); }),
      numbers(1000, [&](size_t i) { return i % 2 == 0 ? 0 : 0xffffffff - random() % 3; }),
      numbers(1000, [&](size_t i) { return i % 2 == 0 ? random() % 600 : random() % 2 * 0xffffffff; })};
  const std::vector<std::vector<uint32_t>> contents{
      numbers(150'003, [&](size_t) { return random(); }),
      numbers(150'003, [&](size_t) { return low - 2 + random() % 5; }),
      numbers(150'003, [&](size_t) { return low + 4'998 + random() % 5; }),
      numbers(150'003, [&](size_t i) { return i % 5 == 0 ? random() : 0xffffffff; }),
      numbers(150'003, [&](size_t i) { return i % 5 == 0 ? random() : 0; }),
      numbers(150'003, [&](size_t i) { return i; })};
  int split = 0;
  for (size_t s = 0; s < samples.size(); ++s) {
    for (size_t c = 0; c < contents.size(); ++c) {
      INFO("sample " << s << ", content " << c);
      const auto bytes = std::as_bytes(std::span(contents[c]));
      const std::vector<std::byte> keys(bytes.begin(), bytes.end());
      const SortJob job =
          job_of(keys, KeyType::u32, Order::ascending, {samples[s].begin(), samples[s].end()});
      CpuTuning tuning = small_split();
      tuning.accelerator = Accelerator::never;
      const Outcome outcome = sort_by_session(keys, job, tuning);
      require_sorted(keys, outcome, job);
      split += outcome.was_split;
    }
  }
  REQUIRE(split >= 12);
}

TEST_CASE("a session that splits says how many keys are missing") {
  const auto keys = make_keys("uniform", KeyType::u32, 150'003);
  const SortJob job =
      job_of(keys, KeyType::u32, Order::ascending, honest_sample(keys, KeyType::u32, Order::ascending));
  const auto session = make_tuned_cpu_backend(workers, small_split())->begin_sort(job);
  std::memcpy(session->begin_put(0, Column::keys, 0, 400).data(), keys.data(), 400);
  session->end_put(0);
  REQUIRE_THROWS_WITH(session->sort(), "internal: 100 of 150003 keys were put");
}

TEST_CASE("files are split while they are read, unless one thread would have to sort them for a pipe") {
  const test::TemporaryFolder folder;
  const KeyType type = GENERATE(KeyType::u32, KeyType::i64);
  const auto keys = make_keys("gaussian", type, 300'001);
  const std::string suffix(name(type));
  const std::string input = folder / ("in." + suffix);
  const std::string output = folder / ("out." + suffix);
  test::write_keys(input, keys);
  SortEnvironment environment;
  environment.status = [] { return CudaStatus{.reason = "no NVIDIA driver", .hint = "install one"}; };
  environment.make_cpu = [](uint32_t threads) { return make_tuned_cpu_backend(threads, small_split()); };
  environment.chunk_bytes = 256u << 10;
  SortFileOptions options;
  options.where.threads = 2;
  SECTION("to a file") {
    const SortReport report = sort_file_with(environment, input, output, options);
    REQUIRE(report.algorithm.ends_with("split while read"));
    REQUIRE(report.verified);
    Outcome outcome{test::read_file(output)};
    require_sorted(keys, outcome, job_of(keys, type, Order::ascending, {}));
  }
  SECTION("to a pipe") {
    REQUIRE(::mkfifo(output.c_str(), 0600) == 0);
    Outcome outcome;
    std::jthread reader([&] { outcome.keys = test::read_file(output); });
    const SortReport report = sort_file_with(environment, input, output, options);
    reader.join();
    REQUIRE_FALSE(report.algorithm.ends_with("split while read"));
    require_sorted(keys, outcome, job_of(keys, type, Order::ascending, {}));
  }
  SECTION("repeated") {
    options.repeat = 2;
    const SortReport report = sort_file_with(environment, input, output, options);
    REQUIRE(report.repeat_s.size() == 2);
    REQUIRE(report.repeat_s[0] > 0);
  }
}

}  // namespace
}  // namespace sweepsort
