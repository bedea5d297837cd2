// pass_rule.hpp - when is the result of a pass right? Said of one element at a time, so that a GPU and a team
// of threads can ask it of all of them at once.
//
// A scan is right if its first element is and every other one follows from its predecessor: by induction all
// are then what one pass from front to back gives, element by element. No second result is needed to compare
// with, and none could share a fault with the first.
#pragma once

#include "bench/pass_case.hpp"
#include "core/key_bits.hpp"
#include "kernels/scan_op.cuh"

#include <cstdint>
#include <type_traits>

namespace sweepsort::bench {

template <class T, class Op>
struct ScanRule {
  Op op;
  bool exclusive;
  bool any_identity;  // floats have more than one value that changes no minimum: infinity, NaN

  SWEEPSORT_HOST_DEVICE bool holds(const T* in, const T* out, uint64_t i) const {
    if (!exclusive) return out[i] == (i == 0 ? in[0] : op(out[i - 1], in[i]));
    if (i > 0) return out[i] == op(out[i - 1], in[i - 1]);
    return any_identity ? op(out[0], in[0]) == in[0] : out[0] == static_cast<T>(op.identity());
  }
};

/// Calls f(rule) with the rule of a scan. Elements are unsigned bits, but for sums of floats.
template <class F>
decltype(auto) with_scan_rule(const PassCase& what, F&& f) {
  const bool exclusive = what.kind == ScanKind::exclusive;
  if (what.sums_floats() && what.type == KeyType::f32)
    return f(ScanRule<float, Sum<float>>{{}, exclusive, false});
  if (what.sums_floats()) return f(ScanRule<double, Sum<double>>{{}, exclusive, false});
  return dispatch(what.type, [&]<class Key>(std::type_identity<Key>) {
    using Bits = BitsOf<Key>;
    if (what.op == ScanOp::sum) return f(ScanRule<Bits, Sum<Bits>>{{}, exclusive, false});
    if (what.op == ScanOp::bit_xor) return f(ScanRule<Bits, Xor<Bits>>{{}, exclusive, false});
    const Extreme extreme = what.op == ScanOp::min ? Extreme::min : Extreme::max;
    const First<Bits> first{extreme_map<Bits>(what.type, extreme)};
    return f(ScanRule<Bits, First<Bits>>{first, exclusive, is_floating(what.type)});
  });
}

/// What a search says it found.
struct PassFound {
  uint64_t bits = 0;   // the element, in the low bytes
  uint64_t index = 0;  // if it was wanted
};

}  // namespace sweepsort::bench
