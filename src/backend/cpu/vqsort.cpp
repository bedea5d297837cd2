// vqsort.cpp - the one file that includes Highway.
#include "backend/cpu/vqsort.hpp"

#ifdef SWEEPSORT_HAVE_HIGHWAY
#include <hwy/contrib/sort/vqsort.h>
#include <hwy/targets.h>
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

bool vqsort_pays(uint32_t key_bytes) {
#if defined(__x86_64__)
  return vqsort_available() && __builtin_cpu_supports("avx512f") && key_bytes >= 4;
#else
  return key_bytes > 8;
#endif
}

void vqsort(uint32_t* keys, uint64_t count) { hwy::Sorter()(keys, count, hwy::SortAscending()); }
void vqsort(uint64_t* keys, uint64_t count) { hwy::Sorter()(keys, count, hwy::SortAscending()); }

#else

bool vqsort_available() { return false; }
bool vqsort_pays(uint32_t) { return false; }
void vqsort(uint32_t*, uint64_t) {}
void vqsort(uint64_t*, uint64_t) {}

#endif

}  // namespace sweepsort
