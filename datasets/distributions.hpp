// distributions.hpp - the only list of input distributions, with seeds, for the tests, the benchmark and
// `generate`.
//
// A file of n keys is a pure function of (distribution, key type, seed, n). The key at index i is computed
// from a hash of (seed, i) (the SplitMix64 stream, Steele et al., 2014, entered at any position), never from
// the key before it. So any part of a file can be generated separately, by any number of threads, with the
// same bytes on every machine. All arithmetic is on integers, except for one exact int64 -> double conversion
// and one rounded product for floating-point keys.
//
// The plots show either the key over its index ("index" on the axis) or the frequency of each key ("key").
#pragma once

#include "core/key_type.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sweepsort {

/// Which formula generates the numbers; distributions.cpp has one function for each.
enum class Pattern : uint8_t {
  uniform,
  and_of_uniforms,  // parameter: how many
  all_equal,
  few_distinct,  // parameter: how many
  sorted,
  reversed,
  nearly_sorted,
  organ_pipe,
  zipf,
  zipf_hashed,
  gaussian,
  shuffled_ids,
  small_range,  // parameter: how many values
  below_2_32,
  timestamps,
  ipv4,
  mostly_one_value,
  one_bucket,
  two_digits,
  block_alternating,
  decimal_text,
  float_specials,
};

struct Distribution {
  std::string_view name;
  std::string_view summary;
  Pattern pattern;
  uint64_t parameter;
  bool (*suits)(KeyType);
  std::string_view plot;
};

namespace suits {
constexpr bool all(KeyType) { return true; }
constexpr bool two_bytes_and_more(KeyType type) { return key_bytes(type) >= 2; }
constexpr bool four_bytes_and_more(KeyType type) { return key_bytes(type) >= 4; }
constexpr bool integers_of_eight_bytes(KeyType type) { return type == KeyType::u64 || type == KeyType::i64; }
constexpr bool holds_an_ipv4_address(KeyType type) {
  return type == KeyType::u32 || integers_of_eight_bytes(type);
}
constexpr bool floats(KeyType type) { return is_floating(type); }
}  // namespace suits

/// All distributions that tests and tables use. A "uniform" key is uniform over all values of an integer
/// type, and over [-1e6, 1e6) for floating-point types; float-specials covers the other floating-point
/// patterns.
inline constexpr std::array distribution_table{
    Distribution{"uniform", "every value equally likely", Pattern::uniform, 0, suits::all, R"(
 n |
   |################################
   |################################
   +-------------------------------- key)"},
    Distribution{"and3", "AND of 3 uniform numbers: bits are set 1 time in 8", Pattern::and_of_uniforms, 3,
                 suits::all, R"(
 n |#
   |#   #
   |##  ##  #   #   #       #
   +-------------------------------- key)"},
    Distribution{"and5", "AND of 5 uniform numbers: bits are set 1 time in 32", Pattern::and_of_uniforms, 5,
                 suits::all, R"(
 n |#
   |#
   |#   .   .       .
   +-------------------------------- key)"},
    Distribution{"all-equal", "one value", Pattern::all_equal, 0, suits::all, R"(
 n |                    #
   |                    #
   |                    #
   +-------------------------------- key)"},
    Distribution{"few-2", "2 distinct values, equally likely", Pattern::few_distinct, 2, suits::all, R"(
 n |
   |      #                    #
   |      #                    #
   +-------------------------------- key)"},
    Distribution{"few-16", "16 distinct values, equally likely", Pattern::few_distinct, 16, suits::all, R"(
 n |
   |
   |# #  ## #   #  # #  # ## #  # # #
   +-------------------------------- key)"},
    Distribution{"few-1000", "at most 1000 distinct values, equally likely", Pattern::few_distinct, 1000,
                 suits::all,
                 R"(
 n |
   |
   |### ########## ####### ##########
   +-------------------------------- key)"},
    Distribution{"sorted", "ascending already", Pattern::sorted, 0, suits::all, R"(
key|                         ....''''
   |            ....'''''''''
   |....''''''''
   +-------------------------------- index)"},
    Distribution{"reversed", "descending", Pattern::reversed, 0, suits::all, R"(
key|''''....
   |        ''''''''....
   |                    ''''''''....
   +-------------------------------- index)"},
    Distribution{"nearly-sorted", "ascending, but 1 key in 100 has changed places with another",
                 Pattern::nearly_sorted, 0, suits::all, R"(
key|       .             .   ....''''
   |            ....'''''''''
   |....''''''''            .     .
   +-------------------------------- index)"},
    Distribution{"organ-pipe", "ascending, then descending", Pattern::organ_pipe, 0, suits::all, R"(
key|            ..''''..
   |      ..''''        ''''..
   |..''''                    ''''..
   +-------------------------------- index)"},
    Distribution{"zipf", "key k with a probability of about 1/(k+1): small keys are frequent", Pattern::zipf,
                 0, suits::all, R"(
 n |#
   |##
   |####____.........
   +-------------------------------- key)"},
    Distribution{"zipf-hashed", "as frequent as in zipf, but scattered over all values", Pattern::zipf_hashed,
                 0, suits::all, R"(
 n |           #
   |     #     #             #
   |_._._#.__._#__._#_.._#._.#.._._..
   +-------------------------------- key)"},
    Distribution{"gaussian",
                 "bell curve around the middle, deviation 1/12 of the range (12 uniform numbers summed)",
                 Pattern::gaussian, 0, suits::all, R"(
 n |              .##.
   |            .######.
   |.........__##########__..........
   +-------------------------------- key)"},
    Distribution{"shuffled-ids",
                 "the numbers from 0 to n - 1 in random order, each once if the type has so many",
                 Pattern::shuffled_ids, 0, suits::four_bytes_and_more, R"(
 n |
   |
   |########
   +-------------------------------- key)"},
    Distribution{"small-range-256", "1000 to 1255, uniform", Pattern::small_range, 256,
                 suits::two_bytes_and_more,
                 R"(
 n |  ##
   |  ##
   |  ##
   +-------------------------------- key)"},
    Distribution{"small-range-65536", "1000 to 66,535, uniform", Pattern::small_range, 65536,
                 suits::four_bytes_and_more, R"(
 n |
   |  #####
   |  #####
   +-------------------------------- key)"},
    Distribution{"below-2^32", "64-bit keys of which the upper half is zero", Pattern::below_2_32, 0,
                 suits::integers_of_eight_bytes, R"(
 n |#
   |#
   |#
   +-------------------------------- key)"},
    Distribution{"timestamps", "nanoseconds since 1970 of one day (2024-01-01), in random order",
                 Pattern::timestamps, 0, suits::integers_of_eight_bytes, R"(
 n |   #
   |   #
   |   #
   +-------------------------------- key)"},
    Distribution{"ipv4", "addresses out of 4096 networks, some of them busy", Pattern::ipv4, 0,
                 suits::holds_an_ipv4_address, R"(
 n |      #            #
   |  #   #   #        #    #
   |  # . #.  #  .  #. # . .#  .
   +-------------------------------- key)"},
    Distribution{"ninety-percent-one-value", "one value 9 times in 10, else uniform",
                 Pattern::mostly_one_value, 0, suits::all, R"(
 n |                   #
   |                   #
   |___________________#____________
   +-------------------------------- key)"},
    Distribution{"one-bucket", "the top 8 bits are constant, the others uniform", Pattern::one_bucket, 0,
                 suits::two_bytes_and_more, R"(
 n |                      ##
   |                      ##
   |                      ##
   +-------------------------------- key)"},
    Distribution{"two-digits", "only the lowest and the third lowest 8 bits vary", Pattern::two_digits, 0,
                 suits::four_bytes_and_more, R"(
 n |
   |                      ||
   |                      ||
   +-------------------------------- key)"},
    Distribution{"block-alternating", "4096 keys in 8 buckets of every digit, the next 4096 in 8 far away",
                 Pattern::block_alternating, 0, suits::all, R"(
key|   ----    ----    ----    ----
   |
   |---    ----    ----    ----    --
   +-------------------------------- index)"},
    Distribution{"decimal-text", "decimal digits as text, one a byte", Pattern::decimal_text, 0,
                 suits::four_bytes_and_more, R"(
 n |      |||
   |      |||
   |      |||
   +-------------------------------- key)"},
    Distribution{"float-specials",
                 "NaNs of both signs with payloads, infinities, zeros, denormals among normals",
                 Pattern::float_specials, 0, suits::floats, R"(
 n |#              ##              ##
   |#              ##              ##
   |#_._._._._._._.##._._._._._._._##
   +-------------------------------- key
   -inf            -0 +0      +inf, NaN)"},
};

