// cpu_large_test.cpp - more keys than 31 or 32 bits can count, of one byte each, so that memory is
// sufficient.
#include "backend/backend.hpp"
#include "catch.hpp"
#include "core/fingerprint.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace sweepsort {
namespace {

uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  uint64_t kib = 0;
  while (file >> name >> kib) {
    if (name == "MemAvailable:") return kib * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

using Counts = std::array<uint64_t, 256>;

/// The eight keys from index 8 * group on. Each of the 256 values occurs somewhere, but not equally often.
std::array<uint8_t, 8> keys_of_group(uint64_t group) {
  const uint64_t mixed = fingerprint_mix(group);
  return std::bit_cast<std::array<uint8_t, 8>>(mixed & std::rotl(mixed, 20));
}

/// The data repeat this. To make each key by itself would take longer than sorting the keys.
constexpr uint64_t chunk = 8u << 20;
std::vector<uint8_t> make_chunk() {
  std::vector<uint8_t> keys(chunk);
  for (size_t i = 0; i < chunk; i += 8) std::ranges::copy(keys_of_group(i / 8), &keys[i]);
  return keys;
}

/// How often each value occurs among `count` keys made of chunks.
Counts count_values(const std::vector<uint8_t>& keys, uint64_t count) {
  Counts counts{};
  for (size_t i = 0; i < chunk; ++i) counts[keys[i]] += count / chunk + (i < count % chunk ? 1 : 0);
  return counts;
}

void require_sorts(uint64_t count, SortAlgorithm algorithm) {
  const auto backend = make_cpu_backend();
  const uint32_t workers = std::max(1u, std::thread::hardware_concurrency());
  const SortJob job{.count = count, .type = KeyType::u8, .algorithm = algorithm, .workers = workers};
  if (available_memory() < backend->footprint(job).host.value + (1u << 30)) {
    WARN("skipped: too little memory for " << count << " keys");
    return;
  }
  const auto session = backend->begin_sort(job);
  const std::vector<uint8_t> keys_of_chunk = make_chunk();
  {
    std::vector<std::jthread> threads;
    for (uint32_t worker = 0; worker < workers; ++worker)
      threads.emplace_back([&, worker] {
        for (uint64_t at = worker * chunk; at < count; at += workers * chunk) {
          const auto buffer = session->begin_put(worker, Column::keys, at, std::min(chunk, count - at));
          std::memcpy(buffer.data(), keys_of_chunk.data(), buffer.size());
          session->end_put(worker);
        }
      });
  }
  const SortSummary summary = session->sort();
  INFO(count << " keys, " << summary.algorithm);
  const Counts counts = count_values(keys_of_chunk, count);
  uint64_t run_begin = 0;
  for (size_t value = 0; value < 256; ++value) {
    const uint64_t run = counts[value];
    const auto keys = session->get(0, Column::keys, run_begin, run);
    REQUIRE(static_cast<uint64_t>(std::count(keys.begin(), keys.end(), std::byte(value))) == run);
    run_begin += run;
  }
  REQUIRE(run_begin == count);
}

TEST_CASE("2^31 - 1 keys, and more than 2^32, are counted") {
  require_sorts((uint64_t{1} << 31) - 1, SortAlgorithm::automatic);
  require_sorts((uint64_t{1} << 32) + 3, SortAlgorithm::automatic);
}

TEST_CASE("more than 2^31 keys are split and sorted by radix") {
  require_sorts((uint64_t{1} << 31) + 1, SortAlgorithm::radix);
}

}  // namespace
}  // namespace sweepsort
