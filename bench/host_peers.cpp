// host_peers.cpp - the CPU's other sorts: the standard library's, its parallel mode's, and Highway's.
#include "bench/host_peer.hpp"
#include "core/checked.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <type_traits>

#ifdef SWEEPSORT_BENCH_PARALLEL_MODE
#include <omp.h>

#include <parallel/algorithm>
#endif
#ifdef SWEEPSORT_BENCH_VQSORT
#include <hwy/contrib/sort/vqsort.h>
#endif

namespace sweepsort::bench {
namespace {

/// The comparison that a user of the standard library would write: NaN last, as in numpy. Without that,
/// std::sort could run beyond the end of its array.
template <class Key, Order order>
struct Before {
  bool operator()(Key a, Key b) const {
    if constexpr (order == Order::descending) std::swap(a, b);
    if constexpr (std::is_floating_point_v<Key>) return a < b || (std::isnan(b) && !std::isnan(a));
    return a < b;
  }
};

/// Calls `f` with the comparison for the order.
template <class Key, class F>
void with_comparison(Order order, F&& f) {
  order == Order::ascending ? f(Before<Key, Order::ascending>{}) : f(Before<Key, Order::descending>{});
}

template <class F>
HostRun clocked(F&& sort) {
  const auto begin = std::chrono::steady_clock::now();
  sort();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return {.sort_s = elapsed.count()};
}

/// Copies the input to the output, where an in-place sort starts.
template <class Key>
std::span<Key> copied_input(const HostArrays& arrays) {
  std::ranges::copy(arrays.keys_in, arrays.keys_out.begin());
  return {reinterpret_cast<Key*>(arrays.keys_out.data()), arrays.keys_out.size() / sizeof(Key)};
}

/// Uses std::stable_sort of structures. They are built and taken apart outside of the measured time.
template <class Key, class Value>
HostRun sort_pairs_by_std(const SortCase& what, const HostArrays& arrays) {
  struct Pair {
    Key key;
    Value value;
  };
  std::vector<Pair> pairs(what.count);
  for (uint64_t i = 0; i < what.count; ++i) {
    std::memcpy(&pairs[i].key, arrays.keys_in.data() + i * sizeof(Key), sizeof(Key));
    std::memcpy(&pairs[i].value, arrays.values_in.data() + i * sizeof(Value), sizeof(Value));
  }
  HostRun run;
  with_comparison<Key>(what.order, [&](auto before) {
    run = clocked([&] { std::ranges::stable_sort(pairs, before, &Pair::key); });
  });
  for (uint64_t i = 0; i < what.count; ++i) {
    std::memcpy(arrays.keys_out.data() + i * sizeof(Key), &pairs[i].key, sizeof(Key));
    std::memcpy(arrays.values_out.data() + i * sizeof(Value), &pairs[i].value, sizeof(Value));
  }
  return run;
}

/// Supports the same three kinds of pairs as CUB in the GPU's table.
bool std_supports(const SortCase& what) {
  if (what.value_bytes == 0) return true;
  return what.type == KeyType::u64 || (what.type == KeyType::u32 && what.value_bytes == 4);
}

HostRun sort_by_std(const SortCase& what, const HostArrays& arrays) {
  if (what.value_bytes == 8) return sort_pairs_by_std<uint64_t, uint64_t>(what, arrays);
  if (what.value_bytes == 4)
    return what.type == KeyType::u32 ? sort_pairs_by_std<uint32_t, uint32_t>(what, arrays)
                                     : sort_pairs_by_std<uint64_t, uint32_t>(what, arrays);
  HostRun run;
  dispatch(what.type, [&]<class Key>(std::type_identity<Key>) {
    const std::span<Key> keys = copied_input<Key>(arrays);
    with_comparison<Key>(what.order, [&](auto before) {
      run = clocked([&] { std::sort(keys.begin(), keys.end(), before); });
    });
  });
  return run;
}

#ifdef SWEEPSORT_BENCH_PARALLEL_MODE
/// Supports a few types, ascending, because each takes seconds to compile.
bool parallel_mode_supports(const SortCase& what) {
  return what.value_bytes == 0 && what.order == Order::ascending &&
         (what.type == KeyType::u32 || what.type == KeyType::u64 || what.type == KeyType::f32);
}

template <class Key>
HostRun sort_keys_by_parallel_mode(const HostArrays& arrays) {
  const std::span<Key> keys = copied_input<Key>(arrays);
  return clocked([&] { __gnu_parallel::sort(keys.begin(), keys.end(), Before<Key, Order::ascending>{}); });
}

HostRun sort_by_parallel_mode(const SortCase& what, const HostArrays& arrays, uint32_t threads) {
  omp_set_num_threads(narrow<int>(threads));
  if (what.type == KeyType::u32) return sort_keys_by_parallel_mode<uint32_t>(arrays);
  if (what.type == KeyType::u64) return sort_keys_by_parallel_mode<uint64_t>(arrays);
  return sort_keys_by_parallel_mode<float>(arrays);
}
#endif

#ifdef SWEEPSORT_BENCH_VQSORT
/// Highway cannot sort bytes, and some of its releases lose keys in float arrays with NaN.
bool vqsort_supports(const SortCase& what) {
  return what.value_bytes == 0 && key_bytes(what.type) > 1 && !is_floating(what.type);
}

HostRun sort_by_vqsort(const SortCase& what, const HostArrays& arrays) {
  HostRun run;
  dispatch(what.type, [&]<class Key>(std::type_identity<Key>) {
    if constexpr (std::is_integral_v<Key> && sizeof(Key) > 1) {
      const std::span<Key> keys = copied_input<Key>(arrays);
      const hwy::Sorter sorter;
      run = clocked([&] {
        if (what.order == Order::ascending)
          sorter(keys.data(), keys.size(), hwy::SortAscending());
        else
          sorter(keys.data(), keys.size(), hwy::SortDescending());
      });
    }
  });
  return run;
}
#endif

}  // namespace

std::vector<HostPeer> other_host_peers([[maybe_unused]] uint32_t threads) {
  std::vector<HostPeer> peers;
  peers.push_back({.name = "std",
                   .threads = 1,
                   .float_order = FloatOrder::by_value,
                   .supports = std_supports,
                   .sort = sort_by_std});
#ifdef SWEEPSORT_BENCH_VQSORT
  peers.push_back({.name = "vqsort", .threads = 1, .supports = vqsort_supports, .sort = sort_by_vqsort});
#endif
#ifdef SWEEPSORT_BENCH_PARALLEL_MODE
  peers.push_back({.name = "parallel",
                   .threads = threads,
                   .float_order = FloatOrder::by_value,
                   .supports = parallel_mode_supports,
                   .sort = [=](const SortCase& what, const HostArrays& arrays) {
                     return sort_by_parallel_mode(what, arrays, threads);
                   }});
#endif
  return peers;
}

}  // namespace sweepsort::bench
