// sort_file_fixture.hpp - sort_file with small chunks and a backend that the test chooses.
#pragma once

#include "pipeline/sort_file.hpp"
#include "plain_backend.hpp"
#include "seed.hpp"
#include "temporary_folder.hpp"

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace sweepsort::test {

/// An environment with a CPU backend made of std::sort, and with no GPU.
SortEnvironment plain_environment(size_t chunk_bytes = 64, Fault fault = Fault::none);

/// Adds a GPU that seems usable and is a plain backend with a fault.
SortEnvironment with_gpu(SortEnvironment environment, Fault fault);

template <class Key = uint32_t>
std::vector<Key> random_keys(size_t count, uint64_t stream = 0) {
  std::mt19937_64 random(test_seed() + stream);
  std::vector<Key> keys(count);
  for (Key& key : keys) {
    const uint64_t bits = random();
    std::memcpy(&key, &bits, sizeof key);
  }
  return keys;
}

}  // namespace sweepsort::test
