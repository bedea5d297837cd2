// pass_case.hpp - the description of one pass over an array (a scan, or a search for the smallest element),
// and what was measured for it.
#pragma once

#include "core/key_type.hpp"
#include "core/scan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sweepsort::bench {

enum class Pass : uint8_t { scan, search };

struct PassCase {
  Pass pass = Pass::scan;
  KeyType type = KeyType::u32;
  uint64_t count = 0;
  ScanOp op = ScanOp::sum;              // for a scan
  ScanKind kind = ScanKind::inclusive;  // for a scan
  Extreme extreme = Extreme::min;       // for a search
  bool wants_index = false;             // for a search

  uint64_t bytes() const { return count * key_bytes(type); }
  /// The minimum that must be moved: everything read once, and in a scan written once.
  uint64_t least_bytes() const { return (pass == Pass::scan ? 2 : 1) * bytes(); }
  /// Sums of floats are rounded, so they depend on the order of the additions unless the elements are chosen
  /// well.
  bool sums_floats() const { return pass == Pass::scan && op == ScanOp::sum && is_floating(type); }
};

/// Where the data is when a run begins.
enum class Cache : uint8_t { cold, warm };

/// One row of the table and of the JSON: one case with one algorithm or peer.
struct PassRow {
  PassCase what;
  std::string backend;   // "cuda" or "cpu"
  std::string peer;      // "lookback", "cub", "copy", ...
  std::string timing{};  // "events", "graph" or "clock"
  Cache cache = Cache::warm;
  uint32_t threads = 0;          // host threads; 0 on a GPU
  uint64_t batch = 1;            // passes between two readings of the clock
  std::vector<double> runs_s{};  // seconds per pass, one entry per run
  double yardstick_bytes_s = 0;  // speed of a copy (scan) or a read (search) on this place
  bool verified = false;
};

constexpr std::string_view name(Pass pass) { return pass == Pass::scan ? "scan" : "min"; }
constexpr std::string_view name(Cache cache) { return cache == Cache::cold ? "cold" : "warm"; }

}  // namespace sweepsort::bench
