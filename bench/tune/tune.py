#!/usr/bin/env python3
"""tune.py - finds the rows of the MSD sort's tuning table (kernels/policy.cuh) for the GPU at hand.

Compiles candidate.cu once a candidate, runs all candidates of a record in turns, and prints them from the fastest on.

    bench/tune/tune.py --record u32                         compile and run here
    bench/tune/tune.py --record u32 --build build/tune      compile only, for a GPU elsewhere ...
    bench/tune/tune.py --record u32 --run build/tune        ... and run what was compiled
"""
import argparse
import itertools
import json
import os
import pathlib
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
# threads, keys a thread, atomics under way, blocks a multiprocessor
PARTITIONS = {
    "u32": ["1024,24,8,1", "512,24,8,2"],
    "u64": ["512,24,8,1", "512,20,5,1"],
    "u32+u32": ["512,24,8,1", "512,20,5,1", "512,22,11,1"],
    "u32+u64": ["512,14,7,1", "512,12,6,1"],
    "u64+u32": ["512,14,7,1", "512,12,6,1"],
    "u64+u64": ["512,8,8,1", "512,12,6,1", "512,10,5,1"],
}
# threads, keys a thread, blocks a multiprocessor, parts
BUCKETS = {
    "u32": ["256,18,4,16384", "512,9,2,16384", "512,9,2,32768"],
    "u64": ["512,9,2,16384", "512,9,2,32768", "256,18,3,16384", "512,9,3,16384"],
    "u32+u32": ["512,9,2,16384", "512,9,2,32768", "256,18,3,16384"],
    "u32+u64": ["512,9,2,16384", "256,18,2,16384"],
    "u64+u32": ["512,9,2,16384", "256,18,2,16384"],
    "u64+u64": ["512,9,2,16384", "512,9,2,32768", "256,18,2,16384"],
}


# The same as of a partition, where even keys alone are not counted
DEALS = {
    "u32": ["1024,24,8,1", "1024,28,7,1", "1024,32,8,1"],
    "u64": ["512,28,7,1", "512,24,8,1", "1024,14,7,1"],
}
COUNTED = "counted"


def candidates(record):
    """Each partition with the first bucket row and counted keys, each of the other kinds with the first partition."""
    first, bucket = PARTITIONS[record][0], BUCKETS[record][0]
    rows = [(p, bucket, COUNTED) for p in PARTITIONS[record]]
    rows += [(first, b, COUNTED) for b in BUCKETS[record][1:]]
    return rows + [(first, bucket, deal) for deal in DEALS.get(record, [])]


def program(folder, record, row):
    return folder / (record + "_" + "_".join(row).replace(",", "-"))


def compile_row(args, folder, record, row):
    key, value = RECORDS[record]
    binary = program(folder, record, row)
    macros = {"KEY": key, "VALUE": value, "PARTITION": row[0], "SMALL": row[1], "BUCKET": args.bucket}
    if row[2] != COUNTED:
        macros["DEAL"] = row[2]
    header = binary.with_suffix(".hpp")  # nvcc takes a comma in -D for the next macro
    header.write_text("".join(f"#define SWEEPSORT_TUNE_{name} {text}\n" for name, text in macros.items()))
    command = [args.nvcc, "-std=c++20", "-O3", "-arch=" + args.arch, "--expt-relaxed-constexpr", "-I", ROOT / "src",
               "-I", ROOT, "-include", header, "-o", binary, ROOT / "bench/tune/candidate.cu"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:  # too much shared memory, say: not a candidate
        print(f"{record} {row}: does not compile: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)


def run_rows(args, folder, record):
    times = {}
    for _, row in itertools.product(range(args.rounds), candidates(record)):
        path = program(folder, record, row)
        if not path.exists():
            continue
        done = subprocess.run([str(path), str(args.count), "7"], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{record} {row}: {done.stdout.strip()} {done.stderr.strip()}", file=sys.stderr)
            continue
        times.setdefault(row, []).append(float(done.stdout.split()[0]))
    table = sorted((statistics.median(t), row) for row, t in times.items())
    for time, row in table:
        print(f"{record:8} {time:8.3f} ms   partition {row[0]:12} buckets {row[1]:16} deal {row[2]}")
    return [{"record": record, "partition": row[0], "buckets": row[1], "deal": row[2], "median_s": time / 1000}
            for time, row in table]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", default="u32", help="comma-separated, or all: " + ", ".join(RECORDS))
    parser.add_argument("--count", type=lambda text: int(text, 0), default=1 << 28)
    parser.add_argument("--bucket", type=int, default=4096, help="records a bucket at most, on average")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--arch", default="native")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--build", metavar="FOLDER", help="compile into FOLDER and stop")
    parser.add_argument("--run", metavar="FOLDER", help="run what was compiled into FOLDER")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    records = list(RECORDS) if args.record == "all" else args.record.split(",")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(args.build or args.run or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not args.run:
            work = [(record, row) for record in records for row in candidates(record)]
            with ThreadPoolExecutor(args.jobs) as pool:
                list(pool.map(lambda item: compile_row(args, folder, *item), work))
        if args.build:
            return
        rows = [row for record in records for row in run_rows(args, folder, record)]
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"count": args.count, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
