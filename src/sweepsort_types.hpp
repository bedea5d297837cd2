// sweepsort_types.hpp - what all operations of the library share: where they run, how they report.
#pragma once

#include <cstdint>
#include <functional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sweepsort {

/// What lies in memory one element behind the other and knows its length: std::span, std::vector, std::array,
/// an array.
template <class Range>
concept ContiguousRange = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range>;
/// The same to write into: not of constants, and nothing that goes with the call.
template <class Range>
concept WritableRange = ContiguousRange<Range> && std::ranges::borrowed_range<Range> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;
template <ContiguousRange Range>
using ElementOf = std::ranges::range_value_t<Range>;

enum class BackendChoice : uint8_t { automatic, cuda, cpu };

struct WhereOptions {
  BackendChoice backend = BackendChoice::automatic;
  std::vector<int> devices = {0};  // CUDA ordinals; empty: all that can be used. Sorts of files take several
  uint32_t threads = 0;            // 0: all
};

/// A sort beyond memory has `runs` and `merge` in the place of read, sort and write, which overlap in them.
enum class Phase : uint8_t { prepare, read, sort, scan, write, verify, runs, merge, repeat, sync };
std::string_view name(Phase phase);

/// Called now and then, from one thread at a time. Bytes count within the phase; total is 0 where unknown.
using ProgressFunction = std::function<void(Phase phase, uint64_t bytes_done, uint64_t bytes_total)>;
/// One line for people. As `log`: what was inferred, what was chosen and why. As `note`, which is part of the
/// log where nobody takes it by itself: what is worth a word unasked, a GPU that failed or options without
/// effect.
using LogFunction = std::function<void(const std::string& line)>;

struct PhaseTime {
  Phase phase;
  double time_s;
  uint64_t bytes;
  // Of a phase that does these at once: how long each was at work.
  double read_s = 0;
  double sort_s = 0;
  double write_s = 0;
};

}  // namespace sweepsort
