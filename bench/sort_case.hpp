// sort_case.hpp - one point of the benchmark's space, and what was measured for it.
#pragma once

#include "core/key_type.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sweepsort::bench {

/// What to sort. Values, if any, number the keys from 0, so each is different.
struct SortCase {
  KeyType type = KeyType::u32;
  Order order = Order::ascending;
  uint64_t count = 0;
  uint32_t value_bytes = 0;  // 0 (keys alone), 4 or 8
  std::string distribution = "uniform";
  uint64_t seed = 1;

  uint64_t keys_bytes() const { return count * key_bytes(type); }
  uint64_t values_bytes() const { return count * value_bytes; }
  /// The minimum that any sort must move: every key and value read once and written once.
  uint64_t least_bytes() const { return 2 * (keys_bytes() + values_bytes()); }
};

/// One row of the table and of the JSON: one case with one peer.
struct SortRow {
  SortCase what;
  std::string backend;           // "cuda" or "cpu"
  std::string peer;              // "sweepsort", "cub-int64", "std", ...
  std::string detail{};          // what the peer says about its run, for example its algorithm; may be empty
  std::string timing{};          // "events", "graph" or "clock"
  uint32_t threads = 0;          // host threads; 0 on a GPU
  uint64_t batch = 1;            // sorts between two readings of the clock
  std::vector<double> runs_s{};  // seconds per sort, one entry per run
  bool verified = false;
};

}  // namespace sweepsort::bench
