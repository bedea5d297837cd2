// device_check.cu - the referee's sort, and comparisons on the GPU.
#include "bench/cub_sort.hpp"
#include "bench/device_check.hpp"
#include "core/rounding.hpp"
#include "kernels/launch.cuh"

namespace sweepsort::bench {
namespace {

constexpr uint32_t threads_per_block = 256;

/// Enough blocks for every element, up to a number that keeps any GPU busy; kernels use a stride for the
/// rest.
LaunchShape shape_for(uint64_t count) {
  const uint64_t blocks = ceil_divide(count, threads_per_block);
  constexpr uint64_t most = 1 << 16;
  return {.blocks = static_cast<uint32_t>(blocks < 1      ? 1
                                          : blocks > most ? most
                                                          : blocks),
          .threads = threads_per_block};
}

__device__ uint64_t first_index() { return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ uint64_t stride() { return uint64_t{gridDim.x} * blockDim.x; }

template <class Bits>
__global__ void to_ordered_kernel(const Bits* in, Bits* out, uint64_t count, KeyMap<Bits> map) {
  for (uint64_t i = first_index(); i < count; i += stride()) out[i] = map.to_ordered(in[i]);
}

template <class Bits>
__global__ void from_ordered_kernel(Bits* keys, uint64_t count, KeyMap<Bits> map) {
  for (uint64_t i = first_index(); i < count; i += stride()) keys[i] = map.from_ordered(keys[i]);
}

template <class Bits>
__global__ void unordered_kernel(const Bits* keys, uint64_t count, KeyRank<Bits> rank, uint32_t* flag) {
  for (uint64_t i = first_index() + 1; i < count; i += stride())
    if (rank(keys[i]) < rank(keys[i - 1])) *flag = 1;
}

template <class Word>
__global__ void different_kernel(const Word* a, const Word* b, uint64_t count, uint32_t* flag) {
  for (uint64_t i = first_index(); i < count; i += stride())
    if (a[i] != b[i]) *flag = 1;
}

template <class Value>
__global__ void number_kernel(Value* values, uint64_t count) {
  for (uint64_t i = first_index(); i < count; i += stride()) values[i] = static_cast<Value>(i);
}

KeyType unsigned_type(KeyType type) {
  return dispatch(type, []<class Key>(std::type_identity<Key>) { return key_type_of<BitsOf<Key>>(); });
}

/// The case after its keys were mapped: ascending order of unsigned bits.
SortCase ordered_bits_case(SortCase what) {
  what.type = unsigned_type(what.type);
  what.order = Order::ascending;
  return what;
}

/// Calls `raise`, which enqueues work that sets the flag on a fault. Waits and returns whether the flag was
/// not set.
template <class F>
bool flag_stays_down(DeviceSpan<uint32_t> flag, cudaStream_t stream, F&& raise) {
  check(cudaMemsetAsync(flag.data(), 0, sizeof(uint32_t), stream));
  raise();
  uint32_t raised = 0;
  check(cudaMemcpyAsync(&raised, flag.data(), sizeof raised, cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  return raised == 0;
}

}  // namespace

size_t referee_workspace_bytes(const SortCase& what) {
  return cub_workspace_bytes(ordered_bits_case(what), CubIndex::int64);
}

bool referee_supports(const SortCase& what) { return cub_supports(ordered_bits_case(what), CubIndex::int64); }

void referee_sort(const SortCase& what, const DeviceArrays& sorted, void* spare, cudaStream_t stream) {
  if (what.count == 0) return;
  dispatch_bits(what.type, [&]<class Bits>(std::type_identity<Bits>) {
    const KeyMap<Bits> map = key_map<Bits>(what.type, what.order);
    DeviceArrays arrays = sorted;
    arrays.keys_in = spare;
    launch(to_ordered_kernel<Bits>, shape_for(what.count), stream, static_cast<const Bits*>(sorted.keys_in),
           static_cast<Bits*>(spare), what.count, map);
    cub_sort(ordered_bits_case(what), CubIndex::int64, arrays, stream);
    launch(from_ordered_kernel<Bits>, shape_for(what.count), stream, static_cast<Bits*>(sorted.keys_out),
           what.count, map);
  });
}

bool equal_on_device(const void* a, const void* b, uint64_t bytes, DeviceSpan<uint32_t> flag,
                     cudaStream_t stream) {
  return flag_stays_down(flag, stream, [&] {
    // Both arrays start at a multiple of 256 bytes. The bytes after the last whole word are compared one by
    // one.
    const uint64_t words = bytes / sizeof(uint64_t);
    const uint64_t tail = words * sizeof(uint64_t);
    launch(different_kernel<uint64_t>, shape_for(words), stream, static_cast<const uint64_t*>(a),
           static_cast<const uint64_t*>(b), words, flag.data());
    launch(different_kernel<unsigned char>, shape_for(bytes - tail), stream,
           static_cast<const unsigned char*>(a) + tail, static_cast<const unsigned char*>(b) + tail,
           bytes - tail, flag.data());
  });
}

bool ordered_on_device(const SortCase& what, FloatOrder float_order, const void* keys,
                       DeviceSpan<uint32_t> flag, cudaStream_t stream) {
  return flag_stays_down(flag, stream, [&] {
    dispatch_bits(what.type, [&]<class Bits>(std::type_identity<Bits>) {
      launch(unordered_kernel<Bits>, shape_for(what.count), stream, static_cast<const Bits*>(keys),
             what.count, KeyRank<Bits>(what.type, what.order, float_order), flag.data());
    });
  });
}

void number_values(const SortCase& what, void* values, cudaStream_t stream) {
  if (what.value_bytes == 4)
    launch(number_kernel<uint32_t>, shape_for(what.count), stream, static_cast<uint32_t*>(values),
           what.count);
  if (what.value_bytes == 8)
    launch(number_kernel<uint64_t>, shape_for(what.count), stream, static_cast<uint64_t*>(values),
           what.count);
}

}  // namespace sweepsort::bench
