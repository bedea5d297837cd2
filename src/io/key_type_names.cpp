// key_type_names.cpp - spellings of the key types.
#include "io/key_type_names.hpp"

#include <fmt/format.h>

namespace sweepsort {
namespace {

char kind(KeyType type) { return is_floating(type) ? 'f' : is_signed(type) ? 'i' : 'u'; }

}  // namespace

std::string numpy_name(KeyType type) {
  return fmt::format("{}{}",
                     is_floating(type) ? "float"
                     : is_signed(type) ? "int"
                                       : "uint",
                     8 * key_bytes(type));
}

std::string numpy_descr(KeyType type, Endian endian) {
  const char order = key_bytes(type) == 1 ? '|' : endian == Endian::big ? '>' : '<';
  return fmt::format("{}{}{}", order, kind(type), key_bytes(type));
}

std::optional<DescrType> parse_numpy_descr(std::string_view descr) {
  const bool has_order = !descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
  const std::string_view without = descr.substr(has_order ? 1 : 0);
  if (without.size() != 2) return {};
  for (const KeyType type : all_key_types)
    if (without[0] == kind(type) && without[1] == static_cast<char>('0' + key_bytes(type)))
      return DescrType{type, descr[0] == '>' ? Endian::big : Endian::little};
  return {};
}

std::optional<KeyType> type_from_name(std::string_view file_name) {
  for (const KeyType type : all_key_types) {
    if (file_name.ends_with(fmt::format(".{}", name(type)))) return type;
    for (const char before : {'.', '_'})
      if (file_name.ends_with(fmt::format("{}{}", before, numpy_name(type)))) return type;
  }
  return {};
}

std::optional<KeyType> sosd_type_from_name(std::string_view file_name) {
  if (file_name.ends_with("_uint32")) return KeyType::u32;
  if (file_name.ends_with("_uint64")) return KeyType::u64;
  return {};
}

FileFormat format_from_name(std::string_view file_name) {
  if (file_name.ends_with(".npy")) return FileFormat::npy;
  return sosd_type_from_name(file_name) ? FileFormat::sosd : FileFormat::raw;
}

}  // namespace sweepsort
