// npy.hpp - the header of numpy's .npy files, versions 1, 2 and 3 (numpy.lib.format describes them).
//
//     \x93NUMPY | major minor | header length (2 bytes in version 1, else 4) | {'descr': '<u4', ...} padding
//     \n | data
#pragma once

#include "core/key_type.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sweepsort {

/// Longer headers are refused, as numpy does: the header of an array of numbers takes less.
inline constexpr size_t npy_max_header_bytes = 10'000;
/// Magic, version, length and the longest header: what a caller must read before parsing.
inline constexpr size_t npy_prefix_bytes = 12 + npy_max_header_bytes;

struct NpyHeader {
  size_t bytes = 0;  // where the data starts
  KeyType type = KeyType::u8;
  Endian endian = Endian::little;
  uint64_t dimensions = 1;
  bool is_countable = true;  // false: the product of the dimensions is 2^64 or more
  uint64_t count = 0;        // the product of the dimensions
};

bool has_npy_magic(std::span<const std::byte> prefix);
/// Like has_npy_magic(), but four bytes of the magic suffice if there are no more: few keys begin like that.
bool begins_npy_magic(std::span<const std::byte> prefix);

/// `prefix` is the beginning of the file: npy_prefix_bytes, or the whole file if it is shorter. Reads nothing
/// outside of it, and allocates nothing whose size comes from the header. Throws Error, with `name` first,
/// for anything that is not exactly the header of a plain array of one of the ten key types.
NpyHeader parse_npy_header(std::span<const std::byte> prefix, const std::string& name);

/// Makes a version 1 header of a one-dimensional array. Its length is a multiple of 64 and at least
/// `min_bytes`.
std::vector<std::byte> make_npy_header(KeyType type, Endian endian, uint64_t count, size_t min_bytes = 0);

}  // namespace sweepsort
