// catch_main.cpp - what every test program does before Catch2's own main: it says the seed, so that a failure
// can be replayed, or why it is skipped.
//
// The linker (--wrap=main) lets the program start here, with __real_main as the name of the main in Catch2's
// library: compiling one of our own would be compiling all of Catch2 2.
#include "skip_reason.hpp"

#include <cstdlib>
#include <iostream>
#include <string>

extern "C" int __real_main(int argc, char** argv);

extern "C" int __wrap_main(int argc, char** argv) {
  constexpr int skipped = 77;  // what ctest counts as a skip
  if (const std::string reason = sweepsort::skip_reason(); !reason.empty()) {
    std::cout << "skipped: " << reason << '\n';
    return skipped;
  }
  if (const char* seed = std::getenv("SWEEPSORT_SEED")) std::cout << "SWEEPSORT_SEED=" << seed << '\n';
  return __real_main(argc, argv);
}
