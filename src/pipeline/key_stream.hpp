// key_stream.hpp - the keys of a pipe, from front to back, in constant memory.
#pragma once

#include "io/input_file.hpp"
#include "io/layout.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace sweepsort {

class KeyStream {
 public:
  /// Reads the beginning of the stream (at most the window in FileOptions) and finds its layout.
  KeyStream(InputFile& file, const FileOptions& options);

  /// Its count is that of the header; unknown_count for a raw stream.
  const Layout& layout() const { return layout_; }
  /// Bytes taken from the stream so far, including a header; with a window, those of the keys.
  uint64_t input_bytes() const {
    return position_ - (options_.has_window() ? std::min(position_, options_.skip_bytes) : 0);
  }

  /// Fills `to` with the bytes of the next keys, unless the keys end first. Returns the number of bytes. Only
  /// at the end may these be incomplete keys.
  size_t read(std::span<std::byte> to);
  /// Like read(), but waits only for the first key, or for the rest of a key that has begun, and returns what
  /// is there.
  size_t read_some(std::span<std::byte> to);
  /// Whether read_some() can return without reading from the stream.
  bool holds_keys() const { return has_all() || taken_ < prefix_.size(); }
  /// Whether all keys have arrived that the header or the window announces. What follows them has not been
  /// read yet.
  bool has_all() const { return keys_left_ == 0; }

  /// Whether only another read can show what follows the last key.
  bool may_have_more() const { return has_all() && !has_ended_ && !options_.read_bytes; }
  /// Call this after the last key. Reads on if there may be more. Throws Error if the stream does not match
  /// its layout: for example, a key is incomplete, or something follows the keys of a format with a header.
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
  uint64_t keys_left_ = 0;  // in bytes; for a raw stream, more than possible
  bool at_keys_ = false;
  bool has_ended_ = false;  // the end was seen; by now a named pipe may have another writer
};

}  // namespace sweepsort
