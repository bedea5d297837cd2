// several_gpus_test.cpp - files sorted by all GPUs of this machine together, and by each of them.
#include "backend/backend.hpp"
#include "catch.hpp"
#include "datasets/distributions.hpp"
#include "oracle.hpp"
#include "pipeline/sort_file.hpp"
#include "seed.hpp"
#include "sweepsort_scan.hpp"
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

/// Whether a device has a context in this process.
bool is_awake(int device) {
  void* address = nullptr;
#if CUDART_VERSION >= 12050
  cudaDriverEntryPointQueryResult found{};
  REQUIRE(cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", &address, 12000, cudaEnableDefault,
                                           &found) == cudaSuccess);
#else
  REQUIRE(cudaGetDriverEntryPoint("cuDevicePrimaryCtxGetState", &address, cudaEnableDefault) == cudaSuccess);
#endif
  unsigned flags = 0;
  int is_active = 0;
  REQUIRE(reinterpret_cast<int (*)(int, unsigned*, int*)>(address)(device, &flags, &is_active) == 0);
  return is_active != 0;
}

// This must be the first test of this program, because later ones wake all GPUs.
TEST_CASE("a sort, a scan and a search on another GPU leave the first one asleep", "[gpu]") {
  const int last = cuda_status().usable.back();
  if (is_awake(0)) {
    WARN("the first GPU is awake already: this test has nothing to say unless it is the first");
    return;
  }
  const test::TemporaryFolder folder;
  const auto keys = make_keys<uint64_t>("uniform", 1u << 20, test_seed());
  test::write_keys(folder / "keys.u64", keys);
  const WhereOptions where{.backend = BackendChoice::cuda, .devices = {last}};
  (void)sort_file(folder / "keys.u64", folder / "sorted.u64", {.where = where});
  (void)scan_file(folder / "keys.u64", folder / "sums.u64", {.where = where, .wrap = true});
  (void)min_file(folder / "keys.u64", {.where = where});
  CHECK(is_awake(last));
  CHECK_FALSE(is_awake(0));
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
    // Each GPU has room for a session of 32 chunks and for a share of the data, in which a run may find no
    // room.
    SortJob job{.count = 32 * environment.chunk_bytes / (pairs ? 16 : 8), .type = KeyType::u64};
    if (pairs) job.value_bytes = 8;
    const uint64_t share = keys.size() * (pairs ? 16 : 8) / devices.size();
    const uint64_t session = make_cuda_backend(devices.front())->footprint(job).device.value;
    SortFileOptions options{.where = {.backend = BackendChoice::cuda, .devices = {}},
                            .memory = {.memory = Bytes{256u << 20},
                                       .gpu_memory = Bytes{session + share + 33 * environment.chunk_bytes}},
                            .overwrite = true};
    if (pairs) {
      options.values = {folder / "values.u64"};
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
    REQUIRE(report.plan.strategy == "in memory");
    REQUIRE(report.plan.gpus == 1);
    oracle::require_sorted<TestType>(keys, test::read_keys<TestType>(folder / "out"));
  }
}

}  // namespace
}  // namespace sweepsort
