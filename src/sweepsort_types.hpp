// sweepsort_types.hpp - types that all operations of the library share: where they run, how they report.
#pragma once

#include <cstdint>
#include <functional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sweepsort {

/// A sized range whose elements lie contiguously in memory: std::span, std::vector, std::array, an array.
template <class Range>
concept ContiguousRange = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range>;
/// A ContiguousRange to write into: its elements are not const, and it is not a temporary container.
template <class Range>
concept WritableRange = ContiguousRange<Range> && std::ranges::borrowed_range<Range> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;
template <ContiguousRange Range>
using ElementOf = std::ranges::range_value_t<Range>;

enum class BackendChoice : uint8_t { automatic, cuda, cpu };

struct WhereOptions {
  BackendChoice backend = BackendChoice::automatic;
  std::vector<int> devices = {0};  // CUDA ordinals; empty: all usable ones. Only sorts of files take several
  uint32_t threads = 0;            // 0: all
};

/// If the data does not fit in memory, a sort has the phases `runs` and `merge`, in which reading, sorting
/// and writing overlap, instead of read, sort and write.
enum class Phase : uint8_t { prepare, read, sort, scan, write, verify, runs, merge, repeat, sync };
std::string_view name(Phase phase);

/// Called now and then, from one thread at a time. Bytes count within the phase; total is 0 if unknown.
using ProgressFunction = std::function<void(Phase phase, uint64_t bytes_done, uint64_t bytes_total)>;
/// Takes one line of text for people. A `log` gets what was inferred, what was chosen and why. A `note` gets
/// what is worth mentioning unasked: a GPU that failed, or options without effect. Without a `note` function,
/// notes go to the log.
using LogFunction = std::function<void(const std::string& line)>;

struct PhaseTime {
  Phase phase;
  double time_s;
  uint64_t bytes;
  // In a phase that does several of these at once: how long each was at work.
  double read_s = 0;
  double sort_s = 0;
  double write_s = 0;
};

}  // namespace sweepsort
