// block_split.hpp - distributes keys to buckets in key order without a second array.
//
//     keys    b c a b | c a a c | b a c b     every thread reads its slots, each as large as a block,
//     deal    B . C A | . B A C | . . A C     and writes blocks of one bucket over those that it has read
//     move    A A A . | B B . C | C C . .     whole blocks go to where their bucket will be
//     fill    A A A a | B B b C | C C c c     blocks that did not become full go into the gaps
//
// The classification, block permutation and clean-up of Axtmann, Witt, Ferizovic and Sanders, "In-place
// Parallel Super Scalar Samplesort (IPS4o)", 2017. Unlike there, all moves are planned before the first one,
// as paths through the slots. These are cut into pieces for the threads, so that no two threads interfere.
//
// Not stable. Reads and writes all keys twice, without counting first; one thread plans in O(blocks).
#pragma once

#include "backend/cpu/bucket_blocks.hpp"
#include "backend/cpu/split.hpp"
#include "backend/cpu/tuning.hpp"
#include "core/error.hpp"
#include "core/rounding.hpp"
#include "core/team.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace sweepsort {

/// The bucket of a slot that holds no whole block.
inline constexpr uint16_t no_bucket = max_buckets;
static_assert(max_buckets < 1u << 16);

/// Slots of one size: first those of an array, from its first cache line on, then those of a pool. Keys
/// before the first and after the last whole slot of the array are in no slot.
template <class Bits>
class Slots {
 public:
  Slots(Bits* keys, uint64_t count, uint32_t block_keys, Bits* pool, uint32_t pool_slots)
      : keys_(keys),
        pool_(pool),
        block_keys_(block_keys),
        head_(std::min<uint64_t>(count, (64 - reinterpret_cast<uintptr_t>(keys) % 64) % 64 / sizeof(Bits))),
        array_slots_(static_cast<uint32_t>((count - head_) / block_keys)),
        size_(array_slots_ + pool_slots) {}

  uint32_t block_keys() const { return block_keys_; }
  uint32_t array_slots() const { return array_slots_; }
  uint32_t size() const { return size_; }
  Bits* keys(uint32_t slot) const {
    if (slot < array_slots_) return keys_ + begin_of(slot);
    return pool_ + uint64_t{slot - array_slots_} * block_keys_;
  }

  /// Where a slot of the array begins. For array_slots(), where the last slot ends.
  uint64_t begin_of(uint32_t slot) const { return head_ + uint64_t{slot} * block_keys_; }
  /// The first slot of the array that begins at `key` or later, and the number of slots that end at `key` or
  /// earlier.
  uint32_t first_from(uint64_t key) const {
    return key <= head_ ? 0 : static_cast<uint32_t>(ceil_divide(key - head_, block_keys_));
  }
  uint32_t end_until(uint64_t key) const {
    return key <= head_ ? 0 : static_cast<uint32_t>((key - head_) / block_keys_);
  }

 private:
  Bits* keys_;
  Bits* pool_;
  uint32_t block_keys_;
  uint64_t head_;
  uint32_t array_slots_;
  uint32_t size_;
};

/// A block that a thread began for a bucket and did not fill, or a whole block for which its bucket has no
/// slot.
struct LooseBlock {
  uint32_t bucket;
  uint32_t slot;
  uint32_t count;
};

/// One thread's source of blocks (see BlockScatter): first its share of the pool, then the slots that it has
/// read, in this order.
///
/// While a thread reads its slot r (counting from 0), it has seen fewer keys than r + 1 blocks hold, plus a
/// few that are in no slot. It takes a new block only for a key that is in no full block, so at most r blocks
/// are full then, and each bucket has at most one other block. So it has taken at most r + buckets blocks,
/// the share of the pool first, and all slots among them have been read to their end.
template <class Bits>
class alignas(64) ReadSlots {
 public:
  /// One block more, for the keys that are in no slot.
  static constexpr uint32_t pool_share(uint32_t buckets) { return buckets + 1; }

