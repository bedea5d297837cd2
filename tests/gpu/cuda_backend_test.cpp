// cuda_backend_test.cpp - the CUDA backend through the interface that the pipeline uses: chunks, workers,
// columns. Compiled twice: for a GPU, and, with small sizes, for the emulator.
#include "backend/backend.hpp"
#include "catch.hpp"
#include "core/error.hpp"
#include "core/rounding.hpp"
#include "core/team.hpp"
#include "datasets/distributions.hpp"
#include "on_device.hpp"
#include "oracle.hpp"
#include "pipeline/referee.hpp"
#include "pipeline/sort_file.hpp"
#include "seed.hpp"
#include "temporary_folder.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sweepsort {
namespace {

constexpr size_t some_keys = on_gpu ? 300'001 : 3'001;
constexpr uint64_t keys_of_chunk = on_gpu ? 10'007 : 307;
/// For files, in chunks of `file_chunk` bytes.
constexpr size_t many_keys = on_gpu ? 2'000'003 : 180'003;
constexpr size_t file_chunk = on_gpu ? 64u << 10 : 4u << 10;

/// A session that gets and gives everything by the job's workers, one thread each, in chunks of an odd number
/// of keys.
template <class Key>
class OddSession {
 public:
  /// `input` must outlive the session.
  OddSession(Backend& backend, const std::vector<Key>& input, SortJob job)
      : input_(input), job_(std::move(job)) {
    job_.count = input.size();
    job_.type = key_type_of<Key>();
    job_.chunk_bytes = keys_of_chunk * sizeof(Key);
    session_ = backend.begin_sort(job_);
    for_each_chunk([&](uint32_t worker, uint64_t first, uint64_t count) {
      const auto place = session_->begin_put(worker, Column::keys, first * sizeof(Key), count * sizeof(Key));
      std::memcpy(place.data(), input.data() + first, count * sizeof(Key));
      session_->end_put(worker);
    });
  }
  SortSummary sort() { return session_->sort(); }

  std::vector<Key> keys() {
    std::vector<Key> output(input_.size());
    for_each_chunk([&](uint32_t worker, uint64_t first, uint64_t count) {
      const auto place = session_->get(worker, Column::keys, first * sizeof(Key), count * sizeof(Key));
      std::memcpy(output.data() + first, place.data(), count * sizeof(Key));
    });
    return output;
  }

  /// Returns all keys again, made from the distinct keys of each chunk.
  std::vector<Key> keys_by_unique() {
    std::vector<Key> output(input_.size());
    std::atomic<bool> all_differ = true;
    for_each_chunk([&](uint32_t worker, uint64_t first, uint64_t count) {
      const auto unique = session_->get_unique(worker, first, count);
      if (!unique || unique->ends.empty() || unique->ends.back() != count) {
        all_differ = false;
        return;
      }
      std::vector<Key> keys(unique->ends.size());
      std::memcpy(keys.data(), unique->keys.data(), unique->keys.size());
      for (size_t i = 0; i < keys.size(); ++i) {
        const uint32_t begin = i == 0 ? 0 : unique->ends[i - 1];
        if (begin >= unique->ends[i] || (i != 0 && std::memcmp(&keys[i], &keys[i - 1], sizeof(Key)) == 0))
          all_differ = false;
        std::fill(output.begin() + static_cast<ptrdiff_t>(first + begin),
                  output.begin() + static_cast<ptrdiff_t>(first + unique->ends[i]), keys[i]);
      }
    });
    REQUIRE(all_differ);
    return output;
  }

 private:
  template <class Body>
  void for_each_chunk(Body body) {
    const uint64_t chunks = ceil_divide(input_.size(), keys_of_chunk);
    std::vector<std::jthread> threads;
    for (uint32_t worker = 0; worker < job_.workers; ++worker)
      threads.emplace_back([&, worker] {
        for (uint64_t chunk = worker; chunk < chunks; chunk += job_.workers) {
          const uint64_t first = chunk * keys_of_chunk;
          body(worker, first, std::min(keys_of_chunk, input_.size() - first));
        }
      });
  }

  const std::vector<Key>& input_;
  SortJob job_;
  std::unique_ptr<SortSession> session_;
};

}  // namespace

