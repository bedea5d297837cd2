// cut_check.hpp - whether the blocks of a merge took the records of all runs in order.
//
// A key that is misread while a cut is searched (rank_cutter.hpp) moves the cut. The next block then takes
// records that belong before some of the last one's. If their keys are equal, the output's keys and pairs are
// those that they should be, and only their values stand in another order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace sweepsort {

class CutCheck {
 public:
  explicit CutCheck(size_t runs) : parts_(runs) {}

  /// The first and the last ordered key of a run's part of the current block. Several threads may call them,
  /// but only one of them for each end.
  void note_first(size_t run, uint64_t key) { parts_[run].first = key; }
  void note_last(size_t run, uint64_t key) { parts_[run].last = key; }

  /// All records of the block have been read.
  void end_block() {
    const std::optional<Place> before = last_;
    for (size_t run = 0; run < parts_.size(); ++run) {
      const Part part = std::exchange(parts_[run], {});
      if (!part.first) continue;
      in_order_ &= !before || *before <= Place{*part.first, run};
      last_ = std::max(last_, std::optional(Place{*part.last, run}));
    }
  }

  bool is_in_order() const { return in_order_; }

 private:
  using Place = std::pair<uint64_t, size_t>;  // key and run, in the order of a stable merge
  struct Part {
    std::optional<uint64_t> first;
    std::optional<uint64_t> last;
  };

  std::vector<Part> parts_;
  std::optional<Place> last_;  // of the blocks before
  bool in_order_ = true;
};

}  // namespace sweepsort
