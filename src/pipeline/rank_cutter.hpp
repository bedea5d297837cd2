// rank_cutter.hpp - cuts sorted runs at a rank: how many records of each belong to the first N of all?
//
// Exact, whatever the keys: no sample decides and no value is a border. Equal keys are dealt out by the order
// of the runs, and inside a run by their position, so that what is cut here and sorted stably is as if all
// had been sorted stably at once.
//
//     run 0   1 3 3 | 7 9        first 6 of all: 1 2 3 3 3 3
//     run 1   2 3 3 | 3 8        run 0 gives 3 records, run 1 gives 3
//
// A window in each run holds its cut. In each step the run with the lowest or the highest middle halves its
// window (after Varman, Scheufler, Iyer and Ricard, "Merging multiple lists on hierarchical-memory
// multiprocessors", 1991): with t records of the windows still to be taken and u to be left, more than t
// stand at or below the highest middle, or more than u at or above the lowest one. So each run is searched
// once by halves, over its samples first; only the last halves are read. One read waits for the one before,
// so what they look at is guessed from the samples alone and asked for beforehand, in all runs at once.
#pragma once

#include "pipeline/run.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace sweepsort {

class RankCutter {
 public:
  /// `runs` outlive the cutter.
  RankCutter(std::span<const IndexedRun> runs, KeyType type, Order order);

  /// The records of all runs.
  uint64_t total() const { return total_; }

  /// How many records of each run are among the first `rank` of all. Ranks may not fall from call to call.
  /// Runs out of order give cuts that add up and never fall, too: whoever reads them finds the disorder.
  const std::vector<uint64_t>& cut(uint64_t rank);

 private:
  struct Window {
    uint64_t low = 0;  // the cut is in [low, high]
    uint64_t high = 0;
    uint64_t middle = 0;  // in [low, high)
    uint64_t key = 0;     // there
  };

  /// Samples of a run at or below a key: between low and high, and where the last one asked for stands.
  struct Guess {
    size_t low = 0;
    size_t high = 0;
    size_t at = 0;
    size_t asked = 0;
  };

  bool is_asked(const IndexedRun& indexed) const;
  void ask_around(uint64_t rank);
  void look_at_middle(size_t run);
  uint64_t key_at(size_t run, uint64_t position) const;

  std::span<const IndexedRun> runs_;
  KeyType type_;
  Order order_;
  uint64_t total_ = 0;
  bool may_ask_ = false;
  std::vector<uint64_t> cuts_;
  std::vector<Window> windows_;
  std::vector<Guess> guesses_;
};

}  // namespace sweepsort
