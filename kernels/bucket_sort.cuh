// bucket_sort.cuh - the end of an MSD radix sort: each bucket fits into the shared memory of one block, which
// sorts it there. Stehle & Jacobsen, 2017; the parts and the comparison of the few keys that share one as in
// Neubert, "The Flashsort1 Algorithm", 1998. Moves 2n records.
//
//     bucket:      61 67 60 64 67      its range is divided into many more parts than keys, 16 parts per word
//     1 parts:      1  7  0  4  7      a bit each; the second 7 finds it set: the word's late key number 0
//     2 scan:       keys in lower words
//     3 place:      1  3  0  2  4      = 2 + lower bits of the word; late keys come behind the word's others
//     4 the keys of a word with late ones, if they may differ or have values, are sorted by one thread
//
// A bucket with many late keys in a word is sorted digit by digit instead (bucket_digits.cuh). A later launch
// does that where there is one, because the registers for it would slow down all other buckets. Before that,
// keys alone are tried again with wider numbers. Then a warp sorts each word of many keys, which usually have
// few values. Some pairs (may_place_parts), if they have few values, get parts that depend on their places,
// too (PlacedParts). Where there is no later launch, a look at some keys finds most of such buckets before
// their parts are marked. Keys of 2 bytes always go digit by digit.
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "kernels/bucket_digits.cuh"
#include "kernels/bucket_list.cuh"
#include "kernels/bucket_parts.cuh"
#include "kernels/bucket_rows.cuh"
#include "kernels/bucket_shared.cuh"
#include "kernels/digit.cuh"
#include "kernels/late_keys.cuh"
#include "kernels/part_words.cuh"
#include "kernels/ptx.cuh"
#include "kernels/radix_rank.cuh"
#include "kernels/vector16.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

/// What happens to a bucket whose keys crowd in few parts. A single bucket is faster with the digits inlined:
/// H100, geometric mean of 135 cases of 2^10 to 2^12 records 2.3 % less, AND of three u32 2^12 10.2 -> 9.7
/// us, uniform u64 2^10 2.87 -> 2.99.
enum class Crowded : uint32_t {
  by_digits,          // sorted digit by digit, by a function that is not inlined
  by_inlined_digits,  // the same, inlined: for a single bucket
  left_alone,         // not sorted: a later launch or another function takes it
  only_digits         // no bucket is divided into parts: all are sorted digit by digit, inlined
};

/// What a bucket's keys are in memory: as the caller stores them, integers as the caller stores them, or
/// ordered bits.
enum class InMemory : uint8_t { as_given, integers, ordered };

namespace bucket_sort_detail {

using bucket_list::BucketArrays;

struct BucketRange {
  uint64_t first;  // record of the arrays
  uint32_t size;   // records
};

/// How many late keys a word may have: `numbered`, so that their numbers are right; `sorted`, so that one
/// thread sorts them. With more, the bucket goes another way. Where that way is passes over few digits, the
/// limit is low, above all for pairs, whose equal keys have an order.
template <class Bits, class Value, class Policy, Crowded crowded>
struct LateKeyLimits {
  /// In one block, the other way takes longest: H200, us, u32 2^12 of 3,000 values 8.2 -> 6.4 with 16 instead
  /// of 8, f32 of the first 1,000 numbers 8.5 -> 6.2.
  static constexpr bool is_one_block = crowded == Crowded::by_inlined_digits;
  /// Otherwise many keys come late by chance.
  static constexpr bool has_sparse_words = 2 * Policy::max_keys <= 5 * Shared<Bits, Value, Policy>::words;
  static constexpr bool has_another_way = (is_one_block || crowded == Crowded::by_digits) && has_sparse_words;
  static constexpr uint32_t numbered = 32;
  static constexpr uint32_t sorted = !has_another_way          ? numbered
                                     : value_bytes<Value> != 0 ? (sizeof(Bits) == 4 ? 8 : 16)
                                     : sizeof(Bits) == 4       ? (is_one_block ? 16 : 8)
                                                               : numbered;
};

/// The bucket that a block sorts. Its keys are in registers, then in shared memory. One object takes one
/// bucket after the other: between two of them, the words of the parts are clear. `Parts`: BucketParts,
/// RealParts or FloatParts.
template <class Bits, class Value, class Policy, Crowded crowded, class Parts = BucketParts>
class Bucket {
 public:
  using BucketShared = Shared<Bits, Value, Policy>;
  static constexpr bool with_values = value_bytes<Value> != 0;
  static constexpr uint32_t threads = Policy::threads;
  static constexpr uint32_t keys_per_thread = Policy::keys_per_thread;
  using Limits = LateKeyLimits<Bits, Value, Policy, crowded>;
  using Rows = BucketKeyRows<Bits, threads, keys_per_thread>;
  static constexpr uint32_t words = BucketShared::words;
  static constexpr bool only_digits = is_short_key<Bits> || crowded == Crowded::only_digits;
  static_assert(!only_digits || crowded != Crowded::left_alone);
  static constexpr bool by_inlined_digits = only_digits || crowded == Crowded::by_inlined_digits;
  static constexpr bool by_digits = crowded == Crowded::by_digits || crowded == Crowded::by_inlined_digits;
  /// Whether each key's part is found once, and not four times. This pays where finding it takes long: if
  /// parts are linear in values. Blocks of 1,024 threads have no registers for it. H200, us, uniform, one
  /// block f32 2^12 5.45 -> 4.57, f64 8.53 -> 6.37; grid sorts f32 2^18 11.4 -> 10.9, 2^20 23.1 -> 21.7, f64
  /// 2^18 14.2 -> 12.9.
  static constexpr bool keeps_numbers = std::is_same_v<Parts, RealParts<Bits>> && threads < 1024;
  static_assert(!keeps_numbers || Policy::parts <= 1u << 16);
  /// Only lists give such parts.
  static constexpr bool may_be_placed =
      may_place_parts<Bits, Value> && crowded == Crowded::left_alone && std::is_same_v<Parts, BucketParts>;

