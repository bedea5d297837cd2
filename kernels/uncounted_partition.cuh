// uncounted_partition.cuh - both levels of an MSD radix sort's partition without a histogram before them, for
// keys alone that a sample shows to be even. Moves 4n keys; the histogram would read n keys more.
//
//     in ──level 1──>  parents:   | free     <──────── keys | rest ──> | free      <─────── keys | rest ──> | ...
//                                 \________ region of parent 0 _______/
//     level 2, inside of each region:
//                                 | chunks of all children ──> | keys not yet read ...
//
// Level 1: a parent's region has more room than its share. A block collects a tile's keys in bins, one per
// parent. It puts whole sectors of 32 bytes in front of the keys that a region has. What is left over after
// its last tile goes behind them. Level 2: one block takes a whole parent and moves its keys to chunks, by
// bins, too. A chunk holds keys of one child. Chunks are taken one after the other from the beginning of the
// region: the free ones first, then those whose keys have been read. Each child has at most one chunk that is
// not full, so as many free chunks as children always suffice, and usually fewer do. The chunks tell how many
// keys each child has. If the low half of a key tells it from all others that its child may have, only the
// low half is written. Integers lie in the regions as ordered bits. Floats lie there as the caller stores
// them, and become ordered bits in the children. On both levels, keys that find their bins full wait in a
// stash until the bins have been emptied.
//
// The keys in `in` stay as they are. The keys may turn out not to be even: a tile's keys meet in few bins, or
// there is no free chunk. Then `deal.failed` is set, only time is lost, and the counted method is used.
//
// Stehle & Jacobsen, 2017. Blocks append by fetch-and-add as in Cederman & Tsigas, "GPU-Quicksort", 2009.
// Chunks of one array serve as its buckets as in Axtmann et al., "In-Place Parallel Super Scalar Samplesort",
// 2017.
#pragma once

#include "core/key_bits.hpp"
#include "core/rounding.hpp"
#include "kernels/bucket_map.cuh"
#include "kernels/bucket_parts.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/ptx.cuh"
#include "kernels/tickets.cuh"
#include "kernels/uncounted_layout.cuh"
#include "kernels/vector16.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace sweepsort {

/// The parameters of both levels of a deal.
template <class Bits>
struct DealTask {
  const Bits* in;
  Bits* scratch;
  uint64_t count;
  uint64_t span;  // first level: keys per block
  KeyMap<Bits> map;
  UncountedLayout<Bits> layout;
  uint32_t* counts_whole;  // of each parent: keys that came in whole sectors, and
  uint32_t* counts_rest;   // all others; zero before
  uint64_t* counts;        // of each bucket
  uint16_t* chunks;  // of each bucket: layout.chunks_per_bucket numbers of chunks in its parent's region
  MsdPlan<Bits>* plan;

  __device__ __forceinline__ Bits* region(uint32_t parent) const {
    return scratch + uint64_t{layout.region()} * parent;
  }
  __device__ __forceinline__ void give_up() const {
    DeviceAtomic<uint32_t>(plan->deal.failed).store(1, cuda::memory_order_relaxed);
  }
  __device__ __forceinline__ bool has_failed() const {
    return DeviceAtomic<uint32_t>(plan->deal.failed).load(cuda::memory_order_relaxed) != 0;
  }
};

namespace uncounted_detail {

/// Keys that find no room in their bins are stashed until the bins have been emptied. At most this many of a
/// tile.
inline constexpr uint32_t max_stashed = 512;

/// Slots of all bins. Each bin has room for its mean, three standard deviations, and what is left over.
template <class Policy, class Bits>
constexpr uint32_t bin_slots() {
  constexpr uint32_t mean = Policy::tile / msd_digits;
  const uint32_t slots = mean + 3 * root_rounded_up(mean) + 2 * elements_per_sector<Bits>;
  return round_up(slots, elements_per_sector<Bits>) * msd_digits;
}

template <class Bits, class Policy>
struct Shared {
  static constexpr uint32_t slots = bin_slots<Policy, Bits>();

