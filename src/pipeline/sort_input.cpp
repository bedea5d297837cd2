// sort_input.cpp - presents files and streams to the sort as one input.
#include "pipeline/sort_input.hpp"

#include "core/error.hpp"
#include "io/byte_swap.hpp"
#include "io/file_descriptor.hpp"
#include "io/pipes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace sweepsort {
namespace {

[[noreturn]] void refuse_twice(std::string_view name) {
  throw UsageError(fmt::format("{} is named twice", name), "leave one out: it can be read only once");
}

}  // namespace

void SortInput::Part::find_layout(const FileOptions& options) {
  if (file.is_stream())
    stream.emplace(file, options);
  else
    file_layout = sweepsort::find_layout(file.read_prefix(), file.size(), file.name(), options);
}

size_t SortInput::Part::read_next(std::span<std::byte> to) {
  size_t got = 0;
  if (stream) {
    got = stream->read(to);
  } else {
    got = static_cast<size_t>(std::min<uint64_t>(to.size(), file_layout.data_bytes() - taken));
    file.read_at(file_layout.data_offset + taken, to.first(got));
  }
  taken += got;
  return got;
}

template <class Look>
void SortInput::with_hints_for_all(const Look& look) const {
  try {
    look();
  } catch (const Error& error) {
    const auto names = [&](const char* option) { return error.hint().find(option) != std::string::npos; };
    if (parts_.size() == 1 || !(names("--skip-bytes") || names("--read-bytes") || names("--format"))) throw;
    throw Error(error.what(), "sort this one by itself first: options apply to all inputs");
  }
}

SortInput::SortInput(const std::vector<std::string>& paths, const FileOptions& options, InputUse use)
    : options_(options) {
  uint64_t count = 0;
  // Open a second descriptor per file if enough descriptors are left for everything else.
  constexpr uint64_t others = 32;
  const Caching caching = 2 * paths.size() + others <= max_open_files() ? Caching::ask : Caching::use;
  // Open all inputs first: a program that writes to several of them opens them one after another, and then
  // writes.
  for (const std::string& path : paths) {
    if (is_standard_input(path) && std::ranges::count_if(paths, is_standard_input) > 1)
      refuse_twice(standard_input_name);
    parts_.push_back(std::make_unique<Part>(path, use, caching));
    const InputFile& file = parts_.back()->file;
    for (const auto& other : std::span(parts_).first(file.is_pipe() ? parts_.size() - 1 : 0))
      if (other->file.is_pipe() && other->file.identity() == file.identity()) refuse_twice(file.name());
  }
  for (const auto& of_path : parts_) {
    Part& part = *of_path;
    with_hints_for_all([&] { part.find_layout(options_); });
    if (part.layout().type != type())
      throw Error(fmt::format("{}: holds {} keys, but {} holds {}", part.file.name(),
                              sweepsort::name(part.layout().type), file().name(), sweepsort::name(type())),
                  "sort files of different types separately");
    is_stream_ |= part.stream.has_value();
    uint64_t bytes = 0;
    if (!part.stream && (__builtin_add_overflow(count, part.layout().count, &count) ||
                         __builtin_mul_overflow(count, key_bytes(type()), &bytes)))
      throw Error(fmt::format("{}: too many keys, together with those before it", part.file.name()),
                  "sort it into another file: no file can hold them all");
  }
  if (!is_stream_) {
    count_ = count;
    return;
  }
  stop_.emplace();
  for (const auto& part : parts_)
    if (part->stream) part->file.stop_by(*stop_);
}

std::optional<uint64_t> SortInput::announced_count() const {
  uint64_t sum = 0;
  for (const auto& part : parts_) {
    const Layout& layout = part->layout();
    if (layout.count == unknown_count) return {};
    if (__builtin_add_overflow(sum, layout.count, &sum)) return {};
  }
  return sum;
}

std::optional<uint64_t> SortInput::count_of(size_t input) const {
  const Part& part = *parts_[input];
  if (part.layout().count != unknown_count) return part.layout().count;
  if (part_ <= input) return {};
  return part.taken / key_bytes(type());
}

std::vector<size_t> SortInput::readable(std::span<const size_t> inputs, bool waits) const {
  std::vector<size_t> ready;
  std::vector<size_t> asked;
  std::vector<int> files;
  for (const size_t input : inputs) {
    const Part& part = *parts_[input];
    if (!part.stream || part.stream->holds_keys()) {
      ready.push_back(input);
    } else {
      asked.push_back(input);
      files.push_back(part.file.fd());
    }
  }
  if (asked.empty()) return ready;
  const std::vector<bool> found = can_be_read(files, waits && ready.empty(), &*stop_);
  for (size_t i = 0; i < asked.size(); ++i)
    if (found[i]) ready.push_back(asked[i]);
  return ready;
}

size_t SortInput::keys_of_read(Part& part, std::span<std::byte> bytes, bool is_end) const {
  const size_t width = key_bytes(type());
  const std::span<std::byte> keys = bytes.first(bytes.size() / width * width);
  if (part.layout().is_swapped()) swap_key_bytes(keys, width);
  // An incomplete key at the end, or too few keys, is an error here; so is data that is already there after
  // the last key. If nothing is there yet, waiting for it is left to the end, because a program that writes
  // to several pipes may keep this one open.
  if (!is_end || !part.stream) return keys.size();
  const int fd = part.file.fd();
  if (!part.stream->may_have_more() || can_be_read(std::span(&fd, 1), false, &*stop_)[0])
    with_hints_for_all([&] { part.stream->check_length(); });
  return keys.size();
}

