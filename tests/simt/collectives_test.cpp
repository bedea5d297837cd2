// collectives_test.cpp - checks every warp and block collective against its definition.
#include "emulated.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

using namespace sweepsort;

namespace {

constexpr uint32_t full = 0xffffffffu;

/// What lane `lane` of a warp with these values must get.
using Expected = std::function<uint64_t(const uint64_t* values, uint32_t lane)>;

/// Runs `kernel(in, out, extra...)` with two warps and compares each thread's result.
template <class T, class... Extra>
void check_lanes(void (*kernel)(const T*, T*, Extra...), const Expected& expected, Extra... extra) {
  simt::for_each_seed(20, [&] {
    std::vector<T> in(64);
    std::ranges::transform(noise(64, simt::base_seed()), in.begin(),
                           [](uint64_t v) { return static_cast<T>(v); });
    std::vector<T> out(64);
    launch(kernel, {.blocks = 1, .threads = 64}, nullptr, in.data(), out.data(), extra...);
    const std::vector<uint64_t> wide(in.begin(), in.end());
    for (uint32_t t = 0; t < 64; ++t) {
      INFO("thread " << t);
      REQUIRE(out[t] == static_cast<T>(expected(wide.data() + t / 32 * 32, t % 32)));
    }
  });
}

template <class T>
__global__ void shuffle_kernel(const T* in, T* out, int source, int width) {
  out[threadIdx.x] = __shfl_sync(full, in[threadIdx.x], source, width);
}
template <class T>
__global__ void shuffle_up_kernel(const T* in, T* out, int delta, int width) {
  out[threadIdx.x] = __shfl_up_sync(full, in[threadIdx.x], static_cast<unsigned>(delta), width);
}
template <class T>
__global__ void shuffle_down_kernel(const T* in, T* out, int delta, int width) {
  out[threadIdx.x] = __shfl_down_sync(full, in[threadIdx.x], static_cast<unsigned>(delta), width);
}
template <class T>
__global__ void shuffle_xor_kernel(const T* in, T* out, int lanes, int width) {
  out[threadIdx.x] = __shfl_xor_sync(full, in[threadIdx.x], lanes, width);
}

template <class T>
void check_shuffles() {
  for (const int width : {1, 2, 8, 32}) {
    for (const int by : {0, 1, 3, 8, 31}) {
      INFO("width " << width << " by " << by);
      const auto segment = [=](uint32_t lane) {
        return lane / static_cast<uint32_t>(width) * static_cast<uint32_t>(width);
      };
      const auto w = static_cast<uint32_t>(width);
      const auto d = static_cast<uint32_t>(by);
      check_lanes<T, int, int>(
          shuffle_kernel<T>, [=](const uint64_t* v, uint32_t lane) { return v[segment(lane) + d % w]; }, by,
          width);
      check_lanes<T, int, int>(
          shuffle_up_kernel<T>,
          [=](const uint64_t* v, uint32_t lane) { return lane - segment(lane) >= d ? v[lane - d] : v[lane]; },
          by, width);
      check_lanes<T, int, int>(
          shuffle_down_kernel<T>,
          [=](const uint64_t* v, uint32_t lane) {
            return lane + d < segment(lane) + w ? v[lane + d] : v[lane];
          },
          by, width);
      check_lanes<T, int, int>(
          shuffle_xor_kernel<T>,
          [=](const uint64_t* v, uint32_t lane) {
            return (lane ^ d) < segment(lane) + w ? v[lane ^ d] : v[lane];
          },
          by, width);
    }
  }
}

template <class T>
__global__ void match_any_kernel(const T* in, T* out, T buckets) {
  out[threadIdx.x] = __match_any_sync(full, in[threadIdx.x] % buckets);
}

__global__ void votes_kernel(const unsigned* in, unsigned* out, unsigned threshold) {
  const bool predicate = in[threadIdx.x] >= threshold;
  const unsigned ballot = __ballot_sync(full, predicate);
  const bool any = __any_sync(full, predicate) != 0;
  const bool all = __all_sync(full, predicate) != 0;
  out[threadIdx.x] = ballot ^ (any ? 0x10000u : 0u) ^ (all ? 1u : 0u);
}

template <class T>
using Reduce = T (*)(unsigned, T, simt::Where);

template <class T, Reduce<T> reduce>
__global__ void reduce_kernel(const T* in, T* out) {
  out[threadIdx.x] = reduce(full, in[threadIdx.x], simt::Where::current());
}

/// Odd and even lanes reduce independently, each group by another collective.
__global__ void split_warp_kernel(const unsigned* in, unsigned* out) {
  if (threadIdx.x % 2 == 0)
    out[threadIdx.x] = __reduce_add_sync(0x55555555u, in[threadIdx.x]);
  else
    out[threadIdx.x] = __reduce_max_sync(0xaaaaaaaau, in[threadIdx.x]);
}

/// Lane 1 meets lane 0 and then lane 2; lanes 0 and 2 meet only lane 1: masks may overlap.
__global__ void overlapping_masks_kernel(const unsigned* in, unsigned* out) {
  const unsigned lane = threadIdx.x;
  if (lane < 2) out[0] = __reduce_add_sync(0b011u, in[lane]);
  if (lane == 1 || lane == 2) out[1] = __reduce_add_sync(0b110u, in[lane]);
}

__global__ void ordered_add_kernel(unsigned* counters, unsigned* before) {
  const unsigned lane = threadIdx.x % 32;
  if (lane % 3 != 0)
    before[threadIdx.x] = emulated_lane_ordered_atomic_add(&counters[lane % 2], lane, 0xb6db6db6u);
}

__global__ void votes_of_block_kernel(const unsigned* in, int* out) {
  const bool predicate = in[threadIdx.x] != 0;
  const int any = __syncthreads_or(predicate);
  const int all = __syncthreads_and(predicate);
  const int count = __syncthreads_count(predicate);
  out[threadIdx.x] = count * 4 + all * 2 + any;
}

}  // namespace

