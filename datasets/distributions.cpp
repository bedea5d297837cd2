// distributions.cpp - the formulas for the distributions in distributions.hpp.
//
// Each formula writes 64-bit numbers in one of four spaces. One conversion per space and key type turns them
// into keys:
//   fraction  u / 2^64 of the type's range, in the type's order: integers take the upper bits, floats scale
//   value     the number itself
//   ordered   an unsigned pattern in the order of the keys (core/key_bits.hpp)
//   raw       the bits of the key
#include "datasets/distributions.hpp"

#include "core/error.hpp"
#include "core/fingerprint.hpp"
#include "core/key_bits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <thread>

namespace sweepsort {
namespace {

using Block = std::span<uint64_t>;

constexpr uint64_t golden = 0x9e3779b97f4a7c15ull;  // 2^64 / golden ratio, SplitMix64's step

constexpr uint64_t multiply_high(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
}

/// An endless sequence of random numbers with random access.
struct Stream {
  uint64_t state;
  constexpr uint64_t operator[](uint64_t index) const {
    return fingerprint_mix(state + (index + 1) * golden);
  }
};

/// What a formula may depend on.
struct Context {
  uint64_t seed;
  uint64_t n;
  uint32_t key_bits;
  uint32_t value_bits;  // whole numbers below 2^value_bits are exact and positive in the key type
  uint64_t parameter;

  /// Independent streams for formulas that need several numbers per key.
  constexpr Stream stream(uint64_t number) const {
    return {fingerprint_mix(seed + golden) ^ fingerprint_mix(number * golden)};
  }
};

template <class Formula>
void each(uint64_t first, Block out, Formula formula) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = formula(first + i);
}

void and_of_uniforms(const Context& context, uint64_t first, Block out) {
  std::ranges::fill(out, ~uint64_t{0});
  for (uint64_t factor = 0; factor < context.parameter; ++factor) {
    const Stream stream = context.stream(factor);
    for (size_t i = 0; i < out.size(); ++i) out[i] &= stream[first + i];
  }
}

/// Maps a position to a fraction, ascending. Every position owns a cell of the range and gets a random place
/// in it, so that the sorted file is uniformly distributed.
struct Staircase {
  Stream jitter;
  uint64_t step;
  explicit Staircase(const Context& context)
      : jitter(context.stream(0)), step(~uint64_t{0} / std::max<uint64_t>(context.n, 1)) {}
  uint64_t operator()(uint64_t position) const {
    return position * step + multiply_high(jitter[position], step);
  }
};

/// Partners are i and (centre - i) mod n. This is a reflection, so each finds the other independently. The
/// pair swaps if the hash of its smaller index says so.
void nearly_sorted(const Context& context, uint64_t first, Block out) {
  const Staircase staircase(context);
  const Stream dice = context.stream(1);
  const uint64_t n = context.n;
  const uint64_t centre = multiply_high(context.stream(2)[0], n);
  each(first, out, [&](uint64_t i) {
    const uint64_t partner = centre >= i ? centre - i : n - (i - centre);
    const bool swaps = dice[std::min(i, partner)] < ~uint64_t{0} / 100;
    return staircase(swaps ? partner : i);
  });
}

void organ_pipe(const Context& context, uint64_t first, Block out) {
  const Staircase staircase(context);
  const uint64_t n = context.n;
  each(first, out, [&](uint64_t i) { return staircase(i < n / 2 ? 2 * i + 1 : 2 * (n - 1 - i)); });
}

/// Maps an index to a number: a Feistel network permutes the numbers of twice `half` bits, and is repeated
/// until it leads to a number below n (Black & Rogaway, "Ciphers with Arbitrary Finite Domains", 2002).
void shuffled_ids(const Context& context, uint64_t first, Block out) {
  constexpr uint64_t rounds = 4;
  const uint32_t half = std::max(1u, (static_cast<uint32_t>(std::bit_width(context.n - 1)) + 1) / 2);
  const uint64_t mask = (uint64_t{1} << half) - 1;
  const Stream keys = context.stream(0);
  const auto permuted = [&](uint64_t number) {
    uint64_t left = number >> half;
    uint64_t right = number & mask;
    for (uint64_t round = 0; round < rounds; ++round) {
      const uint64_t mixed = left ^ (fingerprint_mix(keys[round] ^ right) & mask);
      left = right;
      right = mixed;
    }
    return left << half | right;
  };
  const uint64_t most = ~uint64_t{0} >> (64 - context.value_bits);
  each(first, out, [&](uint64_t i) {
    do i = permuted(i);
    while (i >= context.n);
    return i & most;
  });
}

/// 2^(j / 256) and 2^(j / 65536) as fixed-point numbers with 62 fractional bits, computed with integer square
/// roots and products.
struct PowerTables {
  std::array<uint64_t, 256> coarse{};
  std::array<uint64_t, 256> fine{};

