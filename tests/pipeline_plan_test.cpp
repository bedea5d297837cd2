// pipeline_plan_test.cpp - the pure decisions (which backend, how much memory), and spans sorted by the
// library.
#include "catch.hpp"
#include "oracle.hpp"
#include "pipeline/choose_backend.hpp"
#include "pipeline/key_scan.hpp"
#include "pipeline/memory_limit.hpp"
#include "pipeline/stream_run.hpp"
#include "sort_file_fixture.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>

using namespace sweepsort;
using namespace sweepsort::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

CudaStatus gpu() { return {.usable = {0, 1}, .device_count = 2, .reason = {}, .hint = {}}; }
CudaStatus no_gpu() { return {.reason = "no NVIDIA driver", .hint = "install it"}; }

BackendChoice automatic(uint64_t count, KeyType type, uint32_t threads) {
  return choose_backend({count, type}, gpu, threads, {}).which;
}

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("the GPU is taken where its start pays, and not for a small file or many threads") {
  CHECK(automatic(0, KeyType::u32, 1) == BackendChoice::cpu);
  CHECK(automatic(1'000'000, KeyType::u64, 1) == BackendChoice::cpu);
  CHECK(automatic(1'000'000'000, KeyType::u32, 2) == BackendChoice::cuda);
  CHECK(automatic(2'000'000'000, KeyType::u64, 16) == BackendChoice::cuda);
  CHECK(automatic(100'000'000, KeyType::u32, 2) == BackendChoice::cuda);
  CHECK(automatic(100'000'000, KeyType::u32, 64) == BackendChoice::cpu);
  for (const KeyType type : all_key_types)
    for (const uint32_t threads : {1, 4, 16}) {
      // If it pays, it also pays for more keys.
      bool paid = false;
      for (uint64_t count = 1; count < uint64_t{1} << 40; count *= 2) {
        const bool pays = automatic(count, type, threads) == BackendChoice::cuda;
        CHECK((pays || !paid));
        paid = pays;
      }
    }
}

TEST_CASE("keys that look sorted stay with a CPU that has enough threads for them") {
  bool was_asked = false;
  const auto choice = [&](uint64_t count, uint32_t threads, bool in_order) {
    was_asked = false;
    const auto look = [&] { return was_asked = true, in_order; };
    return choose_backend({count, KeyType::u32, look}, gpu, threads, {});
  };
  CHECK(choice(2'000'000'000, 16, false).which == BackendChoice::cuda);
  CHECK(choice(2'000'000'000, 16, true).which == BackendChoice::cpu);
  CHECK_THAT(choice(2'000'000'000, 16, true).why, ContainsSubstring("that look sorted"));
  CHECK(choice(2'000'000'000, 2, true).which == BackendChoice::cuda);
  CHECK(choice(1'000'000, 16, true).which == BackendChoice::cpu);
  CHECK_FALSE(was_asked);  // it would have changed nothing
}

TEST_CASE("a backend asked for is taken, or an error with the hint") {
  const WhereOptions cuda{.backend = BackendChoice::cuda};
  const WhereOptions third{.backend = BackendChoice::cuda, .devices = {2}};
  CHECK(choose_backend({1, KeyType::u8}, gpu, 1, cuda).which == BackendChoice::cuda);
  CHECK(choose_backend({1u << 30, KeyType::u64}, gpu, 1, {.backend = BackendChoice::cpu}).which ==
        BackendChoice::cpu);
  CHECK_THROWS_WITH(choose_backend({1, KeyType::u8}, no_gpu, 1, cuda), ContainsSubstring("no NVIDIA driver"));
  CHECK_THROWS_WITH(choose_backend({1, KeyType::u8}, gpu, 1, third),
                    ContainsSubstring("there is no CUDA device 2"));
  // A device that is named leaves no choice.
  CHECK_THROWS_WITH(choose_backend({1u << 30, KeyType::u64}, gpu, 1, {.devices = {2}}),
                    ContainsSubstring("there is no CUDA device 2"));
  CHECK_THROWS_WITH(choose_stream_backend(uint64_t{1} << 50, 0, gpu, 1, {.devices = {2}}),
                    ContainsSubstring("there is no CUDA device 2"));
  CHECK(choose_backend({1u << 30, KeyType::u64}, no_gpu, 1, {}).which == BackendChoice::cpu);
  CHECK_THAT(choose_backend({1u << 30, KeyType::u64}, no_gpu, 1, {}).why,
             ContainsSubstring("no NVIDIA driver"));
}

TEST_CASE("every device of a list has to be there, and all are those that can be used") {
  const auto old_one_between = [] {
    return CudaStatus{.usable = {0, 2}, .device_count = 3, .reason = {}, .hint = {}};
  };
  const auto choose = [&](std::vector<int> devices) {
    return choose_backend({1u << 30, KeyType::u64}, old_one_between, 1, {.devices = std::move(devices)})
        .which;
  };
  CHECK(choose({2, 0}) == BackendChoice::cuda);
  CHECK(choose({}) == BackendChoice::cuda);
  CHECK_THROWS_WITH(choose({0, 3}), ContainsSubstring("there is no CUDA device 3"));
  CHECK_THROWS_WITH(choose({0, -1}), ContainsSubstring("there is no CUDA device -1"));
  CHECK(devices_of({.devices = {}}, old_one_between) == std::vector<int>{0, 2});
  CHECK(devices_of({.devices = {2, 0, 1}}, old_one_between) == std::vector<int>{2, 0, 1});
  CHECK_THROWS_WITH(devices_of({.devices = {}}, no_gpu), ContainsSubstring("no NVIDIA driver"));
  CHECK(WhereOptions().devices == std::vector<int>{0});
}

TEST_CASE("a device that is named twice is refused before anything is read, whatever the backend") {
  const SortEnvironment environment = plain_environment();
  for (const BackendChoice backend : {BackendChoice::cpu, BackendChoice::automatic, BackendChoice::cuda}) {
    const SortFileOptions options{.where = {.backend = backend, .devices = {1, 0, 1}}};
    CHECK_THROWS_AS(sort_file_with(environment, "nowhere", "out", options), UsageError);
    CHECK_THROWS_WITH(sort_file_with(environment, "nowhere", "out", options),
                      ContainsSubstring("--device 1,0,1: 1 is named twice"));
  }
}

TEST_CASE("what uses one device refuses several, and all, even on the CPU") {
  std::vector<uint32_t> keys{3, 1, 2};
  const std::span<uint32_t> span(keys);
  for (const BackendChoice backend : {BackendChoice::cpu, BackendChoice::automatic, BackendChoice::cuda})
    for (const auto& devices : {std::vector<int>{0, 1}, std::vector<int>{}}) {
      const WhereOptions where{.backend = backend, .devices = devices};
      CHECK_THROWS_AS(sweepsort::sort(span, {.where = where}), UsageError);
      CHECK_THROWS_AS(sweepsort::sort_pairs(span, span, {.where = where}), UsageError);
      CHECK_THROWS_AS(scan(std::span<const uint32_t>(span), span, {.where = where}), UsageError);
      CHECK_THROWS_AS(min_element(std::span<const uint32_t>(span), where), UsageError);
      CHECK_THROWS_AS(scan_file("nowhere", "out", {.where = where}), UsageError);
      CHECK_THROWS_AS(min_file("nowhere", {.where = where}), UsageError);
      CHECK_THROWS_WITH(min_file("nowhere", {.where = where}),
                        ContainsSubstring(devices.empty() ? "--device all: only sorts of files"
                                                          : "--device 0,1: only sorts of files"));
    }
  CHECK(keys == std::vector<uint32_t>{3, 1, 2});
}

TEST_CASE("nobody looks for a GPU where the answer would change nothing") {
  const auto unasked = []() -> CudaStatus { throw std::logic_error("the driver was started"); };
  const WhereOptions cpu{.backend = BackendChoice::cpu};
  CHECK(choose_backend({uint64_t{1} << 40, KeyType::u64}, unasked, 1, cpu).why == "asked for");
  CHECK(choose_backend({1'000'000, KeyType::u32}, unasked, 2, {}).which == BackendChoice::cpu);
  CHECK_THROWS(choose_backend({uint64_t{1} << 40, KeyType::u64}, unasked, 1, {}));
  CHECK(choose_stream_backend(uint64_t{1} << 50, 0, unasked, 1, cpu).why == "asked for");
  CHECK(choose_stream_backend(uint64_t{1} << 30, 0, unasked, 16, {}).which == BackendChoice::cpu);
  CHECK_THROWS(choose_stream_backend(uint64_t{1} << 40, 0, unasked, 1, {}));
}

TEST_CASE("memory is what the tightest of machine and control groups leaves") {
  const TemporaryFolder folder;
  const fs::path root = folder.path();
  write_text(root / "proc/meminfo", "MemTotal: 1000 kB\nMemAvailable:   900 kB\nBuffers: 1 kB\n");
  CHECK(available_memory(root).available == Bytes{900 * 1024});
  CHECK(available_memory(root).what == "the machine");

  write_text(root / "proc/self/cgroup", "0::/a/b\n");
  write_text(root / "sys/fs/cgroup/a/b/memory.max", "max\n");
  write_text(root / "sys/fs/cgroup/a/b/memory.current", "5000\n");
  CHECK(available_memory(root).available == Bytes{900 * 1024});
  write_text(root / "sys/fs/cgroup/a/memory.max", "100000\n");
  write_text(root / "sys/fs/cgroup/a/memory.current", "30000\n");
  write_text(root / "sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 10000\n");
  CHECK(available_memory(root).available == Bytes{80'000});
  CHECK(available_memory(root).what == "the control group");

  write_text(root / "proc/self/cgroup", "5:memory:/old\n");
  write_text(root / "sys/fs/cgroup/memory/old/memory.limit_in_bytes", "9000\n");
  write_text(root / "sys/fs/cgroup/memory/old/memory.usage_in_bytes", "10000\n");
  CHECK(available_memory(root).available == Bytes{0});
}

TEST_CASE("this machine has memory, also where nobody says how much of it is free") {
  const TemporaryFolder nothing;
  for (const MemoryLimit& limit : {available_memory(), available_memory(nothing.path())}) {
    CHECK(limit.available > Bytes{1u << 20});
    CHECK(limit.available < Bytes{uint64_t{1} << 60});
  }
}

TEMPLATE_TEST_CASE("one pair out of order anywhere is seen, at any alignment", "", uint8_t, int8_t, uint16_t,
                   int16_t, uint32_t, int32_t, uint64_t, int64_t, float, double) {
  const KeyType type = key_type_of<TestType>();
  for (const Order order : {Order::ascending, Order::descending})
    for (const size_t count : {2, 3, 17, 64, 200}) {
      const oracle::Ordered<TestType> ordered(order);
      auto keys = random_keys<TestType>(count);
      std::ranges::sort(keys, {}, ordered);
      keys.erase(std::unique(keys.begin(), keys.end(),
                             [&](TestType a, TestType b) { return ordered(a) == ordered(b); }),
                 keys.end());
      std::vector<std::byte> memory(keys.size() * sizeof(TestType) + 1);
      const std::span<std::byte> place = std::span(memory).subspan(1);
      const auto scan = [&] {
        std::ranges::copy(std::as_bytes(std::span(keys)), place.begin());
        return is_ordered(place, type, order);
      };
      CHECK(scan());
      CHECK(first_descent(place, type, order) == keys.size());
      CHECK(key_statistics(place, type, order).descents == 0);
      CHECK(key_statistics(place, type, order).changes == keys.size() - 1);
      for (size_t at = 1; at < keys.size(); ++at) {
        std::swap(keys[at - 1], keys[at]);
        CHECK_FALSE(scan());
        CHECK(first_descent(place, type, order) == at);
        CHECK(key_statistics(place, type, order).descents > 0);
        std::swap(keys[at - 1], keys[at]);
      }
    }
}

TEST_CASE("a span of the caller's is sorted in place") {
  for (const size_t count : {0, 1, 1000, 100'000}) {
    const auto input = random_keys<int64_t>(count);
    auto keys = input;
    sweepsort::sort(std::span(keys), {.where = {.threads = 2}, .order = Order::descending});
    oracle::require_sorted<int64_t>(input, keys, Order::descending);
  }
}

TEST_CASE("pairs of the caller's are sorted together, equal keys in their old order") {
  auto input = random_keys<uint16_t>(50'000);
  for (uint16_t& key : input) key %= 300;
  std::vector<uint32_t> positions(input.size());
  for (uint32_t i = 0; i < positions.size(); ++i) positions[i] = i;
  auto keys = input;
  auto values = positions;
  sweepsort::sort_pairs(std::span(keys), std::span(values));
  oracle::require_sorted_pairs<uint16_t, uint32_t>(input, positions, keys, values);
  values.pop_back();
  CHECK_THROWS_WITH(sweepsort::sort_pairs(std::span(keys), std::span(values)),
                    ContainsSubstring("differ in length"));
  const std::span all(positions);
  CHECK_THROWS_WITH(sweepsort::sort_pairs(all.first(9), all.subspan(8, 9)), ContainsSubstring("overlap"));
}
