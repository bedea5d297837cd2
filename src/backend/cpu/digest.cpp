// digest.cpp - see digest.hpp.
#include "backend/cpu/digest.hpp"

#include "core/vector_dispatch.hpp"

#include <algorithm>

namespace sweepsort {
namespace {

constexpr uint64_t block_keys = 1024;

/// Maps a block of keys into `ordered`. ordered[0] is the last key of the block before.
template <class Bits>
struct BlockLoop {
  const Bits* keys;
  uint64_t count;
  KeyMap<Bits> map;
  bool check_order;
  EqualKeys equal;
  Bits* ordered;
  KeyDigest<Bits>* digest;

  [[gnu::always_inline]] inline bool operator()() const {
    Bits smallest = digest->smallest, largest = digest->largest;
    const KeyMap<Bits> m = map;
    for (uint64_t i = 0; i < count; ++i) {
      const Bits key = m.to_ordered(keys[i]);
      ordered[i + 1] = key;
      smallest = key < smallest ? key : smallest;
      largest = key > largest ? key : largest;
    }
    digest->smallest = smallest;
    digest->largest = largest;
    if (!check_order) return false;
    // Sums of comparisons can be vectorised; an early exit could not.
    Bits rises = 0, falls = 0, repeats = 0;
    for (uint64_t i = 0; i < count; ++i) {
      rises |= static_cast<Bits>(ordered[i + 1] > ordered[i]);
      falls |= static_cast<Bits>(ordered[i + 1] < ordered[i]);
      repeats |= static_cast<Bits>(ordered[i + 1] == ordered[i]);
    }
    if (falls != 0) digest->ascending = false;
    if (rises != 0 || (equal == EqualKeys::keep_order && repeats != 0)) digest->descending = false;
    return digest->ascending || digest->descending;
  }
};

}  // namespace

template <class Bits>
KeyDigest<Bits> digest_keys(const Bits* keys, uint64_t count, const KeyMap<Bits>& map, EqualKeys equal) {
  KeyDigest<Bits> digest;
  if (count == 0) return digest;
  digest.count = count;
  digest.first = digest.smallest = digest.largest = map.to_ordered(keys[0]);
  Bits ordered[block_keys + 1];
  ordered[0] = digest.first;
  bool check_order = true;
  for (uint64_t done = 1; done < count;) {
    const uint64_t n = std::min(block_keys, count - done);
    check_order =
        with_best_vectors(BlockLoop<Bits>{keys + done, n, map, check_order, equal, ordered, &digest});
    ordered[0] = ordered[n];
    done += n;
  }
  digest.last = ordered[0];
  return digest;
}

template <class Bits>
KeyDigest<Bits> combine(std::vector<KeyDigest<Bits>> chunks, EqualKeys equal) {
  std::erase_if(chunks, [](const KeyDigest<Bits>& chunk) { return chunk.count == 0; });
  if (chunks.empty()) return {};
  std::sort(chunks.begin(), chunks.end(),
            [](const KeyDigest<Bits>& a, const KeyDigest<Bits>& b) { return a.first_index < b.first_index; });
  KeyDigest<Bits> all = chunks.front();
  for (size_t i = 1; i < chunks.size(); ++i) {
    const KeyDigest<Bits>& next = chunks[i];
    all.ascending = all.ascending && next.ascending && all.last <= next.first;
    all.descending = all.descending && next.descending &&
                     (equal == EqualKeys::keep_order ? all.last > next.first : all.last >= next.first);
    all.smallest = std::min(all.smallest, next.smallest);
    all.largest = std::max(all.largest, next.largest);
    all.last = next.last;
    all.count += next.count;
  }
  return all;
}

#define SWEEPSORT_DIGEST(Bits)                                                                       \
  template KeyDigest<Bits> digest_keys<Bits>(const Bits*, uint64_t, const KeyMap<Bits>&, EqualKeys); \
  template KeyDigest<Bits> combine<Bits>(std::vector<KeyDigest<Bits>>, EqualKeys)
SWEEPSORT_DIGEST(uint8_t);
SWEEPSORT_DIGEST(uint16_t);
SWEEPSORT_DIGEST(uint32_t);
SWEEPSORT_DIGEST(uint64_t);
#undef SWEEPSORT_DIGEST

}  // namespace sweepsort
