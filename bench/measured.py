"""measured.py - what the benchmark's scripts share: the inputs, the circumstances, the results file."""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
DEFAULT_SWEEPSORT = str(ROOT / "build/release/bin/sweepsort")
KEY_BYTES = {"u8": 1, "i8": 1, "u16": 2, "i16": 2, "u32": 4, "i32": 4, "f32": 4, "u64": 8, "i64": 8, "f64": 8}


def parse_count(text: str) -> int:
    """1000, 1e6, 1_000_000 or 2^28, as the programs take them."""
    base, power, exponent = text.replace("_", "").partition("^")
    value = float(base) ** int(exponent) if power else float(base)
    if value < 0 or value != int(value):
        raise ValueError(f"'{text}' is no count")
    return int(value)


def program(text: str) -> pathlib.Path:
    """The type of the option --sweepsort."""
    path = pathlib.Path(text)
    if not os.access(path, os.X_OK):
        raise argparse.ArgumentTypeError(
            f"there is no program {path}; build it (cmake --build --preset release) or name another"
        )
    return path


def cpu_name() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return "unknown"


def revision() -> str:
    """The environment's SWEEPSORT_REVISION, for scripts that are not in a checkout."""
    if "SWEEPSORT_REVISION" in os.environ:
        return os.environ["SWEEPSORT_REVISION"]
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--tags"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def circumstances() -> dict:
    """What every results file starts with."""
    return {
        "revision": revision(),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "cpu": cpu_name(),
        "threads": len(os.sched_getaffinity(0)),
    }


def spread(runs_s: list[float]) -> dict:
    return {
        "runs": len(runs_s),
        "median_s": statistics.median(runs_s),
        "min_s": min(runs_s),
        "max_s": max(runs_s),
    }


def generate(
    sweepsort: pathlib.Path, path: pathlib.Path, key_type: str, distribution: str, count: int, seed: int
):
    """The input that sweepsort-bench measures with the same seed, as a raw file."""
    command = [
        sweepsort,
        "generate",
        "-t",
        key_type,
        "-d",
        distribution,
        "-n",
        str(count),
        "--seed",
        str(seed),
    ]
    command += ["--format", "raw", "--force", "-o", path]
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)


def write_json(path: str, report: dict):
    """Writes under a second name first, so that a reader never sees half a file."""
    temporary = path + ".part"
    pathlib.Path(temporary).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    os.replace(temporary, path)
