// cuda_graph.cuh - a recorded sequence of launches, which is replayed without the host's launch time.
#pragma once

#include "gpu/handles.hpp"

#include <cuda_runtime.h>

namespace sweepsort::bench {

class CudaGraph : public handle_detail::Unique<cudaGraphExec_t, cudaGraphExecDestroy> {
 public:
  CudaGraph() = default;

  /// Records the work that `enqueue` puts on the stream.
  template <class F>
  CudaGraph(const Stream& stream, F&& enqueue) {
    cudaGraph_t recorded = nullptr;
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
    try {
      enqueue();
    } catch (...) {
      (void)cudaStreamEndCapture(stream.get(), &recorded);  // otherwise the stream could no longer be used
      if (recorded != nullptr) (void)cudaGraphDestroy(recorded);
      throw;
    }
    check(cudaStreamEndCapture(stream.get(), &recorded));
    const cudaError_t failure = cudaGraphInstantiate(&handle_, recorded, 0);
    (void)cudaGraphDestroy(recorded);
    check(failure);
  }

  void launch(const Stream& stream) const { check(cudaGraphLaunch(handle_, stream.get())); }
};

}  // namespace sweepsort::bench
