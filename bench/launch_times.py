#!/usr/bin/env python3
"""launch_times.py - what each launch of a sort takes in a row with the others, and the gaps between them.

Runs sweepsort-bench with the launch recorder, once, as a graph. (kernel_times.py measures one kernel at a time, and tells
what it keeps busy.) Launches that are shorter than --least are summed up: they found nothing to do, as a rule.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import kernel_times
import measured


def parse_arguments() -> argparse.Namespace:
    build = measured.ROOT / "build/release"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--type", default="u32", help="key type (u32)")
    parser.add_argument("--distribution", default="uniform", help="distributions, separated by commas (uniform)")
    parser.add_argument("--values", default="0", help="bytes a value (0)")
    parser.add_argument("--size", type=measured.parse_count, default="2^24", help="keys (2^24)")
    parser.add_argument("--least", type=float, default=3, help="microseconds of a launch that has a line of its own (3)")
    parser.add_argument("--bench", type=measured.program, default=build / "bin/sweepsort-bench")
    parser.add_argument("--recorder", type=pathlib.Path, default=build / "bench/libsweepsort_launch_recorder.so")
    return parser.parse_args()


def launches_of(text: str) -> list[dict]:
    """The recorder's lines, of sorts (which are graphs) and of the bench's own kernels. Times are in seconds."""
    launches = []
    for line in text.splitlines():
        begin, end, graph, blocks, kernel = line.split("\t")
        launch = {"kernel": kernel, "blocks": int(blocks), "begin_s": int(begin) * 1e-9, "end_s": int(end) * 1e-9}
        if int(graph) != 0 or "bench::" in kernel:
            launches.append(launch)
    return launches


def last_of(repeated: list[dict]) -> list[dict]:
    """A small sort's graph is launched several times in a row. Returns the last time."""
    names = [launch["kernel"] for launch in repeated]
    for length in range(1, len(names) + 1):
        if names[length:] == names[: len(names) - length]:
            return repeated[-length:]
    return repeated


def table_of(run: list[dict], min_s: float) -> list[str]:
    lines = []
    short_s, shorts, previous = 0.0, 0, run[0]
    for launch in run:
        time_s, gap_s = launch["end_s"] - launch["begin_s"], launch["begin_s"] - previous["end_s"]
        if time_s < min_s:
            short_s, shorts = short_s + time_s, shorts + 1
        else:
            gap = f"{gap_s * 1e6:8.1f}" if launch is not previous else " " * 8
            name = kernel_times.short_name(launch["kernel"])
            lines.append(f"  {name:<32}{launch['blocks']:>8} blocks{time_s * 1e6:>10.1f} us, behind a gap of {gap}")
        previous = launch
    lines.append(f"  {shorts} shorter ones{short_s * 1e6:>38.1f} us")
    return lines


def measure(arguments: argparse.Namespace, distribution: str) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "launches"
        command = [arguments.bench, "sort", "-b", "cuda", "-r", 1, "-p", "none", "--timing", "graph"]
        command += ["-t", arguments.type, "-d", distribution, "--values", arguments.values, "-n", arguments.size]
        variables = {"CUDA_INJECTION64_PATH": os.fspath(arguments.recorder.resolve()), "SWEEPSORT_LAUNCHES": os.fspath(log)}
        done = subprocess.run(list(map(str, command)), env=dict(os.environ, **variables), capture_output=True, text=True,
                              check=False)
        if done.returncode != 0 or not log.exists():
            sys.exit(f"launch_times.py: exit code {done.returncode}, {'a' if log.exists() else 'no'} record: {done.stderr[-500:]}")
        return last_of(kernel_times.last_run(launches_of(log.read_text(encoding="utf-8"))))


def main() -> int:
    arguments = parse_arguments()
    if not arguments.recorder.exists():
        sys.exit(f"launch_times.py: there is no {arguments.recorder}; it is built where the toolkit has CUPTI")
    for distribution in arguments.distribution.split(","):
        run = measure(arguments, distribution)
        if not run:
            sys.exit("launch_times.py: the recorder saw no kernel")
        print(f"{arguments.type} + {arguments.values} bytes, {distribution}, {arguments.size:,} keys: ", end="")
        print(f"{(run[-1]['end_s'] - run[0]['begin_s']) * 1e6:.1f} us in {len(run)} launches")
        print("\n".join(table_of(run, arguments.least * 1e-6)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
