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
  if (descr.size() != 3) return {};
  const char order = descr[0];
  for (const KeyType type : all_key_types) {
    if (descr[1] != kind(type) || descr[2] != static_cast<char>('0' + key_bytes(type))) continue;
    if (order == '>') return DescrType{type, Endian::big};
    if (order == '<' || order == '=') return DescrType{type, Endian::little};
    if (order == '|' && key_bytes(type) == 1) return DescrType{type, Endian::little};
  }
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
