#!/usr/bin/env python3
"""tune.py - finds rows of the tuning tables (kernels/policy.cuh) of the MSD sort and the grid sorts for the GPU at hand.

Compiles candidate.cu once a candidate, runs all candidates of a record in turns, and prints them from the fastest on.

    bench/tune/tune.py --record u32                         compile and run here
    bench/tune/tune.py --table tiled --record u32,u64       another than the MSD sort's: small-grid, grid, large-grid, tiled
    bench/tune/tune.py --record u32 --build build/tune      compile only, for a GPU elsewhere ...
    bench/tune/tune.py --record u32 --run build/tune        ... and run what was compiled
"""
import argparse
import itertools
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDS = {
    "u32": ("uint32_t", "NoValue"), "u64": ("uint64_t", "NoValue"),
    "u32+u32": ("uint32_t", "uint32_t"), "u32+u64": ("uint32_t", "uint64_t"),
    "u64+u32": ("uint64_t", "uint32_t"), "u64+u64": ("uint64_t", "uint64_t"),
}
# threads, keys per thread, atomics in flight, blocks per multiprocessor
PARTITIONS = {
    "u32": ["1024,24,8,1", "512,24,8,2"],
    "u64": ["512,24,8,1", "512,20,5,1"],
    "u32+u32": ["512,24,8,1", "512,20,5,1", "512,22,11,1"],
    "u32+u64": ["512,14,7,1", "512,12,6,1"],
    "u64+u32": ["512,14,7,1", "512,12,6,1"],
    "u64+u64": ["512,8,8,1", "512,12,6,1", "512,10,5,1"],
}
# threads, keys per thread, blocks per multiprocessor, parts
BUCKETS = {
    "u32": ["256,18,4,32768", "256,18,4,65536", "512,9,3,32768"],
    "u64": ["256,18,3,32768", "256,18,3,65536", "512,9,2,32768"],
    "u32+u32": ["256,18,3,32768", "256,18,3,65536", "512,9,2,32768"],
    "u32+u64": ["256,18,2,65536", "512,9,2,65536"],
    "u64+u32": ["256,18,2,65536", "256,18,2,32768", "512,9,2,65536"],
    "u64+u64": ["256,18,2,32768", "256,18,2,65536", "512,9,2,65536"],
}


# As PARTITIONS, for even keys without values, which are not counted
DEALS = {
    "u32": ["1024,24,8,1", "1024,28,7,1", "1024,32,8,1"],
    "u64": ["512,28,7,1", "512,24,8,1", "1024,14,7,1"],
}
COUNTED = "counted"


def bucket(keys_per_thread, parts, threads=1024):
    return f"BucketSortPolicy<{threads},{keys_per_thread},1,{parts}>"


def grid(threads, keys_per_thread, min_share, bucket_keys_per_thread, parts):
    return f"GridShape{{{threads},{keys_per_thread},128,{min_share}}},{bucket(bucket_keys_per_thread, parts, threads)}"


GRID_RECORDS = ("u32", "u64", "u32+u32", "u32+u64", "u64+u32", "u64+u64")


# Rows of one macro: the number of records in a run, and the candidates for each kind of record.
GRIDS = {
    # threads, keys per thread, most blocks, least share, buckets
    "small-grid": (1 << 18, {
        record: [grid(512, 4, 512, 12, 32768), grid(512, 4, 512, 9, 32768), grid(512, 8, 1024, 18, 65536),
                 grid(1024, 8, 1024, 9, 65536)]
        for record in GRID_RECORDS
    }),
    "grid": (1 << 20, {
        record: [grid(512, 16, 1024, 24, 32768), grid(512, 16, 1024, 18, 32768), grid(512, 16, 1024, 18, 65536),
                 grid(1024, 8, 1024, 9, 65536)]
        for record in GRID_RECORDS
    }),
    "large-grid": (1 << 21, {
        record: [grid(512, 32, 1024, 24, 65536), grid(1024, 16, 1024, 12, 65536)]
        for record in ("u32", "u64", "u32+u32", "u64+u32")
    }),
    # keys per thread, slots of all bins, most blocks, most buckets, keys per bucket, buckets
    "tiled": (1 << 23, {
        "u32": [f"TiledGridShape{{{keys},{slots},160,1720,16384}},{bucket(18, parts)}"
                for keys, slots, parts in ((24, 49152, 65536), (24, 49152, 131072), (24, 49152, 262144),
                                           (16, 49152, 131072))],
        "u64": [f"TiledGridShape{{{keys},{slots},160,1720,10752}},{bucket(12, parts)}"
                for keys, slots, parts in ((12, 24576, 65536), (12, 24576, 131072), (16, 24576, 131072))],
    }),
}


