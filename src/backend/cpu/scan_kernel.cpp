// scan_kernel.cpp - scans by whole vectors; the carry takes one operation per vector.
#include "backend/cpu/scan_kernel.hpp"

#include "backend/cpu/vector_lanes.hpp"
#include "core/error.hpp"
#include "core/key_bits.hpp"
#include "core/vector_dispatch.hpp"

#include <limits>

namespace sweepsort {
namespace {

using lanes::Vector;

// An operator works both on one lane and on a vector of lanes.

template <class Lane>
struct SumOp {
  /// For floats the identity is -0.0, because -0.0 + -0.0 is -0.0, but 0.0 + -0.0 is 0.0.
  static constexpr Lane identity = std::is_floating_point_v<Lane> ? Lane(-0.0) : Lane(0);
  template <class V>
  SWEEPSORT_INLINE V operator()(const V& left, const V& right) const {
    return static_cast<V>(left + right);
  }
};

template <class Lane>
struct XorOp {
  static constexpr Lane identity = 0;
  template <class V>
  SWEEPSORT_INLINE V operator()(const V& left, const V& right) const {
    return static_cast<V>(left ^ right);
  }
};

template <class Lane>
struct LeastOp {
  static constexpr Lane identity = std::numeric_limits<Lane>::max();
  template <class V>
  SWEEPSORT_INLINE V operator()(const V& left, const V& right) const {
    return right < left ? right : left;
  }
};

// Conversions between elements and lanes.

struct AsIs {
  template <class V>
  SWEEPSORT_INLINE V to_lane(const V& raw) const {
    return raw;
  }
  template <class V>
  SWEEPSORT_INLINE V from_lane(const V& lane) const {
    return lane;
  }
};

/// extreme_map for integers.
template <class Element>
struct FlippedBits {
  Element flip;
  template <class V>
  SWEEPSORT_INLINE V to_lane(const V& raw) const {
    return static_cast<V>(raw ^ flip);
  }
  template <class V>
  SWEEPSORT_INLINE V from_lane(const V& lane) const {
    return to_lane(lane);
  }
};

/// extreme_map for floats, on all lanes.
template <class Lane>
struct FloatRanks {
  KeyMap<Lane> map;

  template <class V>
  SWEEPSORT_INLINE V to_lane(const V& raw) const {
    return (raw ^ (lanes::sign_mask(raw) & map.flip_change) ^ map.flip) + map.add;
  }
  template <class V>
  SWEEPSORT_INLINE V from_lane(const V& lane) const {
    const V raw = (lane - map.add) ^ map.flip;
    return raw ^ (lanes::sign_mask(raw) & map.flip_change);
  }
};

template <class Element, size_t bytes, class Map>
struct Loader {
  using V = Vector<Element, bytes>;
  static constexpr size_t count = bytes / sizeof(Element);

  SWEEPSORT_INLINE static V load(const Element* in, const Map& map) {
    V raw;
    std::memcpy(&raw, in, sizeof raw);
    return map.to_lane(raw);
  }
  SWEEPSORT_INLINE static void store(const V& lane, Element* out, const Map& map) {
    const V raw = map.from_lane(lane);
    std::memcpy(out, &raw, sizeof raw);
  }
  SWEEPSORT_INLINE static void stream(const V& lane, Element* out, const Map& map) {
    lanes::stream(map.from_lane(lane), out);
  }
};

/// Prefetches the cache lines half a page ahead, because the processor's own prefetching stops at a page
/// border. Minimum of 1 GiB, 2 threads of Sapphire Rapids, GB/s: u32 25, f32 27; without prefetching 22 and
/// 25; 8 KiB ahead 24 and 17.
template <size_t bytes>
SWEEPSORT_INLINE void prefetch(const void* at) {
  for (size_t i = 0; i < bytes; i += 64) __builtin_prefetch(static_cast<const char*>(at) + 2048 + i);
}

/// Combines a run in groups, so that an operation need not wait for the one before. A group is four vectors
/// of integers, or 64 bytes of floats, so that the order of additions is the same for all vector widths.
template <size_t bytes, class Element, class Map, class Op>
class Combiner {
 public:
  using Load = Loader<Element, bytes, Map>;
  using V = typename Load::V;
  static constexpr size_t vectors = std::is_floating_point_v<Element> ? 64 / bytes : 4;
  static constexpr size_t group = vectors * Load::count;