TEMPLATE_TEST_CASE("a session sorts what several workers put in odd chunks", "[gpu]", uint8_t, int16_t,
                   uint32_t, float, uint64_t, double) {
  const OnDevice schedule;
  const auto backend = make_cuda_backend();
  for (const uint32_t workers : {1u, 3u, 8u})
    for (const char* distribution : {"uniform", "sorted", "reversed", "all-equal", "small-range-256"})
      for (const Order order : {Order::ascending, Order::descending}) {
        if (!find_distribution(distribution)->suits(key_type_of<TestType>())) continue;
        INFO(distribution << " by " << workers << " workers, " << name(order));
        const auto input = make_keys<TestType>(distribution, some_keys, test_seed());
        OddSession<TestType> session(*backend, input, {.order = order, .workers = workers});
        REQUIRE_FALSE(session.sort().algorithm.empty());
        oracle::require_sorted<TestType>(input, session.keys(), order);
      }
}

TEMPLATE_TEST_CASE("a session gives what is different among the sorted keys of odd chunks", "[gpu]", uint8_t,
                   int16_t, uint32_t, double) {
  const OnDevice schedule;
  const auto backend = make_cuda_backend();
  for (const uint32_t workers : {1u, 5u})
    for (const char* distribution : {"uniform", "all-equal", "small-range-256", "zipf"})
      for (const Order order : {Order::ascending, Order::descending}) {
        if (!find_distribution(distribution)->suits(key_type_of<TestType>())) continue;
        INFO(distribution << " by " << workers << " workers, " << name(order));
        const auto input = make_keys<TestType>(distribution, some_keys, test_seed());
        OddSession<TestType> session(*backend, input, {.order = order, .unique = true, .workers = workers});
        (void)session.sort();
        oracle::require_sorted<TestType>(input, session.keys_by_unique(), order);
      }
}

