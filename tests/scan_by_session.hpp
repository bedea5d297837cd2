// scan_by_session.hpp - passes an array through a ScanSession or a ReduceSession, chunk by chunk, like the
// pipeline.
#pragma once

#include "backend/scan_session.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace sweepsort::test {

/// Who plays the workers: one thread each, or one thread for all (the emulator allows no more).
enum class Players : uint8_t { one_each, one_for_all };

/// Divides [0, count) into chunks of `chunk`, the first one shorter. Calls f(worker, index, begin, end) for
/// each chunk, in rising order per worker.
template <class F>
void play_chunks(size_t count, size_t chunk, uint32_t workers, Players players, F f) {
  const size_t first_chunk = (chunk + 1) / 2;
  const auto begin_of = [&](size_t index) { return index == 0 ? 0 : first_chunk + (index - 1) * chunk; };
  const auto play = [&](uint32_t first, uint32_t step) {
    for (size_t index = first; begin_of(index) < count; index += step)
      f(static_cast<uint32_t>(index % workers), index, begin_of(index), std::min(begin_of(index + 1), count));
  };
  if (players == Players::one_for_all) return play(0, 1);
  std::vector<std::jthread> team;
  for (uint32_t worker = 0; worker < workers; ++worker) team.emplace_back(play, worker, workers);
}

template <class Out, class In, class MakeSession>
std::vector<Out> scan_by_session(MakeSession make_session, const std::vector<In>& in, ScanJob job,
                                 size_t chunk, ScanSummary& summary, Players players = Players::one_each) {
  job.type = key_type_of<In>();
  job.output_type = key_type_of<Out>();
  job.chunk_bytes = chunk * sizeof(In);
  const std::unique_ptr<ScanSession> session = make_session(job);
  std::vector<Out> out(in.size());
  play_chunks(in.size(), chunk, job.workers, players,
              [&](uint32_t worker, size_t index, size_t begin, size_t end) {
                const auto place = session->begin_chunk(worker, 8 * index);
                std::memcpy(place.data(), in.data() + begin, (end - begin) * sizeof(In));
                const auto scanned = session->scan(worker, index, begin, end - begin);
                std::memcpy(out.data() + begin, scanned.data(), (end - begin) * sizeof(Out));
              });
  summary = session->finish();
  return out;
}

template <class Key, class MakeSession>
ReduceResult reduce_by_session(MakeSession make_session, const std::vector<Key>& in, ReduceJob job,
                               size_t chunk, Players players = Players::one_each) {
  job.type = key_type_of<Key>();
  job.chunk_bytes = chunk * sizeof(Key);
  const std::unique_ptr<ReduceSession> session = make_session(job);
  play_chunks(in.size(), chunk, job.workers, players,
              [&](uint32_t worker, size_t index, size_t begin, size_t end) {
                const auto place = session->begin_chunk(worker, 8 * index);
                std::memcpy(place.data(), in.data() + begin, (end - begin) * sizeof(Key));
                session->end_chunk(worker, begin, end - begin);
              });
  return session->finish();
}

}  // namespace sweepsort::test