  uint32_t counts[msd_digits];  // keys that came to each bin, with or without room
  uint32_t stashed;             // keys that found no room in their bins
  // Second level:
  uint32_t parent;              // the block's current one
  uint32_t taken_chunks;        // chunks of its region that were taken, from the beginning on
  uint32_t free_chunks;         // chunks there that had no key, or only keys that have been read; the last
                                // tile may add more
  uint32_t sizes[msd_digits];   // keys of each child
  uint32_t opened[msd_digits];  // the chunk of each child that was opened last
  // Two flags, so that all threads read the same: cannot_bin is set only while keys are binned, has_failed
  // only while bins are emptied, and it is read after the barrier behind that.
  uint32_t cannot_bin;  // a key has no room in the stash, or a stashed one none in its bin
  uint32_t has_failed;  // the block gives up
  Bits stash[max_stashed];
  alignas(128) Bits bins[slots];
};

/// The keys that a block deals, except for the first `skipped` ones. Those are included only so that `keys`
/// begins a line of 128 bytes: 2^28 u32 keys, 2.245 -> 2.217 ms.
template <class Bits>
struct Source {
  const Bits* keys;
  uint32_t size;
  uint32_t skipped;
};

/// Deals keys to bins, tile by tile.
template <class Bits, class Policy, class Buckets>
class Dealer {
 public:
  using DealShared = Shared<Bits, Policy>;
  static constexpr uint32_t threads = Policy::threads;
  static constexpr uint32_t keys_per_thread = Policy::keys_per_thread;
  static constexpr uint32_t batch = Policy::batch;
  static constexpr bool of_reals = divides_reals<Buckets>;
  /// All warps share the bins, because the copies that the lanes of one warp start go out one after the
  /// other.
  static constexpr uint32_t bins_per_warp = msd_digits * warp_threads / threads;
  static_assert(keys_per_thread % batch == 0 && bins_per_warp >= 1 && bins_per_warp <= warp_threads);
  static_assert(Policy::tile % dealt_chunk<Bits> == 0);

  /// A digit is one of `digits`, from bit `shift` of a bucket's number on. `maps`: the keys become ordered
  /// bits. Integers do so before their digits are computed, floats when they are put into bins.
  __device__ __forceinline__ Dealer(DealShared& shared, const Buckets& bucket_of, uint32_t shift,
                                    uint32_t digits, const KeyMap<Bits>& map, bool maps)
      : shared_(shared), bucket_of_(bucket_of), shift_(shift), digits_(digits), map_(map), maps_(maps) {}

  /// The bin that this thread empties; msd_digits or more if it has none.
  __device__ __forceinline__ static uint32_t own_bin() {
    return ptx::lane_id() < bins_per_warp ? threadIdx.x / warp_threads * bins_per_warp + ptx::lane_id()
                                          : msd_digits;
  }

