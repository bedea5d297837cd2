// stages.hpp - passes a sequence of items through three stages, several items at a time.
//
//     lane 0   load 0 | sort 0 | store 0 | load 2 | sort 2 | store 2
//     lane 1            load 1 | sort 1  | store 1 | load 3 | ...
//
// A stage works on one item at a time, in the order of the items, while other stages work on other items. So
// the disk reads and writes while the processor (or the GPU) sorts, and the memory of a lane is used for one
// item after another.
#pragma once

#include <cstdint>
#include <functional>

namespace sweepsort {

struct Stages {
  /// Returns whether there is an item with this number. Numbers rise from 0.
  std::function<bool(uint32_t lane, uint64_t item)> load;
  std::function<void(uint32_t lane, uint64_t item)> sort;
  std::function<void(uint32_t lane, uint64_t item)> store;
  /// Called when a stage failed: wakes threads that wait for something that may never come.
  std::function<void()> cancel = {};
};

/// How long each stage was working.
struct StageTimes {
  double load_s = 0;
  double sort_s = 0;
  double store_s = 0;
};

/// Runs until `load` says that there are no more items. The first exception stops all lanes and is rethrown
/// here.
StageTimes run_stages(uint32_t lanes, const Stages& stages);

}  // namespace sweepsort
