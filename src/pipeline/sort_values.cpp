// sort_values.cpp - the layout of a file of values, and positions.
#include "pipeline/sort_values.hpp"

#include <fmt/format.h>

#include <limits>

namespace sweepsort {
namespace {

/// The width alone matters: a raw file whose name says nothing tells it by its size.
std::optional<KeyType> type_by_size(const InputFile& file, std::span<const std::byte> prefix,
                                    std::optional<uint64_t> count) {
  if (has_npy_magic(prefix) || type_from_name(file.name()) ||
      format_from_name(file.name()) != FileFormat::raw)
    return {};
  if (count && file.size() == *count * 4) return KeyType::u32;
  if (count && file.size() == *count * 8) return KeyType::u64;
  if (count)
    throw UsageError(
        fmt::format("{}: {} bytes are neither 4 nor 8 for each of {} keys", file.name(), file.size(), *count),
        "every key has one value, of 4 or 8 bytes");
  throw UsageError(file.name() + ": the type of the values is not known", "say it with --values-type");
}

}  // namespace

uint32_t position_bytes(std::optional<uint64_t> count) {
  return count && *count <= uint64_t{1} << 32 ? 4 : 8;
}

SortValues::SortValues(const SortFileOptions& options, std::optional<uint64_t> count) {
  if (options.result == SortResult::permutation) bytes_ = position_bytes(count);
  if (options.values.empty()) return;
  has_window_ = options.file.has_window();
  are_added_ = options.result == SortResult::unique;
  file_.emplace(options.values);
  if (file_->is_stream())
    throw Error(file_->name() + ": values are read from a file, and this is a stream",
                "write them to a file first; keys may be piped");
  const std::vector<std::byte> prefix = file_->read_prefix();
  FileOptions how{.type = options.values_type};
  if (!how.type) how.type = type_by_size(*file_, prefix, count);
  const bool is_by_size = how.type && !options.values_type;
  try {
    layout_ = find_layout(prefix, file_->size(), file_->name(), how, Holds::values);
  } catch (const Error& error) {
    if (error.hint().find('-') == std::string::npos) throw;
    // The options that it names are of the keys' file.
    throw Error(
        error.what(),
        "--values takes raw, SOSD and one-dimensional .npy files; --values-type names a raw one's type");
  }
  bytes_ = static_cast<uint32_t>(key_bytes(layout_.type));
  if (bytes_ < 4)
    throw Error(fmt::format("{}: holds {} values, of {} byte{}", file_->name(), name(layout_.type), bytes_,
                            bytes_ == 1 ? "" : "s"),
                "values of 4 or 8 bytes can travel with keys");
  if (are_added_ && (is_floating(layout_.type) || is_signed(layout_.type)))
    throw Error(
        fmt::format("{}: holds {} values, and sums of counts are u64", file_->name(), name(layout_.type)),
        "--values-type u32 or u64, if they are");
  if (is_by_size)
    layout_.notes.push_back(fmt::format("{}: values of {} bytes, by its size", file_->name(), bytes_));
  if (count) check_count(*count);
}

void SortValues::check_count(uint64_t keys) const {
  if (file_ && layout_.count != keys) throw wrong_count(keys, "");
}

Error SortValues::wrong_count(uint64_t keys, const char* or_more) const {
  return Error(fmt::format("{}: holds {} values for {} keys{}", file_->name(), layout_.count, keys, or_more),
               has_window_ ? "--skip-bytes and --read-bytes are for the keys: each that is read has one value"
                           : "every key has one value");
}

std::unique_ptr<KeySource> SortValues::source() const {
  // Bytes that are only moved need no swapping.
  const size_t swapped = are_added_ && layout_.is_swapped() ? bytes_ : 0;
  if (file_) return std::make_unique<FileSource>(*file_, layout_.data_offset, swapped);
  if (bytes_ != 0) return std::make_unique<PositionSource>(bytes_);
  return nullptr;
}

}  // namespace sweepsort
