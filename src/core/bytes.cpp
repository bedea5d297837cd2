// bytes.cpp - exact parsing of sizes and counts (no floating point: 2^63 + 1 stays 2^63 + 1), and printing
// them.
#include "core/bytes.hpp"

#include "core/error.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <limits>
#include <optional>

namespace sweepsort {
namespace {

using Wide = unsigned __int128;
constexpr Wide limit = std::numeric_limits<uint64_t>::max();

/// digits x 10^-fraction_digits. `rest` is the text after the number. The fraction has no trailing zeros.
struct Number {
  Wide digits = 0;
  unsigned fraction_digits = 0;
  std::string_view rest;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Reads "12", "1_000" or "2.5". An underscore is allowed only between two digits.
std::optional<Number> read_number(std::string_view text) {
  Number number;
  bool in_fraction = false;
  size_t i = 0;
  for (; i < text.size(); ++i) {
    const bool between_digits =
        i > 0 && is_digit(text[i - 1]) && i + 1 < text.size() && is_digit(text[i + 1]);
    if (text[i] == '_' && between_digits) continue;
    if (text[i] == '.' && between_digits && !in_fraction) {
      in_fraction = true;
      continue;
    }
    if (!is_digit(text[i])) break;
    number.digits = number.digits * 10 + static_cast<unsigned>(text[i] - '0');
    if (number.digits > limit) return std::nullopt;
    if (in_fraction) ++number.fraction_digits;
  }
  if (i == 0) return std::nullopt;
  while (number.fraction_digits > 0 && number.digits % 10 == 0) {
    number.digits /= 10;
    --number.fraction_digits;
  }
  number.rest = text.substr(i);
  return number;
}

/// base^exponent, if it is below 2^64.
std::optional<Wide> power(Wide base, uint64_t exponent) {
  Wide result = 1;
  if (base < 2) return exponent == 0 ? 1 : base;
  for (uint64_t i = 0; i < exponent; ++i) {
    result *= base;
    if (result > limit) return std::nullopt;
  }
  return result;
}

/// The number times `unit`, if the product is whole and below 2^64.
std::optional<uint64_t> scaled(const Number& number, Wide unit) {
  const std::optional<Wide> divisor = power(10, number.fraction_digits);
  if (!divisor) return std::nullopt;
  const Wide product = number.digits * unit;  // both below 2^64
  if (product % *divisor != 0 || product / *divisor > limit) return std::nullopt;
  return static_cast<uint64_t>(product / *divisor);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// Suffixes in lower case. Powers of 1024: "", "b", "k", "kib", ...; powers of 1000: "kb", "mb", ...
std::optional<Wide> byte_unit(std::string_view suffix) {
  if (suffix.empty() || suffix == "b") return 1;
  const size_t index = std::string_view("kmgtp").find(suffix[0]);
  if (index == std::string_view::npos) return std::nullopt;
  const std::string_view tail = suffix.substr(1);
  if (tail.empty() || tail == "ib") return power(1024, index + 1);
  if (tail == "b") return power(1000, index + 1);
  return std::nullopt;
}

std::optional<uint64_t> whole(std::string_view text) {
  const auto number = read_number(text);
  if (!number || !number->rest.empty()) return std::nullopt;
  return scaled(*number, 1);
}

/// "2^28", "2^32+3", "2^31-1".
std::optional<uint64_t> read_power(const Number& base, std::string_view exponent_and_rest) {
  const size_t sign = exponent_and_rest.find_first_of("+-");
  const auto exponent = whole(exponent_and_rest.substr(0, sign));
  if (!exponent || base.fraction_digits > 0) return std::nullopt;
  const auto value = power(base.digits, *exponent);
  if (!value || sign == std::string_view::npos) {
    return value ? std::optional(static_cast<uint64_t>(*value)) : std::nullopt;
  }
  const auto offset = whole(exponent_and_rest.substr(sign + 1));
  if (!offset) return std::nullopt;
  const bool minus = exponent_and_rest[sign] == '-';
  if (minus ? *offset > *value : *value + *offset > limit) return std::nullopt;
  return static_cast<uint64_t>(minus ? *value - *offset : *value + *offset);
}

std::optional<uint64_t> read_count(std::string_view text) {
  const auto number = read_number(text);
  if (!number) return std::nullopt;
  const std::string rest = lower(number->rest);
  if (rest.empty()) return scaled(*number, 1);
  if (rest[0] == '^') return read_power(*number, std::string_view(rest).substr(1));
  if (rest[0] == 'e') {
    const auto exponent = whole(std::string_view(rest).substr(1));
    const auto unit = exponent ? power(10, *exponent) : std::nullopt;
    return unit ? scaled(*number, *unit) : std::nullopt;
  }
  const size_t index = std::string_view("kmgt").find(rest);
  if (rest.size() != 1 || index == std::string_view::npos) return std::nullopt;
  return scaled(*number, *power(1000, index + 1));
}

[[noreturn]] void refuse(std::string_view text, std::string_view option, std::string_view what,
                         std::string hint) {
  throw UsageError(fmt::format("{} {}: not a {}", option, text.empty() ? "''" : text, what), std::move(hint));
}

}  // namespace

Bytes parse_bytes(std::string_view text, std::string_view option) {
  const auto number = read_number(text);
  const auto unit = number ? byte_unit(lower(number->rest)) : std::nullopt;
  const auto value = unit ? scaled(*number, *unit) : read_count(text);
  if (!value) {
    refuse(text, option, "number of bytes below 2^64",
           "write for example 4096, 2^30, 512K, 1.5G or 4GiB (powers of 1024) or 4GB (powers of 1000)");
  }
  return Bytes{*value};
}

uint64_t parse_count(std::string_view text, std::string_view option) {
  const auto value = read_count(text);
  if (!value) {
    refuse(text, option, "whole number below 2^64",
           "write for example 1000, 1_000_000, 1e9, 10M, 2^28 or 2^28+3");
  }
  return *value;
}

std::string format_bytes(Bytes bytes) {
  constexpr std::array<std::string_view, 6> units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes.value < 1024) return fmt::format("{} byte{}", bytes.value, bytes.value == 1 ? "" : "s");
  double value = static_cast<double>(bytes.value) / 1024;
  size_t unit = 0;
  // The limit is not 1024, because 1023.97 would be printed as "1024.0".
  while (value >= 1023.95 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string format_count(uint64_t count) { return fmt::format("{}", fmt::group_digits(count)); }

}  // namespace sweepsort
