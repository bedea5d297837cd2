// sort_outputs.hpp - the one or two files that a sort writes: their headers, their space, their names.
#pragma once

#include "core/checked.hpp"
#include "io/disk_space.hpp"
#include "io/output.hpp"
#include "pipeline/record_sink.hpp"
#include "pipeline/sort_input.hpp"
#include "pipeline/sort_values.hpp"
#include "sweepsort.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sweepsort {

class SortOutputs {
 public:
  /// Opens the outputs. Throws what open_output() does.
  SortOutputs(const SortInput& input, const SortValues& values, const std::string& output,
              const SortFileOptions& options, bool allow_anonymous);

  /// Headers and disk space, of a count that nobody knows before the end only what must be.
  void prepare(std::optional<uint64_t> count);
  /// What that would take for so many keys, of each output that is a file.
  std::vector<SpaceNeed> needs(uint64_t count);
  /// Writes the headers that are known now; before the first record.
  void start();
  /// The sink for records of `transfer`'s shape, once prepared.
  std::unique_ptr<RecordSink> sink(const Transfer& transfer, std::span<const std::byte> expected);
  /// All is written, so many elements: what could not be known before.
  void finish(uint64_t count);
  /// All are right: they get their names.
  void commit();

  const std::string& name() const { return main_.output->name(); }
  /// What was asked for, or the input's; of positions, whose type is another, what the output's name says, if
  /// it says anything.
  FileFormat format() const;
  bool is_sequential() const { return main_.output->is_sequential(); }
  /// If something was written: nobody waits for a pipe's reader any more. Thread-safe.
  void stop() const;
  /// Something may have gone into a pipe: there is no second try.
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
  uint64_t max_elements(uint64_t count) const {
    return options_.result == SortResult::unique ? max_distinct(input_.type(), count) : count;
  }
  /// Headers, and how large elements are.
  void describe(std::optional<uint64_t> count);
  std::vector<std::byte> main_header(uint64_t count, size_t min_bytes) const;
  std::vector<std::byte> counts_header(uint64_t count, size_t min_bytes) const;
  /// Replaces the header and cuts the file to `count` elements.
  static void shorten(File& file, std::vector<std::byte> header, uint64_t count);

  const SortInput& input_;
  const SortValues& values_;
  const SortFileOptions& options_;
  File main_;
  std::optional<File> second_;  // values, or counts
  uint64_t count_ = 0;
  bool is_count_late_ = false;  // known when all are written
  std::atomic<bool> has_started_ = false;
};

}  // namespace sweepsort
