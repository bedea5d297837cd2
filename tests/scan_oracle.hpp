// scan_oracle.hpp - what a scan and a search must return, by the plainest possible loops.
#pragma once

#include "core/key_type.hpp"
#include "core/scan.hpp"
#include "seed.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <vector>

namespace sweepsort::test {

/// Any bits. Floats are small whole numbers, whose sums are exact in any order. With `specials`, there are
/// also some NaN of either sign, infinities and zeros.
template <class T>
std::vector<T> scan_input(size_t count, bool specials = false) {
  std::mt19937_64 random(test_seed() + count);
  std::vector<T> elements(count);
  for (T& element : elements) {
    const uint64_t bits = random();
    if constexpr (std::is_floating_point_v<T>) {
      using Limits = std::numeric_limits<T>;
      constexpr T special[] = {
          Limits::quiet_NaN(), -Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), T{0}, -T{0}};
      element = specials && bits % 4 == 0 ? special[bits / 4 % 6] : static_cast<T>(int(bits >> 60) - 8);
    } else {
      std::memcpy(&element, &bits, sizeof element);
    }
  }
  return elements;
}

/// Whether `a` comes before `b` in the sort. NaN comes before nothing.
template <class T>
bool comes_before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return false;
    if (std::isnan(b)) return true;
    return a < b || (a == b && std::signbit(a) && !std::signbit(b));
  }
  return a < b;
}
template <class T>
bool is_nan(T value) {
  return value != value;
}

template <class T>
T combine(ScanOp op, T left, T right) {
  if (op == ScanOp::min) return comes_before(right, left) ? right : left;
  if (op == ScanOp::max) return is_nan(left) || (!is_nan(right) && comes_before(left, right)) ? right : left;
  if constexpr (std::is_floating_point_v<T>) {
    return left + right;
  } else {
    const auto a = static_cast<uint64_t>(left), b = static_cast<uint64_t>(right);
    return static_cast<T>(op == ScanOp::sum ? a + b : a ^ b);
  }
}

/// The first element of an exclusive scan.
template <class T>
T first_of_exclusive(ScanOp op) {
  using Limits = std::numeric_limits<T>;
  if (op == ScanOp::min) return Limits::has_infinity ? Limits::infinity() : Limits::max();
  if (op == ScanOp::max) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return T{0};
}

template <class Out, class In>
std::vector<Out> expected_scan(const std::vector<In>& in, ScanOp op, ScanKind kind) {
  std::vector<Out> out;
  std::optional<Out> sum;
  if (kind == ScanKind::exclusive) sum = first_of_exclusive<Out>(op);
  for (const In element : in) {
    const Out with = sum ? combine(op, *sum, static_cast<Out>(element)) : static_cast<Out>(element);
    out.push_back(kind == ScanKind::exclusive ? *sum : with);
    sum = with;
  }
  return out;
}

/// The first element whose addition overflows the type, by exact sums.
template <class T>
std::optional<uint64_t> expected_overflow(const std::vector<T>& in, ScanKind kind) {
  __extension__ using Exact = __int128;
  Exact sum = 0;
  const size_t last = kind == ScanKind::exclusive ? 1 : 0;
  for (size_t i = 0; i + last < in.size(); ++i) {
    sum += static_cast<Exact>(in[i]);
    if (sum > std::numeric_limits<T>::max() || sum < std::numeric_limits<T>::min()) return i;
  }
  return {};
}

/// The index of the first difference in bits (any NaN equals any other); the length if there is none.
template <class T>
size_t first_difference(const std::vector<T>& a, const std::vector<T>& b) {
  const size_t length = std::min(a.size(), b.size());
  for (size_t i = 0; i < length; ++i)
    if (!(is_nan(a[i]) && is_nan(b[i])) && std::memcmp(&a[i], &b[i], sizeof(T)) != 0) return i;
  return length;
}

}  // namespace sweepsort::test