def msd_candidates(record):
    """Each partition with the first bucket row and counted keys, each of the other kinds with the first partition."""
    first, bucket_row = PARTITIONS[record][0], BUCKETS[record][0]
    rows = [(p, bucket_row, COUNTED) for p in PARTITIONS[record]]
    rows += [(first, b, COUNTED) for b in BUCKETS[record][1:]]
    return rows + [(first, bucket_row, deal) for deal in DEALS.get(record, [])]


def candidates(table, record):
    """Rows, each as a tuple of texts."""
    return msd_candidates(record) if table == "msd" else [(row,) for row in GRIDS[table][1].get(record, [])]


def macros_of(args, row):
    if args.table != "msd":
        return {"TILED" if args.table == "tiled" else "GRID": row[0]}
    macros = {"PARTITION": row[0], "SMALL": row[1], "BUCKET": args.bucket}
    if row[2] != COUNTED:
        macros["DEAL"] = row[2]
    return macros


def program(folder, record, row):
    return folder / (record + "_" + re.sub("[^A-Za-z0-9_]+", "-", "_".join(row)))


def compile_row(args, folder, record, row):
    key, value = RECORDS[record]
    binary = program(folder, record, row)
    binary.unlink(missing_ok=True)  # what an earlier state of the kernels made
    macros = {"KEY": key, "VALUE": value, **macros_of(args, row)}
    header = binary.with_suffix(".hpp")  # nvcc splits -D at commas
    header.write_text("".join(f"#define SWEEPSORT_TUNE_{name} {text}\n" for name, text in macros.items()))
    command = [args.nvcc, "-std=c++20", "-O3", "-arch=" + args.arch, "--expt-relaxed-constexpr", "-I", ROOT / "src",
               "-I", ROOT, "-include", header, "-o", binary, ROOT / "bench/tune/candidate.cu"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:  # for example, too much shared memory: not a candidate
        print(f"{record} {row}: does not compile: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)


def named(args, row):
    return dict(zip(("partition", "buckets", "deal") if args.table == "msd" else (args.table,), row))


def run_rows(args, folder, record):
    times = {}
    count = args.count or (1 << 28 if args.table == "msd" else GRIDS[args.table][0])
    for _, row in itertools.product(range(args.rounds), candidates(args.table, record)):
        path = program(folder, record, row)
        if not path.exists():
            continue
        done = subprocess.run([str(path), str(count), "7"], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{record} {row}: {done.stdout.strip()} {done.stderr.strip()}", file=sys.stderr)
            continue
        times.setdefault(row, []).append(float(done.stdout.split()[0]))
    table = sorted((statistics.median(t), row) for row, t in times.items())
    for time, row in table:
        print(f"{record:8} {time:8.4f} ms   " + "  ".join(f"{name} {text}" for name, text in named(args, row).items()))
    return [{"record": record, "count": count, **named(args, row), "median_s": time / 1000} for time, row in table]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", default="u32", help="comma-separated, or all: " + ", ".join(RECORDS))
    parser.add_argument("--table", default="msd", choices=["msd", *GRIDS])
    parser.add_argument("--count", type=lambda text: int(text, 0), help="records; default: what suits the table")
    parser.add_argument("--bucket", type=int, default=4096, help="records a bucket at most, on average")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--arch", default="native")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--build", metavar="FOLDER", help="compile into FOLDER and stop")
    parser.add_argument("--run", metavar="FOLDER", help="run what was compiled into FOLDER")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    known = [record for record in RECORDS if candidates(args.table, record)]
    records = known if args.record == "all" else args.record.split(",")
    for record in records:
        if record not in known:
            parser.error(f"--record: '{record}' is none of those of --table {args.table}: {', '.join(known)}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(args.build or args.run or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not args.run:
            work = [(record, row) for record in records for row in candidates(args.table, record)]
            with ThreadPoolExecutor(args.jobs) as pool:
                list(pool.map(lambda item: compile_row(args, folder, *item), work))
        if args.build:
            return
        rows = [row for record in records for row in run_rows(args, folder, record)]
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"table": args.table, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
