// file_options.hpp - the options for reading the bytes of a file.
#pragma once

#include "core/key_type.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace sweepsort {

enum class FileFormat : uint8_t { automatic, raw, npy, sosd };

constexpr std::string_view name(FileFormat format) {
  switch (format) {
    case FileFormat::raw: return "raw";
    case FileFormat::npy: return "npy";
    case FileFormat::sosd: return "sosd";
    default: return "auto";
  }
}

/// How to read the bytes of a file.
struct FileOptions {
  FileFormat format = FileFormat::automatic;  // automatic: by magic number and file name
  std::optional<KeyType> type = {};           // empty: from the .npy header or the file name's ending
  std::optional<Endian> endian = {};          // empty: from the .npy header, else little
  uint64_t skip_bytes = 0;                    // -j: skipped at the beginning (format raw only)
  std::optional<uint64_t> read_bytes = {};    // -N: at most this many (format raw only)
  bool flatten = false;                       // accept .npy arrays of more than one dimension

  /// Whether only a part of the file is requested.
  bool has_window() const { return skip_bytes != 0 || read_bytes.has_value(); }
};

}  // namespace sweepsort
