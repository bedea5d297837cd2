// layout.cpp - finds the format, type and position of the keys from a file's first bytes, its size, its name
// and the options.
#include "io/layout.hpp"

#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/rounding.hpp"
#include "io/input_file.hpp"
#include "io/key_type_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace sweepsort {
namespace {

constexpr size_t sosd_header_bytes = sizeof(uint64_t);

std::optional<uint64_t> sosd_count(std::span<const std::byte> prefix) {
  if (prefix.size() < sosd_header_bytes) return {};
  uint64_t count;
  std::memcpy(&count, prefix.data(), sizeof count);
  return count;
}

std::string as_raw_options(const NpyHeader& npy) {
  return sweepsort::as_raw_options({.type = npy.type, .endian = npy.endian, .data_offset = npy.bytes});
}

/// Whether the file holds exactly the header and the keys.
bool holds(uint64_t file_bytes, uint64_t data_offset, uint64_t count, KeyType type) {
  const auto needed = static_cast<unsigned __int128>(count) * key_bytes(type) + data_offset;
  return needed == file_bytes;
}

class LayoutFinder {
 public:
  LayoutFinder(std::span<const std::byte> prefix, std::optional<uint64_t> file_bytes, const std::string& name,
               const FileOptions& options, Holds holds)
      : prefix_(prefix), file_bytes_(file_bytes), name_(name), options_(options), holds_(holds) {}

  Layout find() {
    layout_.format = options_.format == FileFormat::automatic ? infer_format() : options_.format;
    if (layout_.format != FileFormat::raw && options_.has_window())
      throw UsageError(fmt::format("{}: skipping bytes or reading a part needs the raw format, not {}", name_,
                                   sweepsort::name(layout_.format)),
                       as_raw());
    switch (layout_.format) {
      case FileFormat::npy: find_npy(); break;
      case FileFormat::sosd: find_sosd(); break;
      default: find_raw(); break;
    }
    return std::move(layout_);
  }

 private:
  void note(std::string line) { layout_.notes.push_back(std::move(line)); }

  FileFormat infer_format() {
    if (has_npy_magic(prefix_)) {
      note(fmt::format("{}: format npy, by its first bytes", name_));
      return FileFormat::npy;
    }
    if (!options_.has_window()) {
      const std::optional<KeyType> stated = options_.type ? options_.type : type_from_name(name_);
      refuse_foreign_format(prefix_, name_, stated, holds_);
    }
    if (name_.ends_with(".npy") && !options_.has_window())
      throw file_bytes_ == uint64_t{0}
          ? Error(name_ + ": is empty, and not a .npy file",
                  "if '> FILE' names it, the shell has emptied it: use --in-place to replace a file; or "
                  "--format raw if it holds no keys")
          : Error(name_ + ": not a .npy file: the magic number is missing",
                  "--format raw if it holds bare keys");
    if (sosd_type_from_name(name_)) {
      note(fmt::format("{}: format sosd, by its name", name_));
      return FileFormat::sosd;
    }
    return FileFormat::raw;
  }

  /// For a format with a header: a hint with the options that read its keys as a raw file.
  std::string as_raw() const {
    if (layout_.format == FileFormat::npy)
      return "read its keys as bare ones: " + as_raw_options(parse_npy_header(prefix_, name_));
    return fmt::format("use --format raw; its keys begin at --skip-bytes {}", sosd_header_bytes);
  }

  /// The type from the options or else the name; empty if neither gives it.
  std::optional<KeyType> stated_type(std::optional<KeyType> by_name) {
    if (options_.type) return options_.type;
    if (by_name) note(fmt::format("{}: type {}, by its name", name_, sweepsort::name(*by_name)));
    return by_name;
  }

