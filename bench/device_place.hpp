// device_place.hpp - which GPU is measured, and how fast it copies and reads: the yardsticks of this run.
#pragma once

#include "bench/place.hpp"
#include "gpu/handles.hpp"

#include <cstdint>

namespace sweepsort::bench {

/// Makes a device the current one. Throws Error where there is none, UsageError where it is another.
void select_device(int device);

/// The current device and its software, without bandwidths.
Place device_place(int device);

/// A device-to-device copy of 2 GiB (or an eighth of the memory, if that is less): bytes read + written a
/// second.
double measure_copy_bandwidth(const Stream& stream);
/// A read of as much by enqueue_read().
double measure_read_bandwidth(const Stream& stream);

/// Reads `bytes` bytes (a multiple of 16, 16-byte aligned) once and does next to nothing with them: sets
/// *exclusive_or, in device memory, to that of all 64-bit words.
void enqueue_read(const void* from, uint64_t bytes, uint64_t* exclusive_or, cudaStream_t stream);

/// Seconds that work takes on the GPU, from its first launch to its end.
class StreamTimer {
 public:
  template <class F>
  double timed(const Stream& stream, F&& enqueue) const {
    begin_.record(stream);
    enqueue();
    end_.record(stream);
    end_.synchronize();
    return end_.seconds_since(begin_);
  }

 private:
  Event begin_, end_;
};

}  // namespace sweepsort::bench
