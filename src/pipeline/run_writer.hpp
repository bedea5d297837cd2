// run_writer.hpp - sorted records of a session become a run: all of them, or equal keys once.
//
//     session   keys     1 1 1 2 3 3      values   a b c d e f
//     first              1     2 3                 a     d e
//     counted            1     2 3                 3     1 2       of keys alone
//
// Records that are there once need no more room than all of them. Where counts would, a run keeps all its
// keys, each of which then stands for itself (IndexedRun::each_once).
#pragma once

#include "backend/backend.hpp"
#include "pipeline/phase_clock.hpp"
#include "pipeline/record_sink.hpp"
#include "pipeline/run.hpp"
#include "pipeline/transfer.hpp"

#include <cstdint>

namespace sweepsort {

/// What runs keep of records with equal keys: all, the first, or of keys alone one with its count.
enum class RunPacking : uint8_t { none, first, counted };

/// Stores all records of a session, which begin at record `first` of the run, with their samples.
void store_records(SortSession& session, uint64_t first, uint64_t count, const Transfer& transfer,
                   IndexedRun& to, const MovedFunction& moved);

/// The number of distinct keys among the session's first `count`. They can be fetched once more.
uint64_t distinct_keys(SortSession& session, uint64_t count, const Transfer& transfer);

/// Stores what `packing` (not none) keeps of the session's first `count` records; counts take 4 bytes. `to`
/// has room for exactly the distinct keys. Throws Error if there are more or fewer, since the session has
/// changed them then. The result has fingerprints of what was packed, which must match what was read, and of
/// what is kept, which must match what is merged. With counts it has none: keys and counts are verified when
/// they are merged, as the keys that were read.
StoreResult pack_records(SortSession& session, uint64_t count, const Transfer& transfer, RunPacking packing,
                         IndexedRun& to);

}  // namespace sweepsort
