// pipeline_external_test.cpp - sorts of files beyond a budget: runs, spill files, any number of merge
// passes.
#include "backend/cpu/tuning.hpp"
#include "catch.hpp"
#include "core/pages.hpp"
#include "io/file_descriptor.hpp"
#include "oracle.hpp"
#include "pipeline/external_sort.hpp"
#include "pipeline/run_store.hpp"
#include "resource_limit.hpp"
#include "sort_file_fixture.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <thread>
#include <tuple>

using namespace sweepsort;
using namespace sweepsort::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

constexpr Bytes kib64{64u << 10};

SortEnvironment cpu_environment() {
  SortEnvironment environment = plain_environment(8u << 20);
  environment.make_cpu = [](uint32_t threads) { return make_cpu_backend(threads); };
  return environment;
}

SortFileOptions with_memory(Bytes memory, Order order = Order::ascending) {
  return {.where = {.threads = 2}, .memory = {.memory = memory}, .order = order, .overwrite = true};
}

/// Returns the keys sorted, each once.
std::vector<uint64_t> different(std::vector<uint64_t> keys) {
  std::ranges::sort(keys);
  const auto behind = std::ranges::unique(keys);
  keys.erase(behind.begin(), behind.end());
  return keys;
}

/// How often each of the different keys comes.
std::vector<uint64_t> counts_of(const std::vector<uint64_t>& keys) {
  std::map<uint64_t, uint64_t> counted;
  for (const uint64_t key : keys) ++counted[key];
  std::vector<uint64_t> counts;
  for (const auto& [key, count] : counted) counts.push_back(count);
  return counts;
}

/// Lets keys come about eight times each, half of them low, half of them high; but not those in the middle,
/// where a key is spoiled.
void repeat_outer(std::vector<uint64_t>& keys) {
  const auto is_middle = [](uint64_t key) { return key >> 60 == 7 || key >> 60 == 8; };
  uint64_t repeated = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i % 8 == 0) {
      repeated = is_middle(keys[i]) ? keys[i] ^ uint64_t { 1 } << 62 : keys[i];
      if (repeated >> 63 != i / 8 % 2) repeated = ~repeated;
    }
    if (!is_middle(keys[i])) keys[i] = repeated;
  }
}

/// Chooses the GPU for every file.
void choose_gpu(SortEnvironment& environment) {
  environment.choose = [](const KeysToSort&, const AskStatus&, uint32_t, const WhereOptions&) {
    return BackendDecision{BackendChoice::cuda, "the test says so"};
  };
}

/// GPUs with `memory` each, chosen for every file. Also says what became of them in the last sort.
struct PlainGpus {
  explicit PlainGpus(size_t count, Bytes memory)
      : stored(count), sorts(count), made_(count), has_begun_(count) {
    environment = plain_environment(4096);
    choose_gpu(environment);
    environment.status = [count] {
      CudaStatus status{.usable = std::vector<int>(count), .device_count = static_cast<int>(count)};
      std::iota(status.usable.begin(), status.usable.end(), 0);
      return status;
    };
    environment.make_cpu = [this, make_cpu = environment.make_cpu](uint32_t threads) {
      std::fill(made_.begin(), made_.end(), nullptr);  // the GPUs have failed and are gone
      return make_cpu(threads);
    };
    environment.make_cuda = [this, memory](int device) {
      sorts.at(device) = 0;
      auto gpu = std::make_unique<Gpu>(*this, device);
      gpu->limit_device(memory);
      if (device == faulty && fault == Fault::none) gpu->limit_storage(granted);
      made_[device] = gpu.get();
      return gpu;
    };
  }
  PlainGpus(const PlainGpus&) = delete;
  PlainGpus& operator=(const PlainGpus&) = delete;

  /// Options that use all GPUs. `stored` is filled in when the merge begins.
  SortFileOptions options(Bytes memory) {
    SortFileOptions options = with_memory(memory);
    options.where.devices = {};
    options.progress = [this](Phase phase, uint64_t, uint64_t) {
      for (size_t gpu = 0; phase == Phase::merge && gpu < made_.size(); ++gpu)
        if (made_[gpu] != nullptr) stored[gpu] = made_[gpu]->stored();
    };
    options.log = [this](const std::string& line) { log.push_back(line); };
    return options;
  }

  bool has_begun(size_t gpu) const { return has_begun_.at(gpu); }

  int faulty = -1;  // the GPU with the fault; if that is `none`, it makes storage for `granted` runs only
  Fault fault = Fault::none;
  uint64_t granted = 0;
  bool share = true;  // the file is larger than what one GPU holds
  SortEnvironment environment;
  std::vector<Bytes> stored;
  std::vector<size_t> sorts;
  std::vector<std::string> log;

 private:
  /// Any session that is free takes the next run of a file, so one could take all runs. Therefore neither
  /// session ends its first sort before the other one has begun.
  class Gpu : public PlainBackend {
   public:
    Gpu(PlainGpus& gpus, int device)
        : PlainBackend(device == gpus.faulty ? gpus.fault : Fault::none, "cuda",
                       [&gpus, device] {
                         if (gpus.sorts[device]++ == 0 && gpus.share) gpus.await(1 - device);
                         return true;
                       }),
          has_begun_(gpus.has_begun_[device]) {}

    std::unique_ptr<SortSession> begin_sort(const SortJob& job) override {
      has_begun_ = true;
      return PlainBackend::begin_sort(job);
    }

   private:
    std::atomic<bool>& has_begun_;
  };

