#!/usr/bin/env python3
"""kernel_times.py - what each kernel of a sort takes, and which part of the GPU it keeps busy, by Nsight Compute.

Runs sweepsort-bench under `ncu`, which measures one kernel at a time: launches that find nothing to do take three
times as long as they do in a row. The last run of each case counts. The shares are of what the part can do at most:
DRAM, the second-level cache, the first-level cache with the shared memory, and the issue slots.
"""

import argparse
import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import measured

METRICS = {
    "time_s": "gpu__time_duration.sum",
    "dram_percent": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "l2_percent": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1_percent": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "issue_percent": "smsp__issue_active.avg.pct_of_peak_sustained_active",
}
SHARES = [name for name in METRICS if name.endswith("_percent")]
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
SECONDS |= {"nsecond": 1e-9, "usecond": 1e-6, "msecond": 1e-3, "second": 1.0}  # names in older versions


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--type", default="u32", help="key types, separated by commas (u32)")
    parser.add_argument("--distribution", default="uniform", help="distributions, separated by commas (uniform)")
    parser.add_argument("--values", default="0", help="bytes a value, separated by commas (0)")
    parser.add_argument("--size", type=measured.parse_count, default="2^28", help="keys (2^28)")
    parser.add_argument("--bench", type=measured.program, default=measured.ROOT / "build/release/bin/sweepsort-bench")
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--json", help="write the rows there")
    parser.add_argument("--revision", help="of the bench, for the JSON (default: of this source)")
    return parser.parse_args()


def kernels_of(text: str) -> list[dict]:
    """Turns ncu's lines, one per metric, into one row per launch, in order."""
    launches: dict[str, dict] = {}
    for line in csv.DictReader(line for line in text.splitlines() if line.startswith('"')):
        launch = launches.setdefault(
            line["ID"], {"kernel": line["Kernel Name"], "blocks": int(re.findall(r"\d+", line["Grid Size"])[0])}
        )
        value = float(line["Metric Value"].replace(",", ""))
        for name, metric in METRICS.items():
            if metric == line["Metric Name"]:
                launch[name] = value * (SECONDS[line["Metric Unit"]] if name == "time_s" else 1.0)
    return list(launches.values())


def last_run(launches: list[dict]) -> list[dict]:
    """The bench checks each run with its own kernels. Returns what is between the last two checks."""
    runs: list[list[dict]] = [[]]
    for launch in launches:
        if "bench::" not in launch["kernel"]:
            runs[-1].append(launch)
        elif runs[-1]:
            runs.append([])
    return next((run for run in reversed(runs) if run), [])


def short_name(kernel: str) -> str:
    return re.sub(r"^void ", "", re.split(r"[<(]", kernel)[0]).split("::")[-1]


def measure(arguments: argparse.Namespace, key_type: str, distribution: str, values: str) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "ncu.csv"
        command = [arguments.ncu, "--clock-control", "none", "--cache-control", "none", "--csv", "--log-file", log]
        command += ["--metrics", ",".join(METRICS.values()), arguments.bench, "sort", "-b", "cuda", "-r", 1, "-p", "none"]
        command += ["-t", key_type, "-d", distribution, "--values", values, "-n", arguments.size]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"kernel_times.py: exit code {done.returncode} from ncu: {done.stdout[-500:]}{done.stderr[-500:]}")
        launches = last_run(kernels_of(log.read_text(encoding="utf-8")))
    case = {"type": key_type, "distribution": distribution, "value_bytes": int(values)}
    return [
        {**case, "n": arguments.size, **launch, "kernel": short_name(launch["kernel"])}
        for launch in launches
    ]


def print_table(rows: list[dict]):
    """Leaves out launches of less than a hundredth of the whole."""
    whole_s = sum(row["time_s"] for row in rows)
    print(f"{rows[0]['type']} + {rows[0]['value_bytes']} bytes, {rows[0]['distribution']}, {rows[0]['n']:,} keys: ", end="")
    print(f"{whole_s * 1e6:.1f} us in {len(rows)} launches")
    for row in rows:
        if row["time_s"] < whole_s / 100:
            continue
        shares = "  ".join(f"{name.removesuffix('_percent')} {row[name]:3.0f} %" for name in SHARES)
        print(f"  {row['kernel']:<32}{row['blocks']:>8} blocks{row['time_s'] * 1e6:>10.1f} us  {shares}", flush=True)


def gpu_name() -> str:
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def main() -> int:
    arguments = parse_arguments()
    rows: list[dict] = []
    for key_type in arguments.type.split(","):
        for values in arguments.values.split(","):
            for distribution in arguments.distribution.split(","):
                of_case = measure(arguments, key_type, distribution, values)
                if not of_case:
                    sys.exit("kernel_times.py: ncu saw no kernel")
                print_table(of_case)
                rows += of_case
    if arguments.json:
        report = {"schema": "sweepsort.kernels/1", **measured.circumstances(), "gpu": gpu_name(), "rows": rows}
        report["revision"] = arguments.revision or report["revision"]
        measured.write_json(os.fspath(arguments.json), report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
