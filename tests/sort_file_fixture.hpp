// sort_file_fixture.hpp - sort_file with small chunks and a backend of the test's choice.
#pragma once

#include "pipeline/sort_file.hpp"
#include "plain_backend.hpp"
#include "seed.hpp"
#include "temporary_folder.hpp"

#include <random>
#include <string>
#include <vector>

namespace sweepsort::test {

/// A CPU backend made of std::sort and no GPU.
inline SortEnvironment plain_environment(size_t chunk_bytes = 64, Fault fault = Fault::none) {
  SortEnvironment environment;
  environment.make_cpu = [fault](uint32_t) { return std::make_unique<PlainBackend>(fault, "cpu"); };
  environment.make_cuda = [](int) -> std::unique_ptr<Backend> { throw Error("there is no GPU here"); };
  environment.status = [] { return CudaStatus{.reason = "no NVIDIA driver", .hint = "install one"}; };
  environment.chunk_bytes = chunk_bytes;
  return environment;
}

/// Adds a GPU that looks usable and is a plain backend with a fault.
inline SortEnvironment with_gpu(SortEnvironment environment, Fault fault) {
  environment.status = [] { return CudaStatus{.usable = true, .device_count = 1, .reason = {}, .hint = {}}; };
  environment.make_cuda = [fault](int) { return std::make_unique<PlainBackend>(fault, "cuda"); };
  return environment;
}

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
