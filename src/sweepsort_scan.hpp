// sweepsort_scan.hpp - prefix scans, and the smallest or largest element, of files and spans. Part of
// sweepsort.hpp.
//
// An inclusive scan puts in[0] op ... op in[i] at place i. An exclusive scan puts in[0] op ... op in[i - 1]
// there, and the operator's identity at place 0: 0 for sum and xor, the type's last value (for floats an
// infinity) for min and max.
// A sum of integers that overflows its type is an Error that names the place, unless wrapping is allowed.
// Sums of floats follow IEEE 754. On the CPU, the order of the additions depends neither on the number of
// threads nor on the processor, but it is not left to right, except with ScanAlgorithm::sequential. The GPU
// may round differently. min and max follow the order of the sort (-0.0 before +0.0) and skip NaN; an
// inclusive scan writes NaN until it meets the first number.
#pragma once

#include "core/error.hpp"
#include "core/file_options.hpp"
#include "core/key_type.hpp"
#include "core/scan.hpp"
#include "sweepsort_types.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sweepsort {

struct ScanFileOptions {
  FileOptions file = {};
  WhereOptions where = {};
  ScanOp op = ScanOp::sum;
  ScanKind kind = ScanKind::inclusive;
  ScanAlgorithm algorithm = ScanAlgorithm::automatic;
  std::optional<KeyType> output_type = {};       // empty: the input's; else one that holds all its values
  std::optional<FileFormat> output_format = {};  // empty: the input's
  bool wrap = false;                             // allow sums of integers to wrap
  bool in_place = false;                         // write the output over the input
  bool overwrite = false;                        // replace an existing output
  // Sums of integers and xor: check the last element of every chunk against the input, before the output gets
  // its name.
  bool verify = true;
  uint32_t repeat = 0;  // scan the data this many more times in memory and report the times
  ProgressFunction progress = {};
  LogFunction log = {};
  LogFunction note = {};
};

struct ScanReport {
  uint64_t count = 0;  // elements
  KeyType type = KeyType::u32;
  KeyType output_type = KeyType::u32;
  FileFormat format = FileFormat::raw;         // of the input
  FileFormat output_format = FileFormat::raw;  // and of the output
  Endian endian = Endian::little;              // of the elements in the files
  uint64_t input_bytes = 0;
  uint64_t output_bytes = 0;
  // All elements combined, as text. Empty if there are none, or if the total does not fit the type (an
  // exclusive scan does not write it, so this is no error).
  std::string total;
  std::string backend;      // "cpu", "cuda"
  std::string backend_why;  // why this backend
  std::string device;       // what it is
  std::string algorithm;    // the one that ran
  bool verified = false;
  std::vector<PhaseTime> phases;
  double total_s = 0;
  std::vector<double> repeat_s;       // --repeat: the time of each repetition
  double copy_bandwidth_bytes_s = 0;  // --repeat: the device's measured copy bandwidth (read + written)
};

/// Scans the file `input` ("-": standard input) into `output` ("-": standard output; with in_place: empty, or
/// the input's name). The memory needed does not grow with the file. Whatever happens, the output's name
/// holds either its old content or the complete result. An output that is a pipe or a device is written
/// directly, up to the first chunk that is wrong.
ScanReport scan_file(const std::string& input, const std::string& output,
                     const ScanFileOptions& options = {});

struct MinFileOptions {
  FileOptions file = {};
  WhereOptions where = {};
  Extreme extreme = Extreme::min;
  bool wants_index = false;
  uint32_t repeat = 0;  // search the data this many more times in memory and report the times
  ProgressFunction progress = {};
  LogFunction log = {};
  LogFunction note = {};
};

struct MinReport {
  uint64_t count = 0;  // elements
  KeyType type = KeyType::u32;
  FileFormat format = FileFormat::raw;
  uint64_t input_bytes = 0;
  std::string value;              // as text
  std::optional<uint64_t> index;  // of its first occurrence, if wanted
  std::string backend;            // as in ScanReport
  std::string backend_why;
  std::string device;
  std::string algorithm;
  double total_s = 0;
  std::vector<double> repeat_s;       // --repeat: the time of each repetition
  double read_bandwidth_bytes_s = 0;  // --repeat: the device's measured read bandwidth
};

/// Finds the smallest or largest element of a file, which is read once in constant memory. NaN loses against
/// every number. Throws Error if there are no elements.
MinReport min_file(const std::string& input, const MinFileOptions& options = {});

struct ScanOptions {
  WhereOptions where = {};
  ScanOp op = ScanOp::sum;
  ScanKind kind = ScanKind::inclusive;
  ScanAlgorithm algorithm = ScanAlgorithm::automatic;
  bool wrap = false;  // allow sums of integers to wrap
};

/// Scans `in` into `out`. `out` has the same length; it may be the same memory if the types are the same, but
/// must not overlap otherwise. Both hold one of the ten key types, and Out holds every value of In. After an
/// overflow the content of `out` is unspecified. `automatic` runs on the CPU, because moving the data to a
/// GPU and back takes longer.
template <ContiguousRange In, WritableRange Out>
void scan(const In& in, Out&& out, const ScanOptions& options = {});

template <class Key>
struct Found {
  Key value;
  uint64_t index;  // of the first occurrence of that value
};

/// Finds the smallest or largest key and its first index. Throws Error if there are no keys.
template <ContiguousRange Keys>
Found<ElementOf<Keys>> min_element(const Keys& keys, const WhereOptions& where = {});
template <ContiguousRange Keys>
Found<ElementOf<Keys>> max_element(const Keys& keys, const WhereOptions& where = {});

namespace detail {
void scan_bytes(KeyType type, KeyType output_type, std::span<const std::byte> in, std::span<std::byte> out,
                const ScanOptions& options);
Found<uint64_t> extreme_bytes(KeyType type, std::span<const std::byte> keys, Extreme extreme,
                              const WhereOptions& where);

template <class Key>
Found<Key> find_extreme(std::span<const Key> keys, Extreme extreme, const WhereOptions& where) {
  const Found<uint64_t> found = extreme_bytes(key_type_of<Key>(), std::as_bytes(keys), extreme, where);
  Found<Key> result{{}, found.index};
  const auto bits = static_cast<BitsOf<Key>>(found.value);
  std::memcpy(&result.value, &bits, sizeof bits);
  return result;
}
}  // namespace detail

template <ContiguousRange In, WritableRange Out>
void scan(const In& in, Out&& out, const ScanOptions& options) {
  constexpr KeyType from = key_type_of<ElementOf<In>>(), to = key_type_of<ElementOf<Out>>();
  static_assert(can_widen(from, to), "Out cannot hold every value of In");
  const std::span input(in);
  const std::span output(out);
  if (input.size() != output.size()) throw Error("scan: input and output differ in length");
  detail::scan_bytes(from, to, std::as_bytes(input), std::as_writable_bytes(output), options);
}

template <ContiguousRange Keys>
Found<ElementOf<Keys>> min_element(const Keys& keys, const WhereOptions& where) {
  return detail::find_extreme(std::span<const ElementOf<Keys>>(keys), Extreme::min, where);
}

template <ContiguousRange Keys>
Found<ElementOf<Keys>> max_element(const Keys& keys, const WhereOptions& where) {
  return detail::find_extreme(std::span<const ElementOf<Keys>>(keys), Extreme::max, where);
}

}  // namespace sweepsort
