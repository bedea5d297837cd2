// atomics.hpp - CUDA's atomicAdd and its relatives. (cuda::atomic_ref is in <cuda/atomic>.)
#pragma once

#include "simt/rendezvous.hpp"

#include <algorithm>

namespace simt {

/// The types that CUDA's atomic functions accept. On Linux, uint64_t is unsigned long.
template <class T>
concept AtomicOperand = std::same_as<T, int> || std::same_as<T, unsigned> || std::same_as<T, unsigned long> ||
    std::same_as<T, unsigned long long>;

template <class T, class Update>
T update_atomically(const char* what, T* address, Update update, Where where) {
  AtomicStep step(what, address, sizeof(T), Polling::never, where);
  const T before = *address;
  const T after = update(before);
  *address = after;
  if (same_bits(before, after))
    step.unchanged();
  else
    step.changed();
  return before;
}

// A lock spins by exchanges that fail, or that write back the old value.
template <class T, class Update>
T exchange_atomically(const char* what, T* address, Update update, Where where) {
  AtomicStep step(what, address, sizeof(T), Polling::possible, where);
  const T before = *address;
  const T after = update(before);
  *address = after;
  if (same_bits(before, after))
    step.polled(bits_of(before));
  else
    step.changed();
  return before;
}

// Signed sums wrap on a GPU.
template <class T>
T wrapping_add(T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
}
template <class T>
T wrapping_subtract(T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b)));
}

}  // namespace simt

template <simt::AtomicOperand T>
T atomicAdd(T* address, std::type_identity_t<T> value, simt::Where where = simt::Where::current()) {
  return simt::update_atomically(
      "atomicAdd", address, [=](T old) { return simt::wrapping_add(old, value); }, where);
}
template <simt::AtomicOperand T>
T atomicSub(T* address, std::type_identity_t<T> value, simt::Where where = simt::Where::current()) {
  return simt::update_atomically(
      "atomicSub", address, [=](T old) { return simt::wrapping_subtract(old, value); }, where);
}
template <simt::AtomicOperand T>
T atomicAnd(T* address, std::type_identity_t<T> value, simt::Where where = simt::Where::current()) {
  return simt::update_atomically(
      "atomicAnd", address, [=](T old) { return static_cast<T>(old & value); }, where);
}
template <simt::AtomicOperand T>
T atomicOr(T* address, std::type_identity_t<T> value, simt::Where where = simt::Where::current()) {
  return simt::update_atomically(
      "atomicOr", address, [=](T old) { return static_cast<T>(old | value); }, where);
}
template <simt::AtomicOperand T>
T atomicXor(T* address, std::type_identity_t<T> value, simt::Where where = simt::Where::current()) {
  return simt::update_atomically(
      "atomicXor", address, [=](T old) { return static_cast<T>(old ^ value); }, where);
}
template <simt::AtomicOperand T>
T atomicMin(T* address, std::type_identity_t<T> value, simt::Where where = simt::Where::current()) {
  return simt::update_atomically(
      "atomicMin", address, [=](T old) { return std::min(old, value); }, where);
}
template <simt::AtomicOperand T>
T atomicMax(T* address, std::type_identity_t<T> value, simt::Where where = simt::Where::current()) {
  return simt::update_atomically(
      "atomicMax", address, [=](T old) { return std::max(old, value); }, where);
}
template <simt::AtomicOperand T>
T atomicExch(T* address, std::type_identity_t<T> value, simt::Where where = simt::Where::current()) {
  return simt::exchange_atomically(
      "atomicExch", address, [=](T) { return value; }, where);
}
template <simt::AtomicOperand T>
T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> desired,
            simt::Where where = simt::Where::current()) {
  return simt::exchange_atomically(
      "atomicCAS", address, [=](T old) { return old == expected ? desired : old; }, where);
}
