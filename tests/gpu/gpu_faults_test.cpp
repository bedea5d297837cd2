// gpu_faults_test.cpp - every CUDA call on a file's way through the GPU fails: the first time, the second,
// and so on until a run makes fewer calls. It fails only that time, or from then on. Sorts with every kind of
// result, scans and searches.
//
// Compiled twice: for a GPU, and, with few keys, for the emulator. The linker (--wrap, see
// failing_calls.cmake) sends the backend's calls here. A call that is to fail is not made.
#include "catch.hpp"
#include "on_device.hpp"
#include "oracle.hpp"
#include "pipeline/scan_file.hpp"
#include "pipeline/sort_file.hpp"
#include "seed.hpp"
#include "temporary_folder.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
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
SWEEPSORT_FAILING(cudaDeviceGetAttribute, (int* value, cudaDeviceAttr attribute, int device),
                  (value, attribute, device))
SWEEPSORT_FAILING(cudaGetDeviceProperties, (cudaDeviceProp * properties, int device), (properties, device))
SWEEPSORT_FAILING(cudaFuncGetAttributes, (cudaFuncAttributes * attributes, const void* kernel),
                  (attributes, kernel))
SWEEPSORT_FAILING(cudaOccupancyMaxPotentialClusterSize,
                  (int* blocks, const void* kernel, const cudaLaunchConfig_t* config),
                  (blocks, kernel, config))
SWEEPSORT_FAILING(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
                  (int* blocks, const void* kernel, int threads, size_t bytes),
                  (blocks, kernel, threads, bytes))

