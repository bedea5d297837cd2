// libcusort_sort.cu - libcusort's radix sort (github.com/IlyaGrebnov/libcusort), which has the same interface
// as CUB.
#include "bench/libcusort_sort.hpp"
#include "kernels/launch.cuh"

#include <libcusort.cuh>

#include <cstdint>
#include <stdexcept>

namespace sweepsort::bench {
namespace {

/// Without a workspace, it only reports how much it needs.
template <class Key>
void sort_keys(const SortCase& what, const DeviceArrays& arrays, void* workspace, size_t& bytes,
               cudaStream_t stream) {
  check(cusort::DeviceRadixSort::SortKeys(
      workspace, bytes, static_cast<const Key*>(arrays.keys_in), static_cast<Key*>(arrays.keys_out),
      static_cast<int64_t>(what.count), 0, static_cast<int>(sizeof(Key) * 8), stream));
}

template <class Key, class Value>
void sort_pairs(const SortCase& what, const DeviceArrays& arrays, void* workspace, size_t& bytes,
                cudaStream_t stream) {
  check(cusort::DeviceRadixSort::SortPairs(
      workspace, bytes, static_cast<const Key*>(arrays.keys_in), static_cast<Key*>(arrays.keys_out),
      static_cast<const Value*>(arrays.values_in), static_cast<Value*>(arrays.values_out),
      static_cast<int64_t>(what.count), 0, static_cast<int>(sizeof(Key) * 8), stream));
}

using Function = void (*)(const SortCase&, const DeviceArrays&, void*, size_t&, cudaStream_t);

/// Null if this build has no sort for the case.
Function function_for(const SortCase& what) {
  if (what.order != Order::ascending) return nullptr;
  if (what.value_bytes == 0) switch (what.type) {
      case KeyType::u8: return sort_keys<uint8_t>;
      case KeyType::u16: return sort_keys<uint16_t>;
      case KeyType::u32: return sort_keys<uint32_t>;
      case KeyType::u64: return sort_keys<uint64_t>;
      default: return nullptr;
    }
  if (what.type == KeyType::u32 && what.value_bytes == 4) return sort_pairs<uint32_t, uint32_t>;
  if (what.type == KeyType::u64 && what.value_bytes == 4) return sort_pairs<uint64_t, uint32_t>;
  if (what.type == KeyType::u64 && what.value_bytes == 8) return sort_pairs<uint64_t, uint64_t>;
  return nullptr;
}

}  // namespace

bool libcusort_supports(const SortCase& what) { return function_for(what) != nullptr; }

size_t libcusort_workspace_bytes(const SortCase& what) {
  size_t bytes = 0;
  function_for(what)(what, {}, nullptr, bytes, nullptr);
  return bytes;
}

void libcusort_sort(const SortCase& what, const DeviceArrays& arrays, cudaStream_t stream) {
  size_t bytes = arrays.workspace.size();
  function_for(what)(what, arrays, arrays.workspace.data(), bytes, stream);
}

std::string libcusort_version() { return LIBCUSORT_VERSION_STRING; }

}  // namespace sweepsort::bench
