// rank_cutter.hpp - cuts sorted runs at a rank: how many records of each belong to the first N of all?
//
// This is exact for all keys: no sample decides, and no key value is a border. Equal keys are ordered by
// their run and then by their position in it. So if the parts that are cut here are sorted stably, the result
// is the same as if everything had been sorted stably at once.
//
//     run 0   1 3 3 | 7 9        first 6 of all: 1 2 3 3 3 3
//     run 1   2 3 3 | 3 8        run 0 gives 3 records, run 1 gives 3
//
// A window in each run contains its cut. In each step, the run with the lowest or the highest middle halves
// its window (after Varman, Scheufler, Iyer and Ricard, "Merging multiple lists on hierarchical-memory
// multiprocessors", 1991). Let t be the number of records in the windows still to be taken, and u the number
// to be left. Then either more than t records are at or below the highest middle, or more than u are at or
// above the lowest middle. So each run is searched once by halving, first among its samples; only the last
// steps read the run. Each of these reads waits for the one before. Therefore the places they will look at
// are guessed from the samples and requested in advance, in all runs at once.
#pragma once

#include "pipeline/run.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace sweepsort {

class RankCutter {
 public:
  /// `runs` must outlive the cutter.
  RankCutter(std::span<const IndexedRun> runs, KeyType type, Order order);

  /// The number of records in all runs.
  uint64_t total() const { return total_; }

  /// How many records of each run are among the first `rank` of all. Ranks must not fall from call to call.
  /// If a run is out of order, the cuts still add up and never fall; the disorder is found when the records
  /// are read.
  const std::vector<uint64_t>& cut(uint64_t rank);

 private:
  struct Window {
    uint64_t low = 0;  // the cut is in [low, high]
    uint64_t high = 0;
    uint64_t middle = 0;  // in [low, high)
    uint64_t key = 0;     // at the middle
  };

  /// Samples of a run at or below a key: their number is between low and high. `asked` is the last sample
  /// requested.
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
