// several_gpus_test.cpp - files sorted by all GPUs of this machine together, and by each of them.
#include "backend/backend.hpp"
#include "catch.hpp"
#include "datasets/distributions.hpp"
#include "oracle.hpp"
#include "pipeline/sort_file.hpp"
#include "seed.hpp"
#include "temporary_folder.hpp"

#include <cuda_runtime_api.h>

#include <numeric>
#include <string>
#include <vector>

namespace sweepsort {
namespace {

int current_device() {
  int device = -1;
  REQUIRE(cudaGetDevice(&device) == cudaSuccess);
  return device;
}

TEST_CASE("all GPUs together hold the runs of a file that is too large for one", "[gpu]") {
  const std::vector<int> devices = cuda_status().usable;
  const test::TemporaryFolder folder;
  const auto keys = make_keys<uint64_t>("uniform", (1u << 25) + 7, test_seed());
  std::vector<uint64_t> values(keys.size());
  std::iota(values.begin(), values.end(), 0);
  test::write_keys(folder / "keys.u64", keys);
  test::write_keys(folder / "values.u64", values);
  SortEnvironment environment;
  environment.chunk_bytes = 1u << 20;
  REQUIRE(cudaSetDevice(devices.back()) == cudaSuccess);
  for (const bool pairs : {false, true}) {
    // A session of 32 chunks on each and a share of the data, in which a run may find no room.
    SortJob job{.count = 32 * environment.chunk_bytes / (pairs ? 16 : 8), .type = KeyType::u64};
    if (pairs) job.value_bytes = 8;
    const uint64_t share = keys.size() * (pairs ? 16 : 8) / devices.size();
    const uint64_t session = make_cuda_backend(devices.front())->footprint(job).device.value;
    SortFileOptions options{.where = {.backend = BackendChoice::cuda, .devices = {}},
                            .memory = {.memory = Bytes{256u << 20},
                                       .gpu_memory = Bytes{session + share + 33 * environment.chunk_bytes}},
                            .overwrite = true};
    if (pairs) {
      options.values = folder / "values.u64";
      options.values_output = folder / "values.out";
    }
    const SortReport report = sort_file_with(environment, folder / "keys.u64", folder / "out", options);
    INFO(report.device);
    REQUIRE(report.backend == "cuda");
    REQUIRE(report.plan.gpus == devices.size());
    REQUIRE(report.plan.runs_on_gpu == report.plan.runs);
    REQUIRE(report.plan.temporary == Bytes{});
    REQUIRE(current_device() == devices.back());
    const auto sorted = test::read_keys<uint64_t>(folder / "out");
    if (pairs)
      oracle::require_sorted_pairs<uint64_t, uint64_t>(keys, values, sorted,
                                                       test::read_keys<uint64_t>(folder / "values.out"));
    else
      oracle::require_sorted<uint64_t>(keys, sorted);
  }
}

TEMPLATE_TEST_CASE("each GPU sorts a file that it holds", "[gpu]", uint8_t, uint32_t, uint64_t) {
  const test::TemporaryFolder folder;
  const auto keys = make_keys<TestType>("uniform", 3'000'001, test_seed());
  test::write_keys(folder / "keys", keys);
  for (const int device : cuda_status().usable) {
    INFO("device " << device);
    const SortFileOptions options{.file = {.type = key_type_of<TestType>()},
                                  .where = {.backend = BackendChoice::cuda, .devices = {device}},
                                  .overwrite = true};
    const SortReport report = sort_file(folder / "keys", folder / "out", options);
    REQUIRE(report.plan.road == "in memory");
    REQUIRE(report.plan.gpus == 1);
    oracle::require_sorted<TestType>(keys, test::read_keys<TestType>(folder / "out"));
  }
}

}  // namespace
}  // namespace sweepsort
