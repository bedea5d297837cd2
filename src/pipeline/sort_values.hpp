// sort_values.hpp - what travels with the keys of the inputs: values of other files, or the keys' positions.
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

/// Bytes of a key's position: those of up to 2^32 keys fit 4; of a stream nobody knows yet.
uint32_t position_bytes(std::optional<uint64_t> count);

class SortValues {
 public:
  /// Opens what `options` ask for. Throws Error where the values are not those of the `input`, as far as its
  /// count is known.
  SortValues(const SortFileOptions& options, const SortInput& input);

  /// Of one value: 0 if none travel, else 4 or 8.
  uint32_t bytes() const { return bytes_; }
  FileFormat format() const { return parts_.empty() ? FileFormat::raw : first_layout().format; }
  /// Throws Error unless there are as many values as keys.
  void check_count(uint64_t keys) const;
  /// The same for keys that are still coming: throws if there are fewer values than `keys`.
  void check_enough(uint64_t keys) const {
    if (!parts_.empty() && count_ < keys) throw wrong_count(keys, " or more");
  }

  std::vector<const InputFile*> files() const;
  uint64_t file_bytes() const;
  /// What was inferred, for -v.
  std::vector<std::string> notes() const;
  /// Of all values, in the first file's format.
  std::vector<std::byte> header() const { return output_header(first_layout(), count_); }
  /// nullptr if none travel.
  std::unique_ptr<KeySource> source() const;
  void check_unchanged() const;

 private:
  struct Part {
    explicit Part(const std::string& path) : file(path) {}
    InputFile file;
    Layout layout;
  };

  void add(const std::string& path, const SortFileOptions& options, std::optional<uint64_t> count);
  /// A file for each input has as many values as that has keys, or they would go with others.
  void check_each(const SortInput& input) const;
  const Layout& first_layout() const { return parts_.front()->layout; }
  Error wrong_count(uint64_t keys, const char* or_more) const;

  uint32_t bytes_ = 0;
  uint64_t count_ = 0;       // of all files
  bool are_added_ = false;   // not only moved
  bool has_window_ = false;  // the keys are a part of their file
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace sweepsort
