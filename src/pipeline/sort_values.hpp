// sort_values.hpp - what travels with the keys of a file: a second file's values, or the keys' positions.
#pragma once

#include "core/error.hpp"
#include "io/input_file.hpp"
#include "io/layout.hpp"
#include "pipeline/key_source.hpp"
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
  /// Opens what `options` ask for. `count`: of the keys, if it is known.
  SortValues(const SortFileOptions& options, std::optional<uint64_t> count);

  /// Of one value: 0 if none travel, else 4 or 8.
  uint32_t bytes() const { return bytes_; }
  FileFormat format() const { return layout_.format; }
  /// Throws Error unless there are as many values as keys.
  void check_count(uint64_t keys) const;
  /// The same for keys that are still coming: throws if there are fewer values than `keys`.
  void check_enough(uint64_t keys) const {
    if (file_ && layout_.count < keys) throw wrong_count(keys, " or more");
  }

  const InputFile* file() const { return file_ ? &*file_ : nullptr; }
  uint64_t file_bytes() const { return file_ ? file_->size() : 0; }
  /// What was inferred, for -v.
  const std::vector<std::string>& notes() const { return layout_.notes; }
  /// Of the file's values.
  std::vector<std::byte> header() const { return output_header(layout_, layout_.count); }
  /// nullptr if none travel.
  std::unique_ptr<KeySource> source() const;
  void check_unchanged() const {
    if (file_) file_->check_unchanged();
  }

 private:
  Error wrong_count(uint64_t keys, const char* or_more) const;

  uint32_t bytes_ = 0;
  bool are_added_ = false;   // not only moved
  bool has_window_ = false;  // the keys are a part of their file
  std::optional<InputFile> file_;
  Layout layout_;
};

}  // namespace sweepsort