  __device__ __forceinline__ Bucket(BucketShared& shared, const BucketArrays<Bits, Value>& arrays,
                                    const KeyMap<Bits>& map)
      : shared_(shared), arrays_(arrays), map_(map) {
    clear_words();
    __syncthreads();
  }

  /// The registers to load a bucket's keys into. For keys alone, this may be the next bucket, once the
  /// current one's keys are in shared memory.
  __device__ __forceinline__ Rows& keys() { return keys_; }

  /// Sorts the records of `range`. Their keys are loaded, are ordered bits, and have a part each. The keys go
  /// to `to`, in an array that is aligned to 16 bytes. Returns false if the bucket was left alone; the whole
  /// block gets the same answer. load_next() is called when the keys' registers are free, but not if the
  /// bucket is left alone or sorted by digits. `finds_parts`: parts that are not known are found.
  template <bool finds_parts = false, class LoadNext>
  __device__ __forceinline__ bool sort_loaded(BucketRange range, const Parts& parts, Bits* to,
                                              LoadNext load_next) {
    static_assert(!keeps_numbers, "these are found with the parts");
    set_goal(range, to);
    parts_ = parts;
    if constexpr (finds_parts)
      if (!parts.are_known()) find_parts();
    return sort_and_store(load_next, [&] { store_records(); });
  }

  /// The same with parts that are found from the keys.
  template <class LoadNext>
  __device__ __forceinline__ bool sort_loaded(BucketRange range, Bits* to, LoadNext load_next) {
    set_goal(range, to);
    find_parts();
    return sort_and_store(load_next, [&] { store_records(); });
  }

  /// The same for keys alone, but store(keys) takes the keys when they are sorted in shared memory, from
  /// keys[lead] on. The whole block calls it. What its threads loaded asynchronously before has arrived by
  /// then.
  template <class Store>
  __device__ __forceinline__ bool sort_to(BucketRange range, const Parts& parts, uint32_t lead, Store store) {
    static_assert(!keeps_numbers, "these are found with the parts");
    lead_ = lead;
    range_ = range;
    parts_ = parts;
    return sort_and_store([] {},
                          [&] {
                            ptx::loads_async_have_arrived();
                            __syncthreads();
                            store(static_cast<const Bits*>(shared_.keys));
                            clear_words();
                          });
  }

