// key_type.hpp - the ten key types, the order, and the one place where a run-time type becomes a template
// argument.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace sweepsort {

enum class KeyType : uint8_t { u8, i8, u16, i16, u32, i32, u64, i64, f32, f64 };

inline constexpr std::array all_key_types{KeyType::u8,  KeyType::i8,  KeyType::u16, KeyType::i16,
                                          KeyType::u32, KeyType::i32, KeyType::u64, KeyType::i64,
                                          KeyType::f32, KeyType::f64};

/// `descending` is the exact reverse of `ascending`: for floats, NaN comes first, and +0.0 before -0.0.
enum class Order : uint8_t { ascending, descending };

enum class Endian : uint8_t { little, big };
static_assert(std::endian::native == std::endian::little, "what is little is taken as it is, not swapped");

/// Calls `f(std::type_identity<T>{})` with the C++ type of `type` and returns its result.
template <class F>
decltype(auto) dispatch(KeyType type, F&& f) {
  switch (type) {
    case KeyType::u8: return std::forward<F>(f)(std::type_identity<uint8_t>{});
    case KeyType::i8: return std::forward<F>(f)(std::type_identity<int8_t>{});
    case KeyType::u16: return std::forward<F>(f)(std::type_identity<uint16_t>{});
    case KeyType::i16: return std::forward<F>(f)(std::type_identity<int16_t>{});
    case KeyType::u32: return std::forward<F>(f)(std::type_identity<uint32_t>{});
    case KeyType::i32: return std::forward<F>(f)(std::type_identity<int32_t>{});
    case KeyType::u64: return std::forward<F>(f)(std::type_identity<uint64_t>{});
    case KeyType::i64: return std::forward<F>(f)(std::type_identity<int64_t>{});
    case KeyType::f32: return std::forward<F>(f)(std::type_identity<float>{});
    case KeyType::f64: break;
  }
  return std::forward<F>(f)(std::type_identity<double>{});
}

/// The unsigned integer of `bytes` bytes (1, 2, 4 or 8), which is how kernels and fingerprints see a key.
template <size_t bytes>
using UnsignedOf = std::conditional_t<
    bytes == 1, uint8_t,
    std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;

template <class T>
using BitsOf = UnsignedOf<sizeof(T)>;

template <class T>
consteval KeyType key_type_of() {
  if constexpr (std::is_same_v<T, float>) return KeyType::f32;
  if constexpr (std::is_same_v<T, double>) return KeyType::f64;
  constexpr bool is_signed = std::is_signed_v<T>;
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8 && !std::is_same_v<T, bool>);
  if constexpr (sizeof(T) == 1) return is_signed ? KeyType::i8 : KeyType::u8;
  if constexpr (sizeof(T) == 2) return is_signed ? KeyType::i16 : KeyType::u16;
  if constexpr (sizeof(T) == 4) return is_signed ? KeyType::i32 : KeyType::u32;
  return is_signed ? KeyType::i64 : KeyType::u64;
}

constexpr size_t key_bytes(KeyType type) {
  switch (type) {
    case KeyType::u8:
    case KeyType::i8: return 1;
    case KeyType::u16:
    case KeyType::i16: return 2;
    case KeyType::u32:
    case KeyType::i32:
    case KeyType::f32: return 4;
    default: return 8;
  }
}

/// At most this many of `count` keys can be distinct.
constexpr uint64_t max_distinct(KeyType type, uint64_t count) {
  return key_bytes(type) < sizeof(uint64_t) ? std::min(count, uint64_t{1} << (8 * key_bytes(type))) : count;
}

/// Calls `f(std::type_identity<Bits>{})` with the unsigned integer as wide as `type`.
template <class F>
constexpr decltype(auto) dispatch_bits(KeyType type, F&& f) {
  switch (key_bytes(type)) {
    case 1: return f(std::type_identity<uint8_t>{});
    case 2: return f(std::type_identity<uint16_t>{});
    case 4: return f(std::type_identity<uint32_t>{});
    default: return f(std::type_identity<uint64_t>{});
  }
}

constexpr bool is_floating(KeyType type) { return type == KeyType::f32 || type == KeyType::f64; }
constexpr bool is_signed(KeyType type) {
  return type == KeyType::i8 || type == KeyType::i16 || type == KeyType::i32 || type == KeyType::i64;
}

/// "u32", "f64", ...
constexpr std::string_view name(KeyType type) {
  constexpr std::array<std::string_view, 10> names{"u8",  "i8",  "u16", "i16", "u32",
                                                   "i32", "u64", "i64", "f32", "f64"};
  return names[static_cast<size_t>(type)];
}

constexpr std::string_view name(Order order) {
  return order == Order::ascending ? "ascending" : "descending";
}

}  // namespace sweepsort