  void await(int device) const {
    for (int ms = 0; ms < 20'000 && !has_begun_.at(device); ++ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::vector<PlainBackend*> made_;
  std::vector<std::atomic<bool>> has_begun_;
};

/// Writes keys into a new named pipe, to the end or until nobody reads.
template <class Key>
class PipeWriter {
 public:
  PipeWriter(std::string pipe, const std::vector<Key>& keys) : pipe_(std::move(pipe)) {
    std::signal(SIGPIPE, SIG_IGN);
    std::filesystem::remove(pipe_);
    REQUIRE(::mkfifo(pipe_.c_str(), 0600) == 0);
    thread_ = std::jthread([this, &keys] {
      try {
        write_keys(pipe_, keys);
      } catch (const std::runtime_error&) {  // nobody reads any more
      }
      has_ended_ = true;
    });
  }
  PipeWriter(const PipeWriter&) = delete;
  PipeWriter& operator=(const PipeWriter&) = delete;
  /// If nobody has read the pipe, or not to the end, the writer still waits for it to be opened or read.
  ~PipeWriter() {
    const FileDescriptor reader(::open(pipe_.c_str(), O_RDONLY | O_NONBLOCK));
    std::array<char, 4096> ignored;
    while (!has_ended_)
      if (::read(reader.get(), ignored.data(), ignored.size()) <= 0) std::this_thread::yield();
  }

 private:
  std::string pipe_;
  std::atomic<bool> has_ended_ = false;
  std::jthread thread_;
};

/// Sorts the keys from a file or through a pipe.
template <class Key>
SortReport sort_with(const SortEnvironment& environment, const TemporaryFolder& folder,
                     const std::vector<Key>& keys, bool is_stream, const SortFileOptions& options) {
  const std::string name = folder / "in.u64";
  std::optional<PipeWriter<Key>> writer;
  if (is_stream)
    writer.emplace(name, keys);
  else
    write_keys(name, keys);
  return sort_file_with(environment, name, folder / "out", options);
}

/// An environment with one GPU, which is chosen.
SortEnvironment with_chosen(std::function<std::unique_ptr<Backend>()> make_gpu) {
  SortEnvironment environment = with_gpu(plain_environment(4096), Fault::none);
  choose_gpu(environment);
  environment.make_cuda = [make_gpu = std::move(make_gpu)](int) { return make_gpu(); };
  return environment;
}

std::vector<uint64_t> each_twice(const std::vector<uint64_t>& keys) {
  std::vector<uint64_t> twice;
  for (const uint64_t key : keys) twice.insert(twice.end(), 2, key);
  return twice;
}

/// A GPU that says that it has 3 MB.
std::unique_ptr<PlainBackend> gpu_with(uint64_t bytes_for_a_session, Fault fault = Fault::none) {
  auto gpu = std::make_unique<PlainBackend>(fault, "cuda");
  gpu->limit_device(Bytes{3'000'000});
  gpu->limit_sessions(Bytes{bytes_for_a_session});
  return gpu;
}

constexpr const char* once_more = "the GPU has less memory left than it reported: starting again within ";

}  // namespace

TEMPLATE_TEST_CASE("a file of every type sorts in both orders within 64 KiB, as it does in memory", "",
                   uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float, double) {
  for (const bool plain : {true, false})
    for (const size_t count : {30'000, 100'003}) {
      const TemporaryFolder folder;
      const auto keys = random_keys<TestType>(count);
      write_keys(folder / "in", keys);
      for (const Order order : {Order::ascending, Order::descending}) {
        SortFileOptions options = with_memory(kib64, order);
        options.file.type = key_type_of<TestType>();
        const SortReport report = sort_file_with(plain ? plain_environment(4096) : cpu_environment(),
                                                 folder / "in", folder / "out", options);
        CHECK(report.verified);
        CHECK(report.fingerprint.count == count);
        if (sizeof(TestType) > 2) CHECK(report.plan.strategy == "external");
        oracle::require_sorted<TestType>(keys, read_keys<TestType>(folder / "out"), order);
        CHECK(folder.names() == std::vector<std::string>{"in", "out"});
      }
    }
}

TEST_CASE("keys that are few, equal, sorted or reversed are blocks of equal size all the same") {
  const TemporaryFolder folder;
  constexpr size_t count = 60'000;
  std::vector<std::vector<uint64_t>> inputs(6, std::vector<uint64_t>(count));
  for (size_t i = 0; i < count; ++i) {
    inputs[1][i] = i;
    inputs[2][i] = count - i;
    inputs[3][i] = i % 3;
    inputs[4][i] = i % 10 == 0 ? i * 0x9e3779b97f4a7c15u : 77;  // nine tenths are one value
    inputs[5][i] = ~uint64_t{0} - i % 2;
  }
  for (const auto& keys : inputs) {
    write_keys(folder / "in.u64", keys);
    const SortReport report =
        sort_file_with(cpu_environment(), folder / "in.u64", folder / "out", with_memory(kib64));
    CHECK(report.plan.strategy == "external");
    oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
  }
}

TEST_CASE("any budget gives the same file, with all runs in memory, some of them, and none") {
  const TemporaryFolder folder;
  const auto keys = random_keys<uint64_t>(200'000);
  write_keys(folder / "in.u64", keys);
  std::set<uint32_t> passes;
  std::set<bool> spills;
  for (const uint64_t memory : {65'536u, 99'999u, 262'144u, 1'000'000u, 1'700'000u, 2'500'000u, 3'100'000u}) {
    const SortReport report =
        sort_file_with(cpu_environment(), folder / "in.u64", folder / "out", with_memory(Bytes{memory}));
    CHECK(report.plan.strategy == "external");
    passes.insert(report.plan.passes);
    spills.insert(report.plan.temporary.value != 0);
    oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
  }
  CHECK(passes.size() >= 3);  // two, three, and more
  CHECK(spills.size() == 2);
}

TEST_CASE("spill files are left in no directory, whether they have names or not") {
  const bool anonymous = GENERATE(true, false);
  const TemporaryFolder folder;
  const TemporaryFolder first(Medium::disk);
  const TemporaryFolder second;
  const auto keys = random_keys<uint64_t>(300'000);
  write_keys(folder / "in.u64", keys);
  SortFileOptions options = with_memory(Bytes{1u << 20});
  options.memory.temporary_directories = {first.path(), second.path()};
  SortEnvironment environment = cpu_environment();
  environment.allow_anonymous = anonymous;
  sort_file_with(environment, folder / "in.u64", folder / "out", options);
  oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
  CHECK(first.names().empty());
  CHECK(second.names().empty());
  CHECK(folder.names() == std::vector<std::string>{"in.u64", "out"});
}

TEST_CASE("a plan says where the disk has no room for it") {
  const TemporaryFolder folder;
  write_keys(folder / "in.u64", random_keys<uint64_t>(100'000));
  SortFileOptions options = with_memory(kib64);
  options.plan_only = true;
  std::vector<std::string> notes;
  options.note = [&](const std::string& line) { notes.push_back(line); };
  sort_file_with(cpu_environment(), folder / "in.u64", folder / "out", options);
  CHECK(notes.empty());
  constexpr uint64_t bytes = uint64_t{1} << 42;
  std::filesystem::resize_file(folder / "in.u64", bytes);
  const std::vector<std::string> inputs(64, folder / "in.u64");  // larger than any disk
  sort_files_with(cpu_environment(), inputs, folder / "out", options);
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], ContainsSubstring(folder / "out, " + folder.path().string() + ": "));
  CHECK_THAT(notes[0], ContainsSubstring(" will be needed there, but only "));
}

TEST_CASE("the space of all passes is what the plan says, and is taken before the first key is read") {
  const TemporaryFolder folder;
  const auto keys = random_keys<uint64_t>(150'000);
  write_keys(folder / "in.u64", keys);
  SortFileOptions options = with_memory(kib64);
  options.plan_only = true;
  const Bytes said =
      sort_file_with(cpu_environment(), folder / "in.u64", folder / "out", options).plan.temporary;
  CHECK(said.value >= 2 * 8 * keys.size());  // there are several merges: what one reads and what it writes
  options.plan_only = false;
  uint64_t read = 0;
  options.progress = [&](Phase phase, uint64_t done, uint64_t) { read += phase == Phase::runs ? done : 0; };
  // There is only one temporary file, so the limit on files is its disk.
  const auto sort_within = [&](Bytes space) {
    std::signal(SIGXFSZ, SIG_IGN);
    const ResourceLimit limit(RLIMIT_FSIZE, space.value);
    return sort_file_with(cpu_environment(), folder / "in.u64", folder / "out", options);
  };
  CHECK_THROWS_WITH(sort_within(Bytes{said.value - 1}), ContainsSubstring("File too large"));
  CHECK(read == 0);
  CHECK(folder.names() == std::vector<std::string>{"in.u64"});
  const SortReport report = sort_within(said);
  CHECK(report.plan.passes >= 3);
  oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
}

TEST_CASE("a merge of more inputs than are merged at once takes its space before it begins, too") {
  const TemporaryFolder folder;
  std::vector<uint32_t> all;
  std::vector<std::string> inputs;
  for (int input = 0; input < 100; ++input) {
    auto keys = random_keys<uint32_t>(700 + input);
    std::ranges::sort(keys);
    inputs.push_back(folder / (std::to_string(input) + ".u32"));
    write_keys(inputs.back(), keys);
    all.insert(all.end(), keys.begin(), keys.end());
  }
  SortFileOptions options = with_memory(kib64);
  options.inputs_are_sorted = true;
  options.plan_only = true;
  const bool has_values = GENERATE(false, true);
  const auto values = random_keys<uint64_t>(all.size(), 1);
  if (has_values) {
    write_keys(folder / "values.u64", values);
    options.values = {folder / "values.u64"};
    options.values_output = folder / "values.out";
  }
  const FilePlan plan = sort_files_with(cpu_environment(), inputs, folder / "out", options).plan;
  CHECK(plan.passes == 3);
  CHECK(plan.temporary.value >= 2 * (has_values ? 12 : 4) * all.size());
  options.plan_only = false;
  std::signal(SIGXFSZ, SIG_IGN);
  const ResourceLimit limit(RLIMIT_FSIZE, plan.temporary.value);
  sort_files_with(cpu_environment(), inputs, folder / "out", options);
  const auto merged = read_keys<uint32_t>(folder / "out");
  if (has_values)
    oracle::require_sorted_pairs<uint32_t, uint64_t>(all, values, merged,
                                                     read_keys<uint64_t>(folder / "values.out"));
  else
    oracle::require_sorted<uint32_t>(all, merged);
}

TEST_CASE("a temporary directory that is none, or may not be written, is an error before anything is read") {
  const TemporaryFolder folder;
  write_keys(folder / "in.u64", random_keys<uint64_t>(100'000));
  SortFileOptions options = with_memory(kib64);
  options.memory.temporary_directories = {folder / "none"};
  CHECK_THROWS_WITH(sort_file_with(cpu_environment(), folder / "in.u64", folder / "out", options),
                    ContainsSubstring("no such directory"));
  options.memory.temporary_directories = {folder / "in.u64"};
  CHECK_THROWS_WITH(sort_file_with(cpu_environment(), folder / "in.u64", folder / "out", options),
                    ContainsSubstring("is not a directory"));
  options.memory.temporary_directories = {"/proc"};
  CHECK_THROWS_WITH(sort_file_with(cpu_environment(), folder / "in.u64", folder / "out", options),
                    ContainsSubstring("/proc: cannot create a temporary file in it"));
  CHECK(folder.names() == std::vector<std::string>{"in.u64"});
}

TEST_CASE("a stream of unknown length becomes runs as it arrives, and goes to a pipe in order") {
  const TemporaryFolder folder;
  const uint64_t memory = GENERATE(65'536u, 300'000u, 1'000'000u, 3'000'000u);
  const auto keys = random_keys<uint32_t>(300'001);
  REQUIRE(::mkfifo((folder / "in.u32").c_str(), 0600) == 0);
  REQUIRE(::mkfifo((folder / "out").c_str(), 0600) == 0);
  std::thread writer([&] { write_keys(folder / "in.u32", keys); });
  std::vector<uint32_t> sorted;
  std::thread reader([&] { sorted = read_keys<uint32_t>(folder / "out"); });
  const SortReport report =
      sort_file_with(cpu_environment(), folder / "in.u32", folder / "out", with_memory(Bytes{memory}));
  writer.join();
  reader.join();
  CHECK(report.input_bytes == keys.size() * 4);
  CHECK(report.output_bytes == keys.size() * 4);
  CHECK(report.count == keys.size());
  oracle::require_sorted<uint32_t>(keys, sorted);
}

TEST_CASE("a stream of more runs than a plan foresees is sorted") {
  const TemporaryFolder folder;
  // At first one key in 512 is kept as a sample, and 64 KiB have room for 512 samples.
  const auto keys = random_keys<uint64_t>(700'001);
  sort_with(cpu_environment(), folder, keys, true, with_memory(kib64));
  oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
}

TEST_CASE("of the runs of a stream, however many, no more samples are kept than the plan allows") {
  const TemporaryFolder folder;
  Backends backends;
  backends.push_back(std::make_unique<PlainBackend>());
  const RecordShape shape{KeyType::u64};
  const Plan plan{.strategy = SortStrategy::external,
                  .job = {.count = 64, .type = shape.type, .chunk_bytes = 512},
                  .lanes = 1,
                  .fan_in = 1000,
                  .stride = 4,
                  .max_samples = 100};
  ExternalSort sort(backends, {.plan = plan,
                               .transfer = {.shape = shape, .chunk_bytes = 512},
                               .store = {.shape = shape, .directories = {folder.path()}, .run_records = 64}});
  uint64_t most = 0;
  uint64_t runs = 0;
  sort.form_runs([&](SortSession& session, uint64_t, uint64_t count) {
    most = std::max(most, sort.samples());
    const auto keys = random_keys<uint64_t>(count);
    std::ranges::copy(std::as_bytes(std::span(keys)),
                      session.begin_put(0, Column::keys, 0, count * 8).begin());
    session.end_put(0);
    return ++runs < 300 ? count : 0;
  });
  CHECK(sort.runs() >= 299);
  CHECK(most > 50);
  CHECK(std::max(most, sort.samples()) <= 300);  // one per run is the least
}

TEST_CASE("a stream of bytes beyond memory is counted as it arrives") {
  const TemporaryFolder folder;
  const auto keys = random_keys<int8_t>(1'000'001);
  REQUIRE(::mkfifo((folder / "in.i8").c_str(), 0600) == 0);
  std::thread writer([&] { write_keys(folder / "in.i8", keys); });
  const SortReport report =
      sort_file_with(cpu_environment(), folder / "in.i8", folder / "out", with_memory(kib64));
  writer.join();
  CHECK(report.plan.strategy == "counting");
  oracle::require_sorted<int8_t>(keys, read_keys<int8_t>(folder / "out"));
}

TEST_CASE("a stream beyond memory that ends inside a key is refused, and leaves nothing") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "in.u32").c_str(), 0600) == 0);
  std::thread writer([&] { write_file(folder / "in.u32", std::vector<std::byte>(400'003)); });
  CHECK_THROWS_WITH(sort_file_with(cpu_environment(), folder / "in.u32", folder / "out", with_memory(kib64)),
                    ContainsSubstring("3 left over"));
  writer.join();
  CHECK(folder.names() == std::vector<std::string>{"in.u32"});
}

TEST_CASE("a .npy file beyond memory keeps its header, big-endian keys theirs") {
  const TemporaryFolder folder;
  const auto keys = random_keys<double>(50'000);
  std::string text = "{'descr': '<f8', 'fortran_order': False, 'shape': (50000,)}          \n";
  std::string file = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size()) + '\0' + text;
  const size_t header_bytes = file.size();
  file.append(reinterpret_cast<const char*>(keys.data()), keys.size() * sizeof(double));
  write_file(folder / "in.npy", std::as_bytes(std::span(file)));
  sort_file_with(cpu_environment(), folder / "in.npy", folder / "out.npy", with_memory(kib64));
  const auto out = read_file(folder / "out.npy");
  CHECK(std::equal(out.begin(), out.begin() + static_cast<ptrdiff_t>(header_bytes),
                   std::as_bytes(std::span(file)).begin()));
  oracle::require_sorted<double>(keys, read_keys<double>(folder / "out.npy", header_bytes));

  auto swapped = random_keys<uint32_t>(50'000);
  const auto plain = swapped;
  for (uint32_t& key : swapped) key = __builtin_bswap32(key);
  write_keys(folder / "in.u32", swapped);
  SortFileOptions big = with_memory(kib64);
  big.file.endian = Endian::big;
  sort_file_with(cpu_environment(), folder / "in.u32", folder / "out", big);
  auto sorted = read_keys<uint32_t>(folder / "out");
  for (uint32_t& key : sorted) key = __builtin_bswap32(key);
  oracle::require_sorted<uint32_t>(plain, sorted);
}

TEST_CASE("a backend that drops, doubles, flips or misplaces a key in any run or block is caught") {
  const SortResult result = GENERATE(SortResult::keys, SortResult::unique);
  const bool counts = result == SortResult::unique && GENERATE(false, true);
  const bool has_values = result == SortResult::unique && !counts && GENERATE(false, true);
  for (const Fault fault :
       {Fault::drops_key, Fault::doubles_key, Fault::flips_bit, Fault::swaps_neighbours}) {
    size_t caught = 0;
    // The session in which the fault happens. Runs come first, then blocks.
    for (size_t faulty = 0;; ++faulty) {
      const TemporaryFolder folder;
      auto keys = random_keys<uint64_t>(counts ? 28'000 : 20'000, faulty);
      if (result == SortResult::unique) repeat_outer(keys);
      write_keys(folder / "in.u64", keys);
      write_keys(folder / "out", std::vector<uint64_t>{3, 1, 2});
      SortEnvironment environment = cpu_environment();
      size_t sessions = 0;
      environment.make_cpu = [&](uint32_t) {
        return std::make_unique<PlainBackend>(fault, "cpu",
                                              [&sessions, faulty] { return sessions++ == faulty; });
      };
      std::string message;
      try {
        SortFileOptions options = with_memory(Bytes{(counts ? 2 : 1) * kib64.value});  // merged once
        options.result = result;
        if (counts) options.counts_output = folder / "second";
        if (has_values) options.values = {folder / "in.u64"};
        if (has_values) options.values_output = folder / "second";
        sort_file_with(environment, folder / "in.u64", folder / "out", options);
      } catch (const Error& error) {
        message = error.what();
      }
      CHECK(std::filesystem::exists(folder / "second") == ((counts || has_values) && message.empty()));
      if (counts && message.empty()) CHECK(read_keys<uint64_t>(folder / "second") == counts_of(keys));
      std::filesystem::remove(folder / "second");
      CHECK(folder.names() == std::vector<std::string>{"in.u64", "out"});
      if (faulty >= sessions) {
        CHECK(message.empty());
        CHECK(sessions >= 10);
        if (fault != Fault::swaps_neighbours) CHECK(caught > sessions / 2);
        break;
      }
      caught += message.empty() ? 0 : 1;
      // The blocks that a run goes into repair its order, unless a cut went wrong. And a key that is replaced
      // by the next one may be the same, from another run.
      const bool may_heal =
          fault == Fault::swaps_neighbours || (fault == Fault::doubles_key && result == SortResult::unique);
      if (!may_heal) CHECK_THAT(message, ContainsSubstring("the result was discarded"));
      if (!message.empty())
        CHECK(read_keys<uint64_t>(folder / "out") == std::vector<uint64_t>{3, 1, 2});
      else if (result == SortResult::keys)
        oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
      else
        CHECK(read_keys<uint64_t>(folder / "out") == different(keys));
    }
  }
}

TEST_CASE("a backend that spoils any block of a merge of streams is caught") {
  const auto before = std::signal(SIGPIPE, SIG_IGN);  // the writer may come too late
  for (const Fault fault :
       {Fault::drops_key, Fault::doubles_key, Fault::flips_bit, Fault::swaps_neighbours}) {
    for (size_t faulty = 0;; ++faulty) {
      const TemporaryFolder folder;
      std::vector<uint64_t> odd(20'000);
      std::vector<uint64_t> even(odd.size());
      for (uint64_t i = 0; i < odd.size(); ++i) even[i] = (odd[i] = 2 * i + 1) + 1;
      write_keys(folder / "in.u64", odd);
      write_keys(folder / "out", std::vector<uint64_t>{3, 1, 2});
      REQUIRE(::mkfifo((folder / "pipe.u64").c_str(), 0600) == 0);
      std::thread writer([&] { write_keys(folder / "pipe.u64", even); });
      SortEnvironment environment = cpu_environment();
      std::atomic<size_t> sessions = 0;
      environment.make_cpu = [&](uint32_t) {
        return std::make_unique<PlainBackend>(fault, "cpu",
                                              [&sessions, faulty] { return sessions++ == faulty; });
      };
      SortFileOptions options = with_memory(kib64);
      options.inputs_are_sorted = true;
      std::string message;
      try {
        sort_files_with(environment, {folder / "in.u64", folder / "pipe.u64"}, folder / "out", options);
      } catch (const Error& error) {
        message = error.what();
      }
      writer.join();
      CHECK(folder.names() == std::vector<std::string>{"in.u64", "out", "pipe.u64"});
      if (faulty >= sessions) {
        CHECK(message.empty());
        CHECK(sessions > 10);
        break;
      }
      CHECK_THAT(message, ContainsSubstring("the result was discarded"));
      CHECK(read_keys<uint64_t>(folder / "out") == std::vector<uint64_t>{3, 1, 2});
    }
  }
  (void)std::signal(SIGPIPE, before);
}

TEST_CASE("a look at a file's keys tells whether they are in order, before a backend is chosen") {
  static bool looks_in_order = false;
  SortEnvironment environment = cpu_environment();
  environment.choose = [](const KeysToSort& keys, const AskStatus&, uint32_t, const WhereOptions&) {
    looks_in_order = keys.looks_in_order();
    return BackendDecision{BackendChoice::cpu, "the test says so"};
  };
  const TemporaryFolder folder;
  std::vector<uint64_t> keys = random_keys<uint64_t>(30'000);
  const auto is_in_order = [&] {
    write_keys(folder / "in.u64", keys);
    sort_file_with(environment, folder / "in.u64", folder / "out", {.overwrite = true});
    return looks_in_order;
  };
  CHECK_FALSE(is_in_order());
  std::sort(keys.begin(), keys.end());
  CHECK(is_in_order());
  std::reverse(keys.begin(), keys.end());
  CHECK(is_in_order());
  keys.clear();
  CHECK(is_in_order());
}

TEST_CASE("a GPU with little memory sorts a file in runs; if it fails the CPU does, from the input") {
  for (const Fault fault : {Fault::none, Fault::fails_to_sort, Fault::doubles_key}) {
    const TemporaryFolder folder;
    const auto keys = random_keys<uint64_t>(30'000);
    write_keys(folder / "in.u64", keys);
    SortEnvironment environment = with_gpu(plain_environment(4096), fault);
    choose_gpu(environment);
    const SortReport report =
        sort_file_with(environment, folder / "in.u64", folder / "out", with_memory(kib64));
    CHECK(report.plan.strategy == "external");
    CHECK(report.backend == (fault == Fault::none ? "cuda" : "cpu"));
    oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
  }
}

TEST_CASE("pipes that a GPU has too little memory for are merged in smaller blocks, or by the CPU") {
  const TemporaryFolder folder;
  const std::vector<std::string> inputs{folder / "a.u64", folder / "b.u64"};
  std::vector<uint64_t> keys = random_keys<uint64_t>(100'000);
  std::ranges::sort(keys);
  const std::vector<uint64_t> twice = each_twice(keys);
  for (const auto& [has, merges] : {std::tuple(40'000, "cuda"), std::tuple(20, "cpu")}) {
    SortFileOptions options = with_memory(Bytes{1u << 18});
    options.inputs_are_sorted = true;
    const PipeWriter first(inputs[0], keys);
    const PipeWriter second(inputs[1], keys);
    const auto environment = with_chosen([has = has] { return gpu_with(static_cast<uint64_t>(has)); });
    CHECK(sort_files_with(environment, inputs, folder / "out", options).backend == merges);
    CHECK(read_keys<uint64_t>(folder / "out") == twice);
  }
}

TEST_CASE("so are files that are merged into a pipe") {
  const TemporaryFolder folder;
  const std::vector<std::string> inputs{folder / "a.u64", folder / "b.u64"};
  std::vector<uint64_t> keys = random_keys<uint64_t>(100'000);
  std::ranges::sort(keys);
  for (const std::string& input : inputs) write_keys(input, keys);
  const std::vector<uint64_t> twice = each_twice(keys);
  for (const auto& [has, merges] : {std::tuple(40'000, "cuda"), std::tuple(20, "cpu")}) {
    SortFileOptions options = with_memory(Bytes{1u << 18});
    options.inputs_are_sorted = true;
    REQUIRE(::mkfifo((folder / "out").c_str(), 0600) == 0);
    auto read = std::async(std::launch::async, [&] { return read_keys<uint64_t>(folder / "out"); });
    const auto environment = with_chosen([has = has] { return gpu_with(static_cast<uint64_t>(has)); });
    CHECK(sort_files_with(environment, inputs, folder / "out", options).backend == merges);
    CHECK(read.get() == twice);
    std::filesystem::remove(folder / "out");
  }
}

TEST_CASE("what a GPU has lost of a stream is not sorted without it") {
  const auto keys = random_keys<uint64_t>(100'000);
  std::vector<uint64_t> in_order = keys;
  std::ranges::sort(in_order);
  for (const Fault fault : {Fault::fails_to_sort, Fault::drops_key})
    for (const bool merges : {false, true}) {
      CAPTURE(static_cast<int>(fault), merges);
      const TemporaryFolder folder;
      write_keys(folder / "out", std::vector<uint64_t>{3, 1, 2});
      SortFileOptions options = with_memory(Bytes{1u << 18});
      options.inputs_are_sorted = merges;
      const auto environment = with_chosen([fault = fault] { return gpu_with(3'000'000, fault); });
      CHECK_THROWS_WITH(
          sort_with(environment, folder, merges ? in_order : keys, true, options),
          ContainsSubstring(fault == Fault::drops_key ? "the result was discarded" : "fell off the bus"));
      CHECK(read_keys<uint64_t>(folder / "out") == std::vector<uint64_t>{3, 1, 2});
    }
}

TEST_CASE("a GPU whose memory somebody takes is not refused for the --gpu-memory that it had") {
  class ShrinkingGpu : public PlainBackend {
   public:
    ShrinkingGpu() : PlainBackend(Fault::none, "cuda") {
      limit_device(Bytes{3'000'000});
      limit_sessions(Bytes{400'000});
    }
    Bytes device_memory() const override { return Bytes{asked_++ == 0 ? 3'000'000u : 400'000u}; }

   private:
    mutable int asked_ = 0;
  };
  const TemporaryFolder folder;
  const auto keys = random_keys<uint64_t>(100'000);
  SortFileOptions options = with_memory(Bytes{1u << 18});
  options.memory.gpu_memory = Bytes{2'000'000};
  const auto environment = with_chosen([] { return std::make_unique<ShrinkingGpu>(); });
  CHECK(sort_with(environment, folder, keys, false, options).backend == "cuda");
  oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
}

TEST_CASE("where a GPU lacks a little memory it is the runs that go elsewhere, not the sessions") {
  /// Gives its memory back when it is destroyed.
  class Session : public SortSession {
   public:
    Session(std::unique_ptr<SortSession> plain, uint64_t bytes, uint64_t& left)
        : plain_(std::move(plain)), bytes_(bytes), left_(left) {}
    ~Session() override { left_ += bytes_; }
    std::span<std::byte> begin_put(uint32_t worker, Column column, uint64_t first, size_t bytes) override {
      return plain_->begin_put(worker, column, first, bytes);
    }
    void end_put(uint32_t worker) override { plain_->end_put(worker); }
    SortSummary sort() override { return plain_->sort(); }
    std::span<std::byte> get(uint32_t worker, Column column, uint64_t first, size_t bytes) override {
      return plain_->get(worker, column, first, bytes);
    }

   private:
    std::unique_ptr<SortSession> plain_;
    uint64_t bytes_;
    uint64_t& left_;
  };
  class FullGpu : public PlainBackend {
   public:
    explicit FullGpu(uint64_t left) : PlainBackend(Fault::none, "cuda"), left_(left) {
      limit_device(Bytes{1'500'000});
    }
    std::unique_ptr<SortSession> begin_sort(const SortJob& job) override {
      const uint64_t bytes = footprint(job).device.value;
      if (bytes > left_) throw DeviceMemoryError("the device is full");
      left_ -= bytes;
      return std::make_unique<Session>(PlainBackend::begin_sort(job), bytes, left_);
    }
    std::unique_ptr<DeviceStorage> make_storage(uint64_t bytes) override {
      if (bytes > left_) throw Error("the device is full");
      left_ -= bytes;
      return PlainBackend::make_storage(bytes);
    }

   private:
    uint64_t left_;
  };
  const auto keys = random_keys<uint64_t>(100'000);
  const TemporaryFolder folder;
  SortFileOptions options = with_memory(Bytes{1u << 18});
  options.memory.gpu_memory = Bytes{1'500'000};
  std::vector<std::string> log;
  options.log = [&](const std::string& line) { log.push_back(line); };
  const auto environment = with_chosen([] { return std::make_unique<FullGpu>(1'400'000); });
  const SortReport report = sort_with(environment, folder, keys, false, options);
  CHECK(report.backend == "cuda");
  CHECK(report.plan.runs_on_gpu == report.plan.runs);
  CHECK(std::ranges::none_of(log, [](const std::string& line) { return line.starts_with(once_more); }));
  oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
}

TEST_CASE(
    "a GPU that has less memory than it said sorts in smaller pieces; with next to none the CPU sorts") {
  const auto keys = random_keys<uint64_t>(100'000);
  for (const bool is_stream : {false, true})
    for (const auto& [has, is_enough] :
         {std::tuple(150'000, true), std::tuple(20'000, true), std::tuple(200, false)})
      for (const bool is_asked_for : {false, true}) {
        CAPTURE(is_stream, has, is_asked_for);
        const TemporaryFolder folder;
        write_keys(folder / "out", std::vector<uint64_t>{3, 1, 2});
        const auto environment = with_chosen([has = has] { return gpu_with(static_cast<uint64_t>(has)); });
        SortFileOptions options = with_memory(Bytes{1u << 18});
        if (is_asked_for) options.where.backend = BackendChoice::cuda;
        std::vector<std::string> log;
        options.log = [&](const std::string& line) { log.push_back(line); };
        if (is_asked_for && !is_enough) {
          CHECK_THROWS_WITH(sort_with(environment, folder, keys, is_stream, options),
                            "the device has less memory than it said");
          CHECK(read_keys<uint64_t>(folder / "out") == std::vector<uint64_t>{3, 1, 2});
          continue;
        }
        const SortReport report = sort_with(environment, folder, keys, is_stream, options);
        CHECK(report.backend == (is_enough ? "cuda" : "cpu"));
        CHECK(report.plan.strategy == "external");
        std::set<Phase> phases;
        for (const PhaseTime& phase : report.phases) CHECK(phases.insert(phase.phase).second);
        CHECK(std::ranges::count_if(log, [](const std::string& line) {
                return line.starts_with(once_more);
              }) >= (has < 150'000 ? 3 : 1));
        oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
      }
}

TEST_CASE("runs lie in the GPU's memory, in memory and in spill files, of files and of streams") {
  const auto keys = random_keys<uint64_t>(100'000);
  for (const auto& [gpu, memory, tiers] :
       {std::tuple(1'500'000, 1u << 18, 1), std::tuple(1'000'000, 1u << 20, 2),
        std::tuple(1'000'000, 1u << 18, 3)})
    for (const bool is_stream : {false, true}) {
      CAPTURE(gpu, memory, is_stream);
      const TemporaryFolder folder;
      SortEnvironment environment = with_gpu(plain_environment(4096), Fault::none);
      choose_gpu(environment);
      PlainBackend* device = nullptr;
      Bytes stored;
      environment.make_cuda = [&, gpu = gpu](int) {
        auto backend = std::make_unique<PlainBackend>(Fault::none, "cuda");
        backend->limit_device(Bytes{static_cast<uint64_t>(gpu)});
        device = backend.get();
        return backend;
      };
      SortFileOptions options = with_memory(Bytes{memory});
      options.memory.gpu_memory = Bytes{static_cast<uint64_t>(gpu)};
      options.progress = [&](Phase phase, uint64_t, uint64_t) {
        if (phase == Phase::merge) stored = device->stored();
      };
      const SortReport report = sort_with(environment, folder, keys, is_stream, options);
      CHECK(report.backend == "cuda");
      CHECK(report.plan.strategy == "external");
      oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
      CHECK(stored > Bytes{is_stream ? 0u : 100'000u});
      if (is_stream) continue;
      CHECK((stored == Bytes{keys.size() * 8}) == (tiers == 1));
      CHECK((report.plan.runs_in_memory > 0) == (tiers > 1));
      CHECK((report.plan.temporary > Bytes{0}) == (tiers > 2));
    }
}

TEST_CASE("a run takes the room of its own records, with values or without, wherever it lies") {
  constexpr uint64_t count = 10'000;
  const auto keys = random_keys<uint64_t>(count);
  const auto values = random_keys<uint32_t>(count, 1);
  const TemporaryFolder folder;
  PlainBackend device;
  const auto take = [](auto& of, uint64_t records) { return std::as_bytes(std::span(of).first(records)); };
  RunStoreOptions options{.shape = {KeyType::u64}, .directories = {folder.path()}, .run_records = count};
  uint64_t bytes = 0;
  for (uint64_t run = 0; run < 5; ++run)
    bytes += run_bytes({KeyType::u64, run % 2 == 0 ? 0u : 4u}, count / (run + 1));
  SECTION("in a file") {}
  SECTION("in memory") { options.memory = Bytes{bytes}; }
  SECTION("on a device") { options.devices = {{&device, Bytes{bytes}}}; }
  const bool is_in_file = options.memory == Bytes{0} && options.devices.empty();
  RunStore store(options);
  std::vector<std::unique_ptr<StoredRun>> runs;
  for (uint64_t run = 0; run < 5; ++run) {
    const uint64_t records = count / (run + 1);
    runs.push_back(store.make_run({KeyType::u64, run % 2 == 0 ? 0u : 4u}, records));
    runs.back()->write(Column::keys, 0, take(keys, records));
    if (run % 2 != 0) runs.back()->write(Column::values, 0, take(values, records));
  }
  for (uint64_t run = 0; run < runs.size(); ++run) {
    const uint64_t records = count / (run + 1);
    CHECK(runs[run]->count() == records);
    std::vector<uint64_t> read(records);
    runs[run]->read(Column::keys, 0, std::as_writable_bytes(std::span(read)));
    CHECK(std::ranges::equal(read, std::span(keys).first(records)));
    if (run % 2 == 0) continue;
    std::vector<uint32_t> second(records);
    runs[run]->read(Column::values, 0, std::as_writable_bytes(std::span(second)));
    CHECK(std::ranges::equal(second, std::span(values).first(records)));
  }
  CHECK(store.spilled() <= Bytes{is_in_file ? bytes + runs.size() * 4096 : 0});
  if (!options.devices.empty()) CHECK(device.stored() == Bytes{bytes});
}

TEST_CASE("runs that the GPU has no memory left for lie elsewhere") {
  const auto keys = random_keys<uint64_t>(100'000);
  for (const uint64_t granted : {0, 1, 3}) {
    const TemporaryFolder folder;
    write_keys(folder / "in.u64", keys);
    SortEnvironment environment = with_gpu(plain_environment(4096), Fault::none);
    environment.make_cuda = [&](int) {
      auto backend = std::make_unique<PlainBackend>(Fault::none, "cuda");
      backend->limit_device(Bytes{1'500'000});
      backend->limit_storage(granted);
      return backend;
    };
    SortFileOptions options = with_memory(Bytes{1u << 18});
    options.where.backend = BackendChoice::cuda;
    options.memory.gpu_memory = Bytes{1'500'000};
    const SortReport report = sort_file_with(environment, folder / "in.u64", folder / "out", options);
    CHECK(report.plan.runs_on_gpu == report.plan.runs);
    CHECK(report.plan.runs > 3);
    oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
  }
}

TEST_CASE("runs lie on each of several GPUs, sessions on two, of files and of streams") {
  const auto keys = random_keys<uint64_t>(100'000);
  for (const auto& [count, memory, least] : {std::tuple(size_t{2}, Bytes{540'000}, Bytes{100'000}),
                                             std::tuple(size_t{3}, Bytes{540'000}, Bytes{100'000}),
                                             std::tuple(size_t{2}, Bytes{1'200'000}, Bytes{350'000})})
    for (const bool is_stream : {false, true}) {
      CAPTURE(count, memory.value, is_stream);
      const TemporaryFolder folder;
      PlainGpus gpus(count, memory);
      SortFileOptions options = gpus.options(Bytes{1u << 18});
      options.memory.gpu_memory = memory;
      const SortReport report = sort_with(gpus.environment, folder, keys, is_stream, options);
      CHECK(report.backend == "cuda");
      CHECK(report.plan.strategy == "external");
      CHECK(report.plan.gpus == count);
      CHECK(report.device == fmt::format("{} x std::sort", count));
      CHECK_THAT(gpus.log.back(), ContainsSubstring(fmt::format("GPUs: {0} of {0} used", count)));
      oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
      Bytes all;
      for (const Bytes stored : gpus.stored) {
        CHECK(stored >= least);
        CHECK(stored <= memory);
        all.value += stored.value;
      }
      for (size_t gpu = 0; gpu < count; ++gpu) {
        CHECK(gpus.has_begun(gpu) == (gpu < 2));
        if (!is_stream) CHECK((gpus.sorts[gpu] > 0) == (gpu < 2));
      }
      // Three GPUs hold what two of the same size cannot.
      const bool hold_all = count * memory.value > 1'200'000;
      if (!is_stream) CHECK((all == Bytes{keys.size() * 8}) == hold_all);
      if (!is_stream) CHECK((report.plan.temporary == Bytes{0}) == hold_all);
    }
}

TEST_CASE("what one GPU holds is sorted by the first of those that are named") {
  const auto keys = random_keys<uint64_t>(10'000);
  const TemporaryFolder folder;
  PlainGpus gpus(3, Bytes{540'000});
  gpus.share = false;
  SortFileOptions options = gpus.options(Bytes{1u << 18});
  options.where.devices = {2, 0};
  const SortReport report = sort_with(gpus.environment, folder, keys, false, options);
  CHECK(report.plan.strategy == "in memory");
  CHECK(report.plan.gpus == 1);
  CHECK(report.device == "std::sort");
  CHECK(gpus.sorts == std::vector<size_t>{0, 0, 1});
  CHECK_THAT(gpus.log.back(), ContainsSubstring("GPUs: 1 of 2 used"));
  oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
}

TEST_CASE("runs that one of several GPUs has no memory left for lie on the others, then elsewhere") {
  const auto keys = random_keys<uint64_t>(100'000);
  for (const size_t count : {2, 3})
    for (const int faulty : {0, 1})
      for (const uint64_t granted : {0, 1}) {
        CAPTURE(count, faulty, granted);
        const TemporaryFolder folder;
        PlainGpus gpus(count, Bytes{540'000});
        gpus.faulty = faulty;
        gpus.granted = granted;
        SortFileOptions options = gpus.options(Bytes{1u << 18});
        options.memory.gpu_memory = Bytes{540'000};
        const SortReport report = sort_with(gpus.environment, folder, keys, false, options);
        CHECK(report.backend == "cuda");
        for (size_t gpu = 0; gpu < count; ++gpu)
          CHECK((gpus.stored[gpu] > Bytes{150'000}) == (static_cast<int>(gpu) != faulty));
        CHECK((gpus.stored[faulty] > Bytes{0}) == (granted != 0));
        oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
      }
}

TEST_CASE("whichever of several GPUs fails, or spoils a key, the CPU sorts the file, from the input") {
  const auto keys = random_keys<uint64_t>(100'000);
  for (const Fault fault :
       {Fault::fails_to_begin, Fault::fails_to_sort, Fault::fails_to_get, Fault::doubles_key})
    for (const int faulty : {0, 1})
      for (const bool is_asked_for : {false, true}) {
        CAPTURE(faulty, is_asked_for);
        const TemporaryFolder folder;
        write_keys(folder / "out", std::vector<uint64_t>{3, 1, 2});
        PlainGpus gpus(3, Bytes{540'000});
        gpus.faulty = faulty;
        gpus.fault = fault;
        SortFileOptions options = gpus.options(Bytes{1u << 18});
        options.memory.gpu_memory = Bytes{540'000};
        if (is_asked_for) options.where.backend = BackendChoice::cuda;
        if (is_asked_for) {
          CHECK_THROWS_AS(sort_with(gpus.environment, folder, keys, false, options), Error);
          CHECK(read_keys<uint64_t>(folder / "out") == std::vector<uint64_t>{3, 1, 2});
        } else {
          CHECK(sort_with(gpus.environment, folder, keys, false, options).backend == "cpu");
          oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
        }
      }
}

TEST_CASE("of several GPUs each gives what the one with the least free memory can") {
  const auto keys = random_keys<uint64_t>(100'000);
  const TemporaryFolder folder;
  write_keys(folder / "in.u64", keys);
  SortFileOptions options = with_memory(Bytes{1u << 18});
  options.where = {.backend = BackendChoice::cuda, .devices = {0, 1}, .threads = 2};
  options.plan_only = true;
  const auto planned = [&](uint64_t first, uint64_t second, std::optional<Bytes> asked) {
    SortEnvironment environment = plain_environment(4096);
    environment.status = [] {
      return CudaStatus{.usable = {0, 1}, .device_count = 2, .reason = {}, .hint = {}};
    };
    environment.make_cuda = [&](int device) {
      auto gpu = std::make_unique<PlainBackend>(Fault::none, "cuda");
      gpu->limit_device(Bytes{device == 0 ? first : second});
      return gpu;
    };
    options.memory.gpu_memory = asked;
    return sort_file_with(environment, folder / "in.u64", folder / "out", options).plan;
  };
  for (const auto& [first, second] : {std::tuple(400'000, 900'000), std::tuple(900'000, 400'000)}) {
    CHECK(planned(first, second, {}).gpu_memory == planned(400'000, 400'000, Bytes{300'000}).gpu_memory);
    CHECK(planned(first, second, {}).gpu_memory != planned(900'000, 900'000, {}).gpu_memory);
    CHECK(planned(first, second, Bytes{400'000}).gpus == 2);
    CHECK_THROWS_WITH(planned(first, second, Bytes{400'001}),
                      ContainsSubstring("is free on one of the GPUs"));
  }
}

TEST_CASE("a stream that the GPU failed to sort is sorted by the CPU, from memory") {
  for (const bool by_runs : {false, true}) {
    const TemporaryFolder folder;
    const auto keys = random_keys<uint64_t>(30'000);
    REQUIRE(::mkfifo((folder / "in.u64").c_str(), 0600) == 0);
    std::thread writer([&] { write_keys(folder / "in.u64", keys); });
    SortEnvironment environment = with_gpu(cpu_environment(), Fault::doubles_key);
    choose_gpu(environment);
    SortFileOptions options = with_memory(Bytes{1u << 20});
    // The stream fits into main memory. If the GPU has little memory, the stream goes there in runs.
    bool forms_runs = false;
    environment.make_cuda = [&](int) {
      auto gpu = std::make_unique<PlainBackend>(Fault::doubles_key, "cuda");
      if (by_runs) gpu->limit_device(Bytes{40'000});
      return gpu;
    };
    options.log = [&](const std::string& line) { forms_runs |= line.starts_with("plan: "); };
    const SortReport report = sort_file_with(environment, folder / "in.u64", folder / "out", options);
    writer.join();
    CHECK(report.backend == "cpu");
    CHECK(forms_runs == by_runs);
    oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
  }
}

TEST_CASE("what a stream has taken of the memory by its end does not count against it") {
  const TemporaryFolder folder;
  const auto keys = random_keys<uint64_t>(10'000);
  REQUIRE(::mkfifo((folder / "in.u64").c_str(), 0600) == 0);
  std::thread writer([&] { write_keys(folder / "in.u64", keys); });
  SortEnvironment environment = cpu_environment();
  uint64_t left = 1u << 20;
  environment.memory = [&] { return MemoryLimit{Bytes{std::exchange(left, 100'000)}, "the machine"}; };
  const SortReport report =
      sort_file_with(environment, folder / "in.u64", folder / "out", with_memory(Bytes{1u << 20}));
  writer.join();
  CHECK(report.plan.strategy == "in memory");
  oracle::require_sorted<uint64_t>(keys, read_keys<uint64_t>(folder / "out"));
}

TEST_CASE("a plan alone reads no key and writes nothing") {
  const TemporaryFolder folder;
  write_keys(folder / "in.u64", random_keys<uint64_t>(30'000));
  SortFileOptions options = with_memory(kib64);
  options.plan_only = true;
  const SortReport report = sort_file_with(cpu_environment(), folder / "in.u64", folder / "out", options);
  CHECK(report.plan.strategy == "external");
  CHECK(report.plan.runs > 1);
  CHECK(report.plan.memory <= kib64);
  CHECK(report.phases.empty());
  CHECK(folder.names() == std::vector<std::string>{"in.u64"});
}

TEST_CASE("more memory than there is, and too little, are refused with the numbers") {
  const TemporaryFolder folder;
  write_keys(folder / "in.u64", random_keys<uint64_t>(3000));
  SortEnvironment environment = cpu_environment();
  environment.memory = [] { return MemoryLimit{Bytes{1u << 20}, "the control group"}; };
  const auto sort = [&](Bytes memory) {
    sort_file_with(environment, folder / "in.u64", folder / "out", with_memory(memory));
  };
  CHECK_THROWS_WITH(sort(Bytes{(1u << 20) + 1}), ContainsSubstring("the control group leaves 1.0 MiB"));
  CHECK_THROWS_WITH(sort(Bytes{1000}), ContainsSubstring("1000 bytes are too few"));
  sort(Bytes{1u << 20});
}
