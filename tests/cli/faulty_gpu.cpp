// faulty_gpu.cpp - the command line with a pretended GPU, which fails as $FAULT says. `--backend auto` takes
// it for every size.
#include "core/error.hpp"
#include "pipeline/scan_file.hpp"
#include "pipeline/sort_file.hpp"
#include "pipeline/stream_run.hpp"
#include "plain_backend.hpp"

#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sweepsort {
namespace {

using test::Fault;

Fault wanted_fault() {
  constexpr std::array<std::pair<std::string_view, Fault>, 6> faults{
      {{"none", Fault::none},
       {"drops-key", Fault::drops_key},
       {"flips-bit", Fault::flips_bit},
       {"fails-to-begin", Fault::fails_to_begin},
       {"fails-to-sort", Fault::fails_to_sort},
       {"fails-to-get", Fault::fails_to_get}}};
  const char* const wanted = std::getenv("FAULT");
  for (const auto& [name, fault] : faults)
    if (wanted && name == wanted) return fault;
  throw Error("FAULT is not set, or to none that the test knows");
}

constexpr const char* why = "the test says so";

template <class Environment>
Environment faulty() {
  Environment environment;
  environment.make_cuda = [fault = wanted_fault()](int) {
    return std::make_unique<test::PlainBackend>(fault, "cuda");
  };
  environment.status = [] { return CudaStatus{.usable = {0}, .device_count = 1, .reason = {}, .hint = {}}; };
  environment.chunk_bytes = 4096;  // several chunks for a small file
  return environment;
}

SortEnvironment faulty_sorts() {
  SortEnvironment environment = faulty<SortEnvironment>();
  environment.choose = [](const KeysToSort& keys, const AskStatus& ask, uint32_t threads,
                          const WhereOptions& where) {
    if (where.backend != BackendChoice::automatic) return choose_backend(keys, ask, threads, where);
    return BackendDecision{BackendChoice::cuda, why};
  };
  return environment;
}

StreamEnvironment faulty_streams() {
  StreamEnvironment environment = faulty<StreamEnvironment>();
  environment.choose = [](std::optional<uint64_t> input_bytes, uint64_t output_bytes, const AskStatus& ask,
                          uint32_t threads, const WhereOptions& where) {
    if (where.backend != BackendChoice::automatic)
      return choose_stream_backend(input_bytes, output_bytes, ask, threads, where);
    return BackendDecision{BackendChoice::cuda, why};
  };
  return environment;
}

}  // namespace

SortReport sort_file(const std::string& input, const std::string& output, const SortFileOptions& options) {
  return sort_files_with(faulty_sorts(), {input}, output, options);
}

SortReport sort_files(const std::vector<std::string>& inputs, const std::string& output,
                      const SortFileOptions& options) {
  return sort_files_with(faulty_sorts(), inputs, output, options);
}

ScanReport scan_file(const std::string& input, const std::string& output, const ScanFileOptions& options) {
  return scan_file_with(faulty_streams(), input, output, options);
}

MinReport min_file(const std::string& input, const MinFileOptions& options) {
  return min_file_with(faulty_streams(), input, options);
}

}  // namespace sweepsort
