// tour.hpp - the numbered tours of a travelling salesman, and their lengths.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#ifdef __CUDACC__
#define TSP_HOST_DEVICE __host__ __device__
#else
#define TSP_HOST_DEVICE
#endif

namespace tsp {

inline constexpr uint32_t max_cities = 13;

/// The number of round tours from city 0 through all others, in any of (cities - 1)! orders.
constexpr uint64_t tours(uint32_t cities) {
  uint64_t product = 1;
  for (uint32_t factor = 2; factor < cities; ++factor) product *= factor;
  return product;
}

/// The length of tour `number`. The factorial number system turns a number into a permutation: its digits, of
/// base cities - 1, cities - 2, ... 1, say which of the remaining cities comes next.
struct TourLength {
  uint32_t cities;
  uint32_t distance[max_cities][max_cities];

  /// Calls visit(city) for the cities of a tour, except for city 0 at its start and end.
  template <class Visit>
  TSP_HOST_DEVICE void for_each_stop(uint64_t number, Visit visit) const {
    uint64_t left = 0xcba987654321;  // four bits per city
    for (uint32_t bases = cities - 1; bases > 0; --bases) {
      const auto place = static_cast<uint32_t>(number % bases) * 4;
      number /= bases;
      visit(static_cast<uint32_t>(left >> place & 15));
      const uint64_t below = (uint64_t{1} << place) - 1;
      left = (left & below) | (left >> 4 & ~below);
    }
  }

  TSP_HOST_DEVICE uint32_t operator()(uint64_t number) const {
    uint32_t length = 0;
    uint32_t at = 0;
    for_each_stop(number, [&](uint32_t city) {
      length += distance[at][city];
      at = city;
    });
    return length + distance[at][0];
  }
};

/// Cities at random places on a map of 1000 by 1000.
inline TourLength random_map(uint32_t cities, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> x, y;
  for (uint32_t city = 0; city < cities; ++city) {
    x.push_back(static_cast<double>(random() % 1000));
    y.push_back(static_cast<double>(random() % 1000));
  }
  TourLength length{.cities = cities, .distance = {}};
  for (uint32_t a = 0; a < cities; ++a)
    for (uint32_t b = 0; b < cities; ++b)
      length.distance[a][b] = static_cast<uint32_t>(std::lround(std::hypot(x[a] - x[b], y[a] - y[b])));
  return length;
}

}  // namespace tsp
