// pass_rule.hpp - the rule for a right result of a pass. It applies to one element at a time, so that a GPU
// or several threads can check all elements at once.
//
// A scan is right if its first element is right and every other element follows from its predecessor. By
// induction, every element is then what one pass from front to back gives. No second result is needed for
// comparison, which might share a fault with the first.
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
  bool any_identity;  // for floats, several values change no minimum: infinity, NaN

  SWEEPSORT_HOST_DEVICE bool holds(const T* in, const T* out, uint64_t i) const {
    if (!exclusive) return out[i] == (i == 0 ? in[0] : op(out[i - 1], in[i]));
    if (i > 0) return out[i] == op(out[i - 1], in[i - 1]);
    return any_identity ? op(out[0], in[0]) == in[0] : out[0] == static_cast<T>(op.identity());
  }
};

/// Calls f(rule) with the rule of a scan. Elements are unsigned bits, except in sums of floats.
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

/// The result of a search.
struct PassFound {
  uint64_t bits = 0;   // the element, in the low bytes
  uint64_t index = 0;  // if requested
};

}  // namespace sweepsort::bench
