// strategies.hpp - what carries out a plan; each strategy is in a file of its own.
#pragma once

namespace sweepsort {

struct SortRun;

/// SortStrategy::in_memory and counting: strategy_in_memory.cpp.
void sort_in_memory(SortRun& sort);
/// SortStrategy::external: strategy_external.cpp.
void sort_external(SortRun& sort);
/// SortStrategy::streams: strategy_streams.cpp.
void merge_streams(SortRun& sort);

}  // namespace sweepsort
