// cpu_large_test.cpp - more keys than 31 or 32 bits can count, of one byte each, so that memory suffices.
#include "backend/backend.hpp"
#include "catch.hpp"
#include "core/fingerprint.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <limits>
#include <numeric>
#include <span>
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

/// The eight keys from index 8 * group on: all 256 of them stand somewhere, but not equally often.
std::array<uint8_t, 8> keys_of_group(uint64_t group) {
  const uint64_t mixed = fingerprint_mix(group);
  return std::bit_cast<std::array<uint8_t, 8>>(mixed & std::rotl(mixed, 20));
}

/// Fills the buffer of the keys from index `first` on, a multiple of 8, and counts them.
void make_keys(uint64_t first, std::span<std::byte> buffer, Counts& counts) {
  for (size_t i = 0; i < buffer.size(); i += 8) {
    const auto keys = keys_of_group((first + i) / 8);
    const size_t length = std::min<size_t>(8, buffer.size() - i);
    std::memcpy(&buffer[i], keys.data(), length);
    for (size_t k = 0; k < length; ++k) ++counts[keys[k]];
  }
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
  std::vector<Counts> counts(workers, Counts{});
  {
    std::vector<std::jthread> threads;
    for (uint32_t worker = 0; worker < workers; ++worker)
      threads.emplace_back([&, worker] {
        constexpr uint64_t chunk = 8u << 20;
        Counts mine{};
        for (uint64_t at = worker * chunk; at < count; at += workers * chunk) {
          const auto buffer = session->begin_put(worker, Column::keys, at, std::min(chunk, count - at));
          make_keys(at, buffer, mine);
          session->end_put(worker);
        }
        counts[worker] = mine;
      });
  }
  const SortSummary summary = session->sort();
  INFO(count << " keys, " << summary.algorithm);
  uint64_t run_begin = 0;
  for (size_t value = 0; value < 256; ++value) {
    const uint64_t run = std::accumulate(counts.begin(), counts.end(), uint64_t{0},
                                         [&](uint64_t sum, const Counts& c) { return sum + c[value]; });
    const auto keys = session->get(0, Column::keys, run_begin, run);
    REQUIRE(static_cast<uint64_t>(std::count(keys.begin(), keys.end(), std::byte(value))) == run);
    run_begin += run;
  }
  REQUIRE(run_begin == count);
}

TEST_CASE("more than 2^32 keys are counted") {
  require_sorts((uint64_t{1} << 32) + 3, SortAlgorithm::automatic);
}

TEST_CASE("more than 2^31 keys are split and sorted by radix") {
  require_sorts((uint64_t{1} << 31) + 1, SortAlgorithm::radix);
}

}  // namespace
}  // namespace sweepsort
