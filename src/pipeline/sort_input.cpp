// sort_input.cpp - files and streams as one thing to the sort.
#include "pipeline/sort_input.hpp"

#include "core/bytes.hpp"
#include "core/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace sweepsort {

SortInput::SortInput(const std::string& path, const FileOptions& options) : file_(path), options_(options) {
  if (!file_.is_stream()) {
    layout_ = find_layout(file_.read_prefix(), file_.size(), file_.name(), options_);
    return;
  }
  const std::span<std::byte> room = stream_.room(layout_prefix_bytes).first(layout_prefix_bytes);
  stream_.commit(file_.read_stream(room));
  const bool is_whole = stream_.size() < layout_prefix_bytes;
  layout_ = find_layout(stream_.bytes(), is_whole ? std::optional<uint64_t>(stream_.size()) : std::nullopt,
                        file_.name(), options_);
}

void SortInput::load_stream(uint64_t memory, const std::function<void(uint64_t bytes)>& progress) {
  if (!file_.is_stream()) return;
  // With a window nothing behind it is taken: the stream may have no end.
  constexpr uint64_t no_end = std::numeric_limits<uint64_t>::max();
  uint64_t end = no_end;
  if (options_.read_bytes && __builtin_add_overflow(options_.skip_bytes, *options_.read_bytes, &end))
    end = no_end;
  constexpr size_t block = 1u << 20;
  while (stream_.size() < end) {
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(block, end - stream_.size()));
    const size_t got = file_.read_stream(stream_.room(wanted).first(wanted));
    stream_.commit(got);
    if (progress) progress(stream_.size());
    if (got < wanted) break;
    if (stream_.size() > memory)
      throw Error(fmt::format("{}: more input than the {} of memory that are left; larger than memory is not "
                              "supported yet",
                              file_.name(), format_bytes({memory})),
                  "sort it on a machine with more memory, or in parts");
  }
  const size_t prefix = std::min(stream_.size(), layout_prefix_bytes);
  layout_ = find_layout(stream_.bytes().first(prefix), stream_.size(), file_.name(), options_);
}

std::unique_ptr<KeySource> SortInput::keys(bool read_once) {
  if (file_.is_stream()) return std::make_unique<MemorySource>(stream_, layout_.data_offset, read_once);
  return std::make_unique<FileSource>(file_, layout_.data_offset);
}

}  // namespace sweepsort
