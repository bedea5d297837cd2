#!/usr/bin/env python3
"""files.py - a whole file, from its name to its sorted copy on the disk: cp, sweepsort and numpy, in turn.

Each program's time runs from its start until its output has reached the disk (fsync). The programs take turns,
so that a slow spell of the disk meets them all; the median counts. The input is in the page cache unless --cold
is given. cp does the least that a program can do that makes a second file out of a first one. `external` is sweepsort
within the budgets of --memory and --gpu-memory, which `sweepsort` itself does not get.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import measured

NUMPY_PROGRAM = """
import os, sys, numpy
keys = numpy.fromfile(sys.argv[1], sys.argv[3])
keys.sort()
with open(sys.argv[2], "wb") as file:
    keys.tofile(file)
    file.flush()
    os.fsync(file.fileno())
"""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--type", default="u32", choices=list(measured.KEY_BYTES))
    parser.add_argument("--count", default="2^28", help="keys in the generated file (2^28)")
    parser.add_argument("--distribution", default="uniform")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=5, help="turns, of which the median is reported (5)")
    parser.add_argument(
        "--pause",
        type=float,
        default=0,
        help="seconds before each program: a virtual machine gives memory that was freed back to its host after a"
        " while, and what a program finds depends on what ended just before; 3 evens that out in part (0)",
    )
    parser.add_argument("--programs", help="which, separated by commas (cp,sweepsort,numpy; with a budget also external)")
    parser.add_argument("--memory", help="of external, as sweepsort takes it: 512M")
    parser.add_argument("--gpu-memory", help="of external")
    parser.add_argument("--backend", default="auto", help="of sweepsort: auto, cuda or cpu")
    parser.add_argument(
        "--dir", help="where the files are put (a folder on the disk to be measured; default: $TMPDIR)"
    )
    parser.add_argument(
        "--cold", action="store_true", help="drop the input from the page cache before each run"
    )
    parser.add_argument("--sweepsort", type=measured.program, default=measured.DEFAULT_SWEEPSORT)
    parser.add_argument("--python", default=sys.executable, help="the Python that has numpy")
    parser.add_argument("--json", help="write the rows there")
    arguments = parser.parse_args()
    has_budget = bool(arguments.memory or arguments.gpu_memory)
    if not arguments.programs:
        arguments.programs = "cp,sweepsort,external,numpy" if has_budget else "cp,sweepsort,numpy"
    if "external" in arguments.programs.split(",") and not has_budget:
        parser.error("external needs --memory or --gpu-memory")
    return arguments


def commands(arguments: argparse.Namespace, source: pathlib.Path, folder: pathlib.Path) -> dict:
    """Program name -> (command, output)."""
    key_type = f"{arguments.type[0]}{measured.KEY_BYTES[arguments.type]}"
    outputs = {name: folder / f"sorted-by-{name}" for name in ("cp", "sweepsort", "external", "numpy")}
    sort = [arguments.sweepsort, "sort", "-t", arguments.type, "--backend", arguments.backend]
    sort += ["--progress", "never", "-q", source, "-o"]
    budgets = ["--memory", arguments.memory] if arguments.memory else []
    budgets += ["--gpu-memory", arguments.gpu_memory] if arguments.gpu_memory else []
    known = {
        "cp": ["cp", source, outputs["cp"]],
        "sweepsort": [*sort, outputs["sweepsort"]],
        "external": [*sort, outputs["external"], *budgets],
        "numpy": [arguments.python, "-c", NUMPY_PROGRAM, source, outputs["numpy"], key_type],
    }
    chosen = {}
    for name in arguments.programs.split(","):
        if name not in known:
            sys.exit(f"files.py: --programs: '{name}' is none of {', '.join(known)}")
        if (
            name == "numpy"
            and subprocess.run([arguments.python, "-c", "import numpy"], capture_output=True).returncode
        ):
            print(f"# numpy left out: {arguments.python} has none (see --python)")
            continue
        chosen[name] = (list(map(str, known[name])), outputs[name])
    return chosen


def prepare_cache(source: pathlib.Path, cold: bool):
    with open(source, "rb") as file:
        if cold:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            return
        while file.read(8 << 20):
            pass


def timed(command: list[str], output: pathlib.Path) -> dict:
    begin = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"files.py: exit code {process.returncode} from {' '.join(command)}")
    with open(output, "rb") as file:
        os.fsync(file.fileno())  # cp does not do it; for the others it finds nothing left to do
    return {
        "time_s": time.perf_counter() - begin,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * 1024,
    }


def take_turns(arguments: argparse.Namespace, chosen: dict, source: pathlib.Path) -> dict:
    runs = {name: [] for name in chosen}
    for turn in range(arguments.runs + 1):
        for name, (command, output) in chosen.items():
            output.unlink(missing_ok=True)
            prepare_cache(source, arguments.cold)
            time.sleep(arguments.pause)
            run = timed(command, output)
            if turn > 0:  # the first turn warms up
                runs[name].append(run)
    return runs


def are_equal(a: pathlib.Path, b: pathlib.Path) -> bool:
    return subprocess.run(["cmp", "-s", a, b]).returncode == 0


def verified(arguments: argparse.Namespace, chosen: dict, source: pathlib.Path) -> dict:
    """cp's output is the input; a sorted one passes `check`; ours and numpy's are equal to the last byte."""
    results = {}
    for name, (_, output) in chosen.items():
        if name == "cp":
            results[name] = are_equal(source, output)
            continue
        check = [arguments.sweepsort, "check", "-q", "-t", arguments.type, output]
        results[name] = subprocess.run(list(map(str, check)), stdout=subprocess.DEVNULL).returncode == 0
        results[name] &= output.stat().st_size == source.stat().st_size
    reference = next((name for name in ("numpy", "sweepsort") if name in chosen), None)
    for name in {"sweepsort", "external"} & chosen.keys() - {reference}:
        results[name] &= reference is None or are_equal(chosen[name][1], chosen[reference][1])
    return results


def rows_of(runs: dict, results: dict, size: int) -> list[dict]:
    rows = []
    for name, measurements in runs.items():
        row = {"program": name, **measured.spread([run["time_s"] for run in measurements])}
        row["cpu_s"] = sorted(run["cpu_s"] for run in measurements)[len(measurements) // 2]
        row["peak_bytes"] = max(run["peak_bytes"] for run in measurements)
        row["bytes_s"] = size / row["median_s"]
        row["verified"] = results[name]
        rows.append(row)
    return rows


def main() -> int:
    arguments = parse_arguments()
    count = measured.parse_count(arguments.count)
    with tempfile.TemporaryDirectory(dir=arguments.dir) as name:
        folder = pathlib.Path(name)
        source = folder / "input"
        measured.generate(
            arguments.sweepsort, source, arguments.type, arguments.distribution, count, arguments.seed
        )
        size = source.stat().st_size
        chosen = commands(arguments, source, folder)
        runs = take_turns(arguments, chosen, source)
        rows = rows_of(runs, verified(arguments, chosen, source), size)

    cp_s = next((row["median_s"] for row in rows if row["program"] == "cp"), None)
    print(
        f"# {size} bytes of {arguments.type}, {arguments.distribution}, {'cold' if arguments.cold else 'warm'}"
    )
    print(
        f"# {'program':<12} {'median(s)':>10} {'min(s)':>8} {'max(s)':>8} {'GB/s':>7} {'x cp':>6} {'CPU(s)':>7}"
        f" {'peak(MiB)':>10} verified"
    )
    for row in rows:
        ratio = f"{row['median_s'] / cp_s:.2f}" if cp_s else "-"
        print(
            f"  {row['program']:<12} {row['median_s']:>10.3f} {row['min_s']:>8.3f} {row['max_s']:>8.3f}"
            f" {row['bytes_s'] * 1e-9:>7.2f} {ratio:>6} {row['cpu_s']:>7.2f} {row['peak_bytes'] / 2**20:>10.0f}"
            f" {'yes' if row['verified'] else 'WRONG'}"
        )
    if arguments.json:
        measured.write_json(
            arguments.json,
            {
                "schema": "sweepsort.files/1",
                **measured.circumstances(),
                "type": arguments.type,
                "distribution": arguments.distribution,
                "n": count,
                "bytes": size,
                "seed": arguments.seed,
                "backend": arguments.backend,
                "cache": "cold" if arguments.cold else "warm",
                "memory": arguments.memory,
                "gpu_memory": arguments.gpu_memory,
                "pause_s": arguments.pause,
                "load": os.getloadavg()[0],
                "rows": rows,
            },
        )
    return 0 if all(row["verified"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
