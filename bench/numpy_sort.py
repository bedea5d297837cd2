#!/usr/bin/env python3
"""numpy_sort.py - times numpy's sort on the inputs of sweepsort-bench, and writes the same JSON.

numpy sorts in place by one thread. The array is restored outside the timed region; every result is compared
with numpy's stable sort, which is another algorithm.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

import measured

try:
    import numpy
except ImportError:
    sys.exit("numpy_sort.py: this Python has no numpy; install python3-numpy")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--type", default="u32", help="key types, separated by commas, or 'all' (u32)")
    parser.add_argument("--size", default="2^24", help="numbers of keys, separated by commas (2^24)")
    parser.add_argument("--distribution", default="uniform", help="names, separated by commas (uniform)")
    parser.add_argument("--repeat", type=int, default=5, help="runs, of which the median is reported (5)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--sweepsort",
        type=measured.program,
        default=measured.DEFAULT_SWEEPSORT,
        help="the program that generates the input",
    )
    parser.add_argument("--json", help="write the rows there")
    return parser.parse_args()


def numpy_type(key_type: str) -> numpy.dtype:
    return numpy.dtype(f"{key_type[0]}{measured.KEY_BYTES[key_type]}")


def measure(keys: numpy.ndarray, repeat: int) -> tuple[list[float], bool]:
    right = numpy.sort(keys, kind="stable")
    runs_s, verified = [], True
    for run in range(repeat + 1):
        work = keys.copy()
        begin = time.perf_counter()
        work.sort()
        elapsed_s = time.perf_counter() - begin
        verified &= numpy.array_equal(work, right, equal_nan=keys.dtype.kind == "f")
        if run > 0:  # the first run warms up
            runs_s.append(elapsed_s)
    return runs_s, verified


def main() -> int:
    arguments = parse_arguments()
    types = list(measured.KEY_BYTES) if arguments.type == "all" else arguments.type.split(",")
    rows, left_out = [], False
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "keys"
        for key_type in types:
            for distribution in arguments.distribution.split(","):
                for count in map(measured.parse_count, arguments.size.split(",")):
                    try:
                        measured.generate(
                            arguments.sweepsort, path, key_type, distribution, count, arguments.seed
                        )
                    except subprocess.CalledProcessError:  # it has said why: it may not suit the type
                        left_out = True
                        continue
                    runs_s, verified = measure(numpy.fromfile(path, numpy_type(key_type)), arguments.repeat)
                    row = {
                        "backend": "cpu",
                        "type": key_type,
                        "distribution": distribution,
                        "n": count,
                        "order": "ascending",
                        "value_bytes": 0,
                        "peer": "numpy",
                        "detail": numpy.__version__,
                        "threads": 1,
                        "timing": "clock",
                        "batch": 1,
                        **measured.spread(runs_s),
                    }
                    row["keys_per_s"] = count / row["median_s"]
                    row["least_bytes"] = 2 * count * measured.KEY_BYTES[key_type]
                    row["verified"] = verified
                    rows.append(row)
                    print(
                        f"{key_type:>4} {distribution:<20} {count:>12} {row['median_s'] * 1e3:>10.3f} ms"
                        f" {row['keys_per_s'] * 1e-9:>7.3f} Gkeys/s {'yes' if verified else 'WRONG'}",
                        flush=True,
                    )
    if arguments.json:
        measured.write_json(
            arguments.json,
            {
                "schema": "sweepsort.bench/1",
                "command": "sort",
                **measured.circumstances(),
                "backend": "cpu",
                "gpu": "",
                "seed": arguments.seed,
                "rows": rows,
            },
        )
    if not all(row["verified"] for row in rows):
        return 1
    return 2 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