  void find_raw() {
    const auto type = stated_type(type_from_name(name_));
    if (!type)
      throw UsageError(name_ + ": the key type is not known",
                       fmt::format("give it with -t, for example -t u32{}",
                                   name_ == standard_input_name ? "" : ", or name the file .u32"));
    layout_.type = *type;
    layout_.endian = options_.endian.value_or(Endian::little);
    layout_.data_offset = options_.skip_bytes;
    const size_t width = key_bytes(*type);
    // Whatever the input's length, which for a stream is not known: the same options are right or wrong.
    if (options_.read_bytes.value_or(0) % width != 0)
      throw UsageError(fmt::format("{}: --read-bytes {} is not a multiple of the {} bytes of a {} key", name_,
                                   *options_.read_bytes, width, sweepsort::name(*type)),
                       fmt::format("read {} or {} bytes", *options_.read_bytes / width * width,
                                   round_up(*options_.read_bytes, width)));
    if (!file_bytes_ && !options_.read_bytes) {
      layout_.count = unknown_count;
      return;
    }
    if (file_bytes_ && options_.skip_bytes > *file_bytes_)
      throw Error(fmt::format("{}: cannot skip {} bytes of {}", name_, options_.skip_bytes, *file_bytes_),
                  "--skip-bytes is the number of bytes before the keys");
    uint64_t bytes = file_bytes_ ? *file_bytes_ - options_.skip_bytes : *options_.read_bytes;
    if (options_.read_bytes) bytes = std::min(bytes, *options_.read_bytes);
    if (bytes % width != 0)
      throw Error(fmt::format("{}: {} bytes are not a multiple of the {} bytes of a {} key: {} left over",
                              name_, bytes, width, sweepsort::name(*type), bytes % width),
                  bytes < width ? "check the type (-t)"
                                : fmt::format("check the type (-t), or leave the rest out: --read-bytes {}",
                                              bytes - bytes % width));
    // A stream may end before --read-bytes.
    layout_.count = file_bytes_ ? bytes / width : unknown_count;
  }

  void find_npy() {
    const NpyHeader npy = parse_npy_header(prefix_, name_);
    if (options_.type && *options_.type != npy.type)
      throw UsageError(fmt::format("{}: its header says {}, the type asked for is {}", name_,
                                   sweepsort::name(npy.type), sweepsort::name(*options_.type)),
                       "leave the type out, or read other keys after its header: " +
                           sweepsort::as_raw_options({.type = *options_.type,
                                                      .endian = options_.endian.value_or(npy.endian),
                                                      .data_offset = npy.bytes}));
    if (options_.endian && *options_.endian != npy.endian && key_bytes(npy.type) > 1)
      throw UsageError(name_ + ": its header gives a different byte order from the one asked for",
                       "leave --endian out, and the byte order of --type");
    if (npy.dimensions != 1 && !options_.flatten)
      throw Error(fmt::format("{}: the array has {} dimensions", name_, npy.dimensions),
                  "use --flatten to read all of its keys as one dimension");
    layout_.type = npy.type;
    layout_.endian = options_.endian.value_or(npy.endian);  // bytes in any order may become wider elements
    layout_.data_offset = npy.bytes;
    layout_.count = npy.count;
    layout_.is_one_dimensional = npy.dimensions == 1;
    layout_.header.assign(prefix_.begin(), prefix_.begin() + static_cast<ptrdiff_t>(npy.bytes));
    check_count("the .npy header", npy.is_countable);
    note(fmt::format("{}: type {}{}, by its header", name_, sweepsort::name(npy.type),
                     layout_.is_swapped() ? " (big-endian)" : ""));
  }

  void find_sosd() {
    const auto by_name = sosd_type_from_name(name_);
    const auto type = stated_type(by_name ? by_name : type_from_name(name_));
    if (!type) throw UsageError(name_ + ": the key type is not known", "give it with -t u32 or -t u64");
    constexpr const char* other = "--format raw if it holds bare keys";
    const bool is_asked_for = options_.format == FileFormat::sosd;  // then the name does not matter
    if (by_name && key_bytes(*type) != key_bytes(*by_name) && !is_asked_for)
      throw UsageError(fmt::format("{}: its name says {}, the type asked for is {}", name_,
                                   sweepsort::name(*by_name), sweepsort::name(*type)),
                       fmt::format("leave the type out, or {}", other));
    require_sosd(*type, options_.endian.value_or(Endian::little), name_, other);
    const auto count = sosd_count(prefix_);
    if (!count) throw Error(name_ + ": too short for a SOSD file: the count of keys takes 8 bytes", other);
    layout_.type = *type;
    layout_.data_offset = sosd_header_bytes;
    layout_.count = *count;
    layout_.header.assign(prefix_.begin(), prefix_.begin() + sosd_header_bytes);
    check_count("the SOSD count", true);
  }

