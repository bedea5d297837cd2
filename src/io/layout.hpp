// layout.hpp - where the keys are in a file, and of which type: the formats raw, .npy and SOSD.
//
//     raw    | skipped |  keys ...                |  not read |
//     .npy   | header  |  keys ...                |
//     SOSD   | count (u64)  |  keys ...           |             (github.com/learnedsystems/SOSD)
#pragma once

#include "core/file_options.hpp"
#include "core/key_type.hpp"
#include "io/foreign_format.hpp"
#include "io/npy.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sweepsort {

/// The number of bytes at the beginning of a file that find_layout() needs.
inline constexpr size_t layout_prefix_bytes = npy_prefix_bytes;

/// The count of a raw stream, as its end is not known yet.
inline constexpr uint64_t unknown_count = std::numeric_limits<uint64_t>::max();

struct Layout {
  FileFormat format = FileFormat::raw;
  KeyType type = KeyType::u8;
  Endian endian = Endian::little;
  uint64_t data_offset = 0;
  uint64_t count = 0;
  std::vector<std::byte> header = {};   // the input's header, for formats with one
  bool is_one_dimensional = true;       // .npy: the header can be kept as it is
  std::vector<std::string> notes = {};  // what was inferred, one line each

  uint64_t data_bytes() const { return count * key_bytes(type); }
  uint64_t data_end() const { return data_offset + data_bytes(); }
  bool is_swapped() const { return endian == Endian::big && key_bytes(type) > 1; }
};

/// Pure. `prefix`: the first layout_prefix_bytes of the file, or all of it. `file_bytes`: empty for a stream
/// whose end is not known; its count then comes from the header, or is unknown_count. `name` is the file's
/// name: its ending may give the type or format, and messages use it. Throws Error (UsageError if the options
/// contradict each other or are not sufficient).
Layout find_layout(std::span<const std::byte> prefix, std::optional<uint64_t> file_bytes,
                   const std::string& name, const FileOptions& options, Holds holds = Holds::keys);

/// For hints: the options that read the keys of this layout from a raw file.
std::string as_raw_options(const Layout& layout);

/// Throws UsageError with this hint if a SOSD file cannot hold such keys. `name` is for the message.
void require_sosd(KeyType type, Endian endian, const std::string& name, const char* hint);

/// The header of a file of this layout with `count` keys. If the count is unchanged, it is an exact copy of
/// the input's header.
std::vector<std::byte> output_header(const Layout& layout, uint64_t count);

/// The header of a new file. A .npy header is padded to at least `min_bytes`, so that it fills the space that
/// was reserved before the count was known.
std::vector<std::byte> new_header(FileFormat format, KeyType type, Endian endian, uint64_t count,
                                  size_t min_bytes = 0);

}  // namespace sweepsort
