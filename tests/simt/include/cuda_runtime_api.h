// cuda_runtime_api.h - the emulator's stand-in for the part of CUDA that needs no nvcc.
#pragma once

#include "cuda_runtime.h"
