// even_sample_test.cpp - the sample that all blocks of a cooperative launch take, and act upon alike. On the
// emulator and on a GPU.
#include "kernels/even_sample.cuh"

#include "catch.hpp"
#include "device_array.hpp"
#include "kernels/launch.cuh"
#include "on_device.hpp"
#include "seed.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace sweepsort {
namespace {

constexpr uint32_t blocks = on_gpu ? 120 : 4;

template <class Bits, uint32_t width>
struct SampleShared {
  LinearBuckets<Bits> bucket_of;
  even_sample::Shared<LinearBuckets<Bits>, 1024, width> sample;
};

template <class Bits, uint32_t width>
__global__ void sample_kernel(const Bits* keys, uint32_t count, uint32_t* answers) {
  auto& shared = shared_memory<SampleShared<Bits, width>>();
  const bool is_even = even_sample::take(keys, count, KeyMap<Bits>{}, 512, shared.sample, shared.bucket_of);
  if (threadIdx.x == 0) answers[blockIdx.x] = is_even;
}

/// What each block says of these keys.
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
                   "[device]", uint32_t, uint64_t) {
  constexpr uint32_t count = on_gpu ? 1 << 23 : 1 << 22;
  std::mt19937_64 random(test_seed());
  std::vector<TestType> keys(count);
  uint32_t even = 0;
  uint32_t arrays = 0;
  for (const uint32_t copies : {1, 20, 30, 40, 50, 60, 80, 100, 140, 300, 5'000})
    for (uint32_t turn = 0; turn < (on_gpu ? 4 : 2); ++turn) {
      INFO(copies << " keys a value");
      std::vector<TestType> values(count / copies);
      for (TestType& value : values) value = static_cast<TestType>(random());
      for (TestType& key : keys) key = values[random() % values.size()];
      for (const auto& answers :
           {answers_of<TestType, even_sample::vector_width<TestType>>(keys), answers_of<TestType, 1>(keys)}) {
        CHECK(std::ranges::count(answers, answers[0]) == blocks);
        even += answers[0];
        ++arrays;
      }
    }
  CHECK(even > 0);
  CHECK(even < arrays);
}
}  // namespace sweepsort
