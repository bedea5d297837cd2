// io_parallel_chunks_test.cpp - chunk grids and the threads that work through them.
#include "catch.hpp"
#include "core/pages.hpp"
#include "core/permits.hpp"
#include "core/turnstile.hpp"
#include "io/parallel_chunks.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace sweepsort;

TEST_CASE("a grid covers every byte once, with aligned borders where the header allows it") {
  for (const uint64_t data_offset : {0, 8, 64, 128, 4096, 4104, 10'000, 3})
    for (const size_t key_bytes : {1, 2, 4, 8})
      for (const size_t chunk_bytes : {8, 64, 4096, 8192, 65536})
        for (const uint64_t keys : {0, 1, 7, 511, 512, 513, 20'000}) {
          const uint64_t total = keys * key_bytes;
          const ChunkGrid grid = make_grid(data_offset, total, key_bytes, chunk_bytes);
          uint64_t at = 0;
          for (uint64_t i = 0; i < grid.count(); ++i) {
            const Chunk chunk = grid.chunk(i);
            REQUIRE(chunk.first_byte == at);
            REQUIRE(chunk.bytes > 0);
            REQUIRE(chunk.bytes <= chunk_bytes);
            REQUIRE(chunk.bytes % key_bytes == 0);
            REQUIRE(grid.index_of(at) == i);
            REQUIRE(grid.index_of(at + chunk.bytes - 1) == i);
            const bool can_align = chunk_bytes % io_alignment == 0 && data_offset % key_bytes == 0;
            if (i > 0 && can_align) REQUIRE((data_offset + at) % io_alignment == 0);
            at += chunk.bytes;
          }
          REQUIRE(at == total);
        }
}

TEST_CASE("a grid beyond 2^32 bytes counts in 64 bits") {
  const ChunkGrid grid = make_grid(128, (uint64_t{1} << 40) + 24, 8, 1u << 23);
  CHECK(grid.count() == (uint64_t{1} << 17) + 1);
  const Chunk last = grid.chunk(grid.count() - 1);
  CHECK(last.first_byte + last.bytes == (uint64_t{1} << 40) + 24);
  CHECK(last.bytes == 24 + 128);
}

TEST_CASE("every chunk is worked off once, by numbered workers, and the bytes done grow to the total") {
  for (const uint32_t workers : {0, 1, 2, 5, 40}) {
    const ChunkGrid grid = make_grid(0, 1000, 4, 64);
    std::mutex mutex;
    std::set<uint64_t> seen;
    std::vector<uint64_t> done;
    parallel_chunks(
        workers, grid,
        [&](uint32_t worker, const Chunk& chunk) {
          const std::lock_guard lock(mutex);
          CHECK(worker < std::max(workers, 1u));
          CHECK(seen.insert(chunk.index).second);
        },
        [&](uint64_t bytes) { done.push_back(bytes); });
    CHECK(seen.size() == grid.count());
    CHECK(done.size() == grid.count());
    CHECK(std::is_sorted(done.begin(), done.end()));
    CHECK(done.back() == 1000);
  }
}

TEST_CASE("one worker goes through the chunks in order, in the caller's thread") {
  uint64_t next = 0;
  parallel_chunks(1, make_grid(0, 1000, 4, 64),
                  [&](uint32_t, const Chunk& chunk) { CHECK(chunk.index == next++); });
  CHECK(next == 16);
}

TEST_CASE("the first exception stops the others and reaches the caller") {
  std::atomic<int> calls = 0;
  const auto f = [&](uint32_t, const Chunk& chunk) {
    ++calls;
    if (chunk.index == 10) throw std::runtime_error("chunk 10");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  };
  CHECK_THROWS_WITH(parallel_chunks(4, make_grid(0, 1u << 20, 8, 8), f), "chunk 10");
  CHECK(calls < 1000);
}

TEST_CASE("an exception in the progress function reaches the caller too") {
  const auto nothing = [](uint32_t, const Chunk&) {};
  const auto done = [](uint64_t) { throw std::runtime_error("stop"); };
  CHECK_THROWS_WITH(parallel_chunks(3, make_grid(0, 1000, 4, 64), nothing, done), "stop");
}

TEST_CASE("turns begin in their order, each once, and end with the first that is not there") {
  for (const uint32_t workers : {1u, 4u}) {
    std::mutex mutex;
    std::vector<uint64_t> begun;
    std::vector<uint64_t> last_of(workers, 0);
    parallel_turns(workers, [&](uint32_t worker, uint64_t index) {
      const std::lock_guard lock(mutex);
      CHECK(last_of.at(worker) <= index);
      last_of[worker] = index;
      if (index >= 100) return false;
      begun.push_back(index);
      return true;
    });
    std::ranges::sort(begun);
    REQUIRE(begun.size() == 100);
    CHECK(begun.back() == 99);
  }
}

TEST_CASE("a turn that throws stops the others and is thrown again") {
  std::atomic<uint64_t> turns = 0;
  const auto failing = [&](uint32_t, uint64_t index) {
    ++turns;
    if (index == 10) throw std::runtime_error("the tenth");
    return true;
  };
  CHECK_THROWS_WITH(parallel_turns(3, failing), "the tenth");
  CHECK(turns >= 11);
}

TEST_CASE("no more threads hold a permit than there are, and all get one") {
  constexpr int most = 2;
  Permits permits(most);
  std::atomic<int> holders = 0;
  std::atomic<bool> were_too_many = false;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 5; ++thread)
      threads.emplace_back([&] {
        for (int turn = 0; turn < 500; ++turn) {
          const Permits::Holder permit(permits);
          if (++holders > most) were_too_many = true;
          std::this_thread::yield();
          --holders;
        }
      });
  }
  CHECK_FALSE(were_too_many);
}

TEST_CASE("those behind a turnstile pass in the order of their numbers, until somebody cancels") {
  Turnstile turnstile;
  std::vector<uint64_t> passed;
  {
    std::vector<std::jthread> threads;
    for (uint64_t number = 20; number-- > 0;)
      threads.emplace_back([&, number] {
        turnstile.wait(number);
        passed.push_back(number);
        turnstile.pass(number);
      });
  }
  CHECK(std::ranges::is_sorted(passed));
  CHECK(passed.size() == 20);
  std::jthread late([&] { turnstile.cancel(); });
  CHECK_THROWS_AS(turnstile.wait(30), Error);
}

TEST_CASE("who fails because another did is woken, and heard of no more") {
  Turnstile turns;
  const auto in_order = [&](uint32_t, uint64_t index) {
    if (index == 1) throw std::runtime_error("the cause");
    turns.wait(index);  // later ones wait for number 1
    turns.pass(index);
    return true;
  };
  CHECK_THROWS_WITH(parallel_turns(4, in_order, [&] { turns.cancel(); }), "the cause");
}
