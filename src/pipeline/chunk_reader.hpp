// chunk_reader.hpp - the elements of a file or a pipe, a chunk at a time, to several threads at once.
#pragma once

#include "core/turnstile.hpp"
#include "io/input_file.hpp"
#include "io/layout.hpp"
#include "io/parallel_chunks.hpp"
#include "io/stop_event.hpp"
#include "pipeline/key_stream.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace sweepsort {

/// One chunk that was read.
struct ReadChunk {
  uint64_t first_element = 0;
  uint64_t count = 0;
  std::span<std::byte> bytes;  // in host byte order
};

class ChunkReader {
 public:
  /// Opens `path` and finds its layout.
  ChunkReader(const std::string& path, const FileOptions& options, InputUse use = InputUse::read);

  const InputFile& file() const { return file_; }
  bool is_stream() const { return stream_.has_value(); }
  const Layout& layout() const { return stream_ ? stream_->layout() : layout_; }

  /// Before the first read, and again before all is read a second time (not from a stream). `chunk_bytes` is
  /// a multiple of the element's size and of io_alignment.
  void start(size_t chunk_bytes);
  /// Chunks that there are; of a stream more than there can be.
  uint64_t chunks() const;

  /// Room for a chunk; `offset` is where in a page the address should be.
  using PlaceFunction = std::function<std::span<std::byte>(size_t offset)>;
  /// Reads chunk number `index`; false behind the end and after stop(). Each number comes once, and each
  /// thread's rise. A stream is read in their order: the others wait, so a thread that cannot read its chunk,
  /// or never asks for it, must cancel().
  bool read(uint64_t index, const PlaceFunction& place, ReadChunk& chunk);
  /// No more is read of a stream, not even by whoever waits for it.
  void stop() {
    if (stop_) stop_->set();
  }
  void cancel() {
    turnstile_.cancel();
    stop();
  }

  /// Elements read so far in all.
  uint64_t count() const { return is_stream() ? stream_count_ : layout_.count; }
  uint64_t input_bytes() const { return stream_ ? stream_->position() : file_.size(); }
  /// After the last chunk. Throws Error if the file changed, or a stream is not as long as it should be.
  void finish();

  /// Elements of a file by their position, in host byte order. Thread-safe.
  void read_at(uint64_t first_byte, std::span<std::byte> to) const;

 private:
  bool read_next(const PlaceFunction& place, ReadChunk& chunk);

  InputFile file_;
  std::optional<StopEvent> stop_;  // of a stream
  std::optional<KeyStream> stream_;
  Layout layout_;  // of a file
  ChunkGrid grid_;
  Turnstile turnstile_;
  bool stream_ended_ = false;  // these two: by whose turn it is
  uint64_t stream_count_ = 0;
};

}  // namespace sweepsort
