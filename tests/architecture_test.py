#!/usr/bin/env python3
"""architecture_test.py - reads every #include line and checks that it follows the arrows between rooms.

    cli --> sweepsort.hpp --> pipeline --> backend --> kernels     tests --> any room, bench --> any but tests
                                  +--> io     +--> gpu             datasets --> core
    core: every room may use it; it uses none

Also: no CUB or Thrust outside the benchmark and the referee, no volatile in kernels, no files or streams in kernels;
a first line in every source file that says what the file is for; a standard header for what a file uses of the standard
library (precompiled headers and files compiled together hide that one is missing); no type name twice in one namespace,
because one program with both would merge them; and prose in comments no wider than clang-format allows code to be.
"""

import functools
import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCE_ROOMS = ["kernels", "src", "tests", "bench", "datasets", "examples"]
SUFFIXES = {".hpp", ".cpp", ".cuh", ".cu", ".h"}

# Room -> what it may include. An entry with a slash is a single file.
MAY_USE = {
    "core": {"core"},
    "kernels": {"kernels", "core"},
    "gpu": {"gpu", "core", "kernels/device_span.cuh", "kernels/cuda_error.cuh"},
    "backend": {"backend", "kernels", "gpu", "core"},
    "io": {"io", "core"},
    "library": {"library", "core"},
    "pipeline": {"pipeline", "backend", "io", "core", "datasets", "library"},
    # The device half of --validate thrust is beside the backend, not based on it, so that the two share no fault.
    "referee": {"pipeline", "gpu", "core", "kernels/cuda_error.cuh"},
    "cli": {"cli", "library", "core"},
    "datasets": {"datasets", "core"},
    "cuda library": {"cuda library", "library", "kernels", "gpu", "core"},
    "examples": {"examples", "library", "cuda library", "core"},
    "tests": {"tests", "bench", "core", "kernels", "gpu", "backend", "io", "library", "pipeline", "cli", "datasets"},
    "bench": {"bench", "core", "kernels", "gpu", "backend", "io", "library", "pipeline", "cli", "datasets"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
WIDEST = 110
PROSE = re.compile(r"^ *///? \S.*$", re.MULTILINE)  # pictures and tables are indented further, or have gaps
GAP = re.compile(r"\S {2,}\S")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
VOLATILE = re.compile(r"(?<!asm )(?<!__asm__ )\bvolatile\b")
# All rooms that may meet in one program. Namespaces do not indent, so what begins a line is not inside a class.
SHIPPED_ROOMS = ("kernels/", "src/", "datasets/")
NAMESPACE = re.compile(r"(?:inline )?namespace ?([\w:]*) ?\{|\}  // namespace ?([\w:]*)")
TYPE = re.compile(r"(?:struct|class|enum(?: class| struct)?|union) (\w+)\b(?! *<|::)[^;(]*\{")
# Device code must not use files, streams or the machine's threads.
NOT_IN_KERNELS = {"cstdio", "fstream", "iostream", "filesystem", "thread", "mutex"}
# Standard header -> names (after "std::") that a file may use only if it, or a file of ours that it includes, includes
# that header. Names that many headers provide (size_t, move) are left out.
STANDARD_NAMES = {
    "algorithm": "sort stable_sort is_sorted copy copy_n fill fill_n transform any_of all_of none_of max_element min_element "
    "lower_bound upper_bound nth_element reverse shuffle equal find_if count_if clamp",
    "array": "array",
    "atomic": "atomic atomic_ref",
    "bit": "bit_cast popcount countl_zero countr_zero bit_width bit_ceil has_single_bit endian",
    "charconv": "from_chars to_chars",
    "chrono": "chrono",
    "cmath": "isnan isfinite sqrt ldexp",
    "condition_variable": "condition_variable",
    "cstdio": "printf fprintf snprintf",
    "cstdlib": "getenv abort exit strtoull",
    "cstring": "memcpy memset memcmp memmove strlen strerror strcmp",
    "exception": "exception exception_ptr rethrow_exception current_exception terminate",
    "filesystem": "filesystem",
    "fstream": "ifstream ofstream",
    "functional": "function",
    "future": "async future",
    "iostream": "cin cout cerr",
    "iterator": "back_inserter",
    "limits": "numeric_limits",
    "map": "map",
    "memory": "unique_ptr make_unique shared_ptr make_shared",
    "mutex": "mutex lock_guard unique_lock scoped_lock",
    "new": "bad_alloc",
    "numeric": "iota accumulate exclusive_scan inclusive_scan reduce partial_sum gcd",
    "optional": "optional nullopt",
    "random": "mt19937_64 mt19937 uniform_int_distribution",
    "set": "set",
    "span": "span as_bytes as_writable_bytes",
    "sstream": "ostringstream istringstream stringstream",
    "stdexcept": "runtime_error logic_error invalid_argument out_of_range",
    "string": "string to_string stoull",
    "string_view": "string_view",
    "system_error": "system_error error_code",
    "thread": "thread this_thread jthread",
    "tuple": "tuple tie",
    "type_traits": "is_same_v conditional_t make_unsigned_t is_floating_point_v is_signed_v is_unsigned_v is_integral_v",
    "variant": "variant get_if holds_alternative visit",
    "vector": "vector",
}
STANDARD_HEADER = {name: header for header, names in STANDARD_NAMES.items() for name in names.split()}
STANDARD_NAME = re.compile(r"\bstd::(?:ranges::)?(\w+)")


def room_of(path: pathlib.PurePath) -> str:
    """The room of a file, by its path relative to the repository."""
    if path.parts[0] != "src":
        return path.parts[0]
    if path.parts[1] == "pipeline" and path.name.startswith("referee") and path.suffix == ".cu":
        return "referee"
    if len(path.parts) > 2:
        return path.parts[1]
    if path.suffix == ".cuh":
        return "cuda library"
    return "library" if path.suffix == ".hpp" else "pipeline"


def resolve(root: pathlib.Path, includer: pathlib.Path, name: str) -> pathlib.PurePath | None:
    """The file of this repository that an #include names, or None."""
    places = [includer.parent, root / "src", root, root / "kernels", root / "tests", root / "tests/simt/include"]
    for place in places:
        candidate = place / name
        if candidate.is_file():
            return candidate.resolve().relative_to(root.resolve())
    return None


def is_referee(path: pathlib.PurePath) -> bool:
    return room_of(path) in {"bench", "tests", "referee"} or path.as_posix() == "src/pipeline/referee.cpp"


def faults_of_include(root: pathlib.Path, path: pathlib.PurePath, name: str) -> list[str]:
    if name.startswith(("cub/", "thrust/")):
        return [] if is_referee(path) else [f"{path}: {name}: CUB and Thrust are the yardstick and the referee only"]
    if room_of(path) == "kernels" and name in NOT_IN_KERNELS:
        return [f"{path}: <{name}> has no place in device code"]
    target = resolve(root, root / path, name)
    # It is not ours, is made by the build, or is the emulator's stand-in for a header of the CUDA toolkit.
    if target is None or target.as_posix().startswith("tests/simt/include/"):
        return []
    allowed = MAY_USE[room_of(path)]
    if room_of(target) in allowed or target.as_posix() in allowed:
        return []
    return [f"{path} includes {target}: {room_of(path)} must not know {room_of(target)}"]


@functools.cache
def includes_of(root: pathlib.Path, path: pathlib.PurePath) -> tuple[frozenset[str], frozenset[pathlib.PurePath]]:
    """What a file includes: names that are not of this repository, and files that are."""
    names = set(INCLUDE.findall((root / path).read_text(encoding="utf-8")))
    targets = {name: resolve(root, root / path, name) for name in names}
    return (
        frozenset(name for name, target in targets.items() if target is None),
        frozenset(target for target in targets.values() if target is not None),
    )


def headers_reached(root: pathlib.Path, path: pathlib.PurePath) -> set[str]:
    """The foreign headers that a file, or any file of ours that it includes, names."""
    headers, seen, left = set(), {path}, [path]
    while left:
        others, ours = includes_of(root, left.pop())
        headers |= others
        left += ours - seen
        seen |= ours
    return headers


def missing_headers(root: pathlib.Path, path: pathlib.PurePath, text: str) -> list[str]:
    used = {STANDARD_HEADER[name]: name for name in STANDARD_NAME.findall(text) if name in STANDARD_HEADER}
    reached = headers_reached(root, path) if used else set()
    return [f"{path}: std::{name} without <{header}>" for header, name in used.items() if header not in reached]


def faults_of_file(root: pathlib.Path, path: pathlib.PurePath) -> list[str]:
    text = (root / path).read_text(encoding="utf-8")
    faults = []
    if not re.match(rf"// {re.escape(path.name)} - \S", text):
        faults.append(f'{path}: the first line is not "// {path.name} - purpose"')
    for name in INCLUDE.findall(text):
        faults += faults_of_include(root, path, name)
    faults += missing_headers(root, path, COMMENT.sub("", text))
    faults += [
        f"{path}: a line of {len(line)} characters: {line.strip()}"
        for line in PROSE.findall(text)
        if len(line) > WIDEST and not GAP.search(line.strip())
    ]
    if room_of(path) == "kernels" and VOLATILE.search(COMMENT.sub("", text)):
        faults.append(f"{path}: volatile is no memory order; use an atomic reference")
    return faults


def types_of(text: str) -> list[str]:
    """The types that a file defines in named namespaces, with these namespaces; specialisations are left out."""
    spaces, types = [], []
    for line in text.splitlines():
        if match := NAMESPACE.match(line):
            if line.startswith("}"):
                del spaces[-1:]
            else:
                spaces.append(match[1])
        elif (match := TYPE.match(line)) and "" not in spaces:
            types.append("::".join([*spaces, match[1]]))
    return types


def types_defined_twice(root: pathlib.Path) -> list[str]:
    first: dict[str, pathlib.PurePath] = {}
    faults = []
    for path in source_files(root):
        if path.as_posix().startswith(SHIPPED_ROOMS):
            for name in types_of((root / path).read_text(encoding="utf-8")):
                if first.setdefault(name, path) != path:
                    faults.append(f"{path}: {name} is another type in {first[name]}")
    return faults


def source_files(root: pathlib.Path) -> list[pathlib.PurePath]:
    files = [file for room in SOURCE_ROOMS for file in (root / room).rglob("*") if file.suffix in SUFFIXES]
    return [file.relative_to(root) for file in sorted(files) if file.is_file()]


def faults_of_tree(root: pathlib.Path) -> list[str]:
    return [fault for path in source_files(root) for fault in faults_of_file(root, path)] + types_defined_twice(root)


class House(unittest.TestCase):
    def test_every_include_of_this_repository_follows_the_arrows(self):
        self.assertGreater(len(source_files(ROOT)), 30, "the rooms were not found")
        self.assertEqual([], faults_of_tree(ROOT))


class PlantedFaults(unittest.TestCase):
    """The test above would pass with an empty checker. These tests show that the checker finds faults."""

    def faults(self, files: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text if text.startswith("//") else f"// {pathlib.Path(name).name} - x.\n{text}")
            return faults_of_tree(root)

    def assert_arrow(self, allowed: bool, includer: str, target: str, name: str):
        faults = self.faults({includer: f'#include "{name}"\n', target: ""})
        self.assertEqual(0 if allowed else 1, len(faults), faults)

    def test_downward_arrows_pass(self):
        self.assert_arrow(True, "src/cli/sort.cpp", "src/sweepsort.hpp", "sweepsort.hpp")
        self.assert_arrow(True, "src/pipeline/sort.cpp", "src/backend/backend.hpp", "backend/backend.hpp")
        self.assert_arrow(True, "src/gpu/stream.cuh", "kernels/cuda_error.cuh", "kernels/cuda_error.cuh")
        self.assert_arrow(True, "kernels/scan.cuh", "src/core/key_bits.hpp", "core/key_bits.hpp")
        self.assert_arrow(True, "src/sweepsort.cpp", "src/io/file.hpp", "io/file.hpp")
        self.assert_arrow(True, "tests/x_test.cpp", "src/io/file.hpp", "io/file.hpp")
        self.assert_arrow(True, "tests/x_test.cpp", "bench/verify.hpp", "bench/verify.hpp")
        self.assert_arrow(True, "src/pipeline/referee_cuda.cu", "kernels/cuda_error.cuh", "kernels/launch.cuh")

    def test_upward_and_sideways_arrows_are_found(self):
        self.assert_arrow(False, "src/core/a.hpp", "src/io/b.hpp", "io/b.hpp")
        self.assert_arrow(False, "src/io/a.hpp", "src/backend/b.hpp", "backend/b.hpp")
        self.assert_arrow(False, "src/backend/a.cpp", "src/pipeline/b.hpp", "pipeline/b.hpp")
        self.assert_arrow(False, "src/cli/a.cpp", "src/pipeline/b.hpp", "pipeline/b.hpp")
        self.assert_arrow(False, "src/sweepsort.hpp", "src/pipeline/b.hpp", "pipeline/b.hpp")
        self.assert_arrow(False, "kernels/a.cuh", "src/gpu/b.hpp", "gpu/b.hpp")
        self.assert_arrow(False, "src/gpu/a.hpp", "kernels/scan.cuh", "kernels/scan.cuh")
        self.assert_arrow(False, "datasets/a.hpp", "src/sweepsort.hpp", "sweepsort.hpp")
        self.assert_arrow(False, "bench/a.cpp", "tests/oracle.hpp", "oracle.hpp")
        self.assert_arrow(False, "src/pipeline/a.cpp", "kernels/launch.cuh", "kernels/launch.cuh")

    def test_a_dotted_path_or_angle_brackets_do_not_hide_an_arrow(self):
        self.assert_arrow(False, "src/core/a.hpp", "src/io/b.hpp", "../io/b.hpp")
        self.assertEqual(1, len(self.faults({"src/core/a.hpp": "#  include <io/b.hpp>\n", "src/io/b.hpp": ""})))

    def test_other_breaches_are_found(self):
        for files in [
            {"kernels/a.cuh": "#include <cub/cub.cuh>\n"},
            {"src/backend/a.cu": "#include <thrust/sort.h>\n"},
            {"kernels/a.cuh": "volatile int flag;\n"},
            {"kernels/a.cuh": "#include <fstream>\n"},
            {"src/io/a.cpp": "#include <vector>\nstd::vector<int> v{std::vector<int>(std::strlen(s))};\n"},
            {"src/io/a.cpp": '#include "io/b.hpp"\nstd::map<int, int> m;\n', "src/io/b.hpp": "#include <set>\n"},
            {"src/io/a.hpp": "// b.hpp - another name.\n"},
            {"src/io/a.hpp": "//\n"},
            {"src/io/a.hpp": "int i;\n/// " + 27 * "word" + "\n"},
            {
                "kernels/a.cuh": "namespace n {\nnamespace {\n}  // namespace\nstruct A {\n};\n}  // namespace n\n",
                "src/core/a.hpp": "namespace n {\nenum class A : int { x };\n}  // namespace n\n",
            },
        ]:
            self.assertEqual(1, len(self.faults(files)), files)

    def test_what_is_meant_to_be_is_no_breach(self):
        self.assertEqual([], self.faults({"bench/a.cu": "#include <cub/cub.cuh>\n"}))
        self.assertEqual([], self.faults({"src/pipeline/referee.cpp": "#include <thrust/sort.h>\n"}))
        header = {"src/io/b.hpp": "#include <map>\n"}
        self.assertEqual([], self.faults({"src/io/a.cpp": '#include "b.hpp"\nstd::map<int, int> m;\n', **header}))
        self.assertEqual([], self.faults({"src/io/a.cpp": "/* std::map */ int i;\n"}))
        self.assertEqual([], self.faults({"src/io/a.cpp": f"int i;\n//     {100 * '-'}\n// a  {100 * '.'}\n"}))
        for scope in ["", "n"]:  # without a name, or another one
            other = f"namespace {scope} {{\nstruct A {{}};\n}}  // namespace {scope}\n"
            self.assertEqual([], self.faults({"src/io/a.cpp": other, "src/core/a.hpp": "namespace m {\nstruct A {};\n}\n"}))
        self.assertEqual([], self.faults({"kernels/a.cuh": 'asm volatile("");  // volatile: has side effects\n'}))


if __name__ == "__main__":
    unittest.main()
