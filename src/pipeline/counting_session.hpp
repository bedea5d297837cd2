// counting_session.hpp - a session for any number of keys of 1 or 2 bytes without values, in constant memory.
//
// Counting sort (Seward, 1954) without an array of keys: put() only counts the keys, and get() writes them
// from the counts. One read and one write of the file, whatever its size.
#pragma once

#include "backend/backend.hpp"

#include <memory>

namespace sweepsort {

/// Bytes of memory per worker (its chunk and its histograms), and shared by all workers. Pure.
uint64_t counting_worker_bytes(const SortJob& job);
uint64_t counting_shared_bytes(const SortJob& job);

/// `job.count` need not be known before the sort: everything that was put is sorted.
std::unique_ptr<SortSession> make_counting_session(const SortJob& job);

}  // namespace sweepsort
