// key_type_names.hpp - key types as numpy and file names spell them, and the formats that file names imply.
#pragma once

#include "core/file_options.hpp"
#include "core/key_type.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace sweepsort {

/// "uint32", "float64", ...: numpy's long names.
std::string numpy_name(KeyType type);

/// numpy's array-protocol string: "<u4", ">f8", "|i1".
std::string numpy_descr(KeyType type, Endian endian);

struct DescrType {
  KeyType type;
  Endian endian;
};
/// The reverse of numpy_descr. As in numpy, '=', no order ("u4") and '|' before several bytes mean this
/// machine's byte order. Empty for anything else.
std::optional<DescrType> parse_numpy_descr(std::string_view descr);

/// The key type in a file name's ending: "x.u32", "x.uint32", "x_uint64".
std::optional<KeyType> type_from_name(std::string_view file_name);

/// The key type in the name of an SOSD file, which always ends in "_uint32" or "_uint64".
std::optional<KeyType> sosd_type_from_name(std::string_view file_name);

/// The format that a file's name implies: .npy, SOSD by its ending, else raw.
FileFormat format_from_name(std::string_view file_name);

}  // namespace sweepsort
