// on_device.hpp - where a device test runs: on a GPU, or on the emulator under a seeded schedule.
#pragma once

#include "seed.hpp"

#ifdef SWEEPSORT_EMULATED
#include "simt/simt.hpp"
#endif

namespace sweepsort {

#ifdef SWEEPSORT_EMULATED
inline constexpr bool on_gpu = false;

/// The emulator's schedule for the launches in its scope. Every object has another one.
struct OnDevice {
  inline static uint64_t schedules = 0;
  inline static bool is_small = false;
  explicit OnDevice(unsigned multiprocessors = 4)
      : session{.seed = test_seed() + schedules++,
                .multiprocessors = multiprocessors,
                .compute_capability = is_small ? 75u : 90u,
                .shared_bytes_of_block = (is_small ? 64u : 227u) * 1024} {}
  simt::Session session;
};

/// In its scope, devices are of compute capability 7.5.
struct OnSmallDevices {
  OnSmallDevices() { OnDevice::is_small = true; }
  ~OnSmallDevices() { OnDevice::is_small = false; }
  OnSmallDevices(const OnSmallDevices&) = delete;
  OnSmallDevices& operator=(const OnSmallDevices&) = delete;
};
#else
inline constexpr bool on_gpu = true;

struct OnDevice {
  explicit OnDevice(unsigned /*multiprocessors*/ = 0) {}  // user-provided: an unused object causes no warning
};
#endif

}  // namespace sweepsort
