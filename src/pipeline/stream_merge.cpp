// stream_merge.cpp - windows, and the cut through them.
#include "pipeline/stream_merge.hpp"

#include "io/parallel_chunks.hpp"
#include "pipeline/key_scan.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sweepsort {

StreamMerge::StreamMerge(const Options& options, ReadFunction read)
    : options_(options),
      read_(std::move(read)),
      capacity_(options.block / options.inputs),
      memory_(bytes(options)),
      windows_(options.inputs) {}

uint64_t StreamMerge::bytes(const Options& options) {
  return options.block / options.inputs * options.inputs * key_bytes(options.type);
}

std::span<std::byte> StreamMerge::keys(size_t input, uint64_t begin, uint64_t end) {
  const size_t width = key_bytes(options_.type);
  return std::span(memory_).subspan((input * capacity_ + begin) * width, (end - begin) * width);
}

std::span<const std::byte> StreamMerge::part(size_t input) const {
  const size_t width = key_bytes(options_.type);
  const Window& window = windows_[input];
  return std::span(memory_).subspan((input * capacity_ + window.begin) * width,
                                    (window.taken - window.begin) * width);
}

uint64_t StreamMerge::key_at(size_t input, uint64_t position) const {
  return ordered_key(memory_.data() + (input * capacity_ + position) * key_bytes(options_.type),
                     options_.type, options_.order);
}

/// A window that is half full is left alone: what stays in it is moved to its front, and would be so again
/// and again.
void StreamMerge::refill(size_t input) {
  Window& window = windows_[input];
  window.begin = window.taken;
  const uint64_t rest = window.end - window.begin;
  if (window.has_ended || 2 * rest >= capacity_) return;
  const std::span<std::byte> left = keys(input, window.begin, window.end);
  std::memmove(keys(input, 0, rest).data(), left.data(), left.size());
  const std::span<std::byte> room = keys(input, rest, capacity_);
  const size_t got = read_(input, room);
  window = {.end = rest + got / key_bytes(options_.type), .has_ended = got < room.size()};
}

uint64_t StreamMerge::end_of(size_t input, uint64_t last) const {
  uint64_t low = windows_[input].begin;
  uint64_t high = windows_[input].end;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (key_at(input, middle) <= last)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

uint64_t StreamMerge::next() {
  // Each input has its turn at once: those that write into the pipes need not wait for each other.
  parallel_turns(static_cast<uint32_t>(std::min<size_t>(options_.workers, options_.inputs)),
                 [&](uint32_t, uint64_t input) {
                   if (input < options_.inputs) refill(input);
                   return input < options_.inputs;
                 });
  uint64_t last = ~uint64_t{0};
  size_t used_up = options_.inputs;
  for (size_t input = 0; input < options_.inputs; ++input) {
    if (windows_[input].has_ended) continue;
    const uint64_t key = key_at(input, windows_[input].end - 1);
    if (key > last) continue;
    last = key;
    used_up = input;
  }
  uint64_t count = 0;
  for (size_t input = 0; input < options_.inputs; ++input) {
    Window& window = windows_[input];
    window.taken = input == used_up ? window.end : end_of(input, last);
    count += window.taken - window.begin;
  }
  return count;
}

}  // namespace sweepsort
