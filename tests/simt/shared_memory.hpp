// shared_memory.hpp - a block's dynamic shared memory between two guards.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace simt {

/// Exactly the bytes a launch asked for. Writes into the guards are found when the block ends; under
/// AddressSanitizer every access to them is an error at once.
class SharedMemory {
 public:
  ~SharedMemory();

  /// `bytes` fresh ones, aligned to 128, all 0xCD.
  void reset(size_t bytes);
  std::byte* data() const { return buffer_.get() + guard_bytes; }
  /// Empty, or where a guard was overwritten.
  std::string damage() const;

 private:
  static constexpr size_t guard_bytes = 1024;
  struct Free {
    void operator()(std::byte* buffer) const;
  };

  void protect_guards() const;
  void unprotect_guards() const;

  std::unique_ptr<std::byte, Free> buffer_;
  size_t bytes_ = 0;
};

/// Adds to a kernel's memory and returns what stood there. Not the engine's, which sanitizers do not watch.
unsigned watched_add(unsigned* address, unsigned value);

}  // namespace simt
