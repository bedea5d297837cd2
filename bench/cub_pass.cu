// cub_pass.cu - selects the translation unit of CUB's scans and searches for a case's type.
#include "bench/cub_pass.hpp"
#include "kernels/launch.cuh"

namespace sweepsort::bench {
namespace {

using CubPassFunction = cudaError_t (*)(const CubPassCall&);

/// Sums and XORs of signed integers have the same bits as those of unsigned integers.
CubPassFunction cub_pass_function(const PassCase& what) {
  switch (what.type) {
    case KeyType::f32: return cub_pass_call<float>;
    case KeyType::f64: return cub_pass_call<double>;
    default: break;
  }
  switch (key_bytes(what.type)) {
    case 1: return cub_pass_call<uint8_t>;
    case 2: return cub_pass_call<uint16_t>;
    case 4: return cub_pass_call<uint32_t>;
    default: return cub_pass_call<uint64_t>;
  }
}

}  // namespace

bool cub_pass_supports(const PassCase& what) {
  if (what.pass == Pass::search)
    return what.extreme == Extreme::min && !is_signed(what.type) && key_bytes(what.type) >= 4;
  if (what.op == ScanOp::sum) return true;
  return what.type == KeyType::u32 || what.type == KeyType::u64;
}

size_t cub_pass_workspace_bytes(const PassCase& what) {
  size_t bytes = 0;
  check(cub_pass_function(what)({.what = what, .workspace_bytes = &bytes}));
  return bytes;
}

void cub_pass(const PassCase& what, const PassArrays& arrays, cudaStream_t stream) {
  size_t bytes = arrays.workspace.size();
  check(
      cub_pass_function(what)({.what = what, .arrays = arrays, .workspace_bytes = &bytes, .stream = stream}));
}

}  // namespace sweepsort::bench
