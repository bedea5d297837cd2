// sort_input.hpp - the inputs of a sort as one row of keys: opened, their layouts found, read by position or,
// where a stream is among them, front to back.
#pragma once

#include "core/bytes.hpp"
#include "core/growing_buffer.hpp"
#include "io/input_file.hpp"
#include "io/layout.hpp"
#include "io/stop_event.hpp"
#include "pipeline/key_source.hpp"
#include "pipeline/key_stream.hpp"
#include "pipeline/read_ahead.hpp"
#include "sweepsort.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sweepsort {

/// Streams are held in memory as far as they are collected; what does not fit is read by read_next().
class SortInput {
 public:
  /// Opens `paths` and finds their layouts. A stream's beginning is looked at as well, so that a missing type
  /// or a damaged header is an Error now; so are inputs of different types.
  SortInput(const std::vector<std::string>& paths, const FileOptions& options, InputUse use = InputUse::read);

  /// Whether keys cannot be read by their position.
  bool is_stream() const { return is_stream_; }
  /// Collects keys of streams until there are more than `max_bytes`, by 8 bytes at most. True: that was all
  /// of them.
  bool collect(uint64_t max_bytes, const std::function<void(uint64_t bytes)>& progress);
  /// Of streams: fills `to` with the next keys, the collected ones first, in host byte order; returns how
  /// many bytes it got, fewer only at the end. Memory of what was collected is given back.
  size_t read_next(std::span<std::byte> to);
  /// Whether the keys can still be read from the first one on: not of a stream that does not fit once some
  /// were given out.
  bool is_whole() const { return count_ || !has_given_; }
  /// Of the inputs given, those that can be read without waiting; with `waits` at least one.
  std::vector<size_t> readable(std::span<const size_t> inputs, bool waits) const;
  /// The next keys of one of those, as far as they are there; whole keys, none at the end.
  size_t read_some_of(size_t input, std::span<std::byte> to);

  KeyType type() const { return first_layout().type; }
  FileFormat format() const { return first_layout().format; }
  Endian endian() const { return first_layout().endian; }
  /// Keys; empty for a stream that has not been collected whole.
  std::optional<uint64_t> count() const { return count_; }
  /// What the headers of all streams and the sizes of all files say, before anything was read, which may turn
  /// out wrong; empty if one of them does not say it, or too much.
  std::optional<uint64_t> announced_count() const;
  uint64_t data_bytes() const { return count_.value_or(0) * key_bytes(type()); }
  /// Of all inputs, headers included; of streams: taken so far.
  uint64_t bytes() const;
  uint64_t data_offset() const { return is_stream_ ? 0 : first_layout().data_offset; }
  size_t swapped_bytes() const { return first_layout().is_swapped() ? key_bytes(type()) : 0; }
  std::vector<std::string> notes() const;
  const InputFile& file() const { return parts_.front()->file; }
  std::vector<const InputFile*> files() const;

  /// What stands before `count` keys in an output of the first input's format.
  std::vector<std::byte> header(uint64_t count) const;

  /// Of files, the first of which is not in the page cache at its beginning: begins to read keys, from the
  /// first one on, as many as `most` bytes hold. From the next call of keys() on no more are read so, and
  /// what is there need not be read again.
  void read_ahead(Bytes most, uint32_t threads);
  /// What is in memory of that goes.
  void forget_ahead() { ahead_.reset(); }

  /// Keys by their position: of files, or of streams that were collected whole.
  std::unique_ptr<KeySource> keys(Reads reads);
  /// Of each input by itself.
  std::unique_ptr<KeySource> keys_of(size_t input);
  uint64_t count_of(size_t input) const { return parts_[input]->layout().count; }
  size_t inputs() const { return parts_.size(); }

  /// From now on they will be read: standard input goes on behind them.
  void leave_standard_input_behind() const;
  /// When all keys were read: throws Error if a file changed since it was opened, or a stream has more than
  /// its header says.
  void check_ends();
  /// Reads of streams, those under way as well, throw Stopped.
  void stop() const;

 private:
  struct Part {
    Part(const std::string& path, InputUse use, Caching caching) : file(path, use, caching) {}
    /// Of a stream its beginning is read.
    void find_layout(const FileOptions& options);
    const Layout& layout() const { return stream ? stream->layout() : file_layout; }
    size_t read_next(std::span<std::byte> to);

    InputFile file;
    Layout file_layout;
    std::optional<KeyStream> stream;
    uint64_t taken = 0;  // of a file that is read front to back, bytes of keys
  };

  std::unique_ptr<KeySource> keys_of_files();
  const Layout& first_layout() const { return parts_.front()->layout(); }
  /// The bytes of the whole keys among those that were read of a part, which are turned to host byte order.
  size_t keys_of_read(Part& part, std::span<std::byte> bytes, bool is_end) const;
  /// The next keys of the inputs themselves.
  size_t read_parts(std::span<std::byte> to);

  FileOptions options_;
  std::optional<StopEvent> stop_;             // of streams
  std::vector<std::unique_ptr<Part>> parts_;  // whose streams refer to their files
  bool is_stream_ = false;
  size_t part_ = 0;  // that is being read front to back
  GrowingBuffer collected_;
  size_t given_ = 0;  // of what was collected
  bool has_given_ = false;
  std::optional<uint64_t> count_;
  std::unique_ptr<ReadAhead> ahead_;  // null: nothing is read ahead
};

}  // namespace sweepsort
