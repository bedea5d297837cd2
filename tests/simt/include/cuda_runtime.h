// cuda_runtime.h - the emulator's stand-in for the CUDA toolkit's header: the part of CUDA that sweepsort
// uses.
#pragma once

// Every lane passes through here at each step, and the kernels around it are compiled without optimisation
// under sanitizers (tests/CMakeLists.txt): this takes a tenth off their time.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O2")
#endif
#include "simt/async_copies.hpp"
#include "simt/atomics.hpp"
#include "simt/builtin_types.hpp"
#include "simt/collectives.hpp"
#include "simt/intrinsics.hpp"
#include "simt/runtime_api.hpp"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
