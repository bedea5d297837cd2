// gpu_main.cpp - main of the tests that need a GPU: without one it says so and asks ctest to count a skip.
#define CATCH_CONFIG_RUNNER
#include "backend/backend.hpp"
#include "catch.hpp"

#include <iostream>

int main(int argc, char** argv) {
  constexpr int skipped = 77;
  const sweepsort::CudaStatus status = sweepsort::cuda_status();
  if (!status.usable) {
    std::cout << "skipped: " << status.reason << '\n';
    return skipped;
  }
  return Catch::Session().run(argc, argv);
}