  static constexpr uint64_t one = uint64_t{1} << 62;
  static constexpr uint64_t product(uint64_t a, uint64_t b) { return multiply_high(a, b) << 2; }

  static constexpr uint64_t square_root(uint64_t x) {  // of x / 2^62, rounded down
    uint64_t root = 0;
    for (uint64_t bit = one; bit != 0; bit >>= 1) {
      const unsigned __int128 candidate = root | bit;
      if (candidate * candidate <= static_cast<unsigned __int128>(x) << 62) root |= bit;
    }
    return root;
  }

  constexpr PowerTables() {
    coarse.fill(one);
    fine.fill(one);
    uint64_t root = square_root(uint64_t{1} << 63);  // 2^(1/2), then 2^(1/4), ...
    for (int bit = 15; bit >= 0; --bit, root = square_root(root)) {
      auto& table = bit >= 8 ? coarse : fine;
      for (size_t j = 0; j < 256; ++j)
        if ((j >> (bit % 8) & 1) != 0) table[j] = product(table[j], root);
    }
  }
};

/// A whole number k below 2^bits - 1 with probability log2(1 + 1/(k+1)) / bits, which is Zipf's law with
/// exponent 1 for all but the first few: floor(2^(bits * u)) - 1 with u uniform.
uint64_t zipf_rank(uint64_t uniform, uint32_t bits) {
  static constexpr PowerTables powers;
  const uint64_t exponent = multiply_high(uniform, uint64_t{bits} << 16);  // 16 fractional bits
  const uint64_t mantissa =
      PowerTables::product(powers.coarse[exponent >> 8 & 255], powers.fine[exponent & 255]);
  // The 16 bits quantise large ranks; another product of `uniform` spreads them over the gaps between
  // neighbours.
  const uint64_t filled = mantissa + multiply_high(uniform * golden, mantissa >> 17);
  return (filled >> (62 - (exponent >> 16))) - 1;
}

void gaussian(const Context& context, uint64_t first, Block out) {
  const std::array streams{context.stream(0), context.stream(1), context.stream(2)};
  const Stream rest = context.stream(3);
  constexpr uint64_t step = ~uint64_t{0} / (uint64_t{12} * 65536);
  each(first, out, [&](uint64_t i) {
    uint64_t sum = 0;
    for (const Stream& stream : streams) {
      const uint64_t four = stream[i];
      sum += (four & 0xffff) + (four >> 16 & 0xffff) + (four >> 32 & 0xffff) + (four >> 48);
    }
    return sum * step + multiply_high(rest[i], step);
  });
}

/// A network chosen by Zipf's law, then a host in it. First bytes are 1 to 223, which excludes multicast and
/// reserved addresses.
void ipv4(const Context& context, uint64_t first, Block out) {
  const Stream which = context.stream(0);
  const Stream host = context.stream(1);
  const Stream network = context.stream(2);
  each(first, out, [&](uint64_t i) {
    const uint64_t bits = network[zipf_rank(which[i], 12)];
    const uint64_t first_byte = 1 + multiply_high(bits, 223);
    return first_byte << 24 | (bits & 0xff) << 16 | host[i] >> 48;
  });
}

/// The constant digits are chosen so that the pattern is a finite number in every type: 0xbf..., about 1 to 4
/// as f32.
void two_digits(const Context& context, uint64_t first, Block out) {
  const Stream stream = context.stream(0);
  const uint64_t constant = uint64_t{0xbf} << (context.key_bits - 8);
  each(first, out, [&](uint64_t i) { return constant | (stream[i] & 0x00ff00ff); });
}

void one_bucket(const Context& context, uint64_t first, Block out) {
  const Stream stream = context.stream(0);
  const uint32_t varying = context.key_bits - 8;
  each(first, out, [&](uint64_t i) { return uint64_t{0xbf} << varying | stream[i] >> (64 - varying); });
}

/// A whole tile stays within 8 neighbouring buckets of every digit. Three random bits per digit make the keys
/// differ.
void block_alternating(const Context& context, uint64_t first, Block out) {
  const Stream stream = context.stream(0);
  constexpr uint64_t even_tile = 0x38b838b838b838b8ull;
  constexpr uint64_t odd_tile = 0xb838b838b838b838ull;
  constexpr uint64_t low_bits = 0x0707070707070707ull;
  each(first, out, [&](uint64_t i) {
    const uint64_t together = (i / 4096) % 2 != 0 ? odd_tile : even_tile;
    return (together | (stream[i] & low_bits)) >> (64 - context.key_bits);
  });
}

void decimal_text(const Context& context, uint64_t first, Block out) {
  const Stream stream = context.stream(0);
  const uint32_t characters = context.key_bits / 8;
  each(first, out, [&](uint64_t i) {
    uint64_t fraction = stream[i];
    uint64_t text = 0;
    for (uint32_t c = 0; c < characters; ++c, fraction *= 10)
      text = text << 8 | ('0' + multiply_high(fraction, 10));
    return text;
  });
}

/// Up to this many values, the number in the name is exact: no value is drawn twice, as bytes often would be.
constexpr uint64_t max_different = 16;

void few_distinct(const Context& context, uint64_t first, Block out) {
  const Stream values = context.stream(1);
  std::array<uint64_t, max_different> chosen;
  const auto is_chosen = [&](uint64_t value, uint64_t before) {
    return std::any_of(chosen.begin(), chosen.begin() + before,
                       [&](uint64_t other) { return (value ^ other) >> (64 - context.key_bits) == 0; });
  };
  const bool are_few = context.parameter <= max_different;
  uint64_t next = 0;
  for (uint64_t i = 0; are_few && i < context.parameter; ++i) {
    while (is_chosen(values[next], i)) ++next;
    chosen[i] = values[next++];
  }
  each(first, out, [&, which = context.stream(0)](uint64_t i) {
    const uint64_t value = multiply_high(which[i], context.parameter);
    return are_few ? chosen[value] : values[value];
  });
}

void float_specials(const Context& context, uint64_t first, Block out) {
  const Stream kind = context.stream(0);
  const Stream bits = context.stream(1);
  const uint32_t mantissa_bits = context.key_bits == 64 ? 52 : 23;
  const uint64_t mantissa_mask = (uint64_t{1} << mantissa_bits) - 1;
  const uint64_t sign_bit = uint64_t{1} << (context.key_bits - 1);
  const uint64_t infinity = (sign_bit - 1) & ~mantissa_mask;
  each(first, out, [&](uint64_t i) {
    const uint64_t random = bits[i];
    const uint64_t sign = random >> 63 != 0 ? sign_bit : 0;
    const uint64_t mantissa = random & mantissa_mask;
    switch (kind[i] % 16) {
      case 0:
      case 1: return sign | infinity | std::max<uint64_t>(mantissa, 1);  // NaN
      case 2: return sign | infinity;
      case 3:
      case 4: return sign;  // zero
      case 5:
      case 6: return sign | mantissa;                                         // denormal
      case 7: return sign | (infinity - 1);                                   // the largest
      case 8: return sign | (mantissa_mask + 1);                              // the smallest normal
      case 9: return sign | infinity | (mantissa_mask ^ mantissa_mask >> 1);  // the usual quiet NaN
      default: return random >> (64 - context.key_bits);
    }
  });
}

enum class Space : uint8_t { fraction, value, ordered, raw };

/// Runs the formula of `pattern` and returns the space of its numbers.
Space draw(Pattern pattern, const Context& context, uint64_t first, Block out) {
  const Stream stream = context.stream(0);
  const uint64_t n = context.n;
  const uint32_t zipf_bits = std::min(context.value_bits, 24u);
  switch (pattern) {
    case Pattern::uniform: each(first, out, [&](uint64_t i) { return stream[i]; }); break;
    case Pattern::and_of_uniforms: and_of_uniforms(context, first, out); break;
    case Pattern::all_equal: std::ranges::fill(out, stream[0]); break;
    case Pattern::few_distinct: few_distinct(context, first, out); break;
    case Pattern::sorted: each(first, out, Staircase(context)); break;
    case Pattern::reversed:
      each(first, out, [staircase = Staircase(context), n](uint64_t i) { return staircase(n - 1 - i); });
      break;
    case Pattern::nearly_sorted: nearly_sorted(context, first, out); break;
    case Pattern::organ_pipe: organ_pipe(context, first, out); break;
    case Pattern::zipf:
      each(first, out, [&](uint64_t i) { return zipf_rank(stream[i], zipf_bits); });
      return Space::value;
    case Pattern::zipf_hashed:
      each(first, out,
           [&, values = context.stream(1)](uint64_t i) { return values[zipf_rank(stream[i], zipf_bits)]; });
      break;
    case Pattern::gaussian: gaussian(context, first, out); break;
    case Pattern::shuffled_ids: shuffled_ids(context, first, out); return Space::value;
    case Pattern::small_range:
      each(first, out, [&](uint64_t i) { return 1000 + multiply_high(stream[i], context.parameter); });
      return Space::value;
    case Pattern::below_2_32:
      each(first, out, [&](uint64_t i) { return stream[i] >> 32; });
      return Space::value;
    case Pattern::timestamps: {
      constexpr uint64_t second = 1'000'000'000;
      constexpr uint64_t midnight = 1'704'067'200 * second;
      each(first, out, [&](uint64_t i) { return midnight + multiply_high(stream[i], 86'400 * second); });
      return Space::value;
    }
    case Pattern::ipv4: ipv4(context, first, out); return Space::value;
    case Pattern::mostly_one_value:
      each(first, out, [&, values = context.stream(1)](uint64_t i) {
        return values[stream[i] < ~uint64_t{0} / 10 ? i + 1 : 0];
      });
      break;
    case Pattern::one_bucket: one_bucket(context, first, out); return Space::ordered;
    case Pattern::two_digits: two_digits(context, first, out); return Space::ordered;
    case Pattern::block_alternating: block_alternating(context, first, out); return Space::ordered;
    case Pattern::decimal_text: decimal_text(context, first, out); return Space::ordered;
    case Pattern::float_specials: float_specials(context, first, out); return Space::raw;
  }
  return Space::fraction;
}

/// Maps [0, 2^64) to [-1e6, 1e6), in order. One conversion and one product, which a compiler cannot fuse.
double scale_fraction(uint64_t fraction) {
  constexpr double scale = 1e6 / 9223372036854775808.0;
  return static_cast<double>(static_cast<int64_t>(fraction ^ uint64_t{1} << 63)) * scale;
}

template <class Key>
Key key_from(Space space, uint64_t number) {
  using Bits = BitsOf<Key>;
  constexpr KeyMap<Bits> map = key_map<Bits>(key_type_of<Key>(), Order::ascending);
  if (space == Space::value) return static_cast<Key>(number);
  if (space == Space::fraction && std::is_floating_point_v<Key>)
    return static_cast<Key>(scale_fraction(number));
  Bits bits = static_cast<Bits>(number);
  if (space == Space::fraction) bits = static_cast<Bits>(number >> (64 - 8 * sizeof(Bits)));
  if (space != Space::raw) bits = map.from_ordered(bits);
  Key key;
  std::memcpy(&key, &bits, sizeof key);
  return key;
}

template <class Key>
void store(Space space, std::span<const uint64_t> numbers, std::byte* out) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Key key = key_from<Key>(space, numbers[i]);
    std::memcpy(out + i * sizeof(Key), &key, sizeof key);
  }
}

uint32_t value_bits(KeyType type) {
  if (type == KeyType::f32) return 24;
  if (type == KeyType::f64) return 53;
  return static_cast<uint32_t>(8 * key_bytes(type)) - (is_signed(type) ? 1 : 0);
}

void require_suits(const Distribution& distribution, KeyType type) {
  if (distribution.suits(type)) return;
  throw UsageError("the distribution " + std::string(distribution.name) + " does not suit keys of type " +
                       std::string(name(type)),
                   "choose another type or another distribution");
}

}  // namespace

void fill(const Distribution& distribution, KeyType type, uint64_t seed, uint64_t n, uint64_t first,
          std::span<std::byte> out) {
  require_suits(distribution, type);
  const size_t size = key_bytes(type);
  const uint64_t count = out.size() / size;
  if (out.size() % size != 0 || first > n || count > n - first)
    throw Error("internal: a part of a distribution that is not inside the whole");

  const Context context{.seed = seed,
                        .n = n,
                        .key_bits = static_cast<uint32_t>(8 * size),
                        .value_bits = value_bits(type),
                        .parameter = distribution.parameter};
  std::array<uint64_t, 1024> numbers;
  for (uint64_t done = 0; done < count; done += numbers.size()) {
    const Block block(numbers.data(), std::min<uint64_t>(numbers.size(), count - done));
    const Space space = draw(distribution.pattern, context, first + done, block);
    dispatch(type,
             [&]<class Key>(std::type_identity<Key>) { store<Key>(space, block, out.data() + done * size); });
  }
}

void fill_all(const Distribution& distribution, KeyType type, uint64_t seed, std::span<std::byte> out,
              uint32_t threads) {
  require_suits(distribution, type);
  const size_t size = key_bytes(type);
  const uint64_t n = out.size() / size;
  constexpr uint64_t worth_per_thread = 1u << 18;
  const uint64_t wanted = threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  const uint64_t workers = std::clamp<uint64_t>(n / worth_per_thread, 1, wanted);
  const auto part = [&](uint64_t worker) {
    const uint64_t first = n / workers * worker;
    const uint64_t last = worker + 1 == workers ? n : first + n / workers;
    fill(distribution, type, seed, n, first, out.subspan(first * size, (last - first) * size));
  };
  std::vector<std::jthread> team;
  for (uint64_t worker = 1; worker < workers; ++worker) team.emplace_back(part, worker);
  part(0);
}

const Distribution& require_distribution(std::string_view name, KeyType type) {
  const Distribution* const distribution = find_distribution(name);
  if (distribution == nullptr) throw UsageError("there is no distribution called " + std::string(name));
  require_suits(*distribution, type);
  return *distribution;
}

}  // namespace sweepsort
