// stream_merge.hpp - sorted inputs that can only be read front to back, merged block by block in constant
// memory.
//
//     a window of each input          taken: all keys up to 6
//     input 0   | 1 4 4 9 | ...       1 4 4
//     input 1   | 2 3 5 6 | ...       2 3 5 6      the lowest last key of an input that goes on
//     input 2   | 6 8 8 8 | ...       6
//
// Whatever comes later is at least the last key of its window, so that all keys up to the lowest of those are
// complete: they are the next block, which somebody else sorts. The window with that key is used up, so each
// block has half a window of keys at least.
#pragma once

#include "core/key_type.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sweepsort {

class StreamMerge {
 public:
  /// Fills `to` with the next keys of an input, in host byte order; returns how many bytes it got, fewer only
  /// at the end. Called by several threads at once, for different inputs.
  using ReadFunction = std::function<size_t(size_t input, std::span<std::byte> to)>;

  struct Options {
    size_t inputs = 1;
    KeyType type = KeyType::u32;
    Order order = Order::ascending;
    uint64_t block = 1;    // most keys of a block: no fewer than there are inputs
    uint32_t workers = 1;  // that read
  };

  StreamMerge(const Options& options, ReadFunction read);

  /// Memory of the windows.
  static uint64_t bytes(const Options& options);

  /// Reads on and cuts the next block; returns how many keys it has, 0 at the end. An input out of order gives
  /// blocks that are out of order among each other, but no key is lost.
  uint64_t next();
  /// What input `input` gives to the block. Valid until next().
  std::span<const std::byte> part(size_t input) const;

 private:
  /// Positions of keys in the input's window.
  struct Window {
    uint64_t begin = 0;  // of what is not yet taken
    uint64_t taken = 0;  // end of its part of the block
    uint64_t end = 0;
    bool has_ended = false;  // the input
  };

  std::span<std::byte> keys(size_t input, uint64_t begin, uint64_t end);
  uint64_t key_at(size_t input, uint64_t position) const;
  void refill(size_t input);
  /// The position behind the last key of a window that is at most `last`.
  uint64_t end_of(size_t input, uint64_t last) const;

  Options options_;
  ReadFunction read_;
  uint64_t capacity_;  // keys of a window
  std::vector<std::byte> memory_;
  std::vector<Window> windows_;
};

}  // namespace sweepsort
