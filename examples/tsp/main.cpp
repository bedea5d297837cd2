// main.cpp - the travelling salesman problem by brute force: finds the shortest of all round tours with the
// library's transform_argmin, on one core, on all cores and on the GPU. No data is read from memory: a tour
// is a number.
//
//   tsp [CITIES [SEED]]     3 to 13 cities (default 11)
#include "gpu.hpp"
#include "sweepsort.hpp"
#include "tour.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>

namespace {

using sweepsort::Argmin;

struct Run {
  const char* where;
  Argmin<uint32_t> shortest;
  double time_s;
};

template <class Search>
Run timed(const char* where, Search search) {
  const auto start = std::chrono::steady_clock::now();
  const Argmin<uint32_t> shortest = search();
  return {where, shortest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}

/// Parses the whole of `text` as a number up to `most`.
bool parse(const char* text, uint64_t most, uint64_t& number) {
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  return error == std::errc() && stop == end && number <= most;
}

void print(const Run& run, const Run& first, uint64_t tours) {
  std::printf("%-12s %8u  tour %-10llu %10.4f s %10.1f Mtours/s %8.1fx\n", run.where, run.shortest.value,
              static_cast<unsigned long long>(run.shortest.index), run.time_s,
              static_cast<double>(tours) / run.time_s / 1e6, first.time_s / run.time_s);
}

int search(uint32_t cities, uint64_t seed) {
  const tsp::TourLength length = tsp::random_map(cities, seed);
  const uint64_t tours = tsp::tours(cities);
  std::printf("%u cities, %llu tours\n", cities, static_cast<unsigned long long>(tours));
  const Run one_core = timed("one core", [&] { return sweepsort::transform_argmin(0, tours, length, 1); });
  print(one_core, one_core, tours);
  bool agree = true;
  const auto report = [&](const Run& run) {
    print(run, one_core, tours);
    agree = agree && run.shortest.value == one_core.shortest.value &&
            run.shortest.index == one_core.shortest.index;
  };
  report(timed("all cores", [&] { return sweepsort::transform_argmin(0, tours, length); }));
  if (tsp::shortest_on_gpu(tsp::random_map(3, seed)))  // also initialises the device
    report(timed("GPU", [&] { return *tsp::shortest_on_gpu(length); }));
  else
    std::printf("%-12s none that can be used\n", "GPU");

  std::printf("0");
  length.for_each_stop(one_core.shortest.index, [](uint32_t city) { std::printf(" - %u", city); });
  std::printf(" - 0\n");
  if (!agree) std::fprintf(stderr, "tsp: the searches disagree\n");
  return agree ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t cities = 11;
  uint64_t seed = 1;
  const bool understood = argc <= 3 && (argc < 2 || parse(argv[1], tsp::max_cities, cities)) &&
                          (argc < 3 || parse(argv[2], ~uint64_t{0}, seed)) && cities >= 3;
  if (!understood) {
    std::fprintf(stderr, "usage: tsp [CITIES [SEED]]\nhint: 3 to %u cities\n", tsp::max_cities);
    return 2;
  }
  try {
    return search(static_cast<uint32_t>(cities), seed);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tsp: %s\n", error.what());
    return 2;
  }
}
