// chunk_reader.hpp - delivers the elements of a file or a pipe in chunks, to several threads at once.
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

  /// Call this before the first read, and before reading everything a second time (not possible for a
  /// stream). `chunk_bytes` is a multiple of the element size and of io_alignment.
  void start(size_t chunk_bytes);
  /// The number of chunks; for a stream, a number that is larger than possible.
  uint64_t chunks() const;

  /// Provides room for a chunk. `offset` is the wanted position of the address within a page.
  using PlaceFunction = std::function<std::span<std::byte>(size_t offset)>;
  /// Reads chunk number `index`; returns false after the end and after stop(). Each number may be read once,
  /// in rising order in each thread. A stream is read in the order of the numbers, and other threads wait. So
  /// a thread that cannot read its chunk, or never asks for it, must call cancel().
  bool read(uint64_t index, const PlaceFunction& place, ReadChunk& chunk);
  /// Ends reading from a stream, including reads that are waiting for it.
  void stop() {
    if (stop_) stop_->set();
  }
  void cancel() {
    turnstile_.cancel();
    stop();
  }

  /// Elements read so far, in total.
  uint64_t count() const { return is_stream() ? stream_count_ : layout_.count; }
  /// Bytes of the file, or what a window leaves of it; for a stream, the bytes taken so far.
  uint64_t input_bytes() const;
  /// Call this after the last chunk. Throws Error if the file changed, or if a stream does not have the
  /// expected length.
  void finish();

  /// Reads elements of a file at a position, in host byte order. Thread-safe.
  void read_at(uint64_t first_byte, std::span<std::byte> to) const;

 private:
  bool read_next(const PlaceFunction& place, ReadChunk& chunk);

  InputFile file_;
  std::optional<StopEvent> stop_;  // for a stream
  std::optional<KeyStream> stream_;
  Layout layout_;  // for a file
  bool has_window_;
  ChunkGrid grid_;
  Turnstile turnstile_;
  bool stream_ended_ = false;  // this and the next are used only by the thread whose turn it is
  uint64_t stream_count_ = 0;
};

}  // namespace sweepsort
