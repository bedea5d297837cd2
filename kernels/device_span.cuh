// device_span.cuh - where device memory is: a typed range, and a workspace from which such ranges are cut.
#pragma once

#include "core/rounding.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <type_traits>

namespace sweepsort {

/// `size` elements of device memory. Deliberately not convertible to or from std::span: the type says where
/// memory lives. Does not own the memory.
template <class T>
class DeviceSpan {
 public:
  constexpr DeviceSpan() = default;
  constexpr DeviceSpan(T* data, uint64_t size) : data_(data), size_(size) {}
  template <class U>
  requires std::is_convertible_v<U (*)[], T (*)[]>
  constexpr DeviceSpan(DeviceSpan<U> other) : data_(other.data()), size_(other.size()) {}

  constexpr T* data() const { return data_; }
  constexpr uint64_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr DeviceSpan subspan(uint64_t first, uint64_t count) const { return {data_ + first, count}; }

 private:
  T* data_ = nullptr;
  uint64_t size_ = 0;
};

/// Every range cut from a workspace starts at a multiple of this many bytes.
inline constexpr size_t workspace_alignment = 256;

/// Device memory that a launcher cuts into named parts, front to back. A default-constructed workspace cuts
/// nothing and only counts, so that `x_workspace_bytes(n)` and `x(...)` share one layout function.
class Workspace {
 public:
  Workspace() = default;
  explicit Workspace(DeviceSpan<std::byte> memory) : base_(memory.data()), capacity_(memory.size()) {}

  template <class T>
  DeviceSpan<T> take(uint64_t count) {
    T* const at = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += round_up(count * sizeof(T), workspace_alignment);
    if (base_ != nullptr && used_ > capacity_) throw std::length_error("workspace too small");
    return {at, count};
  }

  /// What is taken next begins behind all that this workspace and its copy `other` have taken. Up to there,
  /// both share the memory.
  void share_with(const Workspace& other) { used_ = used_ < other.used_ ? other.used_ : used_; }

  /// Bytes taken so far.
  size_t used() const { return used_; }

 private:
  std::byte* base_ = nullptr;
  size_t capacity_ = 0;
  size_t used_ = 0;
};

}  // namespace sweepsort
