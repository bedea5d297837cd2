// team.hpp - "all of them do this": a piece of work for several threads.
//
// Threads are started for each piece of work and joined behind it, which costs some 20 us each. Pools that
// wait by spinning, as OpenMP's does, save that but took nine tenths of a busy machine's time in our tests,
// away from the threads that read and write the file.
#pragma once

#include "core/first_failure.hpp"

#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace sweepsort {

/// As many threads as asked for; of 0 one for each processor that this process may use: by its affinity mask
/// and its cgroup's quota, at least 1.
uint32_t threads_or_all(uint32_t asked);
/// Of these, how many run at a time: no more than processors.
uint32_t threads_at_once(uint32_t asked);

/// Runs work(0) ... work(threads - 1), each once, and returns when all have returned; at the same time as far
/// as the system grants threads. The first exception is rethrown here.
template <class Work>
void run_team(uint32_t threads, Work&& work) {
  if (threads <= 1) {
    work(0u);
    return;
  }
  FirstFailure failure;
  const auto guarded = [&](uint32_t thread) {
    try {
      work(thread);
    } catch (...) {
      failure.note();
    }
  };
  {
    std::vector<std::jthread> team;
    team.reserve(threads - 1);
    uint32_t left = 1;
    try {
      for (; left < threads; ++left) team.emplace_back(guarded, left);
    } catch (const std::system_error&) {
      // No more threads to be had: this one does what is left.
    }
    guarded(0);
    for (; left < threads; ++left) guarded(left);
  }
  failure.rethrow();
}

/// The `part`-th of `parts` nearly equal slices of [0, count).
constexpr uint64_t slice_begin(uint64_t count, uint32_t part, uint32_t parts) {
  return count / parts * part + (count % parts) * part / parts;
}

}  // namespace sweepsort
