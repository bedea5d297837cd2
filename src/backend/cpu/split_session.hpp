// split_session.hpp - a session that splits keys into buckets while they arrive, and sorts a bucket when it
// is asked for.
//
//     put:   chunk --scatter--> blocks of the buckets
//     get:   blocks --gather--> bucket, sorted in the cache
//
// Memory sees each key once on its way in and once on its way out, and the sort is done while other threads
// wait for the disk. What buckets there are must be known before the first chunk, from a sample.
#pragma once

#include "backend/backend.hpp"
#include "backend/cpu/tuning.hpp"

#include <memory>

namespace sweepsort {

/// Whether such a session can sort this job: many keys of 4 or 8 bytes, alone.
bool may_split(const SortJob& job, const CpuTuning& tuning);

/// What its session may take, as far as a sample can tell. Pure.
Bytes max_split_memory(const SortJob& job, const CpuTuning& tuning);

/// The session, or null where it cannot, or where the sample (job.sample) says that another one is
/// better: sorted already, of a small range, or too many keys in a bucket.
std::unique_ptr<SortSession> make_split_session(const SortJob& job, uint32_t threads,
                                                const CpuTuning& tuning);

}  // namespace sweepsort
