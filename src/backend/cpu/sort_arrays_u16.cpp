// sort_arrays_u16.cpp - sort_arrays for keys of 2 bytes.
#include "backend/cpu/sort_arrays_impl.hpp"

namespace sweepsort {

template SortedArrays<uint16_t, NoValue> sort_arrays(Columns<uint16_t, NoValue>, const SortJob&,
                                                     const KeyDigest<uint16_t>&, SortedInto,
                                                     SortMemory<uint16_t, NoValue>&, const CpuTuning&);
template SortedArrays<uint16_t, uint32_t> sort_arrays(Columns<uint16_t, uint32_t>, const SortJob&,
                                                      const KeyDigest<uint16_t>&, SortedInto,
                                                      SortMemory<uint16_t, uint32_t>&, const CpuTuning&);
template SortedArrays<uint16_t, uint64_t> sort_arrays(Columns<uint16_t, uint64_t>, const SortJob&,
                                                      const KeyDigest<uint16_t>&, SortedInto,
                                                      SortMemory<uint16_t, uint64_t>&, const CpuTuning&);

}  // namespace sweepsort
