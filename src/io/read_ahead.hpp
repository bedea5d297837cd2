// read_ahead.hpp - files on their way into the page cache while nobody has memory for them yet.
#pragma once

#include "io/input_file.hpp"

#include <cstdint>
#include <thread>
#include <vector>

namespace sweepsort {

/// From its making to its end a thread asks the system for the next pieces of `files`, which outlive it, from
/// front to back and for no more than `most_bytes`. That is advice: nothing fails. What is there already, and
/// streams, are passed by.
class ReadAhead {
 public:
  ReadAhead(std::vector<const InputFile*> files, uint64_t most_bytes);

 private:
  std::jthread thread_;
};

}  // namespace sweepsort