size_t SortInput::read_some_of(size_t input, std::span<std::byte> to) {
  has_given_ = true;
  Part& part = *parts_[input];
  const size_t got = part.stream ? part.stream->read_some(to) : part.read_next(to);
  return keys_of_read(part, to.first(got), got < key_bytes(type()));
}

size_t SortInput::read_parts(std::span<std::byte> to) {
  size_t done = 0;
  for (; part_ < parts_.size(); ++part_) {
    Part& part = *parts_[part_];
    const std::span<std::byte> rest = to.subspan(done);
    const size_t got = part.read_next(rest);
    done += keys_of_read(part, rest.first(got), got < rest.size());
    if (got == rest.size()) break;
  }
  return done;
}

bool SortInput::collect(uint64_t max_bytes, const std::function<void(uint64_t bytes)>& progress) {
  if (count_) return true;
  constexpr size_t block = 1u << 20;
  while (true) {
    const size_t wanted =
        static_cast<size_t>(std::min<uint64_t>(block, max_bytes + 8 - collected_.size())) / 8 * 8;
    if (wanted == 0) return false;
    const size_t got = read_parts(collected_.room(wanted).first(wanted));
    collected_.commit(got);
    if (progress) progress(collected_.size());
    if (got < wanted) break;
  }
  count_ = collected_.size() / key_bytes(type());
  return true;
}

size_t SortInput::read_next(std::span<std::byte> to) {
  has_given_ = true;
  const size_t held = std::min(to.size(), collected_.size() - given_);
  if (held != 0) std::memcpy(to.data(), collected_.bytes().data() + given_, held);
  collected_.discard(given_, held);
  given_ += held;
  return held + (held < to.size() ? read_parts(to.subspan(held)) : 0);
}

uint64_t SortInput::bytes() const {
  uint64_t sum = 0;
  for (const auto& part : parts_) {
    if (part->stream)
      sum += part->stream->input_bytes();
    else
      sum += options_.has_window() ? part->file_layout.data_bytes() : part->file.size();
  }
  return sum;
}

std::vector<std::string> SortInput::notes() const {
  std::vector<std::string> all;
  for (const auto& part : parts_) {
    const auto& notes = part->layout().notes;
    all.insert(all.end(), notes.begin(), notes.end());
  }
  return all;
}

std::vector<const InputFile*> SortInput::files() const {
  std::vector<const InputFile*> all;
  for (const auto& part : parts_) all.push_back(&part->file);
  return all;
}

std::vector<std::byte> SortInput::header(uint64_t count) const {
  if (parts_.size() == 1) return output_header(first_layout(), count);
  return new_header(first_layout().format, type(), first_layout().endian, count);
}

std::unique_ptr<KeySource> SortInput::keys_of(size_t input) {
  const Part& part = *parts_[input];
  return std::make_unique<FileSource>(part.file, part.layout().data_offset,
                                      part.layout().is_swapped() ? key_bytes(type()) : 0);
}

void SortInput::read_ahead(Bytes most, uint32_t threads) {
  // From the page cache, 4 GiB take 0.15 s with 16 threads, and these delay the context by 0.3 s (H200).
  if (!file().reads_past_cache(data_offset(), std::min<uint64_t>(data_bytes(), chunk_ahead))) return;
  ahead_ = std::make_unique<ReadAhead>(keys_of_files(),
                                       make_grid(data_offset(), data_bytes(), key_bytes(type()), chunk_ahead),
                                       most.value, threads);
}

std::unique_ptr<KeySource> SortInput::keys(Reads reads) {
  if (is_stream_) return std::make_unique<MemorySource>(collected_, reads);
  if (!ahead_) return keys_of_files();
  ahead_->stop();
  return ahead_->keys();
}

std::unique_ptr<KeySource> SortInput::keys_of_files() {
  if (parts_.size() == 1) return keys_of(0);
  auto all = std::make_unique<ConcatenatedSource>();
  for (size_t i = 0; i < parts_.size(); ++i) all->add(keys_of(i), parts_[i]->layout().data_bytes());
  return all;
}

void SortInput::leave_standard_input_behind() const {
  for (const auto& part : parts_)
    if (!part->stream) part->file.leave_at(part->file_layout.data_end());
}

void SortInput::check_ends() {
  std::vector<Part*> open;
  for (const auto& part : parts_) {
    part->file.check_unchanged();
    if (part->stream && part->stream->may_have_more()) open.push_back(part.get());
  }
  // In the order in which the streams end, so that an error in one need not wait for another.
  while (!open.empty()) {
    std::vector<int> files;
    for (const Part* part : open) files.push_back(part->file.fd());
    const std::vector<bool> ready = can_be_read(files, true, &*stop_);
    for (size_t i = 0; i < open.size(); ++i)
      if (ready[i]) with_hints_for_all([&] { open[i]->stream->check_length(); });
    std::erase_if(open, [](const Part* part) { return !part->stream->may_have_more(); });
  }
}

void SortInput::stop() const {
  if (stop_) stop_->set();
}

}  // namespace sweepsort
