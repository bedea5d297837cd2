// referee.cpp - sorts with thrust::sort, on the GPU if there is one, else on one host thread.
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

/// Signed keys are sorted with our own comparison, for which Thrust uses a merge sort. The radix sort that it
/// uses for std::less sorts int incorrectly in CCCL 3.0.1 (its encoder widens to long, so that negative keys
/// come last).
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

/// Floats are sorted by their ordered bits, because < is not an order if there are NaNs and treats -0.0 and
/// +0.0 as equal.
template <class Bits>
void sort_by_map(Bits* keys, size_t count, KeyMap<Bits> map) {
  for (size_t i = 0; i < count; ++i) keys[i] = map.to_ordered(keys[i]);
  thrust::sort(thrust::host, keys, keys + count);
  for (size_t i = 0; i < count; ++i) keys[i] = map.from_ordered(keys[i]);
}

}  // namespace

void require_referee() {}

void referee_sort(std::span<std::byte> keys, KeyType type, Order order,
                  [[maybe_unused]] std::optional<int> device, [[maybe_unused]] Bytes room) {
#ifdef SWEEPSORT_REFEREE_CUDA
  try {
    if (device) return referee_sort_on_device(keys, type, order, *device, room);
  } catch (const std::bad_alloc&) {
    // The device has no room for the keys, which are unchanged.
  }
#endif
  const size_t count = keys.size() / key_bytes(type);
  dispatch(type, [&]<class Key>(std::type_identity<Key>) {
    // Integers are sorted with their own type and not by our maps, so that an error in a map shows.
    if constexpr (std::is_floating_point_v<Key>)
      sort_by_map(reinterpret_cast<BitsOf<Key>*>(keys.data()), count, key_map<BitsOf<Key>>(type, order));
    else
      sort_keys(reinterpret_cast<Key*>(keys.data()), count, order);
  });
}

}  // namespace sweepsort
