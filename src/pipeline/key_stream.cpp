// key_stream.cpp - first the prefix in which the layout was found, then the rest of the stream.
#include "pipeline/key_stream.hpp"

#include "core/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace sweepsort {

KeyStream::KeyStream(InputFile& file, const FileOptions& options) : file_(file), options_(options) {
  // What follows a window is neither read nor waited for, except to find out that a .npy file has no window.
  constexpr uint64_t most = layout_prefix_bytes;
  const uint64_t skipped = std::min(options_.skip_bytes, most);
  extend_prefix(skipped + std::min(options_.read_bytes.value_or(most), most - skipped));
  const bool may_be_npy = options_.format == FileFormat::npy ||
                          (options_.format == FileFormat::automatic && begins_npy_magic(prefix_));
  if (may_be_npy && !has_ended_) extend_prefix(most);
  layout_ = find_layout(prefix_, has_ended_ ? std::optional<uint64_t>(position_) : std::nullopt, file_.name(),
                        options_);
  keys_left_ = layout_.count == unknown_count
                   ? options_.read_bytes.value_or(std::numeric_limits<uint64_t>::max())
                   : layout_.data_bytes();
  // The same options are right or wrong for a short stream, whose end was seen, as for a long one.
  if (layout_.format == FileFormat::raw) layout_.count = unknown_count;
}

void KeyStream::extend_prefix(size_t bytes) {
  const size_t before = prefix_.size();
  prefix_.resize(bytes);
  prefix_.resize(before + file_.read_stream(std::span(prefix_).subspan(before)));
  position_ = prefix_.size();
  has_ended_ = prefix_.size() < bytes;
}

size_t KeyStream::read(std::span<std::byte> to) {
  if (!at_keys_) skip_to_keys();
  const size_t got = take(to.first(static_cast<size_t>(std::min<uint64_t>(to.size(), keys_left_))));
  keys_left_ -= got;
  return got;
}

size_t KeyStream::read_some(std::span<std::byte> to) {
  if (!at_keys_) skip_to_keys();
  const std::span<std::byte> wanted =
      to.first(static_cast<size_t>(std::min<uint64_t>(to.size(), keys_left_)));
  size_t got = 0;
  if (taken_ < prefix_.size()) {
    got = take(wanted.first(std::min(wanted.size(), prefix_.size() - taken_)));
  } else if (!wanted.empty()) {
    got = file_.read_some(wanted);
    has_ended_ |= got == 0;
    position_ += got;
  }
  const size_t width = key_bytes(layout_.type);
  const size_t missing = (width - got % width) % width;
  got += take(wanted.subspan(got, std::min(missing, wanted.size() - got)));
  keys_left_ -= got;
  return got;
}

size_t KeyStream::take(std::span<std::byte> to) {
  const size_t from_prefix = std::min(to.size(), prefix_.size() - taken_);
  std::copy_n(prefix_.begin() + static_cast<ptrdiff_t>(taken_), from_prefix, to.begin());
  taken_ += from_prefix;
  const size_t read = file_.read_stream(to.subspan(from_prefix));
  has_ended_ |= read < to.size() - from_prefix;
  position_ += read;
  return from_prefix + read;
}

void KeyStream::skip_to_keys() {
  at_keys_ = true;
  std::vector<std::byte> skipped(64u << 10);
  for (uint64_t left = layout_.data_offset; left != 0;) {
    const size_t got =
        take(std::span(skipped).first(static_cast<size_t>(std::min<uint64_t>(left, skipped.size()))));
    if (got == 0) return;
    left -= got;
  }
}

void KeyStream::check_length() {
  // With a window, nothing after it is read: the stream may have no end.
  std::byte behind;
  const bool has_more = may_have_more() && file_.read_stream({&behind, 1}) != 0;
  has_ended_ = true;
  if (has_more)
    throw Error(fmt::format("{}: its header says {} keys, but more data follow", file_.name(), layout_.count),
                fmt::format("{} --read-bytes {} reads only those keys", as_raw_options(layout_),
                            layout_.data_bytes()));
  find_layout(prefix_, position_, file_.name(), options_);
}

}  // namespace sweepsort
