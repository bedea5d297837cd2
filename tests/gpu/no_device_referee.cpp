// no_device_referee.cpp - in place of referee_cuda.cu, for programs with the emulator.
#include "pipeline/referee_device.hpp"

#include <stdexcept>

namespace sweepsort {

void referee_sort_on_device(std::span<std::byte>, KeyType, Order, int) {
  throw std::runtime_error("the emulator runs no Thrust");  // the referee goes on by the CPU
}

}  // namespace sweepsort
