// npy.cpp - a strict parser for the Python literal in a .npy header.
#include "io/npy.hpp"

#include "core/error.hpp"
#include "core/rounding.hpp"
#include "io/key_type_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace sweepsort {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr const char* damaged_hint =
    "--format raw reads bare keys: -t is their type, --endian their byte order, --skip-bytes where they "
    "begin";

/// Makes header text safe for messages: a header may be hostile, so no control characters and not too much of
/// it.
std::string printable(std::string_view text) {
  constexpr size_t most = 40;
  std::string shown;
  for (const char c : text.substr(0, most)) shown += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > most ? shown + "..." : shown;
}

/// Parses {'descr': '<u4', 'fortran_order': False, 'shape': (3,), } with its keys in any order, and nothing
/// else.
class LiteralParser {
 public:
  LiteralParser(std::string_view text, const std::string& name, NpyHeader& header)
      : text_(text), name_(name), header_(header) {}

  void parse() {
    expect('{');
    while (!accept('}')) {
      parse_entry();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (at_ != text_.size()) fail("there is something after the dictionary");
    if (!has_descr_ || !has_order_ || !has_shape_) fail("'descr', 'fortran_order' or 'shape' is missing");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}: damaged .npy header: {}", name_, what), damaged_hint);
  }

  void skip_spaces() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }

  bool accept(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (accept(c)) return;
    fail(at_ == text_.size() ? fmt::format("it ends where '{}' should be", c)
                             : fmt::format("'{}' expected at \"{}\"", c, printable(text_.substr(at_))));
  }

  bool accept_word(std::string_view word) {
    skip_spaces();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  std::string_view parse_string() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("a string does not end");
    const std::string_view content = text_.substr(at_, end - at_);
    if (content.find('\\') != std::string_view::npos) fail("a string has an escape sequence");
    at_ = end + 1;
    return content;
  }

  void parse_entry() {
    const std::string_view key = parse_string();
    expect(':');
    if (key == "descr") {
      once(has_descr_, key);
      parse_descr();
    } else if (key == "fortran_order") {
      once(has_order_, key);
      // For one dimension both orders are the same; --flatten takes the elements as they lie in memory.
      if (!accept_word("True") && !accept_word("False")) fail("'fortran_order' is neither True nor False");
    } else if (key == "shape") {
      once(has_shape_, key);
      parse_shape();
    } else {
      fail(fmt::format("unknown key '{}'", printable(key)));
    }
  }

  void once(bool& seen, std::string_view key) const {
    if (seen) fail(fmt::format("'{}' occurs twice", key));
    seen = true;
  }

  void parse_descr() {
    if (accept('['))
      throw Error(name_ + ": a structured .npy array cannot be read as numbers",
                  "save one of its fields by itself");
    const std::string_view descr = parse_string();
    if (const auto known = parse_numpy_descr(descr)) {
      header_.type = known->type;
      header_.endian = known->endian;
      return;
    }
    if (descr.find('O') != std::string_view::npos)
      throw Error(name_ + ": a .npy array of Python objects cannot be read as numbers",
                  "convert it with astype() first");
    throw Error(
        fmt::format("{}: .npy arrays of type '{}' cannot be read as numbers", name_, printable(descr)),
        descr.find_first_of("mM") != std::string_view::npos ? "save them as integers: array.view('i8')"
        : descr.find('b') != std::string_view::npos         ? "save them as integers: array.view('u1')"
        : descr.ends_with("f2")
            ? "save them as float32: array.astype('f4')"
            : "the types are signed and unsigned integers of 1, 2, 4 and 8 bytes, float32 and float64");
  }

  uint64_t parse_dimension() {
    skip_spaces();
    const size_t first = at_;
    uint64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      const auto digit = static_cast<uint64_t>(text_[at_++] - '0');
      if (__builtin_mul_overflow(value, uint64_t{10}, &value) || __builtin_add_overflow(value, digit, &value))
        fail("a dimension is 2^64 or more");
    }
    if (value != 0 && text_[first] == '0') fail("a dimension begins with 0");
    if (at_ == first)
      fail(fmt::format("a dimension is not a natural number: \"{}\"", printable(text_.substr(at_))));
    // Python 2 wrote its long integers as 3L.
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;
    return value;
  }

  void parse_shape() {
    expect('(');
    header_.dimensions = 0;
    header_.count = 1;
    bool has_zero = false;
    bool has_comma = true;
    while (!accept(')')) {
      if (!has_comma) fail("a comma is missing in 'shape'");
      const uint64_t dimension = parse_dimension();
      has_zero |= dimension == 0;
      // Leave zeros out of the product: numpy allows (2**62, 0, 2**62), which has no elements.
      if (dimension != 0 && __builtin_mul_overflow(header_.count, dimension, &header_.count))
        header_.is_countable = false;
      ++header_.dimensions;
      has_comma = accept(',');
    }
    if (header_.dimensions == 1 && !has_comma) fail("'shape' is not a tuple");
    if (has_zero) header_.count = 0;
    if (has_zero) header_.is_countable = true;
  }

  std::string_view text_;
  const std::string& name_;
  NpyHeader& header_;
  size_t at_ = 0;
  bool has_descr_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

