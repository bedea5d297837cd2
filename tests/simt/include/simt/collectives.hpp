// collectives.hpp - CUDA's block barriers and warp-wide operations.
#pragma once

#include "simt/builtin_types.hpp"
#include "simt/rendezvous.hpp"

namespace simt {

inline constexpr uint32_t full_mask = 0xffffffffu;

/// CUDA's warp collectives move 4 or 8 bytes per lane.
template <class T>
concept Register = std::is_trivially_copyable_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

template <class T>
concept ReduceOperand = std::same_as<T, int> || std::same_as<T, unsigned>;

inline void require_width(int width, Where where) {
  if (width <= 0 || width > 32 || (width & (width - 1)) != 0)
    fault("shuffle width is no power of two up to 32", where);
}

/// The first and last lane of the running lane's segment of `width` lanes.
inline int segment_first(int width) { return static_cast<int>(lane_of_running_thread()) & ~(width - 1); }
inline int segment_last(int width) { return segment_first(width) + width - 1; }

template <Register T>
T shuffle(Collective kind, uint32_t mask, T value, int source, Where where) {
  return value_of<T>(meet_warp(kind, sizeof(T), mask, bits_of(value), static_cast<uint64_t>(source), where));
}

// The signed minimum and maximum are the unsigned ones with the sign bit flipped.
template <ReduceOperand T>
T reduce(Collective kind, uint32_t mask, T value, Where where) {
  constexpr uint32_t flip_sign = std::is_signed_v<T> ? 0x80000000u : 0u;
  const bool ordered = kind == Collective::min || kind == Collective::max;
  const uint32_t flip = ordered ? flip_sign : 0u;
  const uint64_t result = meet_warp(kind, 4, mask, static_cast<uint32_t>(value) ^ flip, 0, where);
  return static_cast<T>(static_cast<uint32_t>(result) ^ flip);
}

}  // namespace simt

inline void __syncthreads(simt::Where where = simt::Where::current()) {
  simt::meet_block(simt::Barrier::sync, 0, where);
}
inline int __syncthreads_or(int predicate, simt::Where where = simt::Where::current()) {
  return simt::meet_block(simt::Barrier::sync_or, predicate, where);
}
inline int __syncthreads_and(int predicate, simt::Where where = simt::Where::current()) {
  return simt::meet_block(simt::Barrier::sync_and, predicate, where);
}
inline int __syncthreads_count(int predicate, simt::Where where = simt::Where::current()) {
  return simt::meet_block(simt::Barrier::sync_count, predicate, where);
}
/// A grid barrier in two halves, for the whole grid of a cooperative launch. Each half also synchronises the
/// block.
inline unsigned emulated_grid_arrive(simt::Where where = simt::Where::current()) {
  return simt::arrive_at_grid(simt::Together::grid, where);
}
inline void emulated_grid_wait(unsigned token, simt::Where where = simt::Where::current()) {
  simt::wait_for_grid(simt::Together::grid, token, where);
}
/// The same for a launch that is one cluster.
inline unsigned emulated_cluster_arrive(simt::Where where = simt::Where::current()) {
  return simt::arrive_at_grid(simt::Together::cluster, where);
}
inline void emulated_cluster_wait(unsigned token, simt::Where where = simt::Where::current()) {
  simt::wait_for_grid(simt::Together::cluster, token, where);
}
inline void __syncwarp(unsigned mask = simt::full_mask, simt::Where where = simt::Where::current()) {
  simt::meet_warp(simt::Collective::sync, 0, mask, 0, 0, where);
}