  SWEEPSORT_INLINE Combiner(const Combination& run, const Map& map, const Op& op)
      : in_(reinterpret_cast<const Element*>(run.in)), count_(run.count), at_(run.done), map_(map), op_(op) {
    std::memcpy(sums_, run.sums, sizeof sums_);
  }

  SWEEPSORT_INLINE bool has_group() const { return at_ + group <= count_; }
  SWEEPSORT_INLINE void add_group() {
    prefetch<sizeof sums_>(in_ + at_);
    for (size_t i = 0; i < vectors; ++i)
      sums_[i] = op_(sums_[i], Load::load(in_ + at_ + i * Load::count, map_));
    at_ += group;
  }
  SWEEPSORT_INLINE void save(Combination& run) const {
    run.done = at_;
    std::memcpy(run.sums, sums_, sizeof sums_);
  }
  /// Call this when no whole group is left.
  SWEEPSORT_INLINE Element total() const {
    using Small = Vector<Element, 16>;
    Small sums[sizeof sums_ / 16];
    std::memcpy(sums, sums_, sizeof sums);
    for (size_t left = std::size(sums); left > 1; left /= 2)
      for (size_t i = 0; i < left / 2; ++i) sums[i] = op_(sums[2 * i], sums[2 * i + 1]);
    Element total = sums[0][0];
    for (size_t i = 1; i < lanes::lane_count<Small>; ++i) total = op_(total, Element(sums[0][i]));
    for (uint64_t at = at_; at < count_; ++at) total = op_(total, map_.to_lane(in_[at]));
    return total;
  }

 private:
  const Element* in_;
  uint64_t count_;
  uint64_t at_;
  const Map& map_;
  const Op& op_;
  V sums_[vectors];
};

template <size_t bytes, class Element, class Map, class Op>
SWEEPSORT_INLINE Element reduce_run(Combination& run, const Map& map, const Op& op) {
  Combiner<bytes, Element, Map, Op> combiner(run, map, op);
  while (combiner.has_group()) combiner.add_group();
  return combiner.total();
}

/// Scans 64 bytes at a time after a carry, so that only one operation per 64 bytes waits for the one before.
template <size_t bytes, bool exclusive, class Element, class Map, class Op>
class Scanner {
 public:
  using Load = Loader<Element, bytes, Map>;
  using V = typename Load::V;
  static constexpr size_t vectors = 64 / bytes;
  static constexpr size_t group = vectors * Load::count;

  SWEEPSORT_INLINE Scanner(Element carry, const Map& map, const Op& op)
      : map_(map), op_(op), identity_(lanes::splat<V>(Op::identity)), before_(lanes::splat<V>(carry)) {}

  template <bool streams>
  SWEEPSORT_INLINE void step(const Element* in, Element* out) {
    V scanned[vectors];
    for (size_t i = 0; i < vectors; ++i) scanned[i] = Load::load(in + i * Load::count, map_);
    lanes::inclusive(scanned, identity_, op_);
    for (size_t i = 0; i < vectors; ++i) {
      const V mine =
          exclusive ? lanes::shifted<1>(scanned[i], i > 0 ? scanned[i - 1] : identity_) : scanned[i];
      if constexpr (streams)
        Load::stream(op_(before_, mine), out + i * Load::count, map_);
      else
        Load::store(op_(before_, mine), out + i * Load::count, map_);
    }
    before_ = op_(before_, lanes::last_everywhere(scanned[vectors - 1]));
  }

  /// Scans all whole groups, then the remaining elements one by one. Returns the carry.
  template <bool streams>
  SWEEPSORT_INLINE Element finish(const Element* in, uint64_t count, Element* out) {
    uint64_t at = 0;
    for (; at + group <= count; at += group) step<streams>(in + at, out + at);
    Element carry = before_[0];
    for (; at < count; ++at) {
      const Element with = op_(carry, map_.to_lane(in[at]));
      out[at] = map_.from_lane(exclusive ? carry : with);
      carry = with;
    }
    return carry;
  }