  /// Called by the whole block. sink.take(digit, keys, count) passes on `count` keys of a bin, whole sectors,
  /// as Sink::Stored. The bin's owner calls it, and at last sink.take_rest(digit, keys, count) for the few
  /// keys that the last tile leaves over. Both return false if there is no room. sink.has_failed(): another
  /// block gave up. Returns false if this block gave up; all threads return the same.
  template <class Sink>
  __device__ __forceinline__ bool deal(const Source<Bits>& from, Sink& sink) {
    using Stored = typename Sink::Stored;
    const Bins<Stored> bins = bins_of<Stored>();
#pragma unroll
    for (uint32_t i = 0; i < keys_per_thread; i += batch) load(from, 0, i);
    __syncthreads();
    for (uint32_t d = threadIdx.x; d < digits_; d += threads) shared_.counts[d] = 0;
    if (threadIdx.x == 0) shared_.stashed = shared_.cannot_bin = shared_.has_failed = 0;
    __syncthreads();
    bool has_failed = false;
    for (uint32_t tile = 0; tile < from.size && !has_failed; tile += Policy::tile) {
      if (threadIdx.x == 0) {
        ask_for(from, tile + Policy::tile);
        if constexpr (Sink::takes_chunks) shared_.free_chunks += Policy::tile / dealt_chunk<Bits>;
      }
      if (from.size - tile >= Policy::tile && (tile != 0 || from.skipped == 0))
        bin_tile<true>(bins, from, tile);
      else
        bin_tile<false>(bins, from, tile);
      ptx::shared_writes_visible_to_bulk_copies();
      __syncthreads();
      const uint32_t stashed = min(shared_.stashed, max_stashed);
      if (threadIdx.x == threads - 1 && (shared_.cannot_bin != 0 || sink.has_failed()))
        shared_.has_failed = 1;
      empty_own_bin(bins, sink);
      __syncthreads();
      has_failed = shared_.has_failed != 0;
      if (stashed != 0) bin_stash(bins, stashed);
    }
    if (!has_failed) {
      // The stash may have filled whole sectors of bins.
      ptx::shared_writes_visible_to_bulk_copies();
      __syncthreads();
      if (threadIdx.x == threads - 1 && shared_.cannot_bin != 0) shared_.has_failed = 1;
      empty_own_bin(bins, sink);
      const uint32_t bin = own_bin();
      if (bin < digits_ && !sink.take_rest(bin, bins.at(bin), shared_.counts[bin])) shared_.has_failed = 1;
    }
    __syncthreads();
    has_failed = shared_.has_failed != 0;
    __syncthreads();
    return !has_failed;
  }

 private:
  __device__ __forceinline__ static uint32_t place_of(uint32_t i) { return i * threads + threadIdx.x; }

  /// All bins. Each is a number of whole sectors.
  template <class Stored>
  struct Bins {
    Stored* keys;
    uint32_t capacity;  // slots of a bin

    __device__ __forceinline__ Stored* at(uint32_t bin) const { return keys + bin * capacity; }
  };
  template <class Stored>
  __device__ __forceinline__ Bins<Stored> bins_of() const {
    constexpr auto slots = static_cast<uint32_t>(sizeof(shared_.bins)) / uint32_t{sizeof(Stored)};
    return {reinterpret_cast<Stored*>(shared_.bins),
            slots / digits_ / elements_per_sector<Stored> * elements_per_sector<Stored>};
  }

  /// Prefetches a tile's keys into the second-level cache, all at once. Called by one thread.
  __device__ __forceinline__ static void ask_for(const Source<Bits>& from, uint32_t tile) {
    if (tile < from.size) ptx::prefetch(from.keys + tile, min(from.size - tile, Policy::tile));
  }

  __device__ __forceinline__ void load(const Source<Bits>& from, uint32_t tile, uint32_t first) {
    if (tile + Policy::tile <= from.size) {
      const Bits* const mine = from.keys + tile + threadIdx.x;
#pragma unroll
      for (uint32_t i = first; i < first + batch; ++i) keys_[i] = __ldcs(mine + i * threads);
    } else if (tile < from.size) {
#pragma unroll
      for (uint32_t i = first; i < first + batch; ++i)
        if (const uint32_t at = tile + place_of(i); at < from.size) keys_[i] = __ldcs(from.keys + at);
    }
  }

  __device__ __forceinline__ uint32_t digit_of(Bits key) const {
    uint32_t bucket = 0;
    if constexpr (of_reals)
      bucket = bucket_of_.of_raw(key);
    else
      bucket = bucket_of_(key);
    return bucket >> shift_ & (digits_ - 1);
  }
  template <class Stored>
  __device__ __forceinline__ Stored stored(Bits key) const {
    return static_cast<Stored>(of_reals && maps_ ? map_.to_ordered(key) : key);
  }

