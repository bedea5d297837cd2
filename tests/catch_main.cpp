// catch_main.cpp - main of every test program; prints the seed, so that a failure can be replayed.
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"
#include "skip_reason.hpp"

#include <cstdlib>
#include <iostream>

int main(int argc, char** argv) {
  constexpr int skipped = 77;  // what ctest counts as a skip
  if (const std::string reason = sweepsort::skip_reason(); !reason.empty()) {
    std::cout << "skipped: " << reason << '\n';
    return skipped;
  }
  if (const char* seed = std::getenv("SWEEPSORT_SEED")) std::cout << "SWEEPSORT_SEED=" << seed << '\n';
  return Catch::Session().run(argc, argv);
}
