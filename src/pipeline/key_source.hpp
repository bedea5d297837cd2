// key_source.hpp - where the keys (or values) of a sort come from; they can be read repeatedly.
#pragma once

#include "core/growing_buffer.hpp"
#include "core/key_type.hpp"
#include "io/input_file.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sweepsort {

class KeySource {
 public:
  virtual ~KeySource() = default;
  /// Fills `to` with the bytes of the keys from `first_byte` on (0: the first key), in host byte order. Both
  /// are multiples of the key's size. Thread-safe.
  virtual void read(uint64_t first_byte, std::span<std::byte> to) = 0;
};

class FileSource : public KeySource {
 public:
  /// `swapped_bytes`: the key size if the keys are big-endian, else 0.
  FileSource(const InputFile& file, uint64_t data_offset, size_t swapped_bytes)
      : file_(file), data_offset_(data_offset), swapped_bytes_(swapped_bytes) {}
  void read(uint64_t first_byte, std::span<std::byte> to) override;

 private:
  const InputFile& file_;
  uint64_t data_offset_;
  size_t swapped_bytes_;
};

/// How often the keys will be read.
enum class Reads : uint8_t { once, often };

/// Keys that were read from a stream, in host byte order.
class MemorySource : public KeySource {
 public:
  /// With Reads::once, memory is freed as it is read, so that it and its copy never exist in full at the same
  /// time.
  MemorySource(GrowingBuffer& buffer, Reads reads) : buffer_(buffer), reads_(reads) {}
  void read(uint64_t first_byte, std::span<std::byte> to) override;

 private:
  GrowingBuffer& buffer_;
  Reads reads_;
};

/// Several sources, one after another.
class ConcatenatedSource : public KeySource {
 public:
  void add(std::unique_ptr<KeySource> source, uint64_t bytes);
  void read(uint64_t first_byte, std::span<std::byte> to) override;

 private:
  std::vector<std::unique_ptr<KeySource>> sources_;
  std::vector<uint64_t> begins_;
};

/// A sample of `count` keys: 256 pieces from all parts of the data, of eight neighbours each, as ordered keys
/// (key_scan.hpp) in data order. If there are hardly more keys than that, the first ones.
std::vector<uint64_t> sample_of(KeySource& source, uint64_t count, KeyType type, Order order);

/// The values of an argsort: 0, 1, 2, ... as integers of 4 or 8 bytes.
class PositionSource : public KeySource {
 public:
  explicit PositionSource(uint32_t value_bytes) : value_bytes_(value_bytes) {}
  void read(uint64_t first_byte, std::span<std::byte> to) override;

 private:
  uint32_t value_bytes_;
};

}  // namespace sweepsort
