// vqsort.cpp - the only file that includes Highway.
#include "backend/cpu/vqsort.hpp"

#include "core/error.hpp"

#ifdef SWEEPSORT_HAVE_HIGHWAY
#include <hwy/contrib/sort/vqsort.h>
#endif

namespace sweepsort {

#ifdef SWEEPSORT_HAVE_HIGHWAY

bool vqsort_available() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

// Measured with 2^26 uniform keys, 2 threads, after a split into at least 256 buckets. With AVX2 (Zen 3),
// sorting a bucket takes 2.9 ns per u32 key and 11.4 per u64 key; our radix sort takes 1.7 and 2.7. AVX-512
// doubles the lanes and compresses in hardware (Zen 5: split and VQSort take 2.7 and 3.5 ns in total). Zen 4,
// the processor of AMD's family 19h with AVX-512, is an exception: its stores of compressed data are
// microcode (buckets of 65,536 u32 take 24 ns per key, u64 7; our radix sort of 131,072 u32 takes 2.4).
bool vqsort_pays(uint32_t key_bytes) {
#if defined(__x86_64__)
  return vqsort_available() && __builtin_cpu_supports("avx512f") && !__builtin_cpu_is("amdfam19h") &&
         key_bytes >= 4;
#else
  static_cast<void>(key_bytes);
  return false;
#endif
}

void vqsort(uint32_t* keys, uint64_t count) { hwy::Sorter()(keys, count, hwy::SortAscending()); }
void vqsort(uint64_t* keys, uint64_t count) { hwy::Sorter()(keys, count, hwy::SortAscending()); }

#else

bool vqsort_available() { return false; }
bool vqsort_pays(uint32_t) { return false; }
void vqsort(uint32_t*, uint64_t) { throw Error("internal: this build has no VQSort"); }
void vqsort(uint64_t*, uint64_t) { throw Error("internal: this build has no VQSort"); }

#endif

}  // namespace sweepsort