  /// Compares the header's count with the file's size, in 128 bits so that no product wraps.
  void check_count(const std::string& who, bool is_countable) const {
    const auto some = [](uint64_t number, const char* what) {
      return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
    };
    const uint64_t most = max_file_bytes / key_bytes(layout_.type);
    const std::string claim = is_countable ? some(layout_.count, "key") : std::string("2^64 keys or more");
    if (!file_bytes_) {
      if (is_countable && layout_.count < most) return;
      throw Error(fmt::format("{}: {} says {}, which no stream can hold", name_, who, claim));
    }
    if (is_countable && holds(*file_bytes_, layout_.data_offset, layout_.count, layout_.type)) return;
    const uint64_t data = *file_bytes_ - layout_.data_offset;
    const size_t width = key_bytes(layout_.type);
    const std::string rest = data % width ? " and " + some(data % width, "byte") : std::string();
    const bool is_longer = is_countable && layout_.count < ceil_divide(data, width);
    const auto without_rest = [&](uint64_t bytes) {
      return data % width ? fmt::format(" --read-bytes {}", bytes - data % width) : std::string();
    };
    throw Error(
        fmt::format("{}: {} says {}, the rest holds {}{}: it is {}", name_, who, claim,
                    some(data / width, "key"), rest, is_longer ? "longer than it should be" : "cut short"),
        layout_.format == FileFormat::sosd
            ? fmt::format("use --format raw -t {}{} if it holds bare keys, or {}{} if a count comes first",
                          sweepsort::name(layout_.type), without_rest(*file_bytes_),
                          sweepsort::as_raw_options(layout_), without_rest(data))
            : fmt::format("{}{} reads the keys that are there, into another file",
                          sweepsort::as_raw_options(layout_), without_rest(data)));
  }

  std::span<const std::byte> prefix_;
  std::optional<uint64_t> file_bytes_;
  const std::string& name_;
  const FileOptions& options_;
  Holds holds_;
  Layout layout_;
};

}  // namespace

std::string as_raw_options(const Layout& layout) {
  return fmt::format("--format raw --skip-bytes {} -t {}{}", layout.data_offset, name(layout.type),
                     layout.is_swapped() ? " --endian big" : "");
}

Layout find_layout(std::span<const std::byte> prefix, std::optional<uint64_t> file_bytes,
                   const std::string& name, const FileOptions& options, Holds holds) {
  return LayoutFinder(prefix, file_bytes, name, options, holds).find();
}

void require_sosd(KeyType type, Endian endian, const std::string& name, const char* hint) {
  if (key_bytes(type) < 4)
    throw UsageError(fmt::format("{}: SOSD files hold keys of 4 or 8 bytes, but {} has {}", name,
                                 sweepsort::name(type), key_bytes(type)),
                     hint);
  if (endian == Endian::big) throw UsageError(name + ": SOSD files are little-endian", hint);
}

std::vector<std::byte> output_header(const Layout& layout, uint64_t count) {
  if (count == layout.count && layout.is_one_dimensional) return layout.header;
  return new_header(layout.format, layout.type, layout.endian, count);
}

std::vector<std::byte> new_header(FileFormat format, KeyType type, Endian endian, uint64_t count,
                                  size_t min_bytes) {
  if (format == FileFormat::npy) return make_npy_header(type, endian, count, min_bytes);
  if (format != FileFormat::sosd) return {};
  std::vector<std::byte> header(sosd_header_bytes);
  std::memcpy(header.data(), &count, sizeof count);
  return header;
}

}  // namespace sweepsort
