// cuda_runtime.h - the emulator's stand-in for the CUDA toolkit's header: the part of CUDA that sweepsort
// uses.
#pragma once

#include "simt/atomics.hpp"
#include "simt/builtin_types.hpp"
#include "simt/collectives.hpp"
#include "simt/intrinsics.hpp"
#include "simt/runtime_api.hpp"
