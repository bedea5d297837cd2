// team.hpp - runs one piece of work on several threads.
//
// The threads are started for each piece of work and joined after it, which costs about 20 us per thread.
// Pools whose threads wait by spinning, as in OpenMP, avoid this cost. In our tests they took nine tenths of
// a busy machine's time away from the threads that read and write the file.
#pragma once

#include "core/first_failure.hpp"

#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace sweepsort {

/// The number of threads asked for, or if 0, one per processor that this process may use according to its
/// affinity mask and its cgroup's quota, at least 1.
uint32_t threads_or_all(uint32_t asked);
/// How many of these threads run at a time: at most the number of usable processors.
uint32_t threads_at_once(uint32_t asked);

/// Runs work(0) ... work(threads - 1), each once, and returns when all have returned. They run in parallel as
/// far as the system grants threads. The first exception is rethrown here.
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
    uint32_t left = 1;
    try {
      team.reserve(threads - 1);
      for (; left < threads; ++left) team.emplace_back(guarded, left);
    } catch (const std::exception&) {
      // No more threads are available, or no memory for them: this thread does the rest.
    }
    guarded(0);
    for (; left < threads; ++left) guarded(left);
  }
  failure.rethrow();
}

/// Where the `part`-th of `parts` nearly equal slices of [0, count) begins.
constexpr uint64_t slice_begin(uint64_t count, uint32_t part, uint32_t parts) {
  return count / parts * part + (count % parts) * part / parts;
}

}  // namespace sweepsort