#if defined(SWEEPSORT_EMULATED)  // on a GPU, others may take memory meanwhile
TEST_CASE("a session takes as much memory of the device as it said") {
  const OnDevice schedule;
  const auto backend = make_cuda_backend();
  for (const KeyType type : {KeyType::u8, KeyType::u16, KeyType::u32, KeyType::f64})
    for (const bool unique : {false, true}) {
      const SortJob job{
          .count = 100'000, .type = type, .unique = unique, .workers = 4, .chunk_bytes = 64u << 10};
      const uint64_t free = backend->device_memory().value;
      const auto session = backend->begin_sort(job);
      CAPTURE(name(type), unique);
      CHECK(free - backend->device_memory().value == backend->footprint(job).device.value);
    }
}
#endif

TEST_CASE("a session without keys is sorted", "[gpu]") {
  const OnDevice schedule;
  const auto backend = make_cuda_backend();
  const std::vector<uint32_t> none;
  OddSession<uint32_t> session(*backend, none, {});
  (void)session.sort();
  REQUIRE(session.keys().empty());
}

TEST_CASE("pairs in host memory are sorted stably", "[gpu]") {
  const OnDevice schedule;
  const auto backend = make_cuda_backend();
  const auto input = make_keys<uint32_t>("few-16", 200'003, test_seed());
  std::vector<uint64_t> values(input.size());
  std::iota(values.begin(), values.end(), uint64_t{0});
  std::vector<uint32_t> keys = input;
  std::vector<uint64_t> moved = values;
  backend->sort(std::as_writable_bytes(std::span(keys)), std::as_writable_bytes(std::span(moved)),
                {.count = keys.size(), .type = KeyType::u32, .value_bytes = 8});
  oracle::require_sorted_pairs<uint32_t, uint64_t>(input, values, keys, moved);
}

TEST_CASE("counting keys of a wide range is an error with a hint", "[gpu]") {
  const OnDevice schedule;
  const auto backend = make_cuda_backend();
  const auto input = make_keys<uint64_t>("uniform", 10'000, test_seed());
  OddSession<uint64_t> session(*backend, input, {.algorithm = SortAlgorithm::counting});
  try {
    (void)session.sort();
    FAIL("sorted by counting");
  } catch (const Error& error) {
    REQUIRE(std::string(error.what()).find("--algorithm counting") != std::string::npos);
    REQUIRE_FALSE(error.hint().empty());
  }
}

TEST_CASE("device storage gives back what several threads put there, at odd places", "[gpu]") {
  const OnDevice schedule;
  const auto backend = make_cuda_backend();
  const auto storage = backend->make_storage(3'000'001);
  const auto keys = make_keys<uint8_t>("uniform", 3'000'001, test_seed());
  std::vector<uint8_t> got(keys.size());
  run_team(5, [&](uint32_t thread) {
    const size_t begin = slice_begin(keys.size(), thread, 5);
    const size_t size = slice_begin(keys.size(), thread + 1, 5) - begin;
    storage->write(begin, std::as_bytes(std::span(keys).subspan(begin, size)));
    storage->read(begin, std::as_writable_bytes(std::span(got).subspan(begin, size)));
  });
  REQUIRE(got == keys);
  // What a thread wrote behind its slice may have come after its neighbour had read.
  std::ranges::fill(got, uint8_t{0});
  storage->read(0, std::as_writable_bytes(std::span(got)));
  REQUIRE(got == keys);
}

TEMPLATE_TEST_CASE("the referee sorts on the GPU within the memory that it may take, else on the CPU",
                   "[gpu]", uint8_t, int16_t, uint32_t, int64_t, float, double) {
  const OnDevice schedule;
  // Any bits: floats are NaN, infinite and tiny, too.
  const auto bytes = make_keys<uint64_t>("uniform", some_keys * sizeof(TestType) / 8 + 1, test_seed());
  std::vector<TestType> input(some_keys);
  std::memcpy(input.data(), bytes.data(), input.size() * sizeof(TestType));
  for (const Order order : {Order::ascending, Order::descending})
    for (const uint64_t room : {uint64_t{0}, uint64_t{1} << 20, uint64_t{1} << 30}) {
      CAPTURE(room);
      std::vector<TestType> keys = input;
      referee_sort(std::as_writable_bytes(std::span(keys)), key_type_of<TestType>(), order, 0, Bytes{room});
      oracle::require_sorted<TestType>(input, keys, order);
    }
  const test::TemporaryFolder folder;
  test::write_keys(folder / "keys", input);
  const SortReport report = sort_file(folder / "keys", folder / "out",
                                      {.file = {.type = key_type_of<TestType>()},
                                       .where = {.backend = BackendChoice::cuda},
                                       .referee = Referee::thrust});
  CHECK(report.referee_agrees == true);
  oracle::require_sorted<TestType>(input, test::read_keys<TestType>(folder / "out"));
}

TEST_CASE("runs that stay on the GPU give what the standard library gives, also with values", "[gpu]") {
  const OnDevice schedule;
  const test::TemporaryFolder folder;
  const auto keys = make_keys<uint64_t>("few-1000", many_keys, test_seed());
  std::vector<uint64_t> values(keys.size());
  std::iota(values.begin(), values.end(), 0);
  test::write_keys(folder / "keys.u64", keys);
  test::write_keys(folder / "values.u64", values);
  const auto backend = make_cuda_backend();
  SortEnvironment environment{.chunk_bytes = file_chunk};
  for (const bool pairs : {false, true}) {
    // Room for two sessions of 32 chunks, and for all data.
    SortJob job{.count = 32 * environment.chunk_bytes / (pairs ? 16 : 8), .type = KeyType::u64};
    if (pairs) job.value_bytes = 8;
    const uint64_t data = keys.size() * (pairs ? 16 : 8);
    const Bytes memory{2 * backend->footprint(job).device.value + data + data / 32};
    SortFileOptions options{.where = {.backend = BackendChoice::cuda, .threads = 4},
                            .memory = {.memory = Bytes{64u << 20}, .gpu_memory = memory},
                            .overwrite = true};
    if (pairs) {
      options.values = {folder / "values.u64"};
      options.values_output = folder / "values.out";
    }
    const SortReport report = sort_file_with(environment, folder / "keys.u64", folder / "out", options);
    REQUIRE(report.plan.runs > 3);
    REQUIRE(report.plan.runs_on_gpu == report.plan.runs);
    const auto sorted = test::read_keys<uint64_t>(folder / "out");
    if (pairs)
      oracle::require_sorted_pairs<uint64_t, uint64_t>(keys, values, sorted,
                                                       test::read_keys<uint64_t>(folder / "values.out"));
    else
      oracle::require_sorted<uint64_t>(keys, sorted);
  }
}

TEST_CASE("runs on several GPUs, here one by several names, give what the standard library gives", "[gpu]") {
  const OnDevice schedule;
  const auto keys = make_keys<uint64_t>("few-1000", many_keys, test_seed());
  std::vector<uint64_t> values(keys.size());
  std::iota(values.begin(), values.end(), 0);
  enum class Input { file, pairs, stream };
  for (uint32_t count = 2; count < (on_gpu ? 4 : 3); ++count)
    for (const Input input : {Input::file, Input::pairs, Input::stream}) {
      INFO(count << " GPUs, input " << static_cast<int>(input));
      const test::TemporaryFolder folder;
      std::vector<int> made;
      SortEnvironment environment;
      environment.chunk_bytes = file_chunk;
      environment.make_cuda = [&](int device) {
        made.push_back(device);
        return make_cuda_backend(cuda_status().usable.front());
      };
      environment.status = [count] {
        CudaStatus status{.usable = std::vector<int>(count), .device_count = static_cast<int>(count)};
        std::iota(status.usable.begin(), status.usable.end(), 0);
        return status;
      };
      // Each GPU has room for a session of 32 chunks and for a share of the data, in which a run may find no
      // room. Runs of streams are larger.
      const uint64_t record = input == Input::pairs ? 16 : 8;
      SortJob job{.count = 32 * environment.chunk_bytes / record, .type = KeyType::u64};
      if (input == Input::pairs) job.value_bytes = 8;
      const uint64_t session = make_cuda_backend()->footprint(job).device.value;
      const uint64_t run = (input == Input::stream ? 160 : 33) * environment.chunk_bytes;
      SortFileOptions options{.where = {.backend = BackendChoice::cuda, .devices = {}, .threads = 4},
                              .memory = {.memory = Bytes{64u << 20},
                                         .gpu_memory = Bytes{session + keys.size() * record / count + run}},
                              .overwrite = true};
      if (input == Input::pairs) {
        test::write_keys(folder / "values.u64", values);
        options.values = {folder / "values.u64"};
        options.values_output = folder / "values.out";
      }
      std::thread writer;
      if (input == Input::stream) {
        options.memory.memory = Bytes{12u << 20};  // less than all of the data
        REQUIRE(::mkfifo((folder / "keys.u64").c_str(), 0600) == 0);
        writer = std::thread([&] { test::write_keys(folder / "keys.u64", keys); });
      } else {
        test::write_keys(folder / "keys.u64", keys);
      }
      const SortReport report = sort_file_with(environment, folder / "keys.u64", folder / "out", options);
      if (input == Input::stream) writer.join();
      REQUIRE(made.size() == count);
      REQUIRE(report.plan.gpus == count);
      REQUIRE(report.plan.runs > 3);
      REQUIRE(report.plan.temporary == Bytes{});
      if (input != Input::stream) REQUIRE(report.plan.runs_on_gpu == report.plan.runs);
      REQUIRE(report.device.starts_with(std::to_string(count) + " x "));
      const auto sorted = test::read_keys<uint64_t>(folder / "out");
      if (input == Input::pairs)
        oracle::require_sorted_pairs<uint64_t, uint64_t>(keys, values, sorted,
                                                         test::read_keys<uint64_t>(folder / "values.out"));
      else
        oracle::require_sorted<uint64_t>(keys, sorted);
    }
}

TEST_CASE("a job larger than the device is an error, and the next one works", "[gpu]") {
  const OnDevice schedule;
  const auto backend = make_cuda_backend();
  REQUIRE_THROWS_AS(backend->begin_sort({.count = uint64_t{1} << 40, .type = KeyType::u64}), Error);
  const auto input = make_keys<uint32_t>("uniform", 50'000, test_seed());
  OddSession<uint32_t> session(*backend, input, {});
  (void)session.sort();
  oracle::require_sorted<uint32_t>(input, session.keys());
}

}  // namespace sweepsort
