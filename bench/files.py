#!/usr/bin/env python3
"""files.py - a whole file, from its name to its sorted copy on the disk: cp, sweepsort, numpy and cupy, in turn.

Each program's time runs from its start until its output has reached the disk (fsync). The programs take turns,
there and back, so that a slow spell of the disk, or what the one before has left to do, meets them all; the median counts. The input is in the page cache unless --cold
is given. cp does the least that a program can do that makes a second file out of a first one. `disk`, which is not among
the default ones, reads the whole input past the page cache and then writes as many bytes so: what the disk takes for a sort,
which cannot write before it has read all. `external` is sweepsort within the budgets of --memory and --gpu-memory,
which `sweepsort` itself does not get. `unique` is sweepsort -u, and `counts` sweepsort -u --counts within the budgets; they are not among the default ones, and numpy checks them.
`sort-n`, which is not among them either, is `LC_ALL=C sort -n` of the same integers as decimal text, a line each: for scale, so that it takes
part in one turn alone, and what writes the text is not timed.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shlex
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

CUPY_PROGRAM = """
import os, sys, cupy, numpy
keys = cupy.asarray(numpy.fromfile(sys.argv[1], sys.argv[3]))
keys.sort()
with open(sys.argv[2], "wb") as file:
    cupy.asnumpy(keys).tofile(file)
    file.flush()
    os.fsync(file.fileno())
"""

DISK_PROGRAM = """
import mmap, os, sys
block = mmap.mmap(-1, 8 << 20)  # at a page's beginning, as O_DIRECT wants it
source = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
size = os.fstat(source).st_size
for at in range(0, size, len(block)):
    os.preadv(source, [block], at)
output = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600)
os.posix_fallocate(output, 0, size)
for at in range(0, size, len(block)):
    os.pwritev(output, [block], at)
os.ftruncate(output, size)
os.fsync(output)
"""

# Whether one sorted file has the distinct keys of another one and, if a file of counts is named, as often as it says.
UNIQUE_CHECK = """
import sys, numpy
sorted, unique = (numpy.fromfile(name, sys.argv[3]) for name in sys.argv[1:3])
is_new = numpy.ones(len(sorted), bool)
is_new[1:] = sorted[1:] != sorted[:-1]
is_right = numpy.array_equal(sorted[is_new], unique)
for name in sys.argv[4:]:
    counts = numpy.diff(numpy.append(numpy.flatnonzero(is_new), len(sorted)))
    is_right &= numpy.array_equal(counts, numpy.fromfile(name, "u8"))
