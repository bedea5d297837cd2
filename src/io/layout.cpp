// layout.cpp - format, type and position of the keys from a file's first bytes, its size, its name and the
// options.
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

/// Whether header and keys are all that the file holds.
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
    if (!options_.has_window()) refuse_other_formats();
    if (name_.ends_with(".npy") && !options_.has_window())
      throw file_bytes_ == uint64_t{0} ? Error(name_ + ": is empty, and no .npy file",
                                               "if '> FILE' names it, the shell has emptied it: --in-place "
                                               "replaces a file; --format raw if it holds "
                                               "no keys")
                                       : Error(name_ + ": not a .npy file: the magic number is missing",
                                               "--format raw if it holds bare keys");
    if (sosd_type_from_name(name_)) {
      note(fmt::format("{}: format sosd, by its name", name_));
      return FileFormat::sosd;
    }
    return FileFormat::raw;
  }

  struct OtherFormat {
    std::string_view ending, magic, what, hint;
  };

  /// Files that hold something else: sorted, they would be garbage. Keys may begin with any bytes, so the name must say it,
  /// too, unless keys begin like that by a rare chance alone. Values are moved, not sorted, and may be letters.
  void refuse_other_formats() const {
    constexpr const char* or_bare_keys = "; --format raw if it holds bare keys";
    constexpr std::string_view as_array = "write its numbers as a .npy file first, as numpy.save does";
    constexpr OtherFormat others[] = {
        {".npz", "PK\x03\x04", "a .npz archive, which may hold several arrays",
         "unzip it: each array in it is a .npy file"},
        {".gz", "\x1f\x8b", "compressed", "pipe it in: gzip -dc {0} | sweepsort ... {1}-"},
        {".zst", "\x28\xb5\x2f\xfd", "compressed", "pipe it in: zstd -dc {0} | sweepsort ... {1}-"},
        {".xz", "\xfd\x37zXZ", "compressed", "pipe it in: xz -dc {0} | sweepsort ... {1}-"},
        {".bz2", "BZh", "compressed", "pipe it in: bzip2 -dc {0} | sweepsort ... {1}-"},
        {".lz4", "\x04\x22\x4d\x18", "compressed", "pipe it in: lz4 -dc {0} | sweepsort ... {1}-"},
        {".zip", "PK\x03\x04", "compressed", "pipe it in: unzip -p {0} | sweepsort ... {1}-"},
        {".h5", "\x89HDF", "an HDF5 file", as_array},
        {".hdf5", "\x89HDF", "an HDF5 file", as_array},
        {".parquet", "PAR1", "a Parquet file", as_array},
    };
    const std::optional<KeyType> stated = options_.type ? options_.type : type_from_name(name_);
    const bool are_bytes = stated && key_bytes(*stated) == 1;  // of whatever it is
    const bool are_seen = holds_ == Holds::keys && !are_bytes;
    const std::string_view begin(reinterpret_cast<const char*>(prefix_.data()), prefix_.size());
    const std::string_view file = name_ == standard_input_name ? std::string_view("FILE") : name_;
    for (const bool by_name : {true, false})
      for (const OtherFormat& other : others) {
        if (!begin.starts_with(other.magic)) continue;
        if (by_name ? !name_.ends_with(other.ending) : !are_seen || !is_certain(other, begin)) continue;
        const auto inside =
            by_name && !stated ? type_from_name(name_.substr(0, name_.size() - other.ending.size())) : stated;
        const std::string type = inside ? fmt::format("-t {} ", sweepsort::name(*inside)) : "";
        throw Error(fmt::format("{}: {}{}", name_, other.what, by_name ? "" : ", by its first bytes"),
                    fmt::format(fmt::runtime(other.hint), file, type) + or_bare_keys);
      }
    if (are_bytes) return;
    const bool says_text = name_.ends_with(".txt") || name_.ends_with(".csv") || name_.ends_with(".tsv");
    if ((says_text && !begin.empty() && std::ranges::all_of(begin, is_letter)) ||
        (are_seen && are_lines(begin, stated ? key_bytes(*stated) : 1)))
      throw Error(name_ + ": text, and keys are binary",
                  fmt::format("{}; sort -n sorts text{}", as_array, or_bare_keys));
  }

  /// Whether what begins with the magic is no keys, whatever its name.
  static bool is_certain(const OtherFormat& other, std::string_view begin) {
    const auto byte = [&](size_t at) { return static_cast<unsigned char>(begin[at]); };
    // Deflated; flags, extra flags and system that there are; and then something, unlike behind a small key.
    if (other.ending == ".gz")
      return begin.size() >= 18 && byte(2) == 8 && byte(3) < 0x20 && byte(8) % 2 == 0 && byte(8) <= 4 &&
             (byte(9) <= 13 || byte(9) == 255) && begin.substr(10, 6).find_first_not_of('\0') != begin.npos;
    if (other.ending == ".bz2") return begin.substr(0, 10).ends_with("1AY&SY");
    if (other.ending == ".h5") return begin.starts_with("\x89HDF\r\n\x1a\n");
    const bool may_be_letters = other.ending == ".parquet";
    return other.ending != ".npz" && other.ending != ".hdf5" && !may_be_letters;
  }

  /// Also of letters beyond ASCII.
  static bool is_letter(unsigned char c) {
    return (c >= ' ' && c != 0x7f) || c == '\n' || c == '\r' || c == '\t';
  }

  /// ASCII and nothing else in lines of different lengths: random keys look so once in 10^13. Lines of one length may be
  /// keys that are letters.
  static bool are_lines(std::string_view begin, size_t width) {
    constexpr size_t least = 32;
    const auto is_ascii = [](unsigned char c) { return c < 0x80 && is_letter(c); };
    if (begin.size() < least || !std::ranges::all_of(begin, is_ascii)) return false;
    const size_t first = begin.find('\n');
    size_t other = first;
    while (other != begin.npos && other % width == first % width) other = begin.find('\n', other + 1);
    return other != begin.npos;
  }

  /// Of a format with a header: the options that read its keys as those of a raw file.
  std::string as_raw() const {
    if (layout_.format == FileFormat::npy && has_npy_magic(prefix_))
      return "its keys as bare ones: " + as_raw_options(parse_npy_header(prefix_, name_));
    return fmt::format("--format raw, and --skip-bytes {} is where its keys begin", sosd_header_bytes);
  }

  /// From the options or the name; empty if neither says it.
  std::optional<KeyType> stated_type(std::optional<KeyType> by_name) {
    if (options_.type) return options_.type;
    if (by_name) note(fmt::format("{}: type {}, by its name", name_, sweepsort::name(*by_name)));
    return by_name;
  }

  void find_raw() {
    const auto type = stated_type(type_from_name(name_));
    if (!type)
      throw UsageError(name_ + ": the key type is not known",
                       fmt::format("say it with -t, for example -t u32{}",
                                   name_ == standard_input_name ? "" : ", or name the file .u32"));
    layout_.type = *type;
    layout_.endian = options_.endian.value_or(Endian::little);
    layout_.data_offset = options_.skip_bytes;
    const size_t width = key_bytes(*type);
    if (!file_bytes_ && !options_.read_bytes) {
      layout_.count = unknown_count;
      return;
    }
    if (file_bytes_ && options_.skip_bytes > *file_bytes_)
      throw Error(fmt::format("{}: cannot skip {} bytes of {}", name_, options_.skip_bytes, *file_bytes_),
                  "--skip-bytes is how many come before the keys");
    uint64_t bytes = file_bytes_ ? *file_bytes_ - options_.skip_bytes : *options_.read_bytes;
    if (options_.read_bytes) bytes = std::min(bytes, *options_.read_bytes);
    if (bytes % width != 0)
      throw Error(fmt::format("{}: {} bytes are not a multiple of the {} bytes of a {} key: {} left over",
                              name_, bytes, width, sweepsort::name(*type), bytes % width),
                  bytes < width ? "check the type (-t)"
                                : fmt::format("check the type (-t), or leave the rest out: --read-bytes {}",
                                              bytes - bytes % width));
    // A stream may end before it has so many.
    layout_.count = file_bytes_ ? bytes / width : unknown_count;
  }

  void find_npy() {
    const NpyHeader npy = parse_npy_header(prefix_, name_);
    if (options_.type && *options_.type != npy.type)
      throw UsageError(fmt::format("{}: its header says {}, the type asked for is {}", name_,
                                   sweepsort::name(npy.type), sweepsort::name(*options_.type)),
                       "leave the type out, or read other keys behind its header: " +
                           sweepsort::as_raw_options({.type = *options_.type,
                                                      .endian = options_.endian.value_or(npy.endian),
                                                      .data_offset = npy.bytes}));
    if (options_.endian && *options_.endian != npy.endian && key_bytes(npy.type) > 1)
      throw UsageError(name_ + ": its header states another byte order than the one asked for",
                       "leave --endian out, and the byte order of --type");
    if (npy.dimensions != 1 && !options_.flatten)
      throw Error(fmt::format("{}: the array has {} dimensions", name_, npy.dimensions),
                  "--flatten reads all of its keys as one dimension");
    layout_.type = npy.type;
    layout_.endian = npy.endian;
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
    if (!type) throw UsageError(name_ + ": the key type is not known", "say it with -t u32 or -t u64");
    constexpr const char* other = "--format raw if it holds bare keys";
    const bool is_asked_for = options_.format == FileFormat::sosd;  // its name may be anything then
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

  /// The header's count against the file's size, in 128 bits so that no product wraps.
  void check_count(const std::string& who, bool is_countable) const {
    const uint64_t most = most_file_bytes / key_bytes(layout_.type);
    const std::string claim =
        is_countable ? fmt::format("{} keys", layout_.count) : std::string("2^64 keys or more");
    if (!file_bytes_) {
      if (is_countable && layout_.count < most) return;
      throw Error(fmt::format("{}: {} says {}, which no stream can hold", name_, who, claim));
    }
    if (is_countable && holds(*file_bytes_, layout_.data_offset, layout_.count, layout_.type)) return;
    const uint64_t data = *file_bytes_ - layout_.data_offset;
    const size_t width = key_bytes(layout_.type);
    const std::string rest = data % width ? fmt::format(" and {} bytes", data % width) : std::string();
    const bool is_longer = is_countable && layout_.count < ceil_divide(data, width);
    const std::string part =
        data % width ? fmt::format(" --read-bytes {}", data - data % width) : std::string();
    throw Error(
        fmt::format("{}: {} says {}, the file holds {}{}: it is {}", name_, who, claim, data / width, rest,
                    is_longer ? "longer than it should be" : "cut short"),
        layout_.format == FileFormat::sosd
            ? fmt::format(
                  "--format raw -t {} if it holds bare keys, with --skip-bytes {} if a count comes first",
                  sweepsort::name(layout_.type), sosd_header_bytes)
            : fmt::format("{}{} takes the keys that are there, into another file",
                          sweepsort::as_raw_options(layout_), part));
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
    throw UsageError(fmt::format("{}: SOSD files hold keys of 4 or 8 bytes, and {} has {}", name,
                                 sweepsort::name(type), key_bytes(type)),
                     hint);
  if (endian == Endian::big) throw UsageError(name + ": SOSD files are little-endian", hint);
}

std::vector<std::byte> output_header(const Layout& layout, uint64_t count) {
  if (count == layout.count && layout.is_one_dimensional) return layout.header;
  return new_header(layout.format, layout.type, layout.endian, count);
}

std::vector<std::byte> new_header(FileFormat format, KeyType type, Endian endian, uint64_t count,
                                  size_t least_bytes) {
  if (format == FileFormat::npy) return make_npy_header(type, endian, count, least_bytes);
  if (format != FileFormat::sosd) return {};
  std::vector<std::byte> header(sosd_header_bytes);
  std::memcpy(header.data(), &count, sizeof count);
  return header;
}

}  // namespace sweepsort