  /// A shared atomic gives each key a slot. The loads of the next tile's keys start as registers become free.
  template <bool is_full, class Stored>
  __device__ __forceinline__ void bin_tile(const Bins<Stored>& bins, const Source<Bits>& from,
                                           uint32_t tile) {
    const bool maps_now = maps_ && !of_reals;
    if (maps_now && map_.is_xor()) {
      const Bits mask = map_.flip;
#pragma unroll
      for (Bits& key : keys_) key ^= mask;
    } else if (maps_now) {
#pragma unroll
      for (Bits& key : keys_) key = map_.to_ordered(key);
    }
#pragma unroll
    for (uint32_t first = 0; first < keys_per_thread; first += batch) {
      const auto is_there = [&](uint32_t i) {
        return is_full || (tile + place_of(i) >= from.skipped && tile + place_of(i) < from.size);
      };
      uint32_t digit[batch];
      uint32_t slot[batch];
#pragma unroll
      for (uint32_t i = 0; i < batch; ++i) {
        if (!is_there(first + i)) continue;
        digit[i] = digit_of(keys_[first + i]);
        slot[i] = atomicAdd(&shared_.counts[digit[i]], 1u);
      }
#pragma unroll
      for (uint32_t i = 0; i < batch; ++i) {
        if (!is_there(first + i)) continue;
        if (slot[i] < bins.capacity)
          bins.at(digit[i])[slot[i]] = stored<Stored>(keys_[first + i]);
        else
          stash(keys_[first + i]);
      }
      load(from, tile + Policy::tile, first);
    }
  }

  __device__ __forceinline__ void stash(Bits key) {
    const uint32_t place = atomicAdd(&shared_.stashed, 1u);
    if (place < max_stashed)
      shared_.stash[place] = key;
    else
      shared_.cannot_bin = 1;
  }

  /// Must be called between two barriers.
  template <class Stored>
  __device__ __forceinline__ void bin_stash(const Bins<Stored>& bins, uint32_t stashed) {
    for (uint32_t i = threadIdx.x; i < stashed; i += threads) {
      const uint32_t digit = digit_of(shared_.stash[i]);
      const uint32_t slot = atomicAdd(&shared_.counts[digit], 1u);
      if (slot < bins.capacity)
        bins.at(digit)[slot] = stored<Stored>(shared_.stash[i]);
      else
        shared_.cannot_bin = 1;
    }
    __syncthreads();
    if (threadIdx.x == 0) shared_.stashed = 0;
    __syncthreads();
  }

  /// What fills whole sectors goes on, and the rest moves to the bin's front.
  template <class Stored, class Sink>
  __device__ __forceinline__ void empty_own_bin(const Bins<Stored>& bins, Sink& sink) {
    const uint32_t bin = own_bin();
    if (bin >= digits_) return;
    const uint32_t used = min(shared_.counts[bin], bins.capacity);
    const uint32_t whole = used / elements_per_sector<Stored> * elements_per_sector<Stored>;
    Stored* const keys = bins.at(bin);
    if (whole != 0 && !sink.take(bin, keys, whole)) shared_.has_failed = 1;
    ptx::bulk_stores_commit();
    ptx::bulk_stores_have_read();
    if (whole != 0 && used != whole) {
      const uint4 low = reinterpret_cast<const uint4*>(keys + whole)[0];
      const uint4 high = reinterpret_cast<const uint4*>(keys + whole)[1];
      reinterpret_cast<uint4*>(keys)[0] = low;
      reinterpret_cast<uint4*>(keys)[1] = high;
    }
    shared_.counts[bin] = used - whole;
  }

  DealShared& shared_;
  const Buckets& bucket_of_;
  uint32_t shift_;
  uint32_t digits_;
  const KeyMap<Bits>& map_;
  bool maps_;
  Bits keys_[keys_per_thread] = {};
};

/// First level: the sink is the regions of the parents, which all blocks share.
template <class Bits>
struct ToParents {
  using Stored = Bits;
  static constexpr bool takes_chunks = false;
  const DealTask<Bits>& task;