  /// All threads share `bucket_of_slot`, which receives the bucket of each block that this thread takes.
  ReadSlots(const Slots<Bits>& slots, uint32_t first_pool_slot, uint32_t first_slot, uint32_t buckets,
            std::vector<uint16_t>& bucket_of_slot)
      : slots_(slots),
        next_pool_slot_(first_pool_slot),
        pool_end_(first_pool_slot + pool_share(buckets)),
        next_slot_(first_slot),
        bucket_of_slot_(bucket_of_slot) {
    loose_.reserve(buckets);
  }

  uint32_t block_keys() const { return slots_.block_keys(); }
  Bits* keys(uint32_t block) const { return slots_.keys(block); }
  uint32_t take(uint32_t bucket) {
    const uint32_t slot = next_pool_slot_ < pool_end_ ? next_pool_slot_++ : next_slot_++;
    bucket_of_slot_[slot] = static_cast<uint16_t>(bucket);
    return slot;
  }
  /// Marks a block that will not become full.
  void set_count(uint32_t block, uint32_t count) {
    loose_.push_back({bucket_of_slot_[block], block, count});
    bucket_of_slot_[block] = no_bucket;
  }

  const std::vector<LooseBlock>& loose() const { return loose_; }

 private:
  const Slots<Bits>& slots_;
  uint32_t next_pool_slot_;
  uint32_t pool_end_;
  uint32_t next_slot_;
  std::vector<uint16_t>& bucket_of_slot_;
  std::vector<LooseBlock> loose_;
};

/// Plans copies of blocks from slot to slot. Pieces of the plan may run at the same time; a piece runs in
/// order.
///
///     source     0 <- 5 <- 2 <- 7 <- 1         slot 0 is empty, what is in 7 goes to 2, ...
///     pieces     0 <- 5, 5 <- (2)    2 <- 7, 7 <- 1       the content of 2 is saved before either begins
class MovePlan {
 public:
  static constexpr uint32_t none = std::numeric_limits<uint32_t>::max();
  static constexpr uint32_t own = none - 1;  // the place where a thread that runs a piece keeps one block
  struct Move {
    uint32_t to;
    uint32_t from;
  };

  /// Allocates all memory for a plan with this many slots. `piece_moves` is about the length of a piece.
  MovePlan(uint32_t slots, uint32_t piece_moves) : piece_moves_(std::max(1u, piece_moves)) {
    is_wanted_.resize(slots);
    moves_.reserve(slots + slots / 2);  // a cycle of two slots has three moves
    begins_.reserve(slots / 2 + slots / piece_moves_ + 2);
    saved_.reserve(2 * (slots / piece_moves_ + 1));
  }
  static size_t bytes(uint64_t slots) { return slots * (3 * sizeof(Move) / 2 + sizeof(uint32_t)); }

  /// `source[slot]` is the slot whose block must go to `slot`; this may be `slot` itself or `none`. Each
  /// block goes to at most one slot. Saved blocks are numbered from source.size() on. Call this once.
  void make(std::vector<uint32_t> source) {
    source_ = std::move(source);
    for (uint32_t slot = 0; slot < source_.size(); ++slot) {
      if (source_[slot] == slot) source_[slot] = none;
      if (source_[slot] != none) is_wanted_[source_[slot]] = true;
    }
    for (uint32_t slot = 0; slot < source_.size(); ++slot)
      if (source_[slot] != none && !is_wanted_[slot]) add_path(slot);
    for (uint32_t slot = 0; slot < source_.size(); ++slot)
      if (source_[slot] != none) add_cycle(slot);
    begins_.push_back(moves_in_all());
  }

  /// The slots whose content must be saved before any piece runs.
  const std::vector<uint32_t>& saved() const { return saved_; }
  size_t pieces() const { return begins_.size() - 1; }
  template <class F>
  void run_piece(size_t piece, F&& move) const {
    for (size_t i = begins_[piece]; i < begins_[piece + 1]; ++i) move(moves_[i]);
  }

 private:
  /// Adds moves from an empty slot on, until a slot that nothing goes to.
  void add_path(uint32_t slot) {
    begins_.push_back(moves_in_all());
    while (source_[slot] != none) {
      if (moves_.size() - begins_.back() >= piece_moves_) {
        moves_.back().from = save(slot);
        begins_.push_back(moves_in_all());
      }
      const uint32_t from = std::exchange(source_[slot], none);
      moves_.push_back({slot, from});
      slot = from;
    }
  }

