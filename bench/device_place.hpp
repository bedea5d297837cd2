// device_place.hpp - which GPU is measured, and how fast it copies and reads, as yardsticks for this run.
#pragma once

#include "bench/place.hpp"
#include "gpu/handles.hpp"

#include <cstdint>

namespace sweepsort::bench {

/// Makes a device current. Throws Error if there is no GPU, UsageError if there is no such device.
void select_device(int device);

/// The current device and its software, without the bandwidths.
Place device_place(int device);

/// Bytes (read + written) per second of a device-to-device copy of 2 GiB, or of an eighth of the memory if
/// that is less.
double measure_copy_bandwidth(const Stream& stream);
/// Bytes per second of a read of the same size with enqueue_read().
double measure_read_bandwidth(const Stream& stream);

/// Reads `bytes` bytes once (a multiple of 16, 16-byte aligned) and does almost nothing with them: sets
/// *exclusive_or, in device memory, to the XOR of all 64-bit words.
void enqueue_read(const void* from, uint64_t bytes, uint64_t* exclusive_or, cudaStream_t stream);

/// Measures the seconds that work takes on the GPU, from its first launch to its end.
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
