// sort_values.hpp - the data that stay with the keys in a sort: values from other files, or the positions.
#pragma once

#include "core/error.hpp"
#include "io/input_file.hpp"
#include "io/layout.hpp"
#include "pipeline/key_source.hpp"
#include "pipeline/sort_input.hpp"
#include "sweepsort.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sweepsort {

/// Bytes of a position: 4 for up to 2^32 keys, otherwise 8, also if the count is not known (a stream).
uint32_t position_bytes(std::optional<uint64_t> count);

class SortValues {
 public:
  /// Opens the files that `options` name. Throws Error if the values do not match the keys of `input`, as far
  /// as its count is known.
  SortValues(const SortFileOptions& options, const SortInput& input);

  /// Bytes of one value: 4 or 8; 0 if there are no values.
  uint32_t bytes() const { return bytes_; }
  FileFormat format() const { return parts_.empty() ? FileFormat::raw : first_layout().format; }
  Endian endian() const { return parts_.empty() ? Endian::little : first_layout().endian; }
  /// Throws Error unless there are as many values as the `keys` of the input and, with one file per input, in
  /// each as many as its input has keys, as far as that is known. Otherwise values would go with keys of
  /// another input.
  void check_counts(const SortInput& input, uint64_t keys) const;
  /// While more keys may follow: throws Error if there are fewer values than `keys`.
  void check_enough(uint64_t keys) const {
    if (!parts_.empty() && count_ < keys) throw wrong_count(keys, " or more");
  }

  std::vector<const InputFile*> files() const;
  uint64_t file_bytes() const;
  /// What was inferred, for -v.
  std::vector<std::string> notes() const;
  /// The header of a file with all values, in the first file's format.
  std::vector<std::byte> header() const { return output_header(first_layout(), count_); }
  /// The header of a file with `count` of the values; like new_header().
  std::vector<std::byte> header_of_some(uint64_t count, size_t min_bytes) const {
    return new_header(format(), first_layout().type, first_layout().endian, count, min_bytes);
  }
  /// Returns nullptr if there are no values.
  std::unique_ptr<KeySource> source() const;
  void check_unchanged() const;

 private:
  struct Part {
    explicit Part(const std::string& path) : file(path) {}
    InputFile file;
    Layout layout;
    bool states_type = false;  // by its header or name; otherwise its size gives the width of its values
  };

  void open(const std::string& path);
  void examine(Part& part, const SortFileOptions& options, std::optional<uint64_t> count);
  void check_each(const SortInput& input) const;
  const char* hint_for_count(const char* otherwise) const;
  const Layout& first_layout() const { return parts_.front()->layout; }
  Error wrong_count(uint64_t keys, const char* or_more) const;

  uint32_t bytes_ = 0;
  uint64_t count_ = 0;       // in all files
  bool are_added_ = false;   // the values of equal keys are summed
  bool has_window_ = false;  // only a part of the keys' file is read
  std::vector<std::unique_ptr<Part>> parts_;
  const Part* like_ = nullptr;  // the others must be of its type and byte order
};

}  // namespace sweepsort
