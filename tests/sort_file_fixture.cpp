// sort_file_fixture.cpp - see sort_file_fixture.hpp.
#include "sort_file_fixture.hpp"

#include "core/error.hpp"

#include <memory>

namespace sweepsort::test {

SortEnvironment plain_environment(size_t chunk_bytes, Fault fault) {
  SortEnvironment environment;
  environment.make_cpu = [fault](uint32_t) { return std::make_unique<PlainBackend>(fault, "cpu"); };
  environment.make_cuda = [](int) -> std::unique_ptr<Backend> { throw Error("there is no GPU here"); };
  environment.status = [] { return CudaStatus{.reason = "no NVIDIA driver", .hint = "install one"}; };
  environment.has_driver = [] { return false; };
  environment.chunk_bytes = chunk_bytes;
  return environment;
}

SortEnvironment with_gpu(SortEnvironment environment, Fault fault) {
  environment.status = [] { return CudaStatus{.usable = {0}, .device_count = 1, .reason = {}, .hint = {}}; };
  environment.has_driver = [] { return true; };
  environment.make_cuda = [fault](int) { return std::make_unique<PlainBackend>(fault, "cuda"); };
  return environment;
}

}  // namespace sweepsort::test
