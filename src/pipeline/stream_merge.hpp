// stream_merge.hpp - merges sorted inputs that can only be read from front to back, block by block, in
// constant memory.
//
//     a window of each input          taken: all keys up to 6
//     input 0   | 1 4 4 9 | ...       1 4 4
//     input 1   | 2 3 5 6 | ...       2 3 5 6      the lowest last key of an input that goes on
//     input 2   | 6 8 8 8 | ...       6
//
// Later keys of an input are at least the last key in its window. So all keys up to the lowest of these last
// keys are complete. They are cut off and go into the next block, which is sorted elsewhere. More cuts are
// added until the block is half full, but only while that requires no waiting.
//
// One thread reads whatever can be read without waiting, as long as a window has room. It waits only if a
// window is empty, and then for all inputs that have room, so one program may write to several of the pipes.
// If that program fills a window and its pipe before it writes what this thread is waiting for, both wait
// forever; no amount of memory could prevent that in general.
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
  /// Returns those of the given inputs that can be read now; with `waits`, waits until there is at least one.
  using ReadyFunction = std::function<std::vector<size_t>(std::span<const size_t> inputs, bool waits)>;
  /// Fills `to` with the next keys of a readable input, in host byte order, as far as they are there. Returns
  /// the number of bytes: whole keys, none at the end.
  using ReadFunction = std::function<size_t(size_t input, std::span<std::byte> to)>;

  struct Options {
    size_t inputs = 1;
    KeyType type = KeyType::u32;
    Order order = Order::ascending;
    uint64_t block = 2;  // most keys in a block; at least twice the number of inputs
  };

  StreamMerge(const Options& options, ReadyFunction ready, ReadFunction read);

  /// Memory needed: windows of half a block in total, plus a block.
  static uint64_t bytes(const Options& options);

  /// Reads on and returns the keys of the next block, unordered; none at the end. Valid until next(). If
  /// inputs are not sorted, neither are the blocks relative to each other, but no key is lost.
  std::span<const std::byte> next();

 private:
  /// Positions of keys in the input's window.
  struct Window {
    uint64_t begin = 0;  // of the keys not yet taken
    uint64_t end = 0;
    bool has_ended = false;  // whether the input has ended
    bool is_empty() const { return begin == end; }
  };

  std::span<std::byte> keys(size_t input, uint64_t begin, uint64_t end);
  uint64_t key_at(size_t input, uint64_t position) const;
  void fill_windows(bool waits);
  void make_room(size_t input);
  bool lacks_keys() const;
  void cut();
  /// The position after the last key in a window that is at most `last`.
  uint64_t end_of(size_t input, uint64_t last) const;

  Options options_;
  ReadyFunction ready_;
  ReadFunction read_;
  uint64_t capacity_;  // keys per window
  std::vector<std::byte> memory_;
  std::vector<Window> windows_;
  std::vector<std::byte> block_;
};

}  // namespace sweepsort