  void add_cycle(uint32_t first) {
    const size_t begin = moves_.size();
    add_path(first);  // its last move takes the old content of `first`
    const bool is_whole = begins_.back() == begin;
    moves_.back().from = is_whole ? own : save(first);
    if (is_whole) moves_.insert(moves_.begin() + static_cast<ptrdiff_t>(begin), {own, first});
  }

  uint32_t save(uint32_t slot) {
    saved_.push_back(slot);
    return static_cast<uint32_t>(source_.size() + saved_.size() - 1);
  }

  uint32_t moves_in_all() const { return static_cast<uint32_t>(moves_.size()); }

  std::vector<uint32_t> source_;
  std::vector<bool> is_wanted_;
  uint32_t piece_moves_;
  std::vector<Move> moves_;
  std::vector<uint32_t> begins_;  // where each piece begins in moves_
  std::vector<uint32_t> saved_;
};

/// One split of `count` keys in place by several threads.
template <class Bits>
class BlockSplit {
 public:
  /// The most bytes of memory that a split of up to `count` keys needs, for any number of buckets. The pool
  /// has an eighth of the size of the keys, unless blocks would then be smaller than 256 bytes. Pure.
  static size_t memory_bytes(uint64_t count, uint32_t threads, const CpuTuning& tuning) {
    const uint64_t slots = pool_slots(max_buckets, threads);
    const uint64_t most = std::max<uint64_t>(tuning.split_block_bytes, min_block_bytes);
    return std::clamp(count * sizeof(Bits) / 8, slots * min_block_bytes, slots * most) +
           beside_blocks(threads) * most;
  }
  /// The most bytes that a split allocates in addition.
  static size_t plan_bytes(uint64_t count, uint32_t threads, const CpuTuning& tuning) {
    const uint64_t slots =
        count / block_keys(count, max_buckets, threads, tuning) + pool_slots(max_buckets, threads);
    return slots * (sizeof(uint16_t) + sizeof(uint32_t)) + MovePlan::bytes(slots) +
           2 * pool_slots(max_buckets, threads) * sizeof(LooseBlock);
  }

  /// Allocates all memory. `tables`: one per thread, in any state. `memory`: memory_bytes() bytes, aligned to
  /// a cache line; may be made for a larger split.
  BlockSplit(Bits* keys, uint64_t count, uint32_t buckets, std::vector<BlockTables<Bits>*> tables,
             std::byte* memory, const CpuTuning& tuning)
      : keys_(keys),
        count_(count),
        buckets_(buckets),
        threads_(static_cast<uint32_t>(tables.size())),
        tables_(std::move(tables)),
        slots_(keys, count, block_keys(count, buckets, threads_, tuning), reinterpret_cast<Bits*>(memory),
               pool_slots(buckets, threads_)),
        beside_(slots_.keys(slots_.size())),
        bucket_of_slot_(slots_.size(), no_bucket),
        source_(slots_.size(), none),
        places_(buckets),
        moves_(slots_.size(),
               threads_ == 1 ? slots_.size() : std::max(64u, slots_.size() / (16 * threads_))) {
    loose_.reserve(pool_slots(buckets, threads_));
    for (uint32_t thread = 0; thread < threads_; ++thread)
      sources_.emplace_back(slots_, slots_.array_slots() + thread * ReadSlots<Bits>::pool_share(buckets_),
                            first_slot(thread), buckets_, bucket_of_slot_);
  }

  /// Call this once. Returns each bucket's place. `rule` is as in BlockScatter::put. Keys that are only
  /// counted have room in their bucket, with unspecified content.
  template <bool counts_frequent, class Rule>
  std::vector<Bucket> run(const Rule& rule) {
    deal<counts_frequent>(rule);
    place_buckets();
    plan_whole_blocks();
    plan_loose_blocks();
    move_blocks();
    fill_gaps();
    std::vector<Bucket> result(buckets_);
    for (uint32_t bucket = 0; bucket < buckets_; ++bucket)
      result[bucket] = {places_[bucket].begin, places_[bucket].end - places_[bucket].begin};
    return result;
  }