uint64_t little_endian(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(bytes[i]);
  return value;
}

}  // namespace

bool has_npy_magic(std::span<const std::byte> prefix) {
  return prefix.size() >= magic.size() && begins_npy_magic(prefix);
}

bool begins_npy_magic(std::span<const std::byte> prefix) {
  const size_t there = std::min(prefix.size(), magic.size());
  return there >= 4 && std::memcmp(prefix.data(), magic.data(), there) == 0;
}

NpyHeader parse_npy_header(std::span<const std::byte> prefix, const std::string& name) {
  if (!has_npy_magic(prefix))
    throw Error(name + ": not a .npy file: the magic number is missing",
                "leave --format out, or name the right one");
  constexpr size_t version_at = magic.size();
  const std::string cut = name + ": damaged .npy header: the file ends inside it";
  if (prefix.size() < version_at + 2) throw Error(cut, damaged_hint);
  const auto major = std::to_integer<uint32_t>(prefix[version_at]);
  const auto minor = std::to_integer<uint32_t>(prefix[version_at + 1]);
  if (major < 1 || major > 3 || minor != 0)
    throw Error(fmt::format("{}: .npy version {}.{} is not known", name, major, minor),
                "save it as version 1.0, 2.0 or 3.0");
  const size_t length_at = version_at + 2;
  const size_t length_bytes = major == 1 ? 2 : 4;
  if (prefix.size() < length_at + length_bytes) throw Error(cut, damaged_hint);
  const uint64_t length = little_endian(prefix.subspan(length_at, length_bytes));
  if (length > npy_max_header_bytes)
    throw Error(fmt::format("{}: the .npy header has {} bytes; more than {} are refused", name, length,
                            npy_max_header_bytes),
                damaged_hint);
  const size_t text_at = length_at + length_bytes;
  if (prefix.size() - text_at < length) throw Error(cut, damaged_hint);

  NpyHeader header;
  header.bytes = text_at + static_cast<size_t>(length);
  const std::string_view text(reinterpret_cast<const char*>(prefix.data()) + text_at,
                              static_cast<size_t>(length));
  LiteralParser(text, name, header).parse();
  return header;
}

std::vector<std::byte> make_npy_header(KeyType type, Endian endian, uint64_t count, size_t min_bytes) {
  constexpr size_t alignment = 64;
  constexpr size_t before_text = magic.size() + 4;
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}",
                                 numpy_descr(type, endian), count);
  const size_t needed = std::max(before_text + text.size() + 1, min_bytes);
  const size_t total = round_up(needed, alignment);
  text.resize(total - before_text - 1, ' ');
  text += '\n';

  std::string header(magic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  header += text;
  const auto bytes = std::as_bytes(std::span(header));
  return {bytes.begin(), bytes.end()};
}

}  // namespace sweepsort
