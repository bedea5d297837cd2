// key_source.hpp - where the keys of a sort come from, read as often as needed: a file or a stream held in
// memory.
#pragma once

#include "io/growing_buffer.hpp"
#include "io/input_file.hpp"

#include <cstdint>
#include <span>

namespace sweepsort {

class KeySource {
 public:
  virtual ~KeySource() = default;
  /// Fills `to` with the bytes of the keys from `first_byte` on (0: the first key), as they are in the file.
  /// Thread-safe.
  virtual void read(uint64_t first_byte, std::span<std::byte> to) = 0;
};

class FileSource : public KeySource {
 public:
  FileSource(const InputFile& file, uint64_t data_offset) : file_(file), data_offset_(data_offset) {}
  void read(uint64_t first_byte, std::span<std::byte> to) override {
    file_.read_at(data_offset_ + first_byte, to);
  }

 private:
  const InputFile& file_;
  uint64_t data_offset_;
};

class MemorySource : public KeySource {
 public:
  /// With `read_once` memory is given back as it is read, so that it and its copy never exist in full side by
  /// side.
  MemorySource(GrowingBuffer& buffer, uint64_t data_offset, bool read_once)
      : buffer_(buffer), data_offset_(data_offset), read_once_(read_once) {}
  void read(uint64_t first_byte, std::span<std::byte> to) override;

 private:
  GrowingBuffer& buffer_;
  uint64_t data_offset_;
  bool read_once_;
};

}  // namespace sweepsort
