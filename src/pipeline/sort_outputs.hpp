// sort_outputs.hpp - the one or two files that a sort writes: their headers, disk space and names.
#pragma once

#include "core/checked.hpp"
#include "io/disk_space.hpp"
#include "io/output.hpp"
#include "io/write_gate.hpp"
#include "pipeline/record_sink.hpp"
#include "pipeline/sort_input.hpp"
#include "pipeline/sort_values.hpp"
#include "sweepsort.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sweepsort {

class SortOutputs {
 public:
  /// Opens the outputs. Throws like open_output().
  SortOutputs(const SortInput& input, const SortValues& values, const std::string& output,
              const SortFileOptions& options, bool allow_anonymous);

  /// Makes the headers, and reserves disk space, for the result of `keys` keys of the input, of which at most
  /// `max_elements` are written. If the number of keys is not known yet, no space is reserved.
  void prepare(std::optional<uint64_t> keys, uint64_t max_elements = ~uint64_t{0});
  /// Throws Error if an output is a pipe whose header must give a count that is known only at the end.
  /// prepare() does so, too.
  void require_headers(std::optional<uint64_t> keys);
  /// The space that each output needs for the result of `keys` keys; only for outputs that are files.
  std::vector<SpaceNeed> needs(uint64_t keys);
  /// Call this before an attempt to sort, which may follow another one.
  void begin_attempt() { gate_.open_again(); }
  /// Writes the headers that are known by now. Call it before the first record is written. Throws Stopped if
  /// stop() was called before.
  void start();
  /// Returns a sink for records of `transfer`'s shape. Call prepare() first.
  std::unique_ptr<RecordSink> sink(const Transfer& transfer, std::span<const std::byte> expected);
  /// All `count` elements are written: completes headers and lengths that depend on a count not known before.
  void finish(uint64_t count);
  /// The outputs are correct: gives them their names.
  void commit();

  const std::string& name() const { return main_.output->name(); }
  /// The requested format, or the input's. Positions have another type than the input, so the output's name
  /// takes precedence over the input if it gives a format or a type.
  FileFormat format() const;
  /// Of what the main output holds. Call prepare() first.
  KeyType type() const;
  bool is_sequential() const { return main_.output->is_sequential(); }
  /// After a failure: nothing is written any more, and no thread waits for a pipe's reader any longer. If
  /// nothing was written, another attempt may follow. Thread-safe.
  void stop();
  /// Whether something may have been written to a pipe, so that another attempt is impossible.
  bool has_streamed() const;
  uint64_t bytes() const;

 private:
  struct File {
    std::unique_ptr<Output> output;
    std::vector<std::byte> header = {};
    uint64_t element_bytes = 0;
    uint64_t bytes(uint64_t count) const { return header.size() + bytes_of(count, element_bytes); }
  };

  bool has_counts() const { return !options_.counts_output.empty(); }
  uint64_t max_elements(uint64_t keys) const {
    return is_unique(options_.result) ? max_distinct(input_.type(), keys) : keys;
  }
  /// Sets the headers and the sizes of elements. That of positions depends on the number of keys, even if few
  /// positions are written.
  void describe(std::optional<uint64_t> keys);
  std::vector<std::byte> main_header(uint64_t count, size_t min_bytes) const;
  std::vector<std::byte> second_header(uint64_t count, size_t min_bytes) const;
  /// Replaces the header and cuts the file to `count` elements.
  static void shorten(File& file, std::vector<std::byte> header, uint64_t count);

  const SortInput& input_;
  const SortValues& values_;
  const SortFileOptions& options_;
  File main_;
  std::optional<File> second_;  // values, or counts
  uint64_t count_ = 0;
  bool is_count_late_ = false;  // known only when all elements are written
  WriteGate gate_;
};

}  // namespace sweepsort
