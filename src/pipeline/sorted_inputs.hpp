// sorted_inputs.hpp - the inputs of --merge, which are checked while they are read.
#pragma once

#include "core/fingerprint.hpp"
#include "pipeline/external_sort.hpp"
#include "pipeline/sort_context.hpp"
#include "pipeline/transfer.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sweepsort {

class SortedInputs {
 public:
  explicit SortedInputs(const SortContext& context) : context_(context) {}

  /// Checks a part of an input: adds to the fingerprint and checks the order, including the key `before` the
  /// part, if there is one. Throws InputError if the input is not sorted. Thread-safe.
  void inspect(size_t input, uint64_t first_byte, std::span<const std::byte> before,
               std::span<const std::byte> keys);
  /// Makes inputs that are files the runs of `sort`, which reads and inspects them in its first pass. They
  /// must not outlive this object.
  void give_to(ExternalSort& sort);
  /// Of all keys inspected (empty without verify).
  Fingerprint fingerprint() const { return read_.sum(); }

 private:
  const SortContext& context_;
  SharedFingerprint read_;
};

}  // namespace sweepsort
