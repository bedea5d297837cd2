// builtin_types.hpp - CUDA's qualifiers, vector types and index variables, for a host compiler.
#pragma once

#include <cstddef>
#include <cstdint>

// A kernel is a plain function here. There is deliberately no __shared__: a block's memory comes from
// emulated_dynamic_shared_memory(), and a static __shared__ variable must not compile.
#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
// Empty, because libstdc++ writes __attribute__((__noinline__)), which must stay harmless.
#define __noinline__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

// clang-format off
struct __align__(4) uchar4 { unsigned char x, y, z, w; };
struct __align__(4) ushort2 { unsigned short x, y; };
struct __align__(8) ushort4 { unsigned short x, y, z, w; };
struct __align__(8) int2 { int x, y; };
struct __align__(16) int4 { int x, y, z, w; };
struct __align__(8) uint2 { unsigned x, y; };
struct uint3 { unsigned x, y, z; };
struct __align__(16) uint4 { unsigned x, y, z, w; };
struct __align__(16) longlong2 { long long x, y; };
struct __align__(16) ulonglong2 { unsigned long long x, y; };

constexpr uchar4 make_uchar4(unsigned char x, unsigned char y, unsigned char z, unsigned char w) { return {x, y, z, w}; }
constexpr ushort2 make_ushort2(unsigned short x, unsigned short y) { return {x, y}; }
constexpr ushort4 make_ushort4(unsigned short x, unsigned short y, unsigned short z, unsigned short w) { return {x, y, z, w}; }
constexpr int2 make_int2(int x, int y) { return {x, y}; }
constexpr int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
constexpr uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
constexpr longlong2 make_longlong2(long long x, long long y) { return {x, y}; }
constexpr ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }
// clang-format on

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

/// The position of the running thread. The scheduler rewrites these plain variables at every switch, so that
/// a debugger can use them in a condition: `break kernel if blockIdx.x == 2 && threadIdx.x == 5`.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
inline constexpr int warpSize = 32;

/// Each thread of a launch that may overlap the one before it must call this.
void emulated_wait_for_previous_launch();

/// The running block's dynamic shared memory: as many bytes as its launch asked for, all 0xCD at the start.
void* emulated_dynamic_shared_memory();
