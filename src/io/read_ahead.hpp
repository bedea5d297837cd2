// read_ahead.hpp - files on their way into the page cache while nobody has memory for them yet.
#pragma once

#include "io/input_file.hpp"

#include <cstdint>
#include <thread>
#include <vector>

namespace sweepsort {

/// From its making to its end a thread asks the system for the next pieces of parts of files, which outlive
/// it and are no streams, one part after the other and for no more than `most_bytes`. That is advice: nothing
/// fails.
class ReadAhead {
 public:
  struct Part {
    const InputFile* file;
    uint64_t first_byte;
    uint64_t bytes;
  };
  ReadAhead(const std::vector<Part>& parts, uint64_t most_bytes);

 private:
  std::jthread thread_;
};

}  // namespace sweepsort
