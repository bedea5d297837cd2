// catch_main.cpp - main of every test program; prints the seed, so that a failure can be replayed.
#define CATCH_CONFIG_RUNNER
#include <cstdlib>
#include <iostream>

#include "catch.hpp"

int main(int argc, char** argv) {
  if (const char* seed = std::getenv("SWEEPSORT_SEED")) std::cout << "SWEEPSORT_SEED=" << seed << '\n';
  return Catch::Session().run(argc, argv);
}
