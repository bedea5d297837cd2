// key_stream.hpp - the keys of a pipe, front to back, in constant memory.
#pragma once

#include "io/input_file.hpp"
#include "io/layout.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace sweepsort {

class KeyStream {
 public:
  /// Reads the stream's beginning, of a window (FileOptions) no more than that, and finds its layout.
  KeyStream(InputFile& file, const FileOptions& options);

  const Layout& layout() const { return layout_; }
  /// Bytes taken from the stream so far, what stands before the keys included.
  uint64_t position() const { return position_; }

  /// The bytes of the next keys: fills `to` unless the keys end before, and returns how many it got. Only the
  /// last ones may be no whole keys.
  size_t read(std::span<std::byte> to);
  /// The same as far as they are there: waits for the first key alone, and for the end of one that has begun.
  size_t read_some(std::span<std::byte> to);
  /// Whether that needs no more of the stream.
  bool holds_keys() const { return has_all() || taken_ < prefix_.size(); }
  /// Whether all keys have come that its header or a window names. What stands behind them nobody has seen
  /// yet.
  bool has_all() const { return keys_left_ == 0; }

  /// Whether only another read can tell what stands behind the last key.
  bool may_have_more() const { return has_all() && !has_ended_ && !options_.read_bytes; }
  /// After the last key: reads on if there may be more, and throws Error if the stream's layout does not
  /// hold, as when a key is cut or something stands behind the keys of a format with a header.
  void check_length();

 private:
  void extend_prefix(size_t bytes);
  size_t take(std::span<std::byte> to);
  void skip_to_keys();

  InputFile& file_;
  const FileOptions& options_;
  std::vector<std::byte> prefix_;
  size_t taken_ = 0;  // of the prefix
  uint64_t position_ = 0;
  Layout layout_;
  uint64_t keys_left_ = 0;  // bytes; of a raw stream more than there can be
  bool at_keys_ = false;
  bool has_ended_ = false;  // seen: a pipe with a name may have another writer by now
};

}  // namespace sweepsort