template <simt::Register T>
T __shfl_sync(unsigned mask, T value, int source_lane, int width = warpSize,
              simt::Where where = simt::Where::current()) {
  simt::require_width(width, where);
  const int source = simt::segment_first(width) + (source_lane & (width - 1));
  return simt::shuffle(simt::Collective::shuffle, mask, value, source, where);
}
template <simt::Register T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                 simt::Where where = simt::Where::current()) {
  simt::require_width(width, where);
  const int lane = static_cast<int>(simt::lane_of_running_thread());
  const int source = lane - static_cast<int>(delta & 31u);
  return simt::shuffle(simt::Collective::shuffle_up, mask, value,
                       source < simt::segment_first(width) ? lane : source, where);
}
template <simt::Register T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                   simt::Where where = simt::Where::current()) {
  simt::require_width(width, where);
  const int lane = static_cast<int>(simt::lane_of_running_thread());
  const int source = lane + static_cast<int>(delta & 31u);
  return simt::shuffle(simt::Collective::shuffle_down, mask, value,
                       source > simt::segment_last(width) ? lane : source, where);
}
// As in hardware, lanes of an earlier segment can be read, lanes of a later one cannot.
template <simt::Register T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize,
                  simt::Where where = simt::Where::current()) {
  simt::require_width(width, where);
  const int lane = static_cast<int>(simt::lane_of_running_thread());
  const int source = lane ^ (lane_mask & 31);
  return simt::shuffle(simt::Collective::shuffle_xor, mask, value,
                       source > simt::segment_last(width) ? lane : source, where);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, simt::Where where = simt::Where::current()) {
  return static_cast<unsigned>(simt::meet_warp(simt::Collective::ballot, 4, mask, predicate != 0, 0, where));
}
inline int __any_sync(unsigned mask, int predicate, simt::Where where = simt::Where::current()) {
  return static_cast<int>(simt::meet_warp(simt::Collective::any, 4, mask, predicate != 0, 0, where));
}
inline int __all_sync(unsigned mask, int predicate, simt::Where where = simt::Where::current()) {
  return static_cast<int>(simt::meet_warp(simt::Collective::all, 4, mask, predicate != 0, 0, where));
}
template <simt::Register T>
unsigned __match_any_sync(unsigned mask, T value, simt::Where where = simt::Where::current()) {
  const uint64_t bits = simt::bits_of(value);
  return static_cast<unsigned>(simt::meet_warp(simt::Collective::match_any, sizeof(T), mask, bits, 0, where));
}
template <simt::Register T>
unsigned __match_all_sync(unsigned mask, T value, int* predicate,
                          simt::Where where = simt::Where::current()) {
  const uint64_t bits = simt::bits_of(value);
  const auto result =
      static_cast<unsigned>(simt::meet_warp(simt::Collective::match_all, sizeof(T), mask, bits, 0, where));
  *predicate = result != 0;
  return result;
}

template <simt::ReduceOperand T>
T __reduce_add_sync(unsigned mask, T value, simt::Where where = simt::Where::current()) {
  return simt::reduce(simt::Collective::add, mask, value, where);
}
template <simt::ReduceOperand T>
T __reduce_min_sync(unsigned mask, T value, simt::Where where = simt::Where::current()) {
  return simt::reduce(simt::Collective::min, mask, value, where);
}
template <simt::ReduceOperand T>
T __reduce_max_sync(unsigned mask, T value, simt::Where where = simt::Where::current()) {
  return simt::reduce(simt::Collective::max, mask, value, where);
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value, simt::Where where = simt::Where::current()) {
  return simt::reduce(simt::Collective::bit_and, mask, value, where);
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value, simt::Where where = simt::Where::current()) {
  return simt::reduce(simt::Collective::bit_or, mask, value, where);
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value, simt::Where where = simt::Where::current()) {
  return simt::reduce(simt::Collective::bit_xor, mask, value, where);
}

/// The lanes of `mask` do their atomicAdds in lane order. Each gets the value from before its own addition.
inline unsigned emulated_lane_ordered_atomic_add(unsigned* address, unsigned value, unsigned mask,
                                                 simt::Where where = simt::Where::current()) {
  const auto target = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(address));
  return static_cast<unsigned>(
      simt::meet_warp(simt::Collective::ordered_atomic_add, 4, mask, value, target, where));
}
