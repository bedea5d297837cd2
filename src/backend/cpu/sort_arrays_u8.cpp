// sort_arrays_u8.cpp - sort_arrays for keys of 1 byte.
#include "backend/cpu/sort_arrays_impl.hpp"

namespace sweepsort {

template SortedArrays<uint8_t, NoValue> sort_arrays(Columns<uint8_t, NoValue>, const SortJob&,
                                                    const KeyDigest<uint8_t>&, SortedInto,
                                                    SortMemory<uint8_t, NoValue>&, const CpuTuning&);
template SortedArrays<uint8_t, uint32_t> sort_arrays(Columns<uint8_t, uint32_t>, const SortJob&,
                                                     const KeyDigest<uint8_t>&, SortedInto,
                                                     SortMemory<uint8_t, uint32_t>&, const CpuTuning&);
template SortedArrays<uint8_t, uint64_t> sort_arrays(Columns<uint8_t, uint64_t>, const SortJob&,
                                                     const KeyDigest<uint8_t>&, SortedInto,
                                                     SortMemory<uint8_t, uint64_t>&, const CpuTuning&);

}  // namespace sweepsort
