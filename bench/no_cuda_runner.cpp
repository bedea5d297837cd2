// no_cuda_runner.cpp - stands in for cuda_runner.cu and cuda_pass_runner.cu in a build without CUDA.
#include "backend/backend.hpp"
#include "bench/pass_runner.hpp"
#include "bench/sort_runner.hpp"
#include "core/error.hpp"

namespace sweepsort::bench {

namespace {

[[noreturn]] void refuse() {
  const CudaStatus status = cuda_status();
  if (!status.usable.empty())
    throw Error("--backend cuda: this sweepsort-bench was built for the CPU alone",
                "build it with SWEEPSORT_BENCH_CUDA=ON");
  throw Error("--backend cuda: " + status.reason, status.hint);
}

}  // namespace

std::unique_ptr<SortRunner> make_cuda_runner(const SortBenchOptions&, const std::vector<SortCase>&) {
  refuse();
}

std::unique_ptr<PassRunner> make_cuda_pass_runner(const PassOptions&, const std::vector<PassCase>&) {
  refuse();
}

}  // namespace sweepsort::bench
