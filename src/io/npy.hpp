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

/// A longer header is refused, as numpy does: it says nothing about an array of numbers that fits in less.
inline constexpr size_t npy_max_header_bytes = 10'000;
/// Magic, version, length and the longest header: what a caller has to read before it can parse.
inline constexpr size_t npy_prefix_bytes = 12 + npy_max_header_bytes;

struct NpyHeader {
  size_t bytes = 0;  // where the data starts
  KeyType type = KeyType::u8;
  Endian endian = Endian::little;
  uint64_t dimensions = 1;
  bool is_countable = true;  // false: the product of the dimensions is 2^64 or more
  uint64_t count = 0;        // that product
};

bool has_npy_magic(std::span<const std::byte> prefix);

/// `prefix` is the file's beginning: npy_prefix_bytes or the whole file if that is shorter. Touches nothing
/// outside it and allocates nothing whose size the header dictates. Throws Error, `name` first, for
/// everything that is not exactly a header of a plain array of one of the ten key types.
NpyHeader parse_npy_header(std::span<const std::byte> prefix, const std::string& name);

/// A version 1 header of a one-dimensional array; its length is a multiple of 64, and at least `min_bytes`.
std::vector<std::byte> make_npy_header(KeyType type, Endian endian, uint64_t count, size_t min_bytes = 0);

}  // namespace sweepsort
