// highway_timer.cpp - keeps Highway from measuring its timer whenever the program starts.
//
// libhwy does so while it is loaded: 16,000 pairs of time stamps, for its benchmarks, which nothing here
// uses. A program's own definition of a function takes the place of a shared library's. This is not part of
// our library, whose users may want the timer. Highway 1.0.3, a virtual machine (EPYC, two threads), medians
// of 60 in turns, ms: `sweepsort min` of 1 MiB 7.5 -> 3.7, `sort` 11.5 -> 8.0.
#include <cstdint>

namespace hwy::platform {

uint64_t TimerResolution();
uint64_t TimerResolution() { return 1; }

}  // namespace hwy::platform
