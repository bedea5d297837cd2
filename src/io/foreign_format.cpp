// foreign_format.cpp - magic numbers, and detection of text.
#include "io/foreign_format.hpp"

#include "core/error.hpp"
#include "io/input_file.hpp"
#include "io/key_type_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace sweepsort {
namespace {

constexpr const char* or_bare_keys = "; --format raw if it holds bare keys";
constexpr std::string_view as_array = "write its numbers as a .npy file first, as numpy.save does";

/// Given that a file begins with the format's magic number, whether it is certainly of this format, whatever
/// its name.
using IsCertain = bool (*)(std::string_view begin);

bool always(std::string_view) { return true; }

/// Deflate compression; valid flags, extra flags and system; then not only zeros, as there would be after a
/// small key.
bool is_gzip(std::string_view begin) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(begin[at]); };
  return begin.size() >= 18 && byte(2) == 8 && byte(3) < 0x20 && byte(8) % 2 == 0 && byte(8) <= 4 &&
         (byte(9) <= 13 || byte(9) == 255) && begin.substr(10, 6).find_first_not_of('\0') != begin.npos;
}

/// A block of data follows the magic number.
bool is_bzip2(std::string_view begin) { return begin.substr(0, 10).ends_with("1AY&SY"); }

bool is_hdf5(std::string_view begin) { return begin.starts_with("\x89HDF\r\n\x1a\n"); }

struct ForeignFormat {
  std::string_view ending, magic, what;
  std::string_view hint;           // {0} is the file's name, {1} the option for its type
  IsCertain is_certain = nullptr;  // null: the name must have the format's ending
};

constexpr ForeignFormat foreign_formats[] = {
    {".npz", "PK\x03\x04", "a .npz archive, which may hold several arrays",
     "unzip it: each array in it is a .npy file"},
    {".gz", "\x1f\x8b", "compressed", "pipe it in: gzip -dc {0} | sweepsort ... {1}-", is_gzip},
    {".zst", "\x28\xb5\x2f\xfd", "compressed", "pipe it in: zstd -dc {0} | sweepsort ... {1}-", always},
    {".xz", "\xfd\x37zXZ", "compressed", "pipe it in: xz -dc {0} | sweepsort ... {1}-", always},
    {".bz2", "BZh", "compressed", "pipe it in: bzip2 -dc {0} | sweepsort ... {1}-", is_bzip2},
    {".lz4", "\x04\x22\x4d\x18", "compressed", "pipe it in: lz4 -dc {0} | sweepsort ... {1}-", always},
    {".zip", "PK\x03\x04", "compressed", "pipe it in: unzip -p {0} | sweepsort ... {1}-", always},
    {".h5", "\x89HDF", "an HDF5 file", as_array, is_hdf5},
    {".hdf5", "\x89HDF", "an HDF5 file", as_array},
    {".parquet", "PAR1", "a Parquet file", as_array},  // keys may be letters
};

/// Accepts letters beyond ASCII, too.
bool is_letter(unsigned char c) { return (c >= ' ' && c != 0x7f) || c == '\n' || c == '\r' || c == '\t'; }

/// Whether the beginning is pure ASCII in lines of different lengths; random keys look like this once in
/// 10^13. Lines of equal length may be keys made of letters.
bool are_lines(std::string_view begin, size_t width) {
  constexpr size_t least = 32;
  const auto is_ascii = [](unsigned char c) { return c < 0x80 && is_letter(c); };
  if (begin.size() < least || !std::ranges::all_of(begin, is_ascii)) return false;
  const size_t first = begin.find('\n');
  size_t other = first;
  while (other != begin.npos && other % width == first % width) other = begin.find('\n', other + 1);
  return other != begin.npos;
}

bool says_text(std::string_view name) {
  return name.ends_with(".txt") || name.ends_with(".csv") || name.ends_with(".tsv");
}

[[noreturn]] void refuse(const ForeignFormat& format, const std::string& name, std::optional<KeyType> type,
                         const char* by) {
  const std::string_view file = name == standard_input_name ? std::string_view("FILE") : name;
  const std::string option = type ? fmt::format("-t {} ", sweepsort::name(*type)) : "";
  throw Error(fmt::format("{}: {}{}", name, format.what, by),
              fmt::format(fmt::runtime(format.hint), file, option) + or_bare_keys);
}

}  // namespace

void refuse_foreign_format(std::span<const std::byte> prefix, const std::string& name,
                           std::optional<KeyType> stated, Holds holds) {
  const std::string_view begin(reinterpret_cast<const char*>(prefix.data()), prefix.size());
  const bool are_bytes = stated && key_bytes(*stated) == 1;
  const bool is_looked_into = holds == Holds::keys && !are_bytes;
  for (const ForeignFormat& format : foreign_formats)
    if (begin.starts_with(format.magic) && name.ends_with(format.ending)) {
      const std::string inside = name.substr(0, name.size() - format.ending.size());
      refuse(format, name, stated ? stated : type_from_name(inside), "");
    }
  for (const ForeignFormat& format : foreign_formats)
    if (is_looked_into && format.is_certain && begin.starts_with(format.magic) && format.is_certain(begin))
      refuse(format, name, stated, ", by its first bytes");
  if (are_bytes) return;
  if ((says_text(name) && !begin.empty() && std::ranges::all_of(begin, is_letter)) ||
      (is_looked_into && are_lines(begin, stated ? key_bytes(*stated) : 1)))
    throw Error(name + ": text, but keys are binary",
                fmt::format("{}; sort -n sorts text{}", as_array, or_bare_keys));
}

}  // namespace sweepsort
