// cuda_scan.cu - maps run-time types to the kernels' templates. The only file that instantiates scans and
// reductions.
#include "backend/cuda_scan.hpp"
#include "kernels/reduce.cuh"
#include "kernels/scan.cuh"
#include "kernels/widen.cuh"

#include <stdexcept>
#include <type_traits>

namespace sweepsort {
namespace {

/// Calls f(element type, operator). Elements are unsigned bits, except in sums of floats.
template <class F>
void dispatch_scan(const DeviceScan& scan, F&& f) {
  if (scan.op == ScanOp::sum && scan.type == KeyType::f32)
    return f(std::type_identity<float>{}, Sum<float>{});
  if (scan.op == ScanOp::sum && scan.type == KeyType::f64)
    return f(std::type_identity<double>{}, Sum<double>{});
  if (scan.op == ScanOp::bit_xor && is_floating(scan.type))
    throw std::invalid_argument("an exclusive or is for integers");
  dispatch_bits(scan.type, [&]<class Bits>(std::type_identity<Bits> bits) {
    switch (scan.op) {
      case ScanOp::sum: return f(bits, Sum<Bits>{});
      case ScanOp::bit_xor: return f(bits, Xor<Bits>{});
      case ScanOp::min: return f(bits, First<Bits>{extreme_map<Bits>(scan.type, Extreme::min)});
      case ScanOp::max: return f(bits, First<Bits>{extreme_map<Bits>(scan.type, Extreme::max)});
    }
  });
}

template <class Bits>
ReduceArray<Bits> array_of(const DeviceReduce& reduce) {
  return {static_cast<const Bits*>(reduce.in), reduce.count, reduce.first_index,
          extreme_map<Bits>(reduce.type, reduce.extreme)};
}

}  // namespace

size_t device_scan_workspace_bytes(const DeviceScan& scan) {
  size_t bytes = 0;
  dispatch_bits(scan.type, [&]<class Bits>(std::type_identity<Bits>) {
    bytes = scan_workspace_bytes<Bits>(scan.algorithm, scan.count);
  });
  return bytes;
}

void device_scan_prepare(const DeviceScan& scan, Workspace workspace, cudaStream_t stream) {
  const size_t bytes = device_scan_workspace_bytes(scan);
  check(cudaMemsetAsync(workspace.take<std::byte>(bytes).data(), 0, bytes, stream));
}

void device_scan(const DeviceScan& scan, Workspace workspace, cudaStream_t stream) {
  dispatch_scan(scan, [&]<class T, class Op>(std::type_identity<T>, const Op& op) {
    const ScanArrays<T> arrays{
        static_cast<const T*>(scan.in),   static_cast<T*>(scan.out),           scan.count,
        scan.kind == ScanKind::exclusive, static_cast<const T*>(scan.initial), static_cast<T*>(scan.total)};
    sweepsort::scan(scan.algorithm, arrays, op, workspace, stream,
                    scan.ring_from_bytes != 0 ? scan.ring_from_bytes : scan_ring_from_bytes);
  });
}

void device_widen(KeyType from, KeyType to, const void* in, void* out, uint64_t count, cudaStream_t stream) {
  dispatch(from, [&]<class From>(std::type_identity<From>) {
    dispatch(to, [&]<class To>(std::type_identity<To>) {
      // With at least as many digits, every value fits. (f32 holds all of i16 and u16, f64 all of i32, u32
      // and f32.)
      constexpr bool fits = std::numeric_limits<To>::digits >= std::numeric_limits<From>::digits &&
                            (std::is_signed_v<To> || !std::is_signed_v<From>)&&(
                                std::is_floating_point_v<To> || !std::is_floating_point_v<From>);
      if constexpr (fits)
        widen(static_cast<const From*>(in), static_cast<To*>(out), count, stream);
      else
        throw std::invalid_argument("the elements do not fit the wider type");
    });
  });
}

void device_find_overflow(const DeviceScan& scan, uint64_t first_index, uint64_t* first_position,
                          cudaStream_t stream) {
  if (scan.op != ScanOp::sum || is_floating(scan.type)) return;
  dispatch(scan.type, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>)
      find_overflow(static_cast<const T*>(scan.in), static_cast<const T*>(scan.out), scan.count,
                    scan.kind == ScanKind::exclusive, first_index, first_position, stream);
  });
}

size_t device_reduce_workspace_bytes(const DeviceReduce& reduce) {
  Workspace workspace;
  dispatch_bits(reduce.type, [&]<class Bits>(std::type_identity<Bits>) {
    (void)ReduceMemory::take<Bits>(workspace, reduce.count);
  });
  return workspace.used();
}

void device_reduce_begin(const DeviceReduce& reduce, Workspace workspace, cudaStream_t stream) {
  dispatch_bits(reduce.type, [&]<class Bits>(std::type_identity<Bits>) {
    ReduceMemory::take<Bits>(workspace, reduce.count).clear(stream);
  });
}

void device_reduce(const DeviceReduce& reduce, Workspace workspace, cudaStream_t stream) {
  dispatch_bits(reduce.type, [&]<class Bits>(std::type_identity<Bits>) {
    const auto memory = ReduceMemory::take<Bits>(workspace, reduce.count);
    if (reduce.algorithm == ReduceAlgorithm::two_launch)
      reduce_two_launch(array_of<Bits>(reduce), memory, stream);
    else
      reduce_single_pass(array_of<Bits>(reduce), reduce.wants_index, memory, stream);
  });
}

DeviceReduced device_reduce_result(const DeviceReduce& reduce, Workspace workspace, cudaStream_t stream) {
  DeviceReduced result;
  dispatch_bits(reduce.type, [&]<class Bits>(std::type_identity<Bits>) {
    const auto memory = ReduceMemory::take<Bits>(workspace, reduce.count);
    Candidate<uint64_t> best;
    check(cudaMemcpyAsync(&best, &memory.state->best, sizeof(best), cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
    const auto map = extreme_map<Bits>(reduce.type, reduce.extreme);
    result = {.found = best.index != found_nothing,
              .bits = map.from_ordered(static_cast<Bits>(best.value)),
              .index = best.index};
  });
  return result;
}

}  // namespace sweepsort
