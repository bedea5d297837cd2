// cub_pass.hpp - the interface between the caller of CUB's scans and searches and the translation units that
// compile them.
#pragma once

#include "bench/device_pass.hpp"

#include <cstdint>
#include <type_traits>

namespace sweepsort::bench {

/// One call of CUB. With an empty workspace it only writes `*workspace_bytes`, as usual in CUB.
struct CubPassCall {
  PassCase what;
  PassArrays arrays{};
  size_t* workspace_bytes = nullptr;
  cudaStream_t stream = nullptr;
};

/// Operators other than sum, and searches, are compiled for few types, because each takes seconds to compile.
template <class Key>
inline constexpr bool cub_has_all_operators = std::is_same_v<Key, uint32_t> || std::is_same_v<Key, uint64_t>;
template <class Key>
inline constexpr bool cub_has_search = sizeof(Key) >= 4;

/// Instantiated in one translation unit per type listed in CMakeLists.txt.
template <class Key>
cudaError_t cub_pass_call(const CubPassCall& call);

}  // namespace sweepsort::bench
