// key_type_name.cpp - parsing of key types.
#include "cli/key_type_name.hpp"

#include "core/error.hpp"
#include "core/suggest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace sweepsort::cli {
namespace {

struct Alias {
  std::string_view name;
  KeyType type;
};

constexpr std::array aliases{
    Alias{"u8", KeyType::u8},        Alias{"i8", KeyType::i8},        Alias{"u16", KeyType::u16},
    Alias{"i16", KeyType::i16},      Alias{"u32", KeyType::u32},      Alias{"i32", KeyType::i32},
    Alias{"u64", KeyType::u64},      Alias{"i64", KeyType::i64},      Alias{"f32", KeyType::f32},
    Alias{"f64", KeyType::f64},      Alias{"uint8", KeyType::u8},     Alias{"int8", KeyType::i8},
    Alias{"uint16", KeyType::u16},   Alias{"int16", KeyType::i16},    Alias{"uint32", KeyType::u32},
    Alias{"int32", KeyType::i32},    Alias{"uint64", KeyType::u64},   Alias{"int64", KeyType::i64},
    Alias{"float32", KeyType::f32},  Alias{"float64", KeyType::f64},  Alias{"double", KeyType::f64},
    Alias{"uint8_t", KeyType::u8},   Alias{"int8_t", KeyType::i8},    Alias{"uint16_t", KeyType::u16},
    Alias{"int16_t", KeyType::i16},  Alias{"uint32_t", KeyType::u32}, Alias{"int32_t", KeyType::i32},
    Alias{"uint64_t", KeyType::u64}, Alias{"int64_t", KeyType::i64}};

constexpr std::string_view known_types =
    "use one of u8 i8 u16 i16 u32 i32 u64 i64 f32 f64, also uint32, float64, <u4, >i8";

/// Parses numpy's kind and width: "u4" is an unsigned integer of 4 bytes.
std::optional<KeyType> numpy_type(std::string_view text) {
  if (text.size() != 2) return std::nullopt;
  const auto found = std::find_if(all_key_types.begin(), all_key_types.end(), [&](KeyType type) {
    return name(type)[0] == text[0] && key_bytes(type) == static_cast<size_t>(text[1] - '0');
  });
  return found == all_key_types.end() ? std::nullopt : std::optional(*found);
}

NamedType prefixed_type(char prefix, std::string_view text, std::string_view option) {
  const std::string quoted = fmt::format("{} '{}{}'", option, prefix, text);
  const auto type = numpy_type(text);
  if (!type)
    throw UsageError(quoted + ": not a numpy type that can be sorted", "for example <u4, >i8, |u1, <f8");
  if (prefix == '<') return {*type, Endian::little};
  if (prefix == '>') return {*type, Endian::big};
  if (key_bytes(*type) > 1)
    throw UsageError(quoted + ": '|' says that there is no byte order, but such keys have one",
                     fmt::format("write '<{0}' (little endian) or '>{0}' (big endian)", text));
  return {*type, std::nullopt};
}

}  // namespace

NamedType parse_key_type(std::string_view text, std::string_view option) {
  if (!text.empty() && std::string_view("<>|").find(text[0]) != std::string_view::npos)
    return prefixed_type(text[0], text.substr(1), option);
  for (const Alias& alias : aliases) {
    if (alias.name == text) return {alias.type, std::nullopt};
  }
  if (const auto numpy = numpy_type(text)) {
    throw UsageError(
        fmt::format(
            "{2} {0}: ambiguous: numpy counts bytes and means {1}, sweepsort counts bits and has no {0}",
            text, name(*numpy), option),
        fmt::format("write {} or '<{}'", name(*numpy), text));
  }
  // Suggest only names of the same kind (first letter): with another kind, the order would be different.
  std::vector<std::string_view> names;
  // "int" is the beginning of several names, none of which is more likely than the others. C's float has 32
  // bits, Python's 64.
  const bool lacks_width = text == "int" || text == "uint" || text == "float";
  for (const Alias& alias : aliases)
    if (!lacks_width && edit_distance(text.substr(0, 1), alias.name.substr(0, 1)) == 0)
      names.push_back(alias.name);
  throw UsageError(fmt::format("{} {}: unknown key type", option, text),
                   suggestion_hint(text, names, std::string(known_types)));
}

}  // namespace sweepsort::cli
