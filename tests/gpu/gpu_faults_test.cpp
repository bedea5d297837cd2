// gpu_faults_test.cpp - every CUDA call on a file's way through the GPU fails: the first time, the second,
// and so on until a run makes fewer calls. It fails only that time, or from then on.
//
// Compiled twice: for a GPU, and, with few keys, for the emulator. The linker (--wrap, see
// failing_calls.cmake) sends the backend's calls here. A call that is to fail is not made.
#include "catch.hpp"
#include "on_device.hpp"
#include "oracle.hpp"
#include "pipeline/sort_file.hpp"
#include "seed.hpp"
#include "temporary_folder.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

/// Which call fails, when, and how.
struct PlannedFailure {
  const char* call = nullptr;
  uint64_t at = 0;  // 1: the first
  bool onwards = false;
  cudaError_t error = cudaErrorUnknown;
};

PlannedFailure planned;  // set while no sort runs
std::atomic<uint64_t> calls = 0;

cudaError_t failure(const char* call) {
  if (planned.call == nullptr || std::string_view(planned.call) != call) return cudaSuccess;
  const uint64_t now = ++calls;
  return now == planned.at || (planned.onwards && now > planned.at) ? planned.error : cudaSuccess;
}

}  // namespace

#define SWEEPSORT_FAILING(name, parameters, arguments)             \
  extern "C" cudaError_t __real_##name parameters;                 \
  extern "C" cudaError_t __wrap_##name parameters;                 \
  extern "C" cudaError_t __wrap_##name parameters {                \
    const cudaError_t error = failure(#name);                      \
    return error == cudaSuccess ? __real_##name arguments : error; \
  }

SWEEPSORT_FAILING(cudaMalloc, (void** place, size_t bytes), (place, bytes))
SWEEPSORT_FAILING(cudaHostRegister, (void* memory, size_t bytes, unsigned flags), (memory, bytes, flags))
SWEEPSORT_FAILING(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags))
SWEEPSORT_FAILING(cudaStreamSynchronize, (cudaStream_t stream), (stream))
SWEEPSORT_FAILING(cudaEventCreate, (cudaEvent_t * event), (event))
SWEEPSORT_FAILING(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
SWEEPSORT_FAILING(cudaEventSynchronize, (cudaEvent_t event), (event))
SWEEPSORT_FAILING(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
                  (stream, event, flags))
SWEEPSORT_FAILING(cudaMemcpy, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind),
                  (to, from, bytes, kind))
