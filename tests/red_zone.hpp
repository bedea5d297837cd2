// red_zone.hpp - memory for a test's output: poisoned, misaligned on request, with guard zones on both sides.
#pragma once

#include "catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sweepsort {

/// `count` elements of T, `misalignment` bytes off a 64-byte boundary. check() fails the test if a byte
/// before or behind them was written. The zones are ordinary memory, so they also notice a kernel in an
/// emulator or a copy from a device, where AddressSanitizer would not look.
template <class T>
class RedZoneBuffer {
 public:
  explicit RedZoneBuffer(uint64_t count, size_t misalignment = 0)
      : count_(count), memory_(2 * zone_bytes + alignment + misalignment + count * sizeof(T), poison) {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data()) + zone_bytes;
    const uintptr_t aligned = (address + alignment - 1) / alignment * alignment;
    offset_ = aligned - reinterpret_cast<uintptr_t>(memory_.data()) + misalignment;
  }

  /// Only for a misalignment that is a multiple of alignof(T). bytes() works for any.
  T* data() { return reinterpret_cast<T*>(memory_.data() + offset_); }
  std::span<T> span() { return {data(), count_}; }
  std::span<std::byte> bytes() { return std::span(memory_).subspan(offset_, count_ * sizeof(T)); }

  /// Writes the poison again, for a second run into the same buffer.
  void poison_again() { std::ranges::fill(memory_, poison); }

  /// True while both zones are unchanged.
  bool intact() const {
    const auto is_poison = [](std::byte byte) { return byte == poison; };
    const size_t end = offset_ + count_ * sizeof(T);
    return std::all_of(memory_.begin(), memory_.begin() + static_cast<ptrdiff_t>(offset_), is_poison) &&
           std::all_of(memory_.begin() + static_cast<ptrdiff_t>(end), memory_.end(), is_poison);
  }

  void check() const {
    INFO("a byte outside of the " << count_ << " elements was written");
    REQUIRE(intact());
  }

 private:
  static constexpr size_t zone_bytes = 256;
  static constexpr size_t alignment = 64;
  static constexpr std::byte poison{0xcd};

  uint64_t count_;
  std::vector<std::byte> memory_;
  size_t offset_ = 0;
};

}  // namespace sweepsort
