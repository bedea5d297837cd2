// even_sample_test.cpp - the sample that all blocks of a cooperative launch take, so that all decide alike.
// On the emulator and on a GPU.
#include "kernels/even_sample.cuh"

#include "catch.hpp"
#include "device_array.hpp"
#include "kernels/launch.cuh"
#include "on_device.hpp"
#include "seed.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace sweepsort {
namespace {

constexpr uint32_t blocks = on_gpu ? 120 : 6;

template <class Bits, uint32_t width_>
struct Samples {
  using Key = Bits;
  static constexpr uint32_t width = width_;
};

/// A permutation of 64 bits: Steele, Lea & Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
uint64_t random_of(uint64_t number) {
  uint64_t z = (number + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

template <class Bits, uint32_t width>
struct SampleShared {
  LinearBuckets<Bits> bucket_of;
  even_sample::Shared<LinearBuckets<Bits>, 1024, width> sample;
};

template <class Bits, uint32_t width>
__global__ void sample_kernel(const Bits* keys, uint32_t count, uint32_t* answers) {
  auto& shared = shared_memory<SampleShared<Bits, width>>();
  const bool is_even = even_sample::finds_even_keys(keys, count, KeyMap<Bits>{}, 512, uint64_t{4} * count,
                                                    shared.sample, shared.bucket_of);
  if (threadIdx.x == 0) answers[blockIdx.x] = is_even;
}

/// What each block says about these keys.
template <class Bits, uint32_t width>
std::vector<uint32_t> answers_of(const std::vector<Bits>& keys) {
  const OnDevice session(blocks);
  const DeviceArray<Bits> on_device{std::span<const Bits>(keys)};
  const DeviceArray<uint32_t> answers(blocks);
  launch(sample_kernel<Bits, width>, {blocks, 1024, sizeof(SampleShared<Bits, width>)}, nullptr,
         static_cast<const Bits*>(on_device.data()), static_cast<uint32_t>(keys.size()), answers.data());
  answers.check_zones();
  return answers.download();
}

}  // namespace

TEMPLATE_TEST_CASE("all blocks find the same where values come again, whatever the order of their threads",
                   "[device]", (Samples<uint32_t, even_sample::vector_width<uint32_t>>),
                   (Samples<uint64_t, even_sample::vector_width<uint64_t>>), (Samples<uint32_t, 1>)) {
  using Bits = typename TestType::Key;
  constexpr uint64_t samples = 1024 * TestType::width;
  constexpr uint64_t count = 1 << 22;
  // Each value has so many keys that about half of the arrays are turned away.
  constexpr uint64_t limit = 24 + 16 * count / (samples * samples);
  uint64_t even = 0;
  uint64_t arrays = 0;
  std::vector<Bits> keys(count);
  for (uint64_t copies = limit * 3 / 4; copies <= limit * 5 / 4;
       copies += std::max<uint64_t>(1, limit / 24)) {
    INFO(copies << " keys per value");
    const uint64_t values = count / copies;
    const uint64_t array = random_of(arrays++ + test_seed());
    for (uint64_t i = 0; i < count; ++i)
      keys[i] = static_cast<Bits>(random_of(array ^ (random_of(array + i) >> 32) * values >> 32));
    const std::vector<uint32_t> answers = answers_of<Bits, TestType::width>(keys);
    CHECK(std::ranges::count(answers, answers[0]) == blocks);
    even += answers[0];
  }
  CHECK(even > 0);
  CHECK(even < arrays);
}
}  // namespace sweepsort