  /// Loads and sorts a bucket. Nothing is known of its keys except their form in memory.
  template <InMemory keys = InMemory::as_given>
  __device__ __forceinline__ void sort_as_one_bucket(const BucketRange& range) {
    set_goal(range, arrays_.keys_out + range.first);
    // Otherwise the keys of the bucket before stay live, and registers spill: 284 bytes of grid_sort_kernel
    // with u64 keys, now 20.
#pragma unroll
    for (Bits& key : keys_) key = 0;
    if constexpr (with_values) {
#pragma unroll
      for (Value& value : values_) value = Value{};
    }
    keys_.load(range.size, arrays_.keys_in + range.first);
    if constexpr (keys == InMemory::integers) {
      const Bits flip = map_.flip;
#pragma unroll
      for (Bits& key : keys_) key ^= flip;
    } else if (keys == InMemory::as_given && !map_.is_identity()) {
#pragma unroll
      for (Bits& key : keys_) key = map_.to_ordered(key);
    }
    if constexpr (!only_digits) find_parts();
    (void)sort_and_store([] {}, [&] { store_records(); });
  }

 private:
  /// keys_are_placed() is called when all keys are in shared memory and their registers are free. It is not
  /// called if the bucket may still be left alone after that (wider numbers), nor if it is sorted by digits.
  template <class KeysArePlaced, class Store>
  __device__ __forceinline__ bool sort_and_store(KeysArePlaced keys_are_placed, Store store) {
    if constexpr (only_digits)
      place_by_digits();
    else if (!place_in_order(keys_are_placed))
      return false;
    store();
    __syncthreads();  // the next bucket uses the shared memory
    return true;
  }

  /// Steps 1 to 4. Leaves the records in order in shared memory, or returns false.
  template <class KeysArePlaced>
  __device__ __forceinline__ bool place_in_order(KeysArePlaced keys_are_placed) {
    if (threadIdx.x == 0) shared_.long_words = 0;
    // If keys are crowded, marking their parts takes longest. But wider numbers may suffice for these.
    constexpr bool asks_before = by_digits && !BucketShared::sorts_long_words;
    bool is_crowded = false;
    if constexpr (asks_before) is_crowded = rows_crowd();
    if (!is_crowded) is_crowded = __syncthreads_or(mark_parts()) != 0;
    if (is_crowded) {
      if (crowded == Crowded::left_alone) return leave_alone();
      place_by_digits();
      return true;
    }
    late_words_ = scan_words<threads>(shared_, lead_, range_.size);
    place_by_parts();
    if (!BucketShared::sorts_long_words) keys_are_placed();
    if (!sort_late_keys()) {
      if (crowded == Crowded::left_alone) return leave_alone();
      sort_staged();
    }
    return true;
  }
  __device__ __forceinline__ bool leave_alone() {
    clear_words();
    __syncthreads();
    return false;
  }

  __device__ __forceinline__ void store_records() {
    load_values();
    __syncthreads();
    store_keys();
    clear_words();
    store_values();
  }

  __device__ __forceinline__ void set_goal(const BucketRange& range, Bits* to) {
    lead_ = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(to) % sizeof(uint4) / sizeof(Bits));
    if (threadIdx.x == 0) shared_.first_vector = to - lead_;
    range_ = range;
  }

  /// Finds parts from the range of the keys.
  __device__ __forceinline__ void find_parts() {
    Bits least = static_cast<Bits>(~Bits{0});
    Bits most = 0;
    Rows::for_rows(range_.size, [&](uint32_t row) {
      least = min(least, keys_[row]);
      most = max(most, keys_[row]);
    });
    least = warp_min(least);
    most = warp_max(most);
    // The memory of the staged keys is still free.
    Bits* const of_warps = shared_.keys;
    if (ptx::lane_id() == 0) {
      of_warps[threadIdx.x / warp_threads] = least;
      of_warps[BucketShared::warps + threadIdx.x / warp_threads] = most;
    }
    __syncthreads();
    // Each thread does this by itself: that saves a barrier, and the threads of a warp do the same. H200, one
    // block, 2^10 keys, us: u32 2.44 -> 2.38, u64 2.96 -> 2.77.
    const uint32_t warp = ptx::lane_id() % BucketShared::warps;
    parts_ = Parts::over(warp_min(of_warps[warp]), warp_max(of_warps[BucketShared::warps + warp]),
                         BucketShared::part_bits, map_);
    if constexpr (keeps_numbers)
      Rows::for_rows(range_.size, [&](uint32_t row) { numbers_.set(row, parts_.in_word(keys_[row])); });
  }

