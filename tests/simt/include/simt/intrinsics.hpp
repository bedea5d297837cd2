// intrinsics.hpp - CUDA's bit operations, cached loads and stores, fences and the like.
#pragma once

#include "simt/builtin_types.hpp"
#include "simt/rendezvous.hpp"

#include <bit>

// Shift counts and bit positions are as in CUDA: __clz(0) is 32, __ffs(0) is 0, funnel shifts take the count
// modulo 32.
constexpr int __popc(unsigned x) { return std::popcount(x); }
constexpr int __popcll(unsigned long long x) { return std::popcount(x); }
constexpr int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
constexpr int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
constexpr int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
constexpr int __ffsll(long long x) {
  return x == 0 ? 0 : std::countr_zero(static_cast<unsigned long long>(x)) + 1;
}

constexpr unsigned long long __brevll(unsigned long long x) {
  unsigned long long reversed = 0;
  for (int bit = 0; bit < 64; ++bit) reversed |= (x >> bit & 1u) << (63 - bit);
  return reversed;
}
constexpr unsigned __brev(unsigned x) { return static_cast<unsigned>(__brevll(x) >> 32); }

/// Picks four bytes from the eight of (y, x). Bit 3 of a selector repeats the sign of the picked byte
/// instead.
constexpr unsigned __byte_perm(unsigned x, unsigned y, unsigned selectors) {
  const uint64_t bytes = static_cast<uint64_t>(y) << 32 | x;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned selector = selectors >> (4 * i);
    const auto byte = static_cast<unsigned>(bytes >> (8 * (selector & 7u)) & 0xffu);
    const unsigned sign = (byte & 0x80u) != 0 ? 0xffu : 0u;
    result |= ((selector & 8u) != 0 ? sign : byte) << (8 * i);
  }
  return result;
}

constexpr unsigned __funnelshift_l(unsigned low, unsigned high, unsigned count) {
  return static_cast<unsigned>(((static_cast<uint64_t>(high) << 32 | low) << (count & 31u)) >> 32);
}
/// Shifts by 32 if `count` is more than that.
constexpr unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned count) {
  return count < 32 ? __funnelshift_l(low, high, count) : low;
}
constexpr unsigned __funnelshift_r(unsigned low, unsigned high, unsigned count) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (count & 31u));
}
constexpr unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<uint64_t>(x) * y >> 32);
}
constexpr unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned long long>(static_cast<Wide>(x) * y >> 64);
}

namespace simt {

// A misaligned vector access traps on a GPU, but a host would let it pass.
template <class T>
void require_aligned(const T* address, Where where) {
  if (reinterpret_cast<uintptr_t>(address) % alignof(T) != 0) fault("misaligned address", where);
}

template <class T>
T cached_load(const T* address, Where where) {
  static_assert(std::is_trivially_copyable_v<T>);
  require_aligned(address, where);
  return *address;
}

template <class T>
void cached_store(T* address, const T& value, Where where) {
  static_assert(std::is_trivially_copyable_v<T>);
  require_aligned(address, where);
  *address = value;
}

}  // namespace simt

template <class T>
T __ldg(const T* address, simt::Where where = simt::Where::current()) {
  return simt::cached_load(address, where);
}
template <class T>
T __ldca(const T* address, simt::Where where = simt::Where::current()) {
  return simt::cached_load(address, where);
}
template <class T>
T __ldcg(const T* address, simt::Where where = simt::Where::current()) {
  return simt::cached_load(address, where);
}
template <class T>
T __ldcs(const T* address, simt::Where where = simt::Where::current()) {
  return simt::cached_load(address, where);
}
template <class T>
T __ldlu(const T* address, simt::Where where = simt::Where::current()) {
  return simt::cached_load(address, where);
}
template <class T>
void __stwb(T* address, std::type_identity_t<T> value, simt::Where where = simt::Where::current()) {
  simt::cached_store(address, value, where);
}
template <class T>
void __stcg(T* address, std::type_identity_t<T> value, simt::Where where = simt::Where::current()) {
  simt::cached_store(address, value, where);
}
template <class T>
void __stcs(T* address, std::type_identity_t<T> value, simt::Where where = simt::Where::current()) {
  simt::cached_store(address, value, where);
}
template <class T>
void __stwt(T* address, std::type_identity_t<T> value, simt::Where where = simt::Where::current()) {
  simt::cached_store(address, value, where);
}

inline void __threadfence_block(simt::Where where = simt::Where::current()) {
  simt::scheduling_point("__threadfence_block", where);
}
inline void __threadfence(simt::Where where = simt::Where::current()) {
  simt::scheduling_point("__threadfence", where);
}
inline void __threadfence_system(simt::Where where = simt::Where::current()) {
  simt::scheduling_point("__threadfence_system", where);
}
inline void __nanosleep(unsigned, simt::Where where = simt::Where::current()) {
  simt::polling_point("__nanosleep", where);
}
[[noreturn]] inline void __trap(simt::Where where = simt::Where::current()) { simt::fault("__trap", where); }

/// Here, time is measured in scheduling steps.
inline long long clock64() { return static_cast<long long>(simt::steps_so_far()); }

// A launch ends before the next one begins, so there is never an earlier kernel to wait for.
inline void cudaGridDependencySynchronize() {}
inline void cudaTriggerProgrammaticLaunchCompletion() {}

// CUDA offers these two in the global namespace, also for operands of different types.
template <class A, class B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}
