// run_writer.hpp - sorted records of a session become a run: all of them, or equal keys once.
//
//     session     1 1 1 2 3 3
//     packed      1     2 3        alone, or as records with how often each occurred: 3, 1, 2
//
// Packed keys need no more room than all of them. Where counts would, a run keeps all its keys, each of which
// then stands for itself (IndexedRun::each_once).
#pragma once

#include "backend/backend.hpp"
#include "core/fingerprint.hpp"
#include "pipeline/phase_clock.hpp"
#include "pipeline/record_sink.hpp"
#include "pipeline/run.hpp"
#include "pipeline/transfer.hpp"

#include <cstdint>

namespace sweepsort {

/// What runs of keys alone keep of equal keys.
enum class RunPacking : uint8_t { none, once, counted };

/// Stores all records of a session, which begin at record `first` of the run, with their samples.
void store_records(SortSession& session, uint64_t first, uint64_t count, const Transfer& transfer,
                   IndexedRun& to, const MovedFunction& moved);

/// The number of distinct keys among the session's first `count`. They can be fetched once more.
uint64_t distinct_keys(SortSession& session, uint64_t count, const Transfer& transfer);

/// What was packed (it must match what was read), and what is left of it (it must match what is merged).
struct PackedKeys {
  StoreResult sorted = {};
  Fingerprint kept = {};
};

/// Stores each of the session's first `count` keys once, with its count of 4 bytes if `counts`. `to` has room
/// for exactly the distinct keys. Throws Error if there are more, since the session has changed them then.
PackedKeys pack_keys(SortSession& session, uint64_t count, const Transfer& transfer, bool counts,
                     IndexedRun& to);

}  // namespace sweepsort