 private:
  const Map& map_;
  const Op& op_;
  V identity_;
  V before_;
};

template <size_t bytes, bool exclusive, class Element, class Map, class Op>
SWEEPSORT_INLINE Element scan_run(const Element* in, uint64_t count, Element carry, const Map& map,
                                  const Op& op, Element* out) {
  return Scanner<bytes, exclusive, Element, Map, Op>(carry, map, op).template finish<false>(in, count, out);
}

/// Alternates a group of the other run with as many bytes of this run, whose results are streamed.
template <size_t reduce_bytes, size_t bytes, bool exclusive, class Element, class Map, class Op>
SWEEPSORT_INLINE Element scan_and_reduce_run(const Element* in, uint64_t count, Element carry, const Map& map,
                                             const Op& op, Element* out, Combination& other) {
  Combiner<reduce_bytes, Element, Map, Op> combiner(other, map, op);
  Scanner<bytes, exclusive, Element, Map, Op> scanner(carry, map, op);
  constexpr size_t group = decltype(combiner)::group;
  uint64_t at = 0;
  for (; at + group <= count && combiner.has_group(); at += group) {
    combiner.add_group();
    for (size_t i = 0; i < group; i += scanner.group) scanner.template step<true>(in + at + i, out + at + i);
  }
  combiner.save(other);
  return scanner.template finish<true>(in + at, count - at, out + at);
}

template <class Element, class Map, class Op>
Element scan_one_by_one(const Element* in, uint64_t count, Element carry, bool exclusive, const Map& map,
                        const Op& op, Element* out) {
  for (uint64_t i = 0; i < count; ++i) {
    const Element with = op(carry, map.to_lane(in[i]));
    out[i] = map.from_lane(exclusive ? carry : with);
    carry = with;
  }
  return carry;
}

/// Calls f(vector size for combining, vector size for scanning), both in bytes as integral_constant, compiled
/// for this processor. Scans use 16 bytes, because shifting them is one instruction, and several for wider
/// vectors (u32 on a Zen core: 0.19 ns per element with 16 bytes, 0.30 with 32). AVX-512 shifts wide elements
/// in one instruction (2^26 u32, 2 threads of Sapphire Rapids: 26.9 ms with 16 bytes, 22.3 with 64).
template <class Element, class F>
SWEEPSORT_INLINE auto with_vectors(F f) {
  using Small = std::integral_constant<size_t, 16>;
#ifdef SWEEPSORT_VECTOR_DISPATCH
  using Large = std::integral_constant<size_t, 64>;
  using Scanned = std::conditional_t<(sizeof(Element) < 4), Small, Large>;
  const auto wide = [&]() __attribute__((always_inline)) { return f(Large{}, Scanned{}); };
  const auto medium = [&]() __attribute__((always_inline)) {
    return f(std::integral_constant<size_t, 32>{}, Small{});
  };
  if (has_avx512()) return with_avx512(wide);
  if (has_avx2()) return with_avx2(medium);
#endif
  return f(Small{}, Small{});
}

template <class Element, class Map, class Op>
class VectorKernel final : public ScanKernel {
 public:
  VectorKernel(Map map, Element exclusive_start) : map_(map), exclusive_start_(exclusive_start) {}

  Carry start(ScanKind kind) const override {
    return to_carry(kind == ScanKind::exclusive ? exclusive_start_ : Op::identity);
  }
  Carry combine(Carry left, Carry right) const override { return to_carry(op_(lane(left), lane(right))); }
  Combination begin_reduce(const std::byte* in, uint64_t count) const override {
    Combination run{.in = in, .count = count, .sums = {}};
    const Element identity = Op::identity;
    for (size_t at = 0; at < sizeof run.sums; at += sizeof identity)
      std::memcpy(run.sums + at, &identity, sizeof identity);
    return run;
  }
  Carry end_reduce(Combination& run) const override {
    return to_carry(with_vectors<Element>([&](auto reduce_bytes, auto) __attribute__((always_inline)) {
      return reduce_run<decltype(reduce_bytes)::value, Element>(run, map_, op_);
    }));
  }
  Carry scan(const std::byte* in, uint64_t count, Carry carry, ScanKind kind, std::byte* out) const override {
    const auto* const from = reinterpret_cast<const Element*>(in);
    auto* const to = reinterpret_cast<Element*>(out);
    const Element before = lane(carry);
    return to_carry(with_vectors<Element>([&](auto, auto bytes) __attribute__((always_inline)) {
      constexpr size_t width = decltype(bytes)::value;
      return kind == ScanKind::exclusive ? scan_run<width, true>(from, count, before, map_, op_, to)
                                         : scan_run<width, false>(from, count, before, map_, op_, to);
    }));
  }
  Carry scan_and_reduce(const std::byte* in, uint64_t count, Carry carry, ScanKind kind, std::byte* out,
                        Combination& other) const override {
    const auto* const from = reinterpret_cast<const Element*>(in);
    auto* const to = reinterpret_cast<Element*>(out);
    const Element before = lane(carry);
    return to_carry(with_vectors<Element>([&](auto reduce_bytes, auto bytes) __attribute__((always_inline)) {
      constexpr size_t other_width = decltype(reduce_bytes)::value;
      constexpr size_t width = decltype(bytes)::value;
      return kind == ScanKind::exclusive
                 ? scan_and_reduce_run<other_width, width, true>(from, count, before, map_, op_, to, other)
                 : scan_and_reduce_run<other_width, width, false>(from, count, before, map_, op_, to, other);
    }));
  }
  Carry scan_plainly(const std::byte* in, uint64_t count, Carry carry, ScanKind kind,
                     std::byte* out) const override {
    return to_carry(scan_one_by_one(reinterpret_cast<const Element*>(in), count, lane(carry),
                                    kind == ScanKind::exclusive, map_, op_, reinterpret_cast<Element*>(out)));
  }
  uint64_t element(Carry carry) const override {
    const Element element = map_.from_lane(lane(carry));
    uint64_t bits = 0;
    std::memcpy(&bits, &element, sizeof element);
    return bits;
  }

