// chunk_reader.cpp - positioned reads of a file, reads of a pipe in turn.
#include "pipeline/chunk_reader.hpp"

#include "core/pages.hpp"
#include "io/byte_swap.hpp"

#include <limits>

namespace sweepsort {

ChunkReader::ChunkReader(const std::string& path, const FileOptions& options, InputUse use)
    : file_(path, use), has_window_(options.has_window()) {
  if (file_.is_stream()) {
    stream_.emplace(file_, options);
    file_.stop_by(stop_.emplace());
    return;
  }
  layout_ = find_layout(file_.read_prefix(), file_.size(), file_.name(), options);
}

void ChunkReader::start(size_t chunk_bytes) {
  if (!is_stream()) file_.leave_at(layout_.data_end());
  const uint64_t bytes = is_stream() ? 0 : layout().data_bytes();
  grid_ = make_grid(layout().data_offset, bytes, key_bytes(layout().type), chunk_bytes);
}

uint64_t ChunkReader::input_bytes() const {
  if (stream_) return stream_->input_bytes();
  return has_window_ ? layout_.data_bytes() : file_.size();
}

uint64_t ChunkReader::chunks() const {
  return is_stream() ? std::numeric_limits<uint64_t>::max() : grid_.count();
}

bool ChunkReader::read(uint64_t index, const PlaceFunction& place, ReadChunk& chunk) {
  if (is_stream()) {
    turnstile_.wait(index);
    const bool got = read_next(place, chunk);
    turnstile_.pass(index);
    if (!got) return false;
  } else {
    if (index >= grid_.count()) return false;
    const Chunk piece = grid_.chunk(index);
    const size_t width = key_bytes(layout_.type);
    const uint64_t at = layout_.data_offset + piece.first_byte;
    // The same offset in a page as in the file allows a direct read with O_DIRECT; but elements must be
    // aligned.
    const size_t into_page = at % io_alignment;
    chunk = {.first_element = piece.first_byte / width,
             .count = piece.bytes / width,
             .bytes = place(into_page % width == 0 ? into_page : 0).first(piece.bytes)};
    file_.read_at(at, chunk.bytes);
  }
  if (layout().is_swapped()) swap_key_bytes(chunk.bytes, key_bytes(layout().type));
  return true;
}

bool ChunkReader::read_next(const PlaceFunction& place, ReadChunk& chunk) {
  if (stream_ended_) return false;
  const std::span<std::byte> room = place(0).first(grid_.chunk_bytes);
  size_t got = 0;
  try {
    got = stream_->read(room);
  } catch (const Stopped&) {
    stream_ended_ = true;
    return false;
  }
  const size_t width = key_bytes(layout().type);
  stream_ended_ = got < room.size();
  chunk = {.first_element = stream_count_,
           .count = got / width,
           .bytes = room.first(got / width * width)};  // finish() rejects an incomplete element
  stream_count_ += chunk.count;
  return chunk.count != 0;
}

void ChunkReader::finish() {
  if (stream_) stream_->check_length();
  file_.check_unchanged();  // also of a file that was redirected and is read from its middle
}

void ChunkReader::read_at(uint64_t first_byte, std::span<std::byte> to) const {
  file_.read_at(layout().data_offset + first_byte, to);
  if (layout().is_swapped()) swap_key_bytes(to, key_bytes(layout().type));
}

}  // namespace sweepsort