TEST_CASE("shuffles of 4 bytes read the lane that CUDA says") { check_shuffles<unsigned>(); }
TEST_CASE("shuffles of 8 bytes read the lane that CUDA says") { check_shuffles<unsigned long long>(); }

TEST_CASE("match_any gives each lane the lanes with its value") {
  const auto expected = [](uint64_t buckets) {
    return [=](const uint64_t* v, uint32_t lane) {
      uint64_t peers = 0;
      for (uint32_t other = 0; other < 32; ++other)
        peers |= static_cast<uint64_t>(v[other] % buckets == v[lane] % buckets) << other;
      return peers;
    };
  };
  for (const uint64_t buckets : {1u, 2u, 7u, 1000u}) {
    check_lanes<unsigned, unsigned>(match_any_kernel<unsigned>, expected(buckets),
                                    static_cast<unsigned>(buckets));
    check_lanes<unsigned long long, unsigned long long>(match_any_kernel<unsigned long long>,
                                                        expected(buckets), buckets);
  }
}

TEST_CASE("ballot, any and all count the lanes whose predicate holds") {
  for (const unsigned threshold : {0u, 1u, 0x40000000u, 0xffffffffu}) {
    const auto expected = [=](const uint64_t* v, uint32_t) {
      uint64_t ballot = 0;
      for (uint32_t lane = 0; lane < 32; ++lane)
        ballot |= static_cast<uint64_t>(v[lane] >= threshold) << lane;
      return ballot ^ (ballot != 0 ? 0x10000u : 0u) ^ (ballot == full ? 1u : 0u);
    };
    check_lanes<unsigned, unsigned>(votes_kernel, expected, threshold);
  }
}

