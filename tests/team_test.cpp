// team_test.cpp - every piece of a team's work is done once, even if there is no memory for its threads.
#include "core/team.hpp"

#include "catch.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <stdexcept>

namespace {

constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();
std::atomic<int64_t> allocations_left = unlimited;

/// In its scope, only so many allocations succeed.
struct LimitedAllocations {
  explicit LimitedAllocations(int64_t limit) { allocations_left = limit; }
  ~LimitedAllocations() { allocations_left = unlimited; }
  LimitedAllocations(const LimitedAllocations&) = delete;
  LimitedAllocations& operator=(const LimitedAllocations&) = delete;

  /// Whether one more would have failed.
  static bool are_used_up() { return allocations_left < 0; }
};

}  // namespace

void* operator new(size_t bytes) {
  if (allocations_left != unlimited && --allocations_left < 0) throw std::bad_alloc();
  void* const place = std::malloc(bytes == 0 ? 1 : bytes);
  if (place == nullptr) throw std::bad_alloc();
  return place;
}
void* operator new(size_t bytes, const std::nothrow_t& /*tag*/) noexcept { return std::malloc(bytes); }
void operator delete(void* place) noexcept { std::free(place); }
void operator delete(void* place, size_t /*bytes*/) noexcept { std::free(place); }

namespace sweepsort {
namespace {

constexpr uint32_t threads = 5;

/// How often each piece of the work was done, with so many allocations.
std::array<uint32_t, threads> times_done(int64_t allocations, bool& were_used_up) {
  std::array<std::atomic<uint32_t>, threads> done{};
  const LimitedAllocations limit(allocations);
  run_team(threads, [&](uint32_t thread) { ++done[thread]; });
  were_used_up = LimitedAllocations::are_used_up();
  return {done[0], done[1], done[2], done[3], done[4]};
}

TEST_CASE("a team does each piece of its work once, however few threads there is memory for") {
  int64_t allocations = 0;
  for (bool were_used_up = true; were_used_up; ++allocations) {
    INFO(allocations);
    for (const uint32_t times : times_done(allocations, were_used_up)) REQUIRE(times == 1);
  }
  CHECK(allocations > threads);  // one per thread, at least
}

TEST_CASE("the first exception of a team is thrown on, after all have done their work") {
  for (const int64_t allocations : {int64_t{0}, unlimited}) {
    std::atomic<uint32_t> done = 0;
    const auto work = [&](uint32_t thread) {
      ++done;
      if (thread == 3) throw std::runtime_error("third");
    };
    const auto run = [&] {
      const LimitedAllocations limit(allocations);
      run_team(threads, work);
    };
    CHECK_THROWS(run());
    CHECK(done == threads);
  }
}

}  // namespace
}  // namespace sweepsort