  /// `parts` are of one kind (with_parts).
  template <class OneKind>
  __device__ __forceinline__ uint32_t word_of(const OneKind& parts, uint32_t row) const {
    if constexpr (keeps_numbers)
      return numbers_.get(row) / BucketParts::max_in_word;
    else if constexpr (std::is_same_v<OneKind, PlacedParts>)
      return parts.number(keys_[row], Rows::index(row)) / BucketParts::max_in_word;
    else
      return parts.word_of(keys_[row]);
  }
  template <class OneKind>
  __device__ __forceinline__ uint32_t in_word(const OneKind& parts, uint32_t row) const {
    if constexpr (keeps_numbers)
      return numbers_.get(row);
    else if constexpr (std::is_same_v<OneKind, PlacedParts>)
      return parts.number(keys_[row], Rows::index(row));
    else
      return parts.in_word(keys_[row]);
  }

  /// Calls body(parts), with parts of one kind.
  template <class Body>
  __device__ __forceinline__ auto with_parts(Body body) const {
    if constexpr (may_be_placed)
      if (parts_.are_placed()) return body(PlacedParts{parts_});
    return parts_.as_one_kind(BucketShared::part_bits, map_, body);
  }

  __device__ __forceinline__ void clear_words() {
    if constexpr (only_digits) return;
    uint4* const vectors = reinterpret_cast<uint4*>(shared_.part_words);
#pragma unroll
    for (uint32_t w = threadIdx.x; w < words / 4; w += threads) vectors[w] = make_uint4(0, 0, 0, 0);
  }

  /// Whether so many keys share a word that many would come late, judged by the first four keys of each
  /// thread. Called by the whole block.
  __device__ __forceinline__ bool rows_crowd() const {
    constexpr uint32_t looks = std::min(4u, keys_per_thread);
    constexpr uint32_t pairs = looks * (looks - 1) / 2;
    constexpr uint32_t by_chance = 2;  // threads whose keys meet by chance
    constexpr uint32_t crowd = Limits::has_another_way ? 8 : Limits::numbered;  // late keys of a word
    if (range_.size <= threads) return false;
    uint32_t word[looks];
    with_parts([&](const auto& parts) {
#pragma unroll
      for (uint32_t row = 0; row < looks; ++row)
        word[row] = Rows::index(row) < range_.size ? word_of(parts, row) : words + row;  // no key's word
    });
    bool meets = false;
#pragma unroll
    for (uint32_t row = 1; row < looks; ++row)
#pragma unroll
      for (uint32_t other = 0; other < row; ++other) meets |= word[row] == word[other];
    const auto seen = static_cast<uint32_t>(__syncthreads_count(meets));
    return seen > by_chance && (seen - by_chance) * range_.size > pairs * threads * crowd;
  }

  /// Step 1. True if too many keys of a word came late: then their numbers may mean nothing.
  __device__ __forceinline__ bool mark_parts() {
    with_parts([&](const auto& parts) { mark(parts); });
    if (!with_values && parts_.words_have_one_value()) return late_.template any_crowded<Limits::numbered>();
    return late_.template any_crowded<Limits::sorted>();
  }
  template <class OneKind>
  __device__ __forceinline__ void mark(const OneKind& parts) {
    // Larger blocks have no registers for it.
    constexpr bool adds_at_once = threads < 1024;
    late_.clear();
    Rows::for_batches(range_.size, [&](auto rows) {
      uint32_t met[batch];   // the part's bit, if another key had set it
      uint32_t word[batch];  // the word before, with its late keys so far
      rows.for_rows([&](uint32_t row) {
        const uint32_t bit = part_word::bit_of(in_word(parts, row));
        met[row % batch] = atomicOr(&shared_.part_words[word_of(parts, row)], bit) & bit;
      });
      rows.for_rows([&](uint32_t row) {
        if (met[row % batch] == 0) return;
        word[row % batch] = atomicAdd(&shared_.part_words[word_of(parts, row)], part_word::one_late);
        if (!adds_at_once) late_.set(row, word[row % batch]);
      });
      if (!adds_at_once) return;
      rows.for_rows([&](uint32_t row) {
        if (met[row % batch] != 0) late_.set(row, word[row % batch]);
      });
    });
  }

  /// Step 3. Puts each key in its place.
  __device__ __forceinline__ void place_by_parts() {
    with_parts([&](const auto& parts) { place(parts); });
    __syncthreads();
  }
  template <class OneKind>
  __device__ __forceinline__ void place(const OneKind& parts) {
    Rows::for_batches(range_.size, [&](auto rows) {
      uint32_t word[batch];
      rows.for_rows([&](uint32_t row) { word[row % batch] = shared_.part_words[word_of(parts, row)]; });
      rows.for_rows([&](uint32_t row) {
        const uint32_t place = part_word::place(word[row % batch], in_word(parts, row), late_.get(row));
        shared_.keys[place] = keys_[row];
        if constexpr (with_values) shared_.positions[place] = static_cast<uint16_t>(Rows::index(row));
      });
    });
  }

