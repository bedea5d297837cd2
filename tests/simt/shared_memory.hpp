// shared_memory.hpp - a block's dynamic shared memory between two guards.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace simt {

/// Exactly the bytes that a launch asked for. Writes into the guards are found when the block ends. Under
/// AddressSanitizer, every access to the guards is an error at once.
class SharedMemory {
 public:
  ~SharedMemory();

  /// Provides `bytes` fresh bytes, aligned to 128, all 0xCD.
  void reset(size_t bytes);
  std::byte* data() const { return buffer_.get() + guard_bytes; }
  /// Empty if the guards are intact; otherwise says where one was overwritten.
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

/// Adds to a kernel's memory and returns the old value. It is not part of the engine, which sanitizers do not
/// watch.
unsigned watched_add(unsigned* address, unsigned value);

}  // namespace simt