SWEEPSORT_FAILING(cudaMemcpyAsync,
                  (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
                  (to, from, bytes, kind, stream))
SWEEPSORT_FAILING(cudaMemsetAsync, (void* to, int value, size_t bytes, cudaStream_t stream),
                  (to, value, bytes, stream))
SWEEPSORT_FAILING(cudaLaunchKernelExC,
                  (const cudaLaunchConfig_t* config, const void* kernel, void** arguments),
                  (config, kernel, arguments))
SWEEPSORT_FAILING(cudaFuncSetAttribute, (const void* kernel, cudaFuncAttribute attribute, int value),
                  (kernel, attribute, value))
SWEEPSORT_FAILING(cudaMemGetInfo, (size_t * free, size_t* total), (free, total))
SWEEPSORT_FAILING(cudaSetDevice, (int device), (device))
SWEEPSORT_FAILING(cudaGetDevice, (int* device), (device))

namespace sweepsort {
namespace {

using test::TemporaryFolder;

const std::vector<std::string>& failing_calls() {
  static const std::vector<std::string> names{"cudaMalloc",
                                              "cudaHostRegister",
                                              "cudaStreamCreateWithFlags",
                                              "cudaStreamSynchronize",
                                              "cudaEventCreate",
                                              "cudaEventRecord",
                                              "cudaEventSynchronize",
                                              "cudaStreamWaitEvent",
                                              "cudaMemcpy",
                                              "cudaMemcpyAsync",
                                              "cudaMemsetAsync",
                                              "cudaLaunchKernelExC",
                                              "cudaMemGetInfo",
                                              "cudaFuncSetAttribute",
                                              "cudaSetDevice",
                                              "cudaGetDevice"};
  return names;
}

enum class Where { one_session, spilled_runs, runs_on_gpu };
#if defined(SWEEPSORT_EMULATED)  // the emulator has no time for as many keys as runs on the GPU take
constexpr Where everywhere[] = {Where::one_session, Where::spilled_runs};
#else
constexpr Where everywhere[] = {Where::one_session, Where::spilled_runs, Where::runs_on_gpu};
#endif
const OnDevice schedule;

/// A file, sorted on the GPU in one session or in runs and a merge.
class Scene {
 public:
  Scene(Where where, BackendChoice backend) : where_(where), backend_(backend) {
    std::mt19937_64 random(test_seed());
    for (uint32_t& key : keys_) key = static_cast<uint32_t>(random());
    test::write_keys(folder_ / "in.u32", keys_);
    environment_.choose = [](const KeysToSort&, const AskStatus&, uint32_t, const WhereOptions&) {
      return BackendDecision{BackendChoice::cuda, "the test"};
    };
    environment_.chunk_bytes = 256u << 10;
    if (where_ == Where::spilled_runs) environment_.min_runs = 5;
    if (where_ == Where::runs_on_gpu) {
      environment_.chunk_bytes = 8u << 10;
      // One session takes 4.72 MB. Two sessions of 256 KiB take 2.41 MB, and the runs 2.03 MB.
      gpu_memory_ = Bytes{4'600'000};
    }
  }

  /// Returns whether there was such a call to fail.
  bool fail(const PlannedFailure& plan) {
    INFO(plan.call << " failing the " << plan.at << ". time" << (plan.onwards ? " and on" : ""));
    test::write_keys(folder_ / "out", old_);
    planned = plan;
    calls = 0;
    const bool lacks_memory = std::string_view(plan.call) == "cudaMalloc";
    std::string told;
    std::string hint;
    try {
      const SortReport report = sort_file_with(environment_, folder_ / "in.u32", folder_ / "out",
                                               {.where = {.backend = backend_, .threads = 2},
                                                .memory = {.gpu_memory = gpu_memory_},
                                                .overwrite = true});
      if (lacks_memory) {
        // Where there was no memory once, there may be some for a smaller request.
        REQUIRE((report.backend == "cuda" || plan.onwards || where_ == Where::one_session));
      } else {
        REQUIRE((report.plan.runs_on_gpu > 1) == (where_ == Where::runs_on_gpu && report.backend == "cuda"));
      }
    } catch (const Error& error) {
      told = error.what();
      hint = error.hint();
    }
    planned = {};
    REQUIRE(folder_.names() == std::vector<std::string>{"in.u32", "out"});
    const auto found = test::read_keys<uint32_t>(folder_ / "out");
    if (told.empty()) {
      // No error: the failure was in a clean-up, or the CPU sorted what the GPU could not.
      oracle::require_sorted<uint32_t>(keys_, found);
    } else {
      INFO(told);
      REQUIRE(backend_ == BackendChoice::cuda);
      if (lacks_memory && where_ != Where::one_session) REQUIRE(plan.onwards);
      REQUIRE(found == old_);
      REQUIRE_FALSE(hint.empty());
    }
    return calls >= plan.at;
  }

 private:
  Where where_;
  BackendChoice backend_;
  std::optional<Bytes> gpu_memory_;
  TemporaryFolder folder_;
  std::vector<uint32_t> keys_ = std::vector<uint32_t>(on_gpu ? 500'009 : 701);
  std::vector<uint32_t> old_ = {3, 1, 2};
  SortEnvironment environment_;
};

/// Fails each call in turn, at every time up to the 20th and at fewer and fewer of the later ones.
void fail_all(Scene& scene) {
  uint64_t kinds = 0;
  for (const std::string& call : failing_calls()) {
    const bool is_allocation = call.starts_with("cudaMalloc");
    uint64_t at = 1;
    for (const bool onwards : {false, true})
      for (at = 1; scene.fail({.call = call.c_str(),
                   .at = at,
                   .onwards = onwards,
                   .error = is_allocation ? cudaErrorMemoryAllocation : cudaErrorLaunchFailure});
           at += at < 20 ? 1 : 1 + at / 8) {
      }
    kinds += at > 1 ? 1 : 0;
  }
  // Not every algorithm uses all of these calls. With fewer kinds, these tests would be empty.
  CHECK(kinds >= 9);
}

TEST_CASE("a GPU asked for by name that fails in any call keeps the old output, says why, leaves nothing") {
  for (const Where where : everywhere) {
    INFO(static_cast<int>(where));
    Scene scene(where, BackendChoice::cuda);
    fail_all(scene);
  }
}

TEST_CASE("whatever call fails on a GPU that was chosen, the CPU sorts the file") {
  for (const Where where : everywhere) {
    INFO(static_cast<int>(where));
    Scene scene(where, BackendChoice::automatic);
    fail_all(scene);
  }
}

TEST_CASE("in memory, too, the CPU sorts what a GPU that was chosen cannot, and a note says why") {
  std::mt19937_64 random(test_seed());
  std::vector<uint32_t> keys(50'000'000);  // from about this many on, a GPU is faster than one thread
  for (uint32_t& key : keys) key = static_cast<uint32_t>(random());
  const std::vector<uint32_t> before = keys;
  std::vector<std::string> notes;
  planned = {.call = "cudaMalloc", .at = 1, .onwards = true, .error = cudaErrorMemoryAllocation};
  calls = 0;
  sort(std::span(keys),
       {.where = {.threads = 1}, .note = [&](const std::string& line) { notes.push_back(line); }});
  planned = {};
  oracle::require_sorted<uint32_t>(before, keys);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("starting again on the CPU") != std::string::npos);
}

}  // namespace
}  // namespace sweepsort