/// and2 ... and8 that are not in the table above: they can be found by name, but are not in the list.
inline constexpr auto more_distributions = [] {
  constexpr std::array<std::string_view, 5> names{"and2", "and4", "and6", "and7", "and8"};
  constexpr std::array<std::string_view, 5> summaries{
      "AND of 2 uniform numbers: bits are set 1 time in 4", "AND of 4 uniform numbers: 1 time in 16",
      "AND of 6 uniform numbers: 1 time in 64", "AND of 7 uniform numbers: 1 time in 128",
      "AND of 8 uniform numbers: 1 time in 256"};
  std::array<Distribution, names.size()> rows{};
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint64_t factors = static_cast<uint64_t>(names[i].back() - '0');
    rows[i] = Distribution{names[i], summaries[i], Pattern::and_of_uniforms,
                           factors,  suits::all,   distribution_table[1].plot};
  }
  return rows;
}();

constexpr std::span<const Distribution> all_distributions() { return distribution_table; }

/// Returns null if there is no distribution with that name.
constexpr const Distribution* find_distribution(std::string_view name) {
  for (const Distribution& distribution : distribution_table)
    if (distribution.name == name) return &distribution;
  for (const Distribution& distribution : more_distributions)
    if (distribution.name == name) return &distribution;
  return nullptr;
}

/// Writes the keys [first, first + out.size() / key_bytes(type)) of the n-key file to `out` (any alignment,
/// host byte order). Throws Error if the distribution does not suit the type or the range reaches beyond n.
void fill(const Distribution& distribution, KeyType type, uint64_t seed, uint64_t n, uint64_t first,
          std::span<std::byte> out);

/// Writes all keys of the file to memory, with `threads` threads (0: all).
void fill_all(const Distribution& distribution, KeyType type, uint64_t seed, std::span<std::byte> out,
              uint32_t threads = 0);

/// Returns the distribution called `name`. Throws UsageError if there is none or it does not suit `type`.
const Distribution& require_distribution(std::string_view name, KeyType type);

template <class Key>
std::vector<Key> make_keys(std::string_view name, uint64_t n, uint64_t seed) {
  std::vector<Key> keys(n);
  fill_all(require_distribution(name, key_type_of<Key>()), key_type_of<Key>(), seed,
           std::as_writable_bytes(std::span(keys)));
  return keys;
}

}  // namespace sweepsort
