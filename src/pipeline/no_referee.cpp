// no_referee.cpp - the referee of a build without Thrust.
#include "core/error.hpp"
#include "pipeline/referee.hpp"

namespace sweepsort {

void require_referee() {
  throw Error("this build has no thrust", "install libthrust-dev or the CUDA toolkit and build again");
}

void referee_sort(std::span<std::byte>, KeyType, Order, std::optional<int>, Bytes) { require_referee(); }

}  // namespace sweepsort