sys.exit(not is_right)
"""

# Whether two sorted files of floats have equal values. numpy does not order zeros, or NaNs, among themselves;
# where it sorts by AVX-512, it even replaces NaNs.
EQUAL_VALUES_CHECK = """
import sys, numpy
a, b = (numpy.fromfile(name, sys.argv[3]) for name in sys.argv[1:3])
sys.exit(not numpy.array_equal(a, b, equal_nan=True))
"""

# Programs that write each key once.
UNIQUE_PROGRAMS = {"unique", "counts"}

# Programs in Python: what each runs, and what must work before it can.
PYTHON_PROGRAMS = {
    "numpy": (NUMPY_PROGRAM, "import numpy"),
    "cupy": (CUPY_PROGRAM, "import numpy, cupy; cupy.zeros(1)"),
    "disk": (DISK_PROGRAM, "import os; os.O_DIRECT"),
}


@dataclasses.dataclass
class Program:
    name: str
    command: list[str]
    source: pathlib.Path
    output: pathlib.Path
    counts: pathlib.Path | None = None  # a second output
    sorts_text: bool = False  # and is so slow that it runs only once


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
    parser.add_argument("--programs", help="which, separated by commas (cp,sweepsort,numpy,cupy; with a budget also"
        " external), those that are there; disk, unique, counts and sort-n besides")
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
    parser.add_argument("--python", default=sys.executable, help="the Python that has numpy and cupy")
    parser.add_argument("--json", help="write the rows there")
    arguments = parser.parse_args()
    has_budget = bool(arguments.memory or arguments.gpu_memory)
    if not arguments.programs:
        arguments.programs = "cp,sweepsort,external,numpy,cupy" if has_budget else "cp,sweepsort,numpy,cupy"
    arguments.programs = arguments.programs.split(",")
    if arguments.runs < 1:
        parser.error("--runs: at least 1")
    if "external" in arguments.programs and not has_budget:
        parser.error("external needs --memory or --gpu-memory")
    if "sort-n" in arguments.programs and arguments.type[0] == "f":
        parser.error("sort-n: integers alone are written as text")
    return arguments


def numpy_type_of(arguments: argparse.Namespace) -> str:
    return f"{arguments.type[0]}{measured.KEY_BYTES[arguments.type]}"


def choose(arguments: argparse.Namespace, source: pathlib.Path, folder: pathlib.Path) -> list[Program]:
    """Those programs that were asked for and are available."""
    sort = [arguments.sweepsort, "sort", "-t", arguments.type, "--backend", arguments.backend]
    sort += ["--progress", "never", "-q"]
    budgets = ["--memory", arguments.memory] if arguments.memory else []
    budgets += ["--gpu-memory", arguments.gpu_memory] if arguments.gpu_memory else []
    numpy_type = numpy_type_of(arguments)
    text = folder / "input.txt"
    counts = folder / "counts"

    def program_of(name: str) -> Program:
        output = folder / f"sorted-by-{name}"

        def runs(*command, **others) -> Program:
            return Program(name, list(map(str, command)), **{"source": source, "output": output, **others})

        if name in PYTHON_PROGRAMS:
            return runs(arguments.python, "-c", PYTHON_PROGRAMS[name][0], source, output, numpy_type)
        if name == "sort-n":
            return runs("env", "LC_ALL=C", "sort", "-n", "-o", output, text, source=text, sorts_text=True)
        return {
            "cp": runs("cp", source, output),
            "sweepsort": runs(*sort, source, "-o", output),
            "external": runs(*sort, source, "-o", output, *budgets),
            "unique": runs(*sort, source, "-u", "-o", output),
            "counts": runs(*sort, source, "-u", "--counts", counts, "-f", "-o", output, *budgets, counts=counts),
        }[name]

    known = ["cp", "sweepsort", "external", *UNIQUE_PROGRAMS, *PYTHON_PROGRAMS, "sort-n"]
    chosen = []
    for name in arguments.programs:
        if name not in known:
            sys.exit(f"files.py: --programs: '{name}' is none of {', '.join(known)}")
        if name in PYTHON_PROGRAMS and not works(arguments.python, PYTHON_PROGRAMS[name][1]):
            print(f"# {name} left out: {arguments.python} has none that works (see --python)")
            continue
        chosen.append(program_of(name))
    compared = {"sort-n", *UNIQUE_PROGRAMS}
    if compared & set(arguments.programs) and {program.name for program in chosen} <= {"cp", "disk", *compared}:
        sys.exit("files.py: sort-n, unique, counts: their output is compared with another program's, of which none is there")
    if UNIQUE_PROGRAMS & set(arguments.programs) and not works(arguments.python, "import numpy"):
        sys.exit(f"files.py: unique, counts: {arguments.python} has no numpy, which checks them (see --python)")
    return chosen


def works(python: str, statement: str) -> bool:
    return subprocess.run([python, "-c", statement], capture_output=True).returncode == 0


def text_of(key_type: str, source: pathlib.Path) -> str:
    """A shell command that writes the integers of a file as text, one per line."""
    sign = "d" if key_type[0] == "i" else "u"
    size = measured.KEY_BYTES[key_type]
    return f"od -A n -v -t {sign}{size} -w{size} {shlex.quote(str(source))} | tr -d ' '"


def shell(command: str) -> bool:
    return subprocess.run(["bash", "-o", "pipefail", "-c", command]).returncode == 0


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
        os.fsync(file.fileno())  # cp does not do this; for the others it has nothing left to do
    return {
        "time_s": time.perf_counter() - begin,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * 1024,
    }


def take_turns(arguments: argparse.Namespace, chosen: list[Program]) -> dict[str, list[dict]]:
    runs = {program.name: [] for program in chosen}
    for turn in range(arguments.runs + 1):
        for program in chosen if turn % 2 else reversed(chosen):
            if program.sorts_text and turn != 1:
                continue
            program.output.unlink(missing_ok=True)
            prepare_cache(program.source, arguments.cold)
            time.sleep(arguments.pause)
            run = timed(program.command, program.output)
            if turn > 0:  # the first turn warms up
                runs[program.name].append(run)
    return runs


def are_equal(a: pathlib.Path, b: pathlib.Path) -> bool:
    return subprocess.run(["cmp", "-s", a, b]).returncode == 0


def checked(arguments: argparse.Namespace, path: pathlib.Path) -> dict:
    command = [arguments.sweepsort, "check", "-q", "-t", arguments.type, "--json", path]
    printed = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True).stdout
    return json.loads(printed) if printed else {"sorted": False, "fingerprint": None}


def verified(arguments: argparse.Namespace, chosen: list[Program], source: pathlib.Path) -> dict[str, bool]:
    """cp's output must be the input, and disk's as long. A sorted one passes `check`, has the input's fingerprint, and is
    equal, to the last byte, to numpy's or, if that is missing, to the first one. With floats, numpy's must only have the
    values of sweepsort's."""
    is_float = arguments.type[0] == "f"
    expected = checked(arguments, source)["fingerprint"]
    sorting = [
        program
        for program in chosen
        if program.name not in ("cp", "disk", *UNIQUE_PROGRAMS) and not program.sorts_text
    ]
    sorting.sort(key=lambda program: (program.name in PYTHON_PROGRAMS) == is_float)
    reference = sorting[0].output if sorting else None

    def is_agreed(check: str, *words: object) -> bool:
        return subprocess.run([arguments.python, "-c", check, *map(str, words)]).returncode == 0

    def is_right(program: Program) -> bool:
        if program.name == "cp":
            return are_equal(program.source, program.output)
        if program.name == "disk":
            return program.source.stat().st_size == program.output.stat().st_size
        if program.name in UNIQUE_PROGRAMS:
            bits = f"u{measured.KEY_BYTES[arguments.type]}"
            return is_agreed(UNIQUE_CHECK, reference, program.output, bits, *filter(None, [program.counts]))
        if program.sorts_text:
            sorted_text = text_of(arguments.type, reference)
            return shell(f"{sorted_text} | cmp -s - {shlex.quote(str(program.output))}")
        if is_float and program.name in PYTHON_PROGRAMS and program.output != reference:
            return is_agreed(EQUAL_VALUES_CHECK, reference, program.output, numpy_type_of(arguments))
        found = checked(arguments, program.output)
        is_whole = found["sorted"] and found["fingerprint"] == expected
        return is_whole and are_equal(program.output, reference)

    return {program.name: is_right(program) for program in chosen}


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
        chosen = choose(arguments, source, folder)
        for text in {program.source for program in chosen if program.sorts_text}:
            if not shell(f"{text_of(arguments.type, source)} > {shlex.quote(str(text))}"):
                sys.exit("files.py: sort-n: od could not write the numbers as text")
        runs = take_turns(arguments, chosen)
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
