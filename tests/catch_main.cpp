// catch_main.cpp - what every test program does before Catch2's own main: it prints the seed, so that a
// failure can be replayed, or the reason why it is skipped.
//
// With --wrap=main, the linker lets the program start here and names the main of Catch2's library
// __real_main. With a main of our own, Catch2 2 would have to be compiled completely.
#include "skip_reason.hpp"

#include <cstdlib>
#include <iostream>
#include <string>

extern "C" int __real_main(int argc, char** argv);

extern "C" int __wrap_main(int argc, char** argv) {
  constexpr int skipped = 77;  // ctest counts this as skipped
  if (const std::string reason = sweepsort::skip_reason(); !reason.empty()) {
    std::cout << "skipped: " << reason << '\n';
    return skipped;
  }
  if (const char* seed = std::getenv("SWEEPSORT_SEED")) std::cout << "SWEEPSORT_SEED=" << seed << '\n';
  return __real_main(argc, argv);
}