namespace sweepsort {
namespace {

using test::TemporaryFolder;

/// A call that is to fail, and with what.
struct FailingCall {
  std::string_view name;
  cudaError_t error = cudaErrorLaunchFailure;
};
constexpr FailingCall failing_calls[] = {
    {"cudaMemcpy"},  // first, because what a device can do is asked only once
    {"cudaMalloc", cudaErrorMemoryAllocation},
    {"cudaLaunchKernelExC", cudaErrorMemoryAllocation},  // a first launch loads the kernel
    {"cudaLaunchKernelExC"},
    {"cudaHostRegister"},
    {"cudaStreamCreateWithFlags"},
    {"cudaStreamSynchronize"},
    {"cudaEventCreate"},
    {"cudaEventRecord"},
    {"cudaEventSynchronize"},
    {"cudaStreamWaitEvent"},
    {"cudaMemcpyAsync"},
    {"cudaMemsetAsync"},
    {"cudaFuncSetAttribute"},
    {"cudaMemGetInfo"},
    {"cudaSetDevice"},
    {"cudaGetDevice"},
    {"cudaDeviceGetAttribute"},
    {"cudaGetDeviceProperties"},
    {"cudaOccupancyMaxActiveBlocksPerMultiprocessor"},
#if defined(SWEEPSORT_EMULATED)  // otherwise made before any test
    {"cudaFuncGetAttributes"},
    {"cudaOccupancyMaxPotentialClusterSize"},
#endif
};

enum class Where { one_session, spilled_runs, runs_on_gpu };
const OnDevice schedule;

/// Where a run's result came from, and the part of it that is in no file.
struct Outcome {
  std::string backend;
  uint64_t runs_on_gpu = 0;
  std::string answer;
};

/// What is done with the file "in.u32", or "in.u16" with `narrow` keys. Outputs are in the same folder.
struct Work {
  std::string_view name;
  Where where = Where::one_session;
  std::vector<std::string> outputs;
  std::function<Outcome(const TemporaryFolder&, const WhereOptions&)> run;
};

/// A sort whose options' file names lie in the test's folder.
Work sorted(std::string_view name, Where where, const SortFileOptions& options,
            const std::string& input = "in.u32") {
  std::vector<std::string> outputs{"out"};
  if (!options.counts_output.empty() || !options.values_output.empty()) outputs.push_back("second");
  return {
      name, where, outputs, [where, options, input](const TemporaryFolder& folder, const WhereOptions& on) {
        SortEnvironment environment;
        environment.choose = [](const KeysToSort&, const AskStatus&, uint32_t, const WhereOptions& wanted) {
          return BackendDecision{
              wanted.backend == BackendChoice::cpu ? BackendChoice::cpu : BackendChoice::cuda, "the test"};
        };
        environment.chunk_bytes = 256u << 10;
        SortFileOptions all = options;
        if (where == Where::spilled_runs) environment.min_runs = 5;
        if (where == Where::runs_on_gpu) {
          environment.chunk_bytes = 8u << 10;
          // One session takes 4.72 MB. Two sessions of 256 KiB take 2.41 MB, and the runs 2.03 MB.
          all.memory.gpu_memory = Bytes{4'600'000};
        }
        all.where = on;
        all.overwrite = true;
        for (std::string& file : all.values) file = folder / file;
        for (std::string* file : {&all.counts_output, &all.values_output})
          if (!file->empty()) *file = folder / *file;
        const SortReport report = sort_file_with(environment, folder / input, folder / "out", all);
        return Outcome{report.backend, report.plan.runs_on_gpu, {}};
      }};
}

/// Of files that are read once, chunk by chunk.
StreamEnvironment streams() {
  StreamEnvironment environment;
  environment.chunk_bytes = on_gpu ? 256u << 10 : 1024;
  environment.choose = [](std::optional<uint64_t>, uint64_t, const AskStatus&, uint32_t,
                          const WhereOptions& wanted) {
    return BackendDecision{wanted.backend == BackendChoice::cpu ? BackendChoice::cpu : BackendChoice::cuda,
                           "the test"};
  };
  return environment;
}

Outcome scanned(const TemporaryFolder& folder, const WhereOptions& on) {
  const ScanReport report = scan_file_with(streams(), folder / "in.u32", folder / "out",
                                           {.where = on, .output_type = KeyType::u64, .overwrite = true});
  return {report.backend, 0, report.total};
}

Outcome searched(const TemporaryFolder& folder, const WhereOptions& on) {
  const MinReport report = min_file_with(streams(), folder / "in.u32", {.where = on, .wants_index = true});
  return {report.backend, 0, report.value + " at " + std::to_string(report.index.value())};
}

std::vector<Work> all_work() {
  const SortFileOptions pairs{.values = {"in.u32"}, .values_output = "second"};
  const SortFileOptions counts{.result = SortResult::unique, .counts_output = "second"};
  std::vector<Work> all{
      sorted("keys", Where::one_session, {}),         sorted("keys", Where::spilled_runs, {}),
      sorted("pairs", Where::spilled_runs, pairs),    sorted("counts", Where::one_session, counts),
      {"scan", Where::one_session, {"out"}, scanned}, {"min", Where::one_session, {}, searched},
  };
  if (!on_gpu) return all;  // the emulator has no time for the others
  all.push_back(sorted("keys", Where::runs_on_gpu, {}));
  all.push_back(sorted("narrow keys", Where::one_session, {}, "in.u16"));
  all.push_back(sorted("pairs", Where::one_session, pairs));
  all.push_back(sorted("counts", Where::spilled_runs, counts));
  all.push_back(sorted("positions", Where::spilled_runs, {.result = SortResult::permutation}));
  return all;
}

/// A piece of work, its inputs and what its outputs must be.
class Scene {
 public:
  Scene(const Work& work, BackendChoice backend) : work_(work), backend_(backend) {
    std::mt19937_64 random(test_seed());
    std::vector<uint32_t> keys(on_gpu ? 500'009 : 701);
    // Half of the values are expected to come more than once.
    for (uint32_t& key : keys) key = static_cast<uint32_t>(random()) / static_cast<uint32_t>(keys.size());
    test::write_keys(folder_ / "in.u32", keys);
    test::write_keys(folder_ / "in.u16", std::vector<uint16_t>(keys.begin(), keys.end()));
    for (const std::string& output : work_.outputs) test::write_keys(folder_ / output, old_);
    expected_ = work_.run(folder_, on(BackendChoice::cpu));
    REQUIRE(expected_.backend == "cpu");
    for (const std::string& output : work_.outputs) right_.push_back(test::read_file(folder_ / output));
    names_ = folder_.names();
  }

  /// Returns whether there was such a call to fail.
  bool fail(const PlannedFailure& plan) {
    INFO(work_.name << ", " << static_cast<int>(work_.where) << ": " << plan.call << " failing the "
                    << plan.at << ". time" << (plan.onwards ? " and on" : ""));
    for (const std::string& output : work_.outputs) test::write_keys(folder_ / output, old_);
    planned = plan;
    calls = 0;
    const bool lacks_memory = plan.error == cudaErrorMemoryAllocation;
    std::string told;
    std::string hint;
    try {
      const Outcome outcome = work_.run(folder_, on(backend_));
      CHECK(outcome.answer == expected_.answer);
      if (lacks_memory) {
        // Where there was no memory once, there may be some for a smaller request.
        REQUIRE((outcome.backend == "cuda" || plan.onwards || work_.where == Where::one_session));
      } else {
        REQUIRE((outcome.runs_on_gpu > 1) ==
                (work_.where == Where::runs_on_gpu && outcome.backend == "cuda"));
      }
    } catch (const Error& error) {
      told = error.what();
      hint = error.hint();
    }
    planned = {};
    REQUIRE(folder_.names() == names_);
    const bool is_done = told.empty();
    for (size_t i = 0; i < work_.outputs.size(); ++i) {
      INFO(work_.outputs[i]);
      // No error: the failure was in a clean-up, or the CPU did what the GPU could not.
      if (is_done) REQUIRE(test::read_file(folder_ / work_.outputs[i]) == right_[i]);
      if (!is_done) REQUIRE(test::read_keys<uint32_t>(folder_ / work_.outputs[i]) == old_);
    }
    if (!is_done) {
      INFO(told);
      REQUIRE(backend_ == BackendChoice::cuda);
      if (lacks_memory && work_.where != Where::one_session) REQUIRE(plan.onwards);
      REQUIRE_FALSE(hint.empty());
    }
    return calls >= plan.at;
  }

 private:
  static WhereOptions on(BackendChoice backend) { return {.backend = backend, .threads = 2}; }

  Work work_;
  BackendChoice backend_;
  TemporaryFolder folder_;
  std::vector<uint32_t> old_ = {3, 1, 2};
  Outcome expected_;
  std::vector<std::vector<std::byte>> right_;  // the outputs' contents
  std::vector<std::string> names_;             // in the folder
};

/// Fails each call in turn, at every time up to the `dense`-th and at fewer and fewer of the later ones.
/// Returns the calls that the work makes.
std::set<std::string_view> fail_all(Scene& scene) {
  constexpr uint64_t dense = on_gpu ? 20 : 4;
  constexpr uint64_t step_share = on_gpu ? 8 : 2;
  std::set<std::string_view> made;
  for (const FailingCall& call : failing_calls)
    for (const bool onwards : {false, true})
      for (uint64_t at = 1;
           scene.fail({.call = call.name.data(), .at = at, .onwards = onwards, .error = call.error});
           at += at < dense ? 1 : 1 + at / step_share)
        made.insert(call.name);
  return made;
}

void fail_all_work(const std::vector<Work>& works, BackendChoice backend) {
  static std::set<std::string_view> made;  // in this process
  for (const Work& work : works) {
    Scene scene(work, backend);
    made.merge(fail_all(scene));
  }
  for (const FailingCall& call : failing_calls) {
    INFO(call.name);
    CHECK(made.contains(call.name));
  }
}

TEST_CASE("a GPU asked for by name that fails in any call keeps the old output, says why, leaves nothing") {
  std::vector<Work> works = all_work();
#if !defined(SWEEPSORT_EMULATED)
  works.push_back(sorted("referee", Where::one_session, {.referee = Referee::thrust}));
#endif
  fail_all_work(works, BackendChoice::cuda);
}

TEST_CASE("whatever call fails on a GPU that was chosen, the CPU does the work") {
  fail_all_work(all_work(), BackendChoice::automatic);
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
