// counting_session.hpp - a session for keys of 1 or 2 bytes alone, of any number, in constant memory.
//
// Counting sort (Seward, 1954) without an array of keys: what is put is counted, what is got is written from
// the counts. One read and one write of the file, whatever its size.
#pragma once

#include "backend/backend.hpp"

#include <memory>

namespace sweepsort {

/// Bytes of memory that a worker takes: its chunk and its histograms; and what comes beside the workers.
/// Pure.
uint64_t counting_worker_bytes(const SortJob& job);
uint64_t counting_shared_bytes(const SortJob& job);

/// `job.count` need not be known before the sort: all that was put is sorted.
std::unique_ptr<SortSession> make_counting_session(const SortJob& job);

}  // namespace sweepsort
