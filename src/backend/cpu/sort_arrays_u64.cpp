// sort_arrays_u64.cpp - sort_arrays for keys of 8 bytes.
#include "backend/cpu/sort_arrays_impl.hpp"

namespace sweepsort {

template SortedArrays<uint64_t, NoValue> sort_arrays(Columns<uint64_t, NoValue>, const SortJob&,
                                                     const KeyDigest<uint64_t>&, SortedInto,
                                                     SortMemory<uint64_t, NoValue>&, const CpuTuning&);
template SortedArrays<uint64_t, uint32_t> sort_arrays(Columns<uint64_t, uint32_t>, const SortJob&,
                                                      const KeyDigest<uint64_t>&, SortedInto,
                                                      SortMemory<uint64_t, uint32_t>&, const CpuTuning&);
template SortedArrays<uint64_t, uint64_t> sort_arrays(Columns<uint64_t, uint64_t>, const SortJob&,
                                                      const KeyDigest<uint64_t>&, SortedInto,
                                                      SortMemory<uint64_t, uint64_t>&, const CpuTuning&);

}  // namespace sweepsort
