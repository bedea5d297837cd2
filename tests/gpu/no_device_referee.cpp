// no_device_referee.cpp - replaces referee_cuda.cu in programs with the emulator.
#include "pipeline/referee_device.hpp"

#include <new>

namespace sweepsort {

void referee_sort_on_device(std::span<std::byte>, KeyType, Order, int, Bytes) {
  throw std::bad_alloc();  // the emulator runs no Thrust: the referee continues on the CPU
}

}  // namespace sweepsort
