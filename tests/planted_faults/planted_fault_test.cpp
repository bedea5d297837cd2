// planted_fault_test.cpp - compiled against a copy of the kernels with one fault planted: the emulator must
// find it.
#include "catch.hpp"
#include "seed.hpp"

#include PLANTED_CHECK

#include <optional>
#include <string>

TEST_CASE("the planted fault is found within a hundred schedules", "[simt]") {
  constexpr uint64_t schedules = 100;
  std::optional<std::string> fault;
  uint64_t tried = 0;
  while (!fault && tried < schedules)
    fault = sweepsort::PLANTED_RUN(sweepsort::test_seed() + tried++, 2048 * 6 - 3);
  INFO("planted: " << PLANTED_FAULT);
  REQUIRE(fault.has_value());
  WARN("planted: " << PLANTED_FAULT << "; found by schedule " << tried << ": " << fault->substr(0, 200));
}