 private:
  static constexpr uint32_t none = MovePlan::none;
  static constexpr uint64_t min_block_bytes = BlockTables<Bits>::line_keys * sizeof(Bits);

  /// Where a bucket goes: keys [begin, end). Its whole blocks take some of the slots there.
  struct Place {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint32_t blocks = 0;  // number of whole blocks
    uint64_t others = 0;  // number of keys in no whole block
    uint32_t first_slot = 0;
    uint32_t end_slot = 0;
    uint32_t next_slot = 0;  // next slot to assign to a block
    uint64_t first_gap = 0;  // unfilled room before the whole blocks; second_gap: after them
    uint64_t first_gap_end = 0;
    uint64_t second_gap = 0;
    bool has(uint32_t slot) const { return slot >= first_slot && slot < end_slot; }
  };

  /// Slots for loose blocks, and for one whole block per bucket that does not fit its slots' borders.
  static uint32_t pool_slots(uint32_t buckets, uint32_t threads) {
    return threads * ReadSlots<Bits>::pool_share(buckets) + buckets;
  }

  /// Blocks that the plan of moves saves (it cuts its paths and cycles at most 16.3 times per thread, and
  /// each cycle that was cut once more), and one block of each thread's own.
  static size_t beside_blocks(uint32_t threads) { return size_t{34} * threads; }

  static uint32_t block_keys(uint64_t count, uint32_t buckets, uint32_t threads, const CpuTuning& tuning) {
    const uint64_t most = std::max<uint64_t>(tuning.split_block_bytes, min_block_bytes);
    const uint64_t bytes = count * sizeof(Bits) / 8 / pool_slots(buckets, threads);
    return static_cast<uint32_t>(std::bit_floor(std::clamp(bytes, min_block_bytes, most)) / sizeof(Bits));
  }

  template <bool counts_frequent, class Rule>
  void deal(const Rule& rule) {
    run_team(threads_, [&](uint32_t thread) {
      BlockTables<Bits>& tables = *tables_[thread];
      tables.clear(buckets_);
      BlockScatter<Bits, ReadSlots<Bits>> scatter(tables, sources_[thread]);
      const auto put = [&](uint64_t begin, uint64_t end) {
        scatter.template put<counts_frequent>(keys_ + begin, end - begin, rule);
      };
      if (thread == 0) put(0, slots_.begin_of(0));
      // Slot by slot, because blocks are written over slots that have been read to their end.
      for (uint32_t slot = first_slot(thread); slot < first_slot(thread + 1); ++slot)
        put(slots_.begin_of(slot), slots_.begin_of(slot + 1));
      if (thread == threads_ - 1) put(slots_.begin_of(slots_.array_slots()), count_);
      scatter.flush_rest(buckets_);
      scatter.fence();
    });
  }

  uint32_t first_slot(uint32_t thread) const {
    return static_cast<uint32_t>(slice_begin(slots_.array_slots(), thread, threads_));
  }

  void place_buckets() {
    for (const uint16_t bucket : bucket_of_slot_)
      if (bucket < buckets_) ++places_[bucket].blocks;
    for (const ReadSlots<Bits>& source : sources_) {
      loose_.insert(loose_.end(), source.loose().begin(), source.loose().end());
      for (const LooseBlock& block : source.loose()) places_[block.bucket].others += block.count;
    }
    uint64_t sum = 0;
    for (uint32_t bucket = 0; bucket < buckets_; ++bucket) {
      Place& place = places_[bucket];
      for (const BlockTables<Bits>* const tables : tables_) place.others += tables->frequent[bucket];
      place.begin = sum;
      place.end = sum += place.others + uint64_t{place.blocks} * slots_.block_keys();
      place.first_slot = std::min(slots_.first_from(place.begin), slots_.array_slots());
      const uint32_t room = std::max(slots_.end_until(place.end), place.first_slot) - place.first_slot;
      place.end_slot = place.first_slot + std::min(room, place.blocks);
      place.next_slot = place.first_slot;
      const bool has_slots = place.first_slot < place.end_slot;
      place.first_gap = place.begin;
      place.first_gap_end = has_slots ? slots_.begin_of(place.first_slot) : place.end;
      place.second_gap = has_slots ? slots_.begin_of(place.end_slot) : place.end;
    }
  }

