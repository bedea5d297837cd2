// cuda_unique.cu - maps run-time widths to the kernel's template.
#include "backend/cuda_unique.hpp"
#include "kernels/unique.cuh"

#include <type_traits>

namespace sweepsort {

size_t device_unique_workspace_bytes(uint64_t max_keys) {
  Workspace counter;
  (void)UniqueMemory(counter, max_keys);
  return counter.used();
}

void device_unique(const DeviceUnique& arrays, uint64_t max_keys, Workspace workspace, cudaStream_t stream) {
  const UniqueMemory memory(workspace, max_keys);
  dispatch_bits(arrays.type, [&]<class Bits>(std::type_identity<Bits>) {
    unique<Bits>({.keys = static_cast<const Bits*>(arrays.keys),
                  .count = arrays.count,
                  .different = static_cast<Bits*>(arrays.different),
                  .ends = arrays.ends,
                  .most = arrays.most,
                  .found = arrays.found},
                 memory, stream);
  });
}

}  // namespace sweepsort
