// sort_input.hpp - the inputs of a sort as one sequence of keys: opens them, finds their layouts, and reads
// at any position or, if there is a stream among them, from front to back.
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

/// Streams are held in memory as far as they are collected. The rest is read with read_next().
class SortInput {
 public:
  /// Opens `paths` and finds their layouts. The beginning of a stream is examined, too, so that a missing
  /// type or a damaged header is an Error now; so are inputs of different types.
  SortInput(const std::vector<std::string>& paths, const FileOptions& options, InputUse use = InputUse::read);

  /// Whether keys cannot be read by position.
  bool is_stream() const { return is_stream_; }
  /// Collects keys of streams until there are more than `max_bytes` (by at most 8 bytes). Returns true if all
  /// keys were collected.
  bool collect(uint64_t max_bytes, const std::function<void(uint64_t bytes)>& progress);
  /// For streams: fills `to` with the next keys in host byte order, the collected ones first. Returns the
  /// number of bytes, which is smaller than `to` only at the end. Frees the memory of collected keys as they
  /// are read.
  size_t read_next(std::span<std::byte> to);
  /// Whether the keys can still be read from the first one on. False for a stream that does not fit in
  /// memory, once some of its keys were read.
  bool is_whole() const { return count_ || !has_given_; }
  /// Those of the given inputs that can be read without waiting. With `waits`, waits until there is at least
  /// one.
  std::vector<size_t> readable(std::span<const size_t> inputs, bool waits) const;
  /// Reads the next keys of one of these inputs, as far as they are there: whole keys, none at the end.
  size_t read_some_of(size_t input, std::span<std::byte> to);

  KeyType type() const { return first_layout().type; }
  FileFormat format() const { return first_layout().format; }
  Endian endian() const { return first_layout().endian; }
  /// Number of keys; empty for a stream that was not collected completely.
  std::optional<uint64_t> count() const { return count_; }
  /// The number of keys according to the headers of all streams and the sizes of all files, before reading;
  /// it may turn out to be wrong. Empty if one of them does not say it, or if the sum is too large.
  std::optional<uint64_t> announced_count() const;
  uint64_t data_bytes() const { return count_.value_or(0) * key_bytes(type()); }
  /// Bytes of all inputs, including headers, or what windows leave of them; for streams, the bytes taken so
  /// far.
  uint64_t bytes() const;
  uint64_t data_offset() const { return is_stream_ ? 0 : first_layout().data_offset; }
  size_t swapped_bytes() const { return first_layout().is_swapped() ? key_bytes(type()) : 0; }
  std::vector<std::string> notes() const;
  const InputFile& file() const { return parts_.front()->file; }
  std::vector<const InputFile*> files() const;

  /// What precedes `count` keys in an output of the first input's format.
  std::vector<std::byte> header(uint64_t count) const;

  /// For files, if the beginning of the first one is not in the page cache: begins to read keys, from the
  /// first one on, as many as fit in `most` bytes. The next call of keys() ends this; what was read by then
  /// need not be read again.
  void read_ahead(Bytes most, uint32_t threads);
  /// Frees what read_ahead() has in memory.
  void forget_ahead() { ahead_.reset(); }

  /// The keys by position, for files and for streams that were collected completely.
  std::unique_ptr<KeySource> keys(Reads reads);
  /// The keys of one input.
  std::unique_ptr<KeySource> keys_of(size_t input);
  /// Keys of one input; empty for a stream that does not say it and was not read to its end.
  std::optional<uint64_t> count_of(size_t input) const;
  size_t inputs() const { return parts_.size(); }

  /// Call this before the keys are read: standard input then continues after them.
  void leave_standard_input_behind() const;
  /// Call this when all keys were read: throws Error if a file changed since it was opened, or if a stream
  /// has more than its header says.
  void check_ends();
  /// Makes reads of streams, including those in progress, throw Stopped.
  void stop() const;

 private:
  struct Part {
    Part(const std::string& path, InputUse use, Caching caching) : file(path, use, caching) {}
    /// For a stream, reads its beginning.
    void find_layout(const FileOptions& options);
    const Layout& layout() const { return stream ? stream->layout() : file_layout; }
    size_t read_next(std::span<std::byte> to);

    InputFile file;
    Layout file_layout;
    std::optional<KeyStream> stream;
    uint64_t taken = 0;  // bytes of keys that read_next() has read
  };

  /// Calls look(). If the hint of an error names options that would change what is read of the other inputs,
  /// too, replaces it.
  template <class Look>
  void with_hints_for_all(const Look& look) const;
  std::unique_ptr<KeySource> keys_of_files();
  const Layout& first_layout() const { return parts_.front()->layout(); }
  /// Converts the whole keys among `bytes`, which were read from a part, to host byte order. Returns their
  /// size in bytes.
  size_t keys_of_read(Part& part, std::span<std::byte> bytes, bool is_end) const;
  /// Reads the next keys from the inputs themselves.
  size_t read_parts(std::span<std::byte> to);

  FileOptions options_;
  std::optional<StopEvent> stop_;             // for streams
  std::vector<std::unique_ptr<Part>> parts_;  // their streams refer to their files
  bool is_stream_ = false;
  size_t part_ = 0;  // the part being read from front to back
  GrowingBuffer collected_;
  size_t given_ = 0;  // bytes of collected_ that were read
  bool has_given_ = false;
  std::optional<uint64_t> count_;
  std::unique_ptr<ReadAhead> ahead_;  // null: nothing is read ahead
};

}  // namespace sweepsort
