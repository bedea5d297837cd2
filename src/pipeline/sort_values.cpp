// sort_values.cpp - the layouts of files with values, and positions.
#include "pipeline/sort_values.hpp"

#include <fmt/format.h>

namespace sweepsort {
namespace {

/// Whether the header or the name gives the type of the values.
bool states_type(const InputFile& file) {
  return has_npy_magic(file.read_prefix()) || type_from_name(file.name()) ||
         format_from_name(file.name()) != FileFormat::raw;
}

/// Only the width matters. If a raw file's name does not give it, the file's size does.
KeyType type_by_size(const InputFile& file, std::optional<uint64_t> count) {
  if (count && file.size() == *count * 4) return KeyType::u32;
  if (count && file.size() == *count * 8) return KeyType::u64;
  if (count)
    throw UsageError(
        fmt::format("{}: {} bytes are neither 4 nor 8 for each of {} keys", file.name(), file.size(), *count),
        "every key needs one value, of 4 or 8 bytes");
  throw UsageError(file.name() + ": the type of the values is not known", "give it with --values-type");
}

}  // namespace

uint32_t position_bytes(std::optional<uint64_t> count) {
  return count && *count <= uint64_t{1} << 32 ? 4 : 8;
}

SortValues::SortValues(const SortFileOptions& options, const SortInput& input) {
  if (has_positions(options.result)) bytes_ = position_bytes(input.count());
  has_window_ = options.file.has_window();
  are_added_ = !options.counts_output.empty();
  for (const std::string& path : options.values) open(path);
  const bool is_one_each = parts_.size() == input.inputs();
  // Those that state no type last: they go with values of any type of their width, empty ones with any.
  const auto turn_of = [](const Part& part) { return part.states_type ? 0 : part.file.size() != 0 ? 1 : 2; };
  for (const int turn : {0, 1, 2})
    for (size_t i = 0; i < parts_.size(); ++i)
      if (turn_of(*parts_[i]) == turn)
        examine(*parts_[i], options,
                parts_.size() == 1 ? input.announced_count()
                : is_one_each      ? input.count_of(i)
                                   : std::nullopt);
  if (input.count())
    check_counts(input, *input.count());
  else
    check_each(input);
}

void SortValues::open(const std::string& path) {
  parts_.push_back(std::make_unique<Part>(path));
  const InputFile& file = parts_.back()->file;
  if (file.is_stream())
    throw Error(file.name() + ": values are read from a file, but this is a stream",
                "write them to a file first; keys may be piped");
  parts_.back()->states_type = states_type(file);
}

/// Finds the layout of a part and compares it with the others'. `count`: the number of its values, if known.
void SortValues::examine(Part& part, const SortFileOptions& options, std::optional<uint64_t> count) {
  const InputFile& file = part.file;
  Layout& layout = part.layout;
  FileOptions how{.type = options.values_type, .endian = options.values_endian};
  const bool is_by_size = !how.type && !part.states_type;
  if (is_by_size) {
    how.type = type_by_size(file, count);
    const bool is_empty = file.size() == 0;
    if (like_ && (is_empty || key_bytes(*how.type) == bytes_)) how.type = like_->layout.type;
    if (like_ && is_empty) how.endian = like_->layout.endian;
  }
  try {
    layout = find_layout(file.read_prefix(), file.size(), file.name(), how, Holds::values);
  } catch (const Error& error) {
    if (error.hint().find('-') == std::string::npos) throw;
    // The options in its hint apply only to the keys' file.
    throw Error(
        error.what(),
        "--values takes raw, SOSD and one-dimensional .npy files; --values-type names a raw one's type");
  }
  const auto bytes = static_cast<uint32_t>(key_bytes(layout.type));
  if (bytes < 4)
    throw Error(fmt::format("{}: holds {} values, of {} byte{}", file.name(), name(layout.type), bytes,
                            bytes == 1 ? "" : "s"),
                "values must have 4 or 8 bytes");
  if (are_added_ && (is_floating(layout.type) || is_signed(layout.type)))
    throw Error(
        fmt::format("{}: holds {} values, but --counts sums unsigned ones", file.name(), name(layout.type)),
        layout.format == FileFormat::npy ? "save them as unsigned integers: array.astype('u8')"
                                         : "use --values-type u32 or u64 if they are unsigned");
  if (!like_) like_ = &part;
  if (layout.type != like_->layout.type || layout.is_swapped() != like_->layout.is_swapped())
    throw Error(fmt::format("{}: holds {}{} values, but {} {}{}", file.name(),
                            layout.is_swapped() ? "big-endian " : "", name(layout.type), like_->file.name(),
                            like_->layout.is_swapped() ? "big-endian " : "", name(like_->layout.type)),
                "all values must be of one type and byte order");
  if (is_by_size)
    layout.notes.push_back(fmt::format("{}: values of {} bytes, by its size", file.name(), bytes));
  bytes_ = bytes;
  count_ += layout.count;
}

void SortValues::check_each(const SortInput& input) const {
  if (parts_.size() == 1 || parts_.size() != input.inputs()) return;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const std::optional<uint64_t> keys = input.count_of(i);
    if (keys && parts_[i]->layout.count != *keys)
      throw Error(
          fmt::format("{}: holds {} values for the {} keys of {}", parts_[i]->file.name(),
                      parts_[i]->layout.count, *keys, input.files()[i]->name()),
          hint_for_count("name the values' files in the order of the inputs: every key needs one value"));
  }
}

void SortValues::check_counts(const SortInput& input, uint64_t keys) const {
  check_each(input);
  if (!parts_.empty() && count_ != keys) throw wrong_count(keys, "");
}

const char* SortValues::hint_for_count(const char* otherwise) const {
  return has_window_
             ? "--skip-bytes and --read-bytes apply to the keys: each key that is read needs one value"
             : otherwise;
}

Error SortValues::wrong_count(uint64_t keys, const char* or_more) const {
  return Error(parts_.size() == 1 ? fmt::format("{}: holds {} values for {} keys{}",
                                                parts_.front()->file.name(), count_, keys, or_more)
                                  : fmt::format("the {} files of values hold {} for {} keys{}", parts_.size(),
                                                count_, keys, or_more),
               hint_for_count("every key needs one value"));
}

std::vector<const InputFile*> SortValues::files() const {
  std::vector<const InputFile*> all;
  for (const auto& part : parts_) all.push_back(&part->file);
  return all;
}

uint64_t SortValues::file_bytes() const {
  uint64_t bytes = 0;
  for (const auto& part : parts_) bytes += part->file.size();
  return bytes;
}

std::vector<std::string> SortValues::notes() const {
  std::vector<std::string> all;
  for (const auto& part : parts_) all.insert(all.end(), part->layout.notes.begin(), part->layout.notes.end());
  return all;
}

void SortValues::check_unchanged() const {
  for (const auto& part : parts_) part->file.check_unchanged();
}

std::unique_ptr<KeySource> SortValues::source() const {
  if (parts_.empty() && bytes_ == 0) return nullptr;
  if (parts_.empty()) return std::make_unique<PositionSource>(bytes_);
  // Values that are only moved, and not added, need no byte swap.
  const size_t swapped = are_added_ && first_layout().is_swapped() ? bytes_ : 0;
  auto all = std::make_unique<ConcatenatedSource>();
  for (const auto& part : parts_)
    all->add(std::make_unique<FileSource>(part->file, part->layout.data_offset, swapped),
             part->layout.data_bytes());
  return all;
}

}  // namespace sweepsort
