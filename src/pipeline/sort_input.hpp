// sort_input.hpp - the input of a sort: opened, its layout found, its keys to be read as often as needed.
#pragma once

#include "io/growing_buffer.hpp"
#include "io/input_file.hpp"
#include "io/layout.hpp"
#include "pipeline/key_source.hpp"
#include "sweepsort.hpp"

#include <memory>
#include <string>

namespace sweepsort {

class SortInput {
 public:
  /// Opens `path` and finds its layout. A stream's beginning is looked at as well, so that a missing type or
  /// a damaged header is an Error now.
  SortInput(const std::string& path, const FileOptions& options);

  /// Reads a stream to its end (at most `memory` bytes) and finds its layout again; nothing to do for a file.
  void load_stream(uint64_t memory, const std::function<void(uint64_t bytes)>& progress);

  const InputFile& file() const { return file_; }
  const Layout& layout() const { return layout_; }
  uint64_t bytes() const { return file_.is_stream() ? stream_.size() : file_.size(); }

  /// `read_once`: the keys will be read one time only, so a stream's memory can go as they are.
  std::unique_ptr<KeySource> keys(bool read_once);

 private:
  InputFile file_;
  FileOptions options_;
  GrowingBuffer stream_;
  Layout layout_;
};

}  // namespace sweepsort