TEST_CASE("reductions combine all lanes of the mask") {
  const auto folded = [](auto combine) {
    return [=](const uint64_t* v, uint32_t) {
      return std::accumulate(v + 1, v + 32, v[0],
                             [=](uint64_t a, uint64_t b) { return static_cast<uint64_t>(combine(a, b)); });
    };
  };
  const auto low = [](auto a, auto b) { return std::min(a, b); };
  const auto high = [](auto a, auto b) { return std::max(a, b); };
  check_lanes<unsigned>(reduce_kernel<unsigned, __reduce_add_sync<unsigned>>, folded(std::plus<uint64_t>()));
  check_lanes<unsigned>(reduce_kernel<unsigned, __reduce_min_sync<unsigned>>, folded(low));
  check_lanes<unsigned>(reduce_kernel<unsigned, __reduce_max_sync<unsigned>>, folded(high));
  check_lanes<unsigned>(reduce_kernel<unsigned, __reduce_and_sync>, folded(std::bit_and<uint64_t>()));
  check_lanes<unsigned>(reduce_kernel<unsigned, __reduce_or_sync>, folded(std::bit_or<uint64_t>()));
  check_lanes<unsigned>(reduce_kernel<unsigned, __reduce_xor_sync>, folded(std::bit_xor<uint64_t>()));
  const auto signed_low = [](uint64_t a, uint64_t b) {
    return std::min(static_cast<int64_t>(a), static_cast<int64_t>(b));
  };
  const auto signed_high = [](uint64_t a, uint64_t b) {
    return std::max(static_cast<int64_t>(a), static_cast<int64_t>(b));
  };
  check_lanes<int>(reduce_kernel<int, __reduce_add_sync<int>>, folded(std::plus<uint64_t>()));
  check_lanes<int>(reduce_kernel<int, __reduce_min_sync<int>>, folded(signed_low));
  check_lanes<int>(reduce_kernel<int, __reduce_max_sync<int>>, folded(signed_high));
}

TEST_CASE("groups of a split warp meet apart from each other") {
  check_lanes<unsigned>(split_warp_kernel, [](const uint64_t* v, uint32_t lane) {
    uint64_t sum = 0;
    uint64_t most = 0;
    for (uint32_t i = 0; i < 32; i += 2) sum += v[i];
    for (uint32_t i = 1; i < 32; i += 2) most = std::max(most, v[i]);
    return lane % 2 == 0 ? sum : most;
  });
}

TEST_CASE("a lane can meet others with overlapping masks one after the other") {
  simt::for_each_seed(50, [] {
    const std::vector<unsigned> in{1, 10, 100};
    std::vector<unsigned> out(2);
    launch(overlapping_masks_kernel, {.blocks = 1, .threads = 3}, nullptr, in.data(), out.data());
    REQUIRE(out == std::vector<unsigned>{11, 110});
  });
}

TEST_CASE("lane-ordered adds are served in the order of the lanes") {
  simt::for_each_seed(50, [] {
    std::vector<unsigned> counters(2);
    std::vector<unsigned> before(32);
    launch(ordered_add_kernel, {.blocks = 1, .threads = 32}, nullptr, counters.data(), before.data());
    unsigned sums[2] = {};
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (lane % 3 == 0) continue;
      REQUIRE(before[lane] == sums[lane % 2]);
      sums[lane % 2] += lane;
    }
    REQUIRE(counters == std::vector<unsigned>(sums, sums + 2));
  });
}

TEST_CASE("block votes combine all threads of the block") {
  for (const uint64_t modulus : {1u, 2u, 100u}) {
    simt::for_each_seed(10, [=] {
      std::vector<unsigned> in(90);
      std::ranges::transform(noise(90, modulus), in.begin(),
                             [=](uint64_t v) { return static_cast<unsigned>(v % modulus); });
      std::vector<int> out(90);
      launch(votes_of_block_kernel, {.blocks = 1, .threads = 90}, nullptr, in.data(), out.data());
      const auto votes = static_cast<int>(90 - std::ranges::count(in, 0u));
      REQUIRE(out == std::vector<int>(90, votes * 4 + (votes == 90 ? 2 : 0) + (votes > 0 ? 1 : 0)));
    });
  }
}
