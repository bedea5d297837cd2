// cpu_backend_test.cpp - checks the CPU backend against the standard library, by every algorithm that its
// tuning offers.
#include "backend/backend.hpp"
#include "backend/cpu/tuning.hpp"
#include "backend/cpu/vqsort.hpp"
#include "catch.hpp"
#include "core/error.hpp"
#include "datasets/distributions.hpp"
#include "oracle.hpp"
#include "red_zone.hpp"
#include "seed.hpp"

#include <atomic>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace sweepsort {
namespace {

/// Buckets of a few dozen keys, four-way splits, a thread for every 64 keys. Thousands of keys take every way
/// that billions would, several splits deep.
CpuTuning tiny() {
  return {.bucket_capacity_bytes = 512,
          .bucket_target_bytes = 128,
          .split_bits = 3,
          .keys_per_thread = 64,
          .counting_range = 512,
          .forced_counting_range = 1u << 16,
          .sample_from = 256};
}

struct Input {
  KeyType type;
  std::vector<std::byte> keys;
  std::vector<std::byte> values;
  uint64_t count() const { return keys.size() / key_bytes(type); }
};

/// Values number the keys, so that every exchange of equal keys shows.
Input make_input(const Distribution& distribution, KeyType type, uint64_t count, uint32_t value_bytes) {
  Input input{type, std::vector<std::byte>(count * key_bytes(type)),
              std::vector<std::byte>(count * value_bytes)};
  fill_all(distribution, type, test_seed(), input.keys, 1);
  for (uint64_t i = 0; i < count; ++i)
    if (value_bytes != 0) std::memcpy(input.values.data() + i * value_bytes, &i, value_bytes);
  return input;
}

Input make_input(std::string_view distribution, KeyType type, uint64_t count, uint32_t value_bytes = 0) {
  return make_input(require_distribution(distribution, type), type, count, value_bytes);
}

template <class T>
std::span<const T> view(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

void require_sorted(const Input& input, const Input& output, Order order) {
  dispatch(input.type, [&]<class Key>(std::type_identity<Key>) {
    const auto pairs = [&](auto value) {
      using Value = decltype(value);
      oracle::require_sorted_pairs<Key, Value>(view<Key>(input.keys), view<Value>(input.values),
                                               view<Key>(output.keys), view<Value>(output.values), order);
    };
    if (input.values.empty())
      return oracle::require_sorted<Key>(view<Key>(input.keys), view<Key>(output.keys), order);
    input.values.size() / input.count() == 4 ? pairs(uint32_t{}) : pairs(uint64_t{});
  });
}

SortJob job_for(const Input& input, Order order = Order::ascending,
                SortAlgorithm algorithm = SortAlgorithm::automatic) {
  const uint64_t count = input.count();
  return {.count = count,
          .type = input.type,
          .order = order,
          .algorithm = algorithm,
          .value_bytes = static_cast<uint32_t>(count == 0 ? 0 : input.values.size() / count)};
}

/// Sorts through a session, in chunks whose lengths are no powers of two.
SortSummary sort_by_session(Backend& backend, const SortJob& job, const Input& input, Input& output) {
  output = input;
  const auto session = backend.begin_sort(job);
  const auto for_chunks = [](const std::vector<std::byte>& bytes, size_t element, auto&& step) {
    const size_t chunk = 1237 * element;
    for (size_t at = 0; at < bytes.size(); at += chunk) step(at, std::min(chunk, bytes.size() - at));
  };
  const auto put = [&](Column column, const std::vector<std::byte>& bytes, size_t element) {
    for_chunks(bytes, element, [&](size_t at, size_t size) {
      std::memcpy(session->begin_put(0, column, at, size).data(), bytes.data() + at, size);
      session->end_put(0);
    });
  };
  const auto get = [&](Column column, std::vector<std::byte>& bytes, size_t element) {
    for_chunks(bytes, element, [&](size_t at, size_t size) {
      std::memcpy(bytes.data() + at, session->get(0, column, at, size).data(), size);
    });
  };
  const size_t value_bytes = std::max(1u, job.value_bytes);
  put(Column::keys, input.keys, key_bytes(job.type));
  put(Column::values, input.values, value_bytes);
  const SortSummary summary = session->sort();
  get(Column::keys, output.keys, key_bytes(job.type));
  get(Column::values, output.values, value_bytes);
  return summary;
}

SortSummary sort_in_place(Backend& backend, const SortJob& job, const Input& input, Input& output) {
  output = input;
  return backend.sort(output.keys, output.values, job);
}

/// VQSort takes only keys without values, of four bytes or more, and not if the user asks for a radix sort.
/// In other cases both ways are the same.
std::vector<Accelerator> accelerators_for(KeyType type, uint32_t value_bytes,
                                          SortAlgorithm algorithm = SortAlgorithm::automatic) {
  if (value_bytes != 0 || key_bytes(type) < 4 || algorithm == SortAlgorithm::radix)
    return {Accelerator::never};
  return {Accelerator::never, Accelerator::always};
}

TEST_CASE(
    "every type, distribution, order and value width is sorted by every algorithm and by every number of "
    "threads") {
  const uint32_t value_bytes = GENERATE(0u, 4u, 8u);
  const Order order = GENERATE(Order::ascending, Order::descending);
  for (KeyType type : all_key_types) {
    for (const Distribution& distribution : all_distributions()) {
      if (!distribution.suits(type)) continue;
      const Input input = make_input(distribution, type, 1501, value_bytes);
      for (SortAlgorithm algorithm : {SortAlgorithm::automatic, SortAlgorithm::radix}) {
        for (Accelerator accelerator : accelerators_for(type, value_bytes, algorithm)) {
          for (uint32_t threads : {1, 2, 3}) {
            CpuTuning tuning = tiny();
            tuning.accelerator = accelerator;
            const auto backend = make_tuned_cpu_backend(threads, tuning);
            INFO(name(type) << ' ' << distribution.name << ' ' << name(order) << ' ' << value_bytes
                            << "-byte values " << name(algorithm) << ", " << threads
                            << " threads, accelerator " << (accelerator == Accelerator::always));
            Input output;
            const SortJob job = job_for(input, order, algorithm);
            // Both interfaces are used; the number of threads decides which.
            if (threads % 2 == 1) {
              sort_by_session(*backend, job, input, output);
            } else {
              sort_in_place(*backend, job, input, output);
            }
            require_sorted(input, output, order);
          }
        }
      }
    }
  }
}

TEST_CASE("every number of keys around a threshold is sorted") {
  const uint32_t value_bytes = GENERATE(0u, 4u, 8u);
  const uint32_t threads = GENERATE(1u, 3u);
  const auto backend = make_tuned_cpu_backend(threads, tiny());
  for (KeyType type : {KeyType::u8, KeyType::i16, KeyType::f32, KeyType::u64}) {
    const uint64_t capacity =
        std::max<uint64_t>(32, tiny().bucket_capacity_bytes / (key_bytes(type) + value_bytes));
    std::vector<uint64_t> counts{0,  1,   2,   3,   23,  24,  25,  26,   63,   64,
                                 65, 127, 128, 129, 191, 192, 193, 1024, 1025, 1026};
    for (uint64_t count : {capacity, 2 * capacity, 3 * capacity, 8 * capacity})
      counts.insert(counts.end(), {count - 1, count, count + 1});
    for (uint64_t count : counts) {
      for (SortAlgorithm algorithm : {SortAlgorithm::automatic, SortAlgorithm::radix}) {
        INFO(count << ' ' << name(type) << " keys, " << value_bytes << "-byte values, " << name(algorithm));
        const Input input = make_input("uniform", type, count, value_bytes);
        Input output;
        sort_by_session(*backend, job_for(input, Order::ascending, algorithm), input, output);
        require_sorted(input, output, Order::ascending);
      }
    }
  }
}

TEST_CASE("with its real thresholds the backend sorts many keys of every width") {
  const uint32_t value_bytes = GENERATE(0u, 8u);
  const uint32_t threads = GENERATE(1u, 2u);
  for (KeyType type : {KeyType::u8, KeyType::i16, KeyType::u32, KeyType::i64, KeyType::f32, KeyType::f64}) {
    for (std::string_view distribution : {"uniform", "zipf-hashed", "ninety-percent-one-value", "and5"}) {
      // More than the largest bucket, which has 262,144 four-byte keys, and enough for a second thread.
      const Input input = make_input(distribution, type, 300'007, value_bytes);
      for (Accelerator accelerator : accelerators_for(type, value_bytes)) {
        const auto backend = make_tuned_cpu_backend(threads, {.accelerator = accelerator});
        INFO(name(type) << ' ' << distribution << ", " << threads << " threads");
        Input output;
        sort_in_place(*backend, job_for(input), input, output);
        require_sorted(input, output, Order::ascending);
      }
    }
  }
}

TEST_CASE("skew many splits deep is sorted: keys that differ in few high or few low bits") {
  const uint32_t value_bytes = GENERATE(0u, 4u);
  const auto backend = make_tuned_cpu_backend(3, tiny());
  std::mt19937_64 random(test_seed());
  std::vector<uint64_t> keys;
  const int shape = GENERATE(range(0, 8));
  // In the window of shape 6, or where its digits reach beyond it.
  const uint64_t heap = (uint64_t{1} << 40) - 5'000 + random() % 30'000;
  for (uint64_t i = 0; i < 20'000; ++i) {
    switch (shape) {
      case 0: keys.push_back(uint64_t{1} << (random() % 64)); break;      // one bit anywhere
      case 1: keys.push_back(random() >> (random() % 64)); break;         // equally many of each magnitude
      case 2: keys.push_back(~uint64_t{0} - (random() % 3 == 0)); break;  // mostly the largest pattern
      case 3:
        keys.push_back(i % 7 == 0 ? random() : 0xdeadbeef12345678);
        break;  // one value, with
                // exceptions

      case 4:  // outliers
        keys.push_back(i % 99 == 0 ? random() >> (random() % 64) : random() % 5'000);
        break;
      case 5:  // outliers on either side; the sample of a few splits has none of them
        keys.push_back(i % 3'000 == 0 ? random() >> (random() % 64)
                                      : (uint64_t{1} << 60) + random() % 90'000);
        break;
      case 6:  // a frequent value, perhaps beside the window
        keys.push_back(i % 20 == 0 ? random() : i % 20 < 4 ? heap : (uint64_t{1} << 40) + random() % 20'000);
        break;
      default:  // few values, and both ends of the range
        keys.push_back(i % 9 == 0 ? random() % 2 - 1 : 12'345 + random() % 20);
    }
  }
  Input input{KeyType::u64, {}, std::vector<std::byte>(keys.size() * value_bytes)};
  input.keys.resize(keys.size() * 8);
  std::memcpy(input.keys.data(), keys.data(), input.keys.size());
  for (uint32_t i = 0; i < keys.size() && value_bytes == 4; ++i)
    std::memcpy(input.values.data() + i * 4, &i, 4);
  for (Order order : {Order::ascending, Order::descending}) {
    Input output;
    sort_by_session(*backend, job_for(input, order, SortAlgorithm::radix), input, output);
    require_sorted(input, output, order);
  }
}

TEST_CASE(
    "counting sorts what it can count, keys alone and stable pairs, and refuses a wider range with a hint") {
  const auto backend = make_tuned_cpu_backend(3, tiny());
  for (uint32_t value_bytes : {0u, 4u, 8u}) {
    for (KeyType type : {KeyType::u8, KeyType::i8, KeyType::u16, KeyType::i16}) {
      const Input input = make_input("uniform", type, 5000, value_bytes);
      Input output;
      for (Order order : {Order::ascending, Order::descending}) {
        REQUIRE(sort_by_session(*backend, job_for(input, order, SortAlgorithm::counting), input, output)
                    .algorithm == "counting");
        require_sorted(input, output, order);
        sort_in_place(*backend, job_for(input, order, SortAlgorithm::counting), input, output);
        require_sorted(input, output, order);
      }
    }
    for (KeyType type : {KeyType::u32, KeyType::i64, KeyType::f64}) {
      const Input wide = make_input("uniform", type, 5000, value_bytes);
      Input output;
      try {
        sort_in_place(*backend, job_for(wide, Order::ascending, SortAlgorithm::counting), wide, output);
        FAIL("a range of billions was counted");
      } catch (const Error& error) {
        REQUIRE_THAT(error.what(), Catch::Matchers::ContainsSubstring("counting"));
        REQUIRE_THAT(error.hint(), Catch::Matchers::ContainsSubstring("radix"));
      }
      REQUIRE(output.keys == wide.keys);  // a refusal leaves the input alone
    }
  }
}

TEST_CASE("the algorithm follows the data") {
  const auto backend = make_tuned_cpu_backend(2, {.accelerator = Accelerator::never});
  const auto algorithm = [&](std::string_view distribution, KeyType type, Order order = Order::ascending,
                             uint32_t value_bytes = 0, uint64_t count = 300'000) {
    const Input input = make_input(distribution, type, count, value_bytes);
    Input output;
    const SortSummary summary = sort_by_session(*backend, job_for(input, order), input, output);
    require_sorted(input, output, order);
    return summary.algorithm;
  };
  REQUIRE(algorithm("sorted", KeyType::u64) == "already sorted");
  REQUIRE(algorithm("sorted", KeyType::f32) == "already sorted");
  REQUIRE(algorithm("reversed", KeyType::i32, Order::descending) == "already sorted");
  REQUIRE(algorithm("reversed", KeyType::u32) == "reversed");
  REQUIRE(algorithm("sorted", KeyType::i64, Order::descending) == "reversed");
  REQUIRE(algorithm("all-equal", KeyType::u32) == "all equal");
  REQUIRE(algorithm("uniform", KeyType::u8) == "counting");
  REQUIRE(algorithm("uniform", KeyType::i16, Order::ascending, 0, 600'000) == "counting");
  REQUIRE(algorithm("uniform", KeyType::i16) == "radix-lsd");
  REQUIRE(algorithm("small-range-256", KeyType::i64) == "counting");
  REQUIRE(algorithm("uniform", KeyType::u32) == "radix-msd-lsd");
  REQUIRE(algorithm("uniform", KeyType::u8, Order::ascending, 4) == "radix-msd-lsd");
}

TEST_CASE("a reversed file of pairs with equal keys keeps their order") {
  const auto backend = make_tuned_cpu_backend(2, tiny());
  std::vector<uint32_t> keys(5000), values(5000);
  for (uint32_t i = 0; i < keys.size(); ++i) keys[i] = (5000 - i) / 2;
  std::iota(values.begin(), values.end(), 0u);
  const auto sorted_keys = std::vector(keys.rbegin(), keys.rend());
  backend->sort(std::as_writable_bytes(std::span(keys)), std::as_writable_bytes(std::span(values)),
                {.count = keys.size(), .type = KeyType::u32, .value_bytes = 4});
  REQUIRE(keys == sorted_keys);
  for (size_t i = 1; i < keys.size(); ++i)
    if (keys[i] == keys[i - 1]) REQUIRE(values[i - 1] < values[i]);
}

TEST_CASE("sorting in place writes nothing outside of the keys and values, at any address") {
  const uint32_t value_bytes = GENERATE(0u, 4u, 8u);
  for (KeyType type : {KeyType::u8, KeyType::u16, KeyType::f32, KeyType::i64}) {
    for (size_t misalignment : {0, 1, 4, 8}) {
      for (uint64_t count : {1, 129, 4097}) {
        const Input input = make_input("uniform", type, count, value_bytes);
        RedZoneBuffer<std::byte> keys(input.keys.size(), misalignment),
            values(input.values.size(), misalignment);
        std::ranges::copy(input.keys, keys.bytes().begin());
        std::ranges::copy(input.values, values.bytes().begin());
        make_tuned_cpu_backend(3, tiny())->sort(keys.bytes(), values.bytes(),
                                                job_for(input, Order::ascending, SortAlgorithm::radix));
        keys.check();
        values.check();
        const Input output{
            type, {keys.bytes().begin(), keys.bytes().end()}, {values.bytes().begin(), values.bytes().end()}};
        require_sorted(input, output, Order::ascending);
      }
    }
  }
}

TEST_CASE("several workers put and get odd chunks in any order at the same time") {
  constexpr uint32_t workers = 4;
  const Input input = make_input("nearly-sorted", KeyType::i32, 100'003, 4);
  SortJob job = job_for(input);
  job.workers = workers;
  const auto backend = make_tuned_cpu_backend(2, tiny());
  const auto session = backend->begin_sort(job);

  struct Chunk {
    Column column;
    size_t at, size;
  };
  std::vector<Chunk> chunks;
  std::mt19937 random(static_cast<uint32_t>(test_seed()));
  for (Column column : {Column::keys, Column::values})
    for (size_t at = 0; at < input.keys.size();) {
      const size_t size = std::min<size_t>(input.keys.size() - at, 4 * (1 + random() % 3000));
      chunks.push_back({column, at, size});
      at += size;
    }
  std::shuffle(chunks.begin(), chunks.end(), random);
  const auto all_workers = [&](auto&& step) {
    std::atomic<size_t> next{0};
    std::vector<std::jthread> threads;
    for (uint32_t worker = 0; worker < workers; ++worker)
      threads.emplace_back([&, worker] {
        for (size_t i = next++; i < chunks.size(); i = next++) step(worker, chunks[i]);
      });
  };
  all_workers([&](uint32_t worker, const Chunk& chunk) {
    const auto& from = chunk.column == Column::keys ? input.keys : input.values;
    const auto to = session->begin_put(worker, chunk.column, chunk.at, chunk.size);
    std::memcpy(to.data(), from.data() + chunk.at, chunk.size);
    session->end_put(worker);
  });
  session->sort();
  Input output = input;
  all_workers([&](uint32_t worker, const Chunk& chunk) {
    auto& to = chunk.column == Column::keys ? output.keys : output.values;
    std::memcpy(to.data() + chunk.at, session->get(worker, chunk.column, chunk.at, chunk.size).data(),
                chunk.size);
  });
  require_sorted(input, output, Order::ascending);
}

TEST_CASE("order is checked across the borders of chunks too") {
  const auto backend = make_tuned_cpu_backend(1, tiny());
  // Each chunk is in order, but the chunks are not; then the other way round.
  for (const std::vector<uint32_t>& keys :
       {std::vector<uint32_t>{5, 6, 1, 2}, std::vector<uint32_t>{2, 1, 6, 5}}) {
    const auto session = backend->begin_sort({.count = 4, .type = KeyType::u32});
    for (size_t at : {8, 0}) {
      std::memcpy(session->begin_put(0, Column::keys, at, 8).data(), keys.data() + at / 4, 8);
      session->end_put(0);
    }
    session->sort();
    std::vector<uint32_t> output(4), expected = keys;
    std::memcpy(output.data(), session->get(0, Column::keys, 0, 16).data(), 16);
    std::ranges::sort(expected);
    REQUIRE(output == expected);
  }
}

TEST_CASE("a session that did not get all keys refuses to sort") {
  const auto session = make_cpu_backend(1)->begin_sort({.count = 4, .type = KeyType::u32});
  session->begin_put(0, Column::keys, 0, 8);
  session->end_put(0);
  REQUIRE_THROWS_AS(session->sort(), Error);
}

TEST_CASE("a session's memory serves a large sort after a small one") {
  std::mt19937_64 random(test_seed());
  const std::vector<uint64_t> counts{400'000, 200'000, 400'000, 6'000, 300'000};
  const auto backend = make_cpu_backend(2);
  const auto session = backend->begin_sort(
      {.count = counts[0], .type = KeyType::u32, .algorithm = SortAlgorithm::radix, .chunk_bytes = 4 << 20});
  for (size_t i = 0; i < counts.size(); ++i) {
    CAPTURE(counts[i]);
    if (i > 0) REQUIRE(session->restart(counts[i]));
    std::vector<uint32_t> keys(counts[i]);
    for (uint32_t& key : keys) key = static_cast<uint32_t>(random());
    const size_t bytes = keys.size() * sizeof(uint32_t);
    std::memcpy(session->begin_put(0, Column::keys, 0, bytes).data(), keys.data(), bytes);
    session->end_put(0);
    session->sort();
    std::sort(keys.begin(), keys.end());
    REQUIRE(std::memcmp(session->get(0, Column::keys, 0, bytes).data(), keys.data(), bytes) == 0);
  }
}

uint64_t mapped_bytes() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

TEST_CASE("a session gives all its memory back") {
  const auto backend = make_cpu_backend(2);
  const SortJob job{.count = uint64_t{1} << 28, .type = KeyType::u64, .value_bytes = 8};
  backend->begin_sort(job).reset();
  const uint64_t before = mapped_bytes();
  {
    const auto session = backend->begin_sort(job);
    REQUIRE(mapped_bytes() >= before + 4 * job.count * 8);  // two arrays of keys, two of values
  }
  REQUIRE(mapped_bytes() < before + (1u << 20));
}

TEST_CASE("memory that cannot be had is an error with a hint, not a crash") {
  const auto backend = make_cpu_backend(1);
  for (uint64_t count : {uint64_t{1} << 50, uint64_t{1} << 62, ~uint64_t{0}}) {
    try {
      backend->begin_sort({.count = count, .type = KeyType::u64});
      FAIL(count << " keys were accepted");
    } catch (const Error& error) {
      REQUIRE_FALSE(std::string(error.what()).empty());
      REQUIRE_FALSE(error.hint().empty());
    }
  }
}

TEST_CASE(
    "keys alone need at most a seventh more than the file and 100 MiB, bytes and 16-bit keys not that") {
  for (uint32_t threads : {1, 2, 16, 32}) {
    const auto backend = make_cpu_backend(threads);
    for (KeyType type : all_key_types) {
      for (uint64_t count : {uint64_t{0}, uint64_t{1000}, uint64_t{1} << 26, uint64_t{1} << 33}) {
        const uint64_t file = count * key_bytes(type);
        const uint64_t more = key_bytes(type) <= 2 ? 0 : file / 7;
        const Backend::Footprint needed = backend->footprint({.count = count, .type = type});
        REQUIRE(needed.host.value >= file);
        REQUIRE(needed.host.value <= file + more + (100u << 20));
        REQUIRE(needed.device.value == 0);
      }
    }
  }
}

TEST_CASE("values of other widths than 4 and 8 bytes are refused") {
  REQUIRE_THROWS_AS(make_cpu_backend(1)->begin_sort({.count = 1, .type = KeyType::u32, .value_bytes = 3}),
                    Error);
}

TEST_CASE("the backend says what it is and how fast this machine copies") {
  const auto backend = make_cpu_backend(2);
  REQUIRE(backend->info().name == "cpu");
  REQUIRE_THAT(backend->info().description, Catch::Matchers::ContainsSubstring("2 threads"));
  REQUIRE(backend->device_memory().value == 0);
  REQUIRE(backend->copy_bandwidth() > 1e8);
  REQUIRE(backend->copy_bandwidth() < 1e13);
}

}  // namespace
}  // namespace sweepsort
