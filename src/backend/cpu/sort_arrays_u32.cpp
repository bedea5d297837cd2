// sort_arrays_u32.cpp - sort_arrays for keys of 4 bytes.
#include "backend/cpu/sort_arrays_impl.hpp"

namespace sweepsort {

template SortedArrays<uint32_t, NoValue> sort_arrays(Columns<uint32_t, NoValue>, const SortJob&,
                                                     const KeyDigest<uint32_t>&, SortedInto,
                                                     SortMemory<uint32_t, NoValue>&, const CpuTuning&);
template SortedArrays<uint32_t, uint32_t> sort_arrays(Columns<uint32_t, uint32_t>, const SortJob&,
                                                      const KeyDigest<uint32_t>&, SortedInto,
                                                      SortMemory<uint32_t, uint32_t>&, const CpuTuning&);
template SortedArrays<uint32_t, uint64_t> sort_arrays(Columns<uint32_t, uint64_t>, const SortJob&,
                                                      const KeyDigest<uint32_t>&, SortedInto,
                                                      SortMemory<uint32_t, uint64_t>&, const CpuTuning&);

}  // namespace sweepsort
