// stream_merge.cpp - windows of the inputs, and cuts through them.
#include "pipeline/stream_merge.hpp"

#include "pipeline/key_scan.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sweepsort {

StreamMerge::StreamMerge(const Options& options, ReadyFunction ready, ReadFunction read)
    : options_(options),
      ready_(std::move(ready)),
      read_(std::move(read)),
      capacity_(options.block / 2 / options.inputs),
      memory_(options.inputs * capacity_ * key_bytes(options.type)),
      windows_(options.inputs) {
  block_.reserve(options.block * key_bytes(options.type));
}

uint64_t StreamMerge::bytes(const Options& options) {
  return (options.block + options.block / 2) * key_bytes(options.type);
}

std::span<std::byte> StreamMerge::keys(size_t input, uint64_t begin, uint64_t end) {
  const size_t width = key_bytes(options_.type);
  return std::span(memory_).subspan((input * capacity_ + begin) * width, (end - begin) * width);
}

uint64_t StreamMerge::key_at(size_t input, uint64_t position) const {
  return ordered_key(memory_.data() + (input * capacity_ + position) * key_bytes(options_.type),
                     options_.type, options_.order);
}

/// Keys are moved only if they fill less than half of the window; otherwise they would be moved again and
/// again.
void StreamMerge::make_room(size_t input) {
  Window& window = windows_[input];
  const uint64_t rest = window.end - window.begin;
  if (window.begin == 0 || 2 * rest >= capacity_) return;
  const std::span<std::byte> left = keys(input, window.begin, window.end);
  std::memmove(keys(input, 0, rest).data(), left.data(), left.size());
  window.begin = 0;
  window.end = rest;
}

bool StreamMerge::lacks_keys() const {
  return std::ranges::any_of(windows_,
                             [](const Window& window) { return window.is_empty() && !window.has_ended; });
}

void StreamMerge::fill_windows(bool waits) {
  for (size_t input = 0; input < options_.inputs; ++input) make_room(input);
  std::vector<size_t> open;
  while (true) {
    open.clear();
    for (size_t input = 0; input < options_.inputs; ++input)
      if (!windows_[input].has_ended && windows_[input].end < capacity_) open.push_back(input);
    if (open.empty()) return;
    const std::vector<size_t> ready = ready_(open, waits && lacks_keys());
    if (ready.empty()) return;
    for (const size_t input : ready) {
      Window& window = windows_[input];
      const size_t got = read_(input, keys(input, window.end, capacity_));
      window.end += got / key_bytes(options_.type);
      window.has_ended = got == 0;
    }
  }
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

/// No window may be empty, unless its input has ended.
void StreamMerge::cut() {
  uint64_t last = ~uint64_t{0};
  size_t used_up = options_.inputs;
  for (size_t input = 0; input < options_.inputs; ++input) {
    if (windows_[input].has_ended) continue;
    const uint64_t key = key_at(input, windows_[input].end - 1);
    if (key > last) continue;
    last = key;
    used_up = input;
  }
  for (size_t input = 0; input < options_.inputs; ++input) {
    Window& window = windows_[input];
    const uint64_t end = input == used_up ? window.end : end_of(input, last);
    const std::span<const std::byte> part = keys(input, window.begin, end);
    block_.insert(block_.end(), part.begin(), part.end());
    window.begin = end;
  }
}

std::span<const std::byte> StreamMerge::next() {
  block_.clear();
  // A cut has at most as many keys as all windows together, which hold half a block.
  const size_t half = options_.block / 2 * key_bytes(options_.type);
  do {
    fill_windows(block_.empty());
    if (lacks_keys()) break;
    const size_t before = block_.size();
    cut();
    if (block_.size() == before) break;  // all inputs have ended
  } while (block_.size() <= half);
  return block_;
}

}  // namespace sweepsort