  __device__ __forceinline__ bool has_failed() const { return task.has_failed(); }
  __device__ __forceinline__ bool take(uint32_t parent, const Bits* keys, uint32_t count) {
    const uint32_t with_mine = atomicAdd(task.counts_whole + parent, count) + count;
    if (with_mine > task.layout.room) return false;
    ptx::bulk_store(task.region(parent) + (task.layout.room - with_mine), keys,
                    static_cast<uint32_t>(count * sizeof(Bits)));
    return true;
  }
  __device__ __forceinline__ bool take_rest(uint32_t parent, const Bits* keys, uint32_t count) {
    if (count == 0) return true;
    const uint32_t before = atomicAdd(task.counts_rest + parent, count);
    if (before + count > task.layout.rest_room) return false;
    Bits* const to = task.region(parent) + task.layout.room + before;
    for (uint32_t k = 0; k < count; ++k) to[k] = keys[k];
    return true;
  }
};

/// Second level: the sink is the chunks of the parent's own region.
template <class Stored_, class Bits, class Policy>
struct ToChildren {
  using Stored = Stored_;
  static constexpr bool takes_chunks = true;
  static constexpr uint32_t chunk = dealt_chunk<Stored>;
  const DealTask<Bits>& task;
  Shared<Bits, Policy>& shared;
  uint32_t first_child;  // its bucket's number

  __device__ __forceinline__ bool has_failed() const { return false; }
  __device__ __forceinline__ bool take(uint32_t child, const Stored* keys, uint32_t count) {
    while (count != 0) {
      const uint32_t used = shared.sizes[child] % chunk;
      if (used == 0 && !open_chunk(child)) return false;
      const uint32_t now = min(count, chunk - used);
      ptx::bulk_store(next(child), keys, static_cast<uint32_t>(now * sizeof(Stored)));
      shared.sizes[child] += now;
      keys += now;
      count -= now;
    }
    return true;
  }
  __device__ __forceinline__ bool take_rest(uint32_t child, const Stored* keys, uint32_t count) {
    if (count == 0) return true;
    if (shared.sizes[child] % chunk == 0 && !open_chunk(child)) return false;
    Stored* const to = next(child);
    for (uint32_t k = 0; k < count; ++k) to[k] = keys[k];
    shared.sizes[child] += count;
    return true;
  }

