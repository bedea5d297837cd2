// cub_sort.cu - selects the translation unit of CUB's sort for a case's types.
#include "bench/cub_call.hpp"
#include "bench/cub_sort.hpp"
#include "kernels/launch.cuh"

#include <cub/version.cuh>

#include <string>

namespace sweepsort::bench {
namespace {

using CubFunction = cudaError_t (*)(const CubCall&);

/// Null if this build has no CUB for the types. Pairs are measured only for three combinations, because each
/// takes seconds to compile.
CubFunction cub_function(const SortCase& what) {
  if (what.value_bytes == 0)
    return dispatch(what.type,
                    []<class Key>(std::type_identity<Key>) -> CubFunction { return cub_call<Key, NoValue>; });
  if (what.type == KeyType::u32 && what.value_bytes == 4) return cub_call<uint32_t, uint32_t>;
  if (what.type == KeyType::u64 && what.value_bytes == 4) return cub_call<uint64_t, uint32_t>;
  if (what.type == KeyType::u64 && what.value_bytes == 8) return cub_call<uint64_t, uint64_t>;
  return nullptr;
}

}  // namespace

bool cub_supports(const SortCase& what, CubIndex index) {
  constexpr uint64_t int32_limit = uint64_t{1} << 31;
  return cub_function(what) != nullptr && (index == CubIndex::int64 || what.count < int32_limit);
}

size_t cub_workspace_bytes(const SortCase& what, CubIndex index) {
  size_t bytes = 0;
  check(cub_function(what)(
      {.index = index, .order = what.order, .count = what.count, .workspace_bytes = &bytes}));
  return bytes;
}

void cub_sort(const SortCase& what, CubIndex index, const DeviceArrays& arrays, cudaStream_t stream) {
  size_t bytes = arrays.workspace.size();
  check(cub_function(what)({.index = index,
                            .order = what.order,
                            .count = what.count,
                            .arrays = arrays,
                            .workspace_bytes = &bytes,
                            .stream = stream}));
}

std::string cub_version() {
  return std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." +
         std::to_string(CUB_SUBMINOR_VERSION);
}

}  // namespace sweepsort::bench
