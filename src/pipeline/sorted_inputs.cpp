// sorted_inputs.cpp - order and fingerprint of sorted inputs, and files as runs.
#include "pipeline/sorted_inputs.hpp"

#include "core/error.hpp"
#include "core/key_text.hpp"
#include "pipeline/key_scan.hpp"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace sweepsort {
namespace {

/// An input that is a file, and its part of all values, if there are any.
class InputRun : public Run {
 public:
  InputRun(std::unique_ptr<KeySource> keys, uint64_t count, KeySource* values, uint64_t first_value_byte)
      : keys_(std::move(keys)), count_(count), values_(values), first_value_byte_(first_value_byte) {}
  uint64_t count() const override { return count_; }
  void read(Column column, uint64_t first_byte, std::span<std::byte> to) const override {
    if (column == Column::keys)
      keys_->read(first_byte, to);
    else
      values_->read(first_value_byte_ + first_byte, to);
  }

 private:
  std::unique_ptr<KeySource> keys_;
  uint64_t count_;
  KeySource* values_;
  uint64_t first_value_byte_;
};

std::string print_key(const std::byte* key, KeyType type) {
  uint64_t bits = 0;
  std::memcpy(&bits, key, key_bytes(type));
  return key_text(type, bits);
}

}  // namespace

void SortedInputs::check(size_t input, uint64_t first_byte, std::span<const std::byte> before,
                         std::span<const std::byte> keys) {
  const SortFileOptions& options = context_.options;
  const KeyType type = context_.input.type();
  const size_t width = key_bytes(type);
  if (options.verify && context_.values.bytes() == 0)
    read_.add(sweepsort::fingerprint(keys, width, context_.secret));
  const bool follows = before.empty() || ordered_key(before.data(), type, options.order) <=
                                             ordered_key(keys.data(), type, options.order);
  if (follows && is_ordered(keys, type, options.order)) return;
  const uint64_t at = follows ? first_descent(keys, type, options.order) : 0;
  const std::byte* const key = keys.data() + at * width;
  throw InputError(
      fmt::format("{}: not sorted{}: key {} is {} and comes after {}", context_.input.files()[input]->name(),
                  options.order == Order::descending ? " in descending order" : "", first_byte / width + at,
                  print_key(key, type), print_key(at == 0 ? before.data() : key - width, type)),
      options.order == Order::descending
          ? "leave --merge out to sort the files"
          : "leave --merge out to sort the files; if they are descending, add -r");
}

void SortedInputs::see_keys(size_t input, uint64_t first_byte, std::span<const std::byte> keys) {
  std::vector<std::byte> before(first_byte == 0 ? 0 : key_bytes(context_.input.type()));
  if (!before.empty()) context_.input.keys_of(input)->read(first_byte - before.size(), before);
  check(input, first_byte, before, keys);
}

void SortedInputs::see_pairs(std::span<const std::byte> keys, std::span<const std::byte> values) {
  read_.add(pair_fingerprint(keys, key_bytes(context_.input.type()), values, context_.values.bytes(),
                             context_.secret));
}

void SortedInputs::give_to(ExternalSort& sort) {
  values_ = context_.values.source();
  std::vector<std::unique_ptr<Run>> runs;
  uint64_t first = 0;
  for (size_t i = 0; i < context_.input.inputs(); ++i) {
    const uint64_t count = *context_.input.count_of(i);
    runs.push_back(std::make_unique<InputRun>(context_.input.keys_of(i), count, values_.get(),
                                              first * context_.values.bytes()));
    first += count;
  }
  sort.adopt(std::move(runs), *this);
}

}  // namespace sweepsort