  /// Step 4. Returns false if a word of many keys has too many values.
  __device__ __forceinline__ bool sort_late_keys() {
    LateKeys<Bits, BucketShared> late_keys(shared_);
    if (with_values || !parts_.words_have_one_value()) late_keys.sort_words(late_words_);
    return !BucketShared::sorts_long_words || late_keys.sort_long_words();
  }

  __device__ __forceinline__ void place_by_digits() {
    Rows::for_rows(range_.size, [&](uint32_t row) { shared_.keys[lead_ + Rows::index(row)] = keys_[row]; });
    __syncthreads();
    sort_staged();
  }
  __device__ __forceinline__ void sort_staged() {
    if constexpr (by_inlined_digits)
      sort_staged_by_digits<BucketShared, Bits, with_values, threads, keys_per_thread>(shared_, lead_,
                                                                                       range_.size);
    else if constexpr (crowded != Crowded::left_alone)
      call_sort_staged_by_digits<BucketShared, Bits, with_values, threads, keys_per_thread>(shared_, lead_,
                                                                                            range_.size);
  }

  /// The first access to the values. Their loads are in flight while the keys are stored.
  __device__ __forceinline__ void load_values() {
    if constexpr (with_values) {
      const Value* const mine = arrays_.values_in + range_.first + threadIdx.x;
      Rows::for_rows(range_.size, [&](uint32_t row) { values_[row] = __ldcs(mine + row * threads); });
    }
  }

  __device__ __forceinline__ void store_keys() const {
    if (map_.is_xor()) {
      const Bits mask = map_.flip;
      store_keys_as([=](Bits key) { return static_cast<Bits>(key ^ mask); });
    } else {
      store_keys_as([&](Bits key) { return map_.from_ordered(key); });
    }
  }

  template <class Raw>
  __device__ __forceinline__ void store_keys_as(Raw raw) const {
    const auto vector_at = [&](uint32_t v) {
      Vector16<Bits> vector{.whole = reinterpret_cast<const uint4*>(shared_.keys)[v]};
#pragma unroll
      for (uint32_t k = 0; k < sizeof(uint4) / sizeof(Bits); ++k)
        vector.elements[k] = raw(vector.elements[k]);
      return vector;
    };
    bucket_list::store_places<threads>(shared_.first_vector, lead_, lead_ + range_.size, vector_at,
                                       [&](uint32_t place) { return raw(shared_.keys[place]); });
  }

  __device__ __forceinline__ void store_values() {
    if constexpr (with_values) {
      __syncthreads();
      Rows::for_rows(range_.size, [&](uint32_t row) { shared_.values[Rows::index(row)] = values_[row]; });
      __syncthreads();
      constexpr uint32_t width = sizeof(uint4) / sizeof(Value);
      const uint32_t begin = static_cast<uint32_t>(range_.first % width);
      const uint16_t* const positions = shared_.positions + lead_;
      const auto value_at = [&](uint32_t place) { return shared_.values[positions[place - begin]]; };
      const auto vector_at = [&](uint32_t v) {
        Vector16<Value> vector;
#pragma unroll
        for (uint32_t k = 0; k < width; ++k) vector.elements[k] = value_at(v * width + k);
        return vector;
      };
      bucket_list::store_places<threads>(arrays_.values_out + (range_.first - begin), begin,
                                         begin + range_.size, vector_at, value_at);
    }
  }

  BucketShared& shared_;
  const BucketArrays<Bits, Value>& arrays_;
  const KeyMap<Bits>& map_;
  BucketRange range_;  // of the loaded keys
  uint32_t lead_;      // places between first_vector and the bucket's first key
  Parts parts_;
  Packed16<keeps_numbers ? keys_per_thread : 0> numbers_;  // of parts
  Rows keys_;
  LateNumbers<Policy::number_bits, keys_per_thread> late_;
  uint32_t late_words_;  // number of words that this warp has listed
  Value values_[with_values ? keys_per_thread : 1];
};

}  // namespace bucket_sort_detail

}  // namespace sweepsort
