// sorted_inputs.hpp - the inputs of --merge, which are checked while they are read.
#pragma once

#include "core/fingerprint.hpp"
#include "pipeline/external_sort.hpp"
#include "pipeline/key_source.hpp"
#include "pipeline/sort_context.hpp"
#include "pipeline/transfer.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace sweepsort {

class SortedInputs : public RunInspector {
 public:
  explicit SortedInputs(const SortContext& context) : context_(context) {}

  /// Checks the order of a part of an input, including the key `before` it, if there is one. Includes the
  /// keys in the fingerprint, unless pairs are. Throws InputError if the input is not sorted. Thread-safe.
  void check(size_t input, uint64_t first_byte, std::span<const std::byte> before,
             std::span<const std::byte> keys);
  /// Makes inputs that are files, and the values that belong to their keys, the runs of `sort`, which reads
  /// and checks them in its first pass. They must not outlive this object.
  void give_to(ExternalSort& sort);
  /// Of all records read (empty without verify).
  Fingerprint fingerprint() const { return read_.sum(); }

  void see_keys(size_t input, uint64_t first_byte, std::span<const std::byte> keys) override;
  void see_pairs(std::span<const std::byte> keys, std::span<const std::byte> values) override;

 private:
  const SortContext& context_;
  std::unique_ptr<KeySource> values_;
  SharedFingerprint read_;
};

}  // namespace sweepsort