 private:
  __device__ __forceinline__ bool open_chunk(uint32_t child) {
    const uint32_t before = shared.sizes[child] / chunk;
    const uint32_t most = task.layout.chunks_per_bucket;
    if (before == most) return false;
    const uint32_t number = atomicAdd(&shared.taken_chunks, 1u);
    if (number >= min(shared.free_chunks, task.layout.region() / dealt_chunk<Bits>)) return false;
    task.chunks[uint64_t{first_child + child} * most + before] = static_cast<uint16_t>(number);
    shared.opened[child] = number;
    return true;
  }
  __device__ __forceinline__ Stored* next(uint32_t child) const {
    return reinterpret_cast<Stored*>(task.region(shared.parent)) + shared.opened[child] * chunk +
           shared.sizes[child] % chunk;
  }
};

template <class Policy, class Bits, class Buckets>
__device__ __forceinline__ void deal_to_parents(Shared<Bits, Policy>& shared, const DealTask<Bits>& task,
                                                const Buckets& bucket_of) {
  const uint64_t first = blockIdx.x * task.span;
  const auto size = static_cast<uint32_t>(min(task.span, task.count - first));
  const uint32_t children_bits = task.plan->bucket_bits - msd_digit_bits;
  Dealer<Bits, Policy, Buckets> dealer(shared, bucket_of, children_bits, msd_digits, task.map,
                                       !divides_reals<Buckets> && !task.map.is_identity());
  ToParents<Bits> sink{task};
  if (!dealer.deal({task.in + first, size, 0}, sink) && threadIdx.x == 0) task.give_up();
}

/// Whether the low bits of a key tell it from all others that may be in its bucket, for all `buckets`
/// buckets. Called by the whole block.
template <class Bits, class Buckets>
__device__ __forceinline__ bool are_narrow(const Buckets& bucket_of, uint32_t first_bucket,
                                           uint32_t buckets) {
  bool is_wide = false;
  if (threadIdx.x < buckets) {
    const KeyInterval<Bits> interval = interval_of(bucket_of, first_bucket + threadIdx.x);
    is_wide = interval.is_open ||
              static_cast<Bits>(interval.last - interval.first) > static_cast<NarrowKey<Bits>>(~0u);
  }
  return __syncthreads_or(is_wide) == 0;
}

template <class Policy, class Bits, class Buckets>
__device__ __forceinline__ void deal_to_children(Shared<Bits, Policy>& shared, const DealTask<Bits>& task,
                                                 const Buckets& bucket_of) {
  const uint32_t children = 1u << (task.plan->bucket_bits - msd_digit_bits);
  Dealer<Bits, Policy, Buckets> dealer(shared, bucket_of, 0, children, task.map, divides_reals<Buckets>);
  while (true) {
    __syncthreads();  // the previous parent is done
    if (threadIdx.x == 0) {
      shared.parent = task.has_failed() ? msd_digits : draw_ticket(&task.plan->deal.ticket);
      shared.taken_chunks = 0;
    }
    for (uint32_t c = threadIdx.x; c < children; c += Policy::threads) shared.sizes[c] = 0;
    __syncthreads();
    const uint32_t parent = shared.parent;
    if (parent >= msd_digits) return;
    // Level 1 has not failed, so all its keys have room.
    constexpr uint32_t line = 128 / sizeof(Bits);
    const uint32_t before = task.layout.room - task.counts_whole[parent];
    const uint32_t free_keys = before / line * line;
    const Source<Bits> source{task.region(parent) + free_keys,
                              task.layout.room + task.counts_rest[parent] - free_keys, before - free_keys};
    const bool is_narrow = are_narrow<Bits>(bucket_of, parent * children, children);
    if (threadIdx.x == 0) {
      task.plan->is_narrow[parent] = is_narrow;
      shared.free_chunks = free_keys / dealt_chunk<Bits>;
    }
    const auto deal_as = [&]<class Stored>(Stored) {
      ToChildren<Stored, Bits, Policy> sink{task, shared, parent * children};
      return dealer.deal(source, sink);
    };
    if (!(is_narrow ? deal_as(NarrowKey<Bits>{}) : deal_as(Bits{}))) {
      if (threadIdx.x == 0) task.give_up();
      return;
    }
    for (uint32_t c = threadIdx.x; c < children; c += Policy::threads)
      task.counts[parent * children + c] = shared.sizes[c];
  }
}

/// First level (`parents`): a block deals the keys of one span. Second level: it deals those of one parent
/// after the other. Does nothing if the plan divides the keys by other buckets than `Buckets`.
template <class Bits, class Policy, class Buckets, bool parents>
__global__ __launch_bounds__(Policy::threads, Policy::blocks_per_multiprocessor) void deal_kernel(
    const __grid_constant__ DealTask<Bits> task) {
  if (ptx::is_before_90()) return;
  ptx::wait_for_previous_launch();
  const MsdPlan<Bits>& plan = *task.plan;
  if (!plan.tries_deal() || (plan.deal.is_of_reals != 0) != divides_reals<Buckets>) return;
  const Buckets bucket_of = plan.template buckets<Buckets>();
  auto& shared = shared_memory<Shared<Bits, Policy>>();
  if constexpr (parents)
    deal_to_parents<Policy>(shared, task, bucket_of);
  else
    deal_to_children<Policy>(shared, task, bucket_of);
}

}  // namespace uncounted_detail

/// Both levels of the partition, if the plan says that no histogram is needed. The first level has a block
/// for each of `spans` spans.
template <class Policy, class Bits>
void deal(const DealTask<Bits>& task, uint32_t spans, cudaStream_t stream) {
  using namespace uncounted_detail;
  constexpr size_t shared_bytes = sizeof(Shared<Bits, Policy>);
  const uint32_t blocks = std::min(multiprocessors() * Policy::blocks_per_multiprocessor, msd_digits);
  const auto launch = [&]<class Buckets>() {
    launch_chained(deal_kernel<Bits, Policy, Buckets, true>, {spans, Policy::threads, shared_bytes}, stream,
                   task);
    launch_chained(deal_kernel<Bits, Policy, Buckets, false>, {blocks, Policy::threads, shared_bytes}, stream,
                   task);
  };
  launch.template operator()<LinearBuckets<Bits>>();
  if (task.map.is_of_floats()) launch.template operator()<RealBuckets<Bits>>();
}

}  // namespace sweepsort