 private:
  static Element lane(Carry carry) {
    Element lane;
    std::memcpy(&lane, &carry, sizeof lane);
    return lane;
  }
  static Carry to_carry(Element lane) {
    Carry carry = 0;
    std::memcpy(&carry, &lane, sizeof lane);
    return carry;
  }

  Map map_;
  Element exclusive_start_;
  [[no_unique_address]] Op op_{};
};

template <class Bits>
std::unique_ptr<ScanKernel> make_least(KeyType type, ScanOp op) {
  const KeyMap<Bits> map = extreme_map<Bits>(type, op == ScanOp::min ? Extreme::min : Extreme::max);
  const Bits start = map.to_ordered(static_cast<Bits>(exclusive_start(type, op)));
  if constexpr (sizeof(Bits) >= 4) {
    if (is_floating(type))
      return std::make_unique<VectorKernel<Bits, FloatRanks<Bits>, LeastOp<Bits>>>(FloatRanks<Bits>{map},
                                                                                   start);
  }
  // Signed integers flip one bit regardless of the sign, so one XOR is enough.
  const FlippedBits<Bits> flip{map.flip};
  return std::make_unique<VectorKernel<Bits, FlippedBits<Bits>, LeastOp<Bits>>>(flip, start);
}

template <class Element>
std::unique_ptr<ScanKernel> make_sum() {
  return std::make_unique<VectorKernel<Element, AsIs, SumOp<Element>>>(AsIs{}, Element{0});
}

template <class Bits>
std::unique_ptr<ScanKernel> make_kernel(KeyType type, ScanOp op) {
  switch (op) {
    case ScanOp::min:
    case ScanOp::max: return make_least<Bits>(type, op);
    case ScanOp::bit_xor: {
      if (is_floating(type)) throw UsageError("an exclusive or of floats means nothing", "scan integers");
      return std::make_unique<VectorKernel<Bits, AsIs, XorOp<Bits>>>(AsIs{}, Bits{0});
    }
    default: break;
  }
  if (type == KeyType::f32) return make_sum<float>();
  if (type == KeyType::f64) return make_sum<double>();
  return make_sum<Bits>();
}

}  // namespace

std::unique_ptr<ScanKernel> make_scan_kernel(KeyType type, ScanOp op) {
  return dispatch_bits(type, [&]<class T>(std::type_identity<T>) { return make_kernel<T>(type, op); });
}

void widen(KeyType from, KeyType to, const std::byte* in, uint64_t count, std::byte* out) {
  dispatch(from, [&](auto from_identity) {
    dispatch(to, [&](auto to_identity) {
      using From = typename decltype(from_identity)::type;
      using To = typename decltype(to_identity)::type;
      if constexpr (can_widen(key_type_of<From>(), key_type_of<To>())) {
        const auto* const source = reinterpret_cast<const From*>(in);
        auto* const target = reinterpret_cast<To*>(out);
        with_best_vectors([&]() __attribute__((always_inline)) {
          for (uint64_t i = 0; i < count; ++i) target[i] = static_cast<To>(source[i]);
        });
      }
    });
  });
}

}  // namespace sweepsort
