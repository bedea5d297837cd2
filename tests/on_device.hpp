// on_device.hpp - where a device test runs: on a GPU, or on the emulator under a seeded schedule.
#pragma once

#include "seed.hpp"

#ifdef SWEEPSORT_EMULATED
#include "simt/simt.hpp"
#endif

namespace sweepsort {

#ifdef SWEEPSORT_EMULATED
inline constexpr bool on_gpu = false;

/// The emulator's schedule for the launches in its scope; another one for every object.
struct OnDevice {
  inline static uint64_t schedules = 0;
  explicit OnDevice(unsigned multiprocessors = 4)
      : session{.seed = test_seed() + schedules++, .multiprocessors = multiprocessors} {}
  simt::Session session;
};
#else
inline constexpr bool on_gpu = true;

struct OnDevice {
  explicit OnDevice(unsigned /*multiprocessors*/ = 0) {}  // user-provided: an unused object is no warning
};
#endif

}  // namespace sweepsort
