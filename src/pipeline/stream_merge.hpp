// stream_merge.hpp - sorted inputs that can only be read front to back, merged block by block in constant
// memory.
//
//     a window of each input          taken: all keys up to 6
//     input 0   | 1 4 4 9 | ...       1 4 4
//     input 1   | 2 3 5 6 | ...       2 3 5 6      the lowest last key of an input that goes on
//     input 2   | 6 8 8 8 | ...       6
//
// Whatever comes later is at least the last key of its window, so that all keys up to the lowest of those are
// complete: they are cut off and belong to the next block, which somebody else sorts. More cuts are added to
// it until it is half full, but only as long as nothing has to be waited for.
//
// One thread reads whatever can be read without waiting, as long as a window has room. It waits if a window
// is empty, and then for all inputs that have room, so that one program may write into several of the pipes.
// If that program fills a window and its pipe before it writes what is waited for, both wait for ever: no
// memory is large enough for that.
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
  /// The inputs, of those given, that can be read now; with `waits` at least one.
  using ReadyFunction = std::function<std::vector<size_t>(std::span<const size_t> inputs, bool waits)>;
  /// Fills `to` with the next keys of an input that can be read, in host byte order, as far as they are
  /// there; returns how many bytes it got: whole keys, none at the end.
  using ReadFunction = std::function<size_t(size_t input, std::span<std::byte> to)>;

  struct Options {
    size_t inputs = 1;
    KeyType type = KeyType::u32;
    Order order = Order::ascending;
    uint64_t block = 2;  // most keys of a block: twice as many as there are inputs, or more
  };

  StreamMerge(const Options& options, ReadyFunction ready, ReadFunction read);

  /// Memory that it takes: windows of half a block in all, and a block.
  static uint64_t bytes(const Options& options);

  /// Reads on and returns the keys of the next block, in no order; none at the end. Valid until next().
  /// Inputs out of order give blocks that are out of order among each other, but no key is lost.
  std::span<const std::byte> next();

 private:
  /// Positions of keys in the input's window.
  struct Window {
    uint64_t begin = 0;  // of what is not yet taken
    uint64_t end = 0;
    bool has_ended = false;  // the input
    bool is_empty() const { return begin == end; }
  };

  std::span<std::byte> keys(size_t input, uint64_t begin, uint64_t end);
  uint64_t key_at(size_t input, uint64_t position) const;
  void fill_windows(bool waits);
  void make_room(size_t input);
  bool lacks_keys() const;
  void cut();
  /// The position behind the last key of a window that is at most `last`.
  uint64_t end_of(size_t input, uint64_t last) const;

  Options options_;
  ReadyFunction ready_;
  ReadFunction read_;
  uint64_t capacity_;  // keys of a window
  std::vector<std::byte> memory_;
  std::vector<Window> windows_;
  std::vector<std::byte> block_;
};

}  // namespace sweepsort