  void plan_whole_blocks() {
    for (uint32_t slot = 0; slot < slots_.array_slots(); ++slot)
      if (bucket_of_slot_[slot] < buckets_ && places_[bucket_of_slot_[slot]].has(slot)) source_[slot] = slot;
    for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
      if (bucket_of_slot_[slot] >= buckets_ || source_[slot] == slot) continue;
      Place& place = places_[bucket_of_slot_[slot]];
      while (place.next_slot < place.end_slot && source_[place.next_slot] != none) ++place.next_slot;
      if (place.next_slot < place.end_slot)
        source_[place.next_slot] = slot;
      else
        loose_.push_back({bucket_of_slot_[slot], slot, slots_.block_keys()});
    }
  }

  /// Moves loose blocks from the array to the pool, so that moving whole blocks does not overwrite them.
  void plan_loose_blocks() {
    for (const LooseBlock& block : loose_)
      if (block.slot >= slots_.array_slots()) source_[block.slot] = block.slot;
    uint32_t free = slots_.array_slots();
    for (LooseBlock& block : loose_) {
      if (block.slot >= slots_.array_slots()) continue;
      while (source_[free] != none) ++free;
      source_[free] = std::exchange(block.slot, free);
    }
  }

  void move_blocks() {
    moves_.make(std::move(source_));
    if (moves_.saved().size() + threads_ > beside_blocks(threads_))
      throw Error("internal: a plan of moves saves more blocks than there is room for");
    const size_t block_bytes = slots_.block_keys() * sizeof(Bits);
    const auto beside_at = [&](size_t i) { return beside_ + i * slots_.block_keys(); };
    for (size_t i = 0; i < moves_.saved().size(); ++i)
      std::memcpy(beside_at(i), slots_.keys(moves_.saved()[i]), block_bytes);
    std::atomic<size_t> next = 0;
    run_team(threads_, [&](uint32_t thread) {
      const auto at = [&](uint32_t slot) {
        if (slot < slots_.size()) return slots_.keys(slot);
        return beside_at(slot == MovePlan::own ? moves_.saved().size() + thread : slot - slots_.size());
      };
      for (size_t piece = next++; piece < moves_.pieces(); piece = next++)
        moves_.run_piece(
            piece, [&](const MovePlan::Move& move) { std::memcpy(at(move.to), at(move.from), block_bytes); });
    });
  }

  void fill_gaps() {
    std::sort(loose_.begin(), loose_.end(),
              [](const LooseBlock& a, const LooseBlock& b) { return a.bucket < b.bucket; });
    run_team(threads_, [&](uint32_t thread) {
      const auto first_of = [&](uint64_t bucket) {
        return std::partition_point(loose_.begin(), loose_.end(),
                                    [&](const LooseBlock& block) { return block.bucket < bucket; });
      };
      const auto end = first_of(slice_begin(buckets_, thread + 1, threads_));
      for (auto block = first_of(slice_begin(buckets_, thread, threads_)); block != end; ++block) {
        Place& place = places_[block->bucket];
        const Bits* const from = slots_.keys(block->slot);
        // First up to the bucket's whole blocks, then from their end on.
        const auto before =
            static_cast<uint32_t>(std::min<uint64_t>(block->count, place.first_gap_end - place.first_gap));
        std::copy_n(from, before, keys_ + place.first_gap);
        std::copy_n(from + before, block->count - before, keys_ + place.second_gap);
        place.first_gap += before;
        place.second_gap += block->count - before;
      }
    });
  }

  Bits* keys_;
  uint64_t count_;
  uint32_t buckets_;
  uint32_t threads_;
  std::vector<BlockTables<Bits>*> tables_;
  Slots<Bits> slots_;
  Bits* beside_;  // blocks that the moves set aside
  std::vector<uint16_t> bucket_of_slot_;
  std::vector<uint32_t> source_;  // for each slot, the slot whose block must go there
  std::vector<Place> places_;
  MovePlan moves_;
  std::vector<ReadSlots<Bits>> sources_;
  std::vector<LooseBlock> loose_;
};

}  // namespace sweepsort
