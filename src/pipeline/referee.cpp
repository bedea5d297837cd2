// referee.cpp - thrust::sort, on the GPU where there is one, else on one host thread.
#include "pipeline/referee.hpp"

#include "core/key_bits.hpp"
#ifdef SWEEPSORT_REFEREE_CUDA
#include "pipeline/referee_device.hpp"
#endif

#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/sort.h>

#include <cstdint>
#include <new>
#include <type_traits>

namespace sweepsort {
namespace {

/// Signed keys by a comparison of our own, which Thrust answers by a merge sort: the radix sort that it takes
/// for std::less gets int wrong in CCCL 3.0.1 (its encoder widens to long, so that the negative keys come
/// last).
template <class Key>
void sort_keys(Key* keys, size_t count, Order order) {
  if constexpr (std::is_signed_v<Key>) {
    const bool descends = order == Order::descending;
    thrust::sort(thrust::host, keys, keys + count,
                 [descends](Key left, Key right) { return descends ? right < left : left < right; });
  } else if (order == Order::descending) {
    thrust::sort(thrust::host, keys, keys + count, thrust::greater<Key>());
  } else {
    thrust::sort(thrust::host, keys, keys + count);
  }
}

/// Floats: by comparison of the ordered bits, since < is no order where there are NaNs and says that -0.0
/// equals +0.0.
template <class Bits>
void sort_by_map(Bits* keys, size_t count, KeyMap<Bits> map) {
  for (size_t i = 0; i < count; ++i) keys[i] = map.to_ordered(keys[i]);
  thrust::sort(thrust::host, keys, keys + count);
  for (size_t i = 0; i < count; ++i) keys[i] = map.from_ordered(keys[i]);
}

}  // namespace

void require_referee() {}

void referee_sort(std::span<std::byte> keys, KeyType type, Order order,
                  [[maybe_unused]] std::optional<int> device) {
#ifdef SWEEPSORT_REFEREE_CUDA
  try {
    if (device) return referee_sort_on_device(keys, type, order, *device);
  } catch (const std::bad_alloc&) {
    // The device has no room for them. They are as they were: they come back from it in one piece, at the
    // end.
  }
#endif
  const size_t count = keys.size() / key_bytes(type);
  dispatch(type, [&]<class Key>(std::type_identity<Key>) {
    // Integers are sorted as what they are, not by our own maps, so that an error in a map shows.
    if constexpr (std::is_floating_point_v<Key>)
      sort_by_map(reinterpret_cast<BitsOf<Key>*>(keys.data()), count, key_map<BitsOf<Key>>(type, order));
    else
      sort_keys(reinterpret_cast<Key*>(keys.data()), count, order);
  });
}

}  // namespace sweepsort
