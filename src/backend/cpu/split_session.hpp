// split_session.hpp - a session that splits keys into buckets while they arrive, and sorts a bucket when it
// is requested.
//
//     put:   chunk --scatter--> blocks of the buckets
//     get:   blocks --gather--> bucket, sorted in the cache
//
// Each key passes through memory once on its way in and once on its way out, and some threads sort while
// others wait for the disk. The buckets must be chosen before the first chunk, from a sample.
#pragma once

#include "backend/backend.hpp"
#include "backend/cpu/tuning.hpp"

#include <memory>

namespace sweepsort {

/// Whether such a session can sort this job: many keys of 4 or 8 bytes without values.
bool may_split(const SortJob& job, const CpuTuning& tuning);

/// The most memory that the session may use, as far as this is known before the sample. Pure.
Bytes max_split_memory(const SortJob& job, const CpuTuning& tuning);

/// Returns null if the session cannot sort the job, or if the sample (job.sample) shows that another session
/// is better: the keys are already sorted, have a small range, or too many fall into one bucket.
std::unique_ptr<SortSession> make_split_session(const SortJob& job, uint32_t threads,
                                                const CpuTuning& tuning);

}  // namespace sweepsort
