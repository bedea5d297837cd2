// policy.cuh - tuning as data: threads and keys per thread for each algorithm and each kind of record.
//
// Each row is kept with the measurement that chose it. The rows are for compute capability 9.0 and newer
// (227 KiB of shared memory per block); bench/README.md says how they were measured. A record without a row
// (void) is not sorted by that method; every record has rows for the LSD passes. Of the grid sorts, the first
// one that holds the records is tried (radix_sort.cuh).
//
//     policy_passes      digest, LSD passes, counting sort
//     policy_buckets     what the following have in common
//     policy_msd         the MSD sort
//     policy_one_launch  one block, one cluster, one cooperative launch
//     policy_even_grid   one cooperative launch for even keys
//     policy_scan        scans, minima, stream compaction
#pragma once

#include "kernels/policy_buckets.cuh"
#include "kernels/policy_even_grid.cuh"
#include "kernels/policy_msd.cuh"
#include "kernels/policy_one_launch.cuh"
#include "kernels/policy_passes.cuh"
#include "kernels/policy_scan.cuh"
