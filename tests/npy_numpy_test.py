#!/usr/bin/env python3
# npy_numpy_test.py PROGRAM - files that numpy wrote are sorted by the program and read back by numpy.
import os
import subprocess
import sys
import tempfile

# The interpreter in the path may not be the system's, which has the packaged numpy.
try:
    import numpy as np
except ImportError:
    system_python = "/usr/bin/python3"
    if os.path.realpath(sys.executable) != os.path.realpath(system_python) and os.path.exists(system_python):
        os.execv(system_python, [system_python] + sys.argv)
    print("skipped: numpy is not installed")
    sys.exit(77)

SWEEPSORT = sys.argv[1]
RANDOM = np.random.default_rng(int(os.environ.get("SWEEPSORT_SEED", "20240229"), 0))


def sort(*arguments):
    return subprocess.run([SWEEPSORT, "sort", *arguments], capture_output=True, text=True)


def random_array(dtype, shape):
    dtype = np.dtype(dtype)
    bits = RANDOM.integers(0, 256, int(np.prod(shape)) * dtype.itemsize, dtype=np.uint8)
    return bits.view(dtype).reshape(shape)


def header_of(path):
    with open(path, "rb") as file:
        version = np.lib.format.read_magic(file)
        is_first = version == (1, 0)
        read = np.lib.format.read_array_header_1_0 if is_first else np.lib.format.read_array_header_2_0
        read(file)
        end = file.tell()
        file.seek(0)
        return file.read(end)


def save(path, array, version):
    with open(path, "wb") as file:
        np.lib.format.write_array(file, array, version=version)


def expect_sorted(folder, array, version, *options, descending=False, flat=False):
    source, target = os.path.join(folder, "in.npy"), os.path.join(folder, "out.npy")
    save(source, array, version)
    result = sort(source, "-o", target, "-f", *options)
    what = f"{array.dtype.str} {array.shape} version {version} {options}"
    assert result.returncode == 0, f"{what}: {result.stderr}"
    found = np.load(target)
    assert found.dtype == array.dtype, f"{what}: came back as {found.dtype}"
    # Compared as bits: NaNs are equal to nothing, and their payloads count.
    expected = np.sort(array, axis=None)
    if not np.issubdtype(array.dtype, np.floating):
        expected = expected[::-1] if descending else expected
        assert np.array_equal(found, expected), what
    else:
        unsigned = array.dtype.str.replace("f", "u")
        ordered = found[::-1] if descending else found
        is_nan = np.isnan(ordered)
        values = ordered[~is_nan]
        assert np.all(values[1:] >= values[:-1]), what
        assert is_nan[len(values):].all(), f"{what}: NaN does not stand last"
        bits = np.sort(array.reshape(-1).view(unsigned))
        assert np.array_equal(np.sort(found.view(unsigned)), bits), f"{what}: the keys are others"
    if not flat:
        assert header_of(source) == header_of(target), f"{what}: the header changed"


def main():
    kinds = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds:
            for order in "<>":
                for version in [(1, 0), (2, 0), (3, 0)]:
                    expect_sorted(folder, random_array(order + kind, (1000,)), version)
            expect_sorted(folder, random_array(kind, (1001,)), (1, 0), "-r", descending=True)
            expect_sorted(folder, random_array(kind, (0,)), (1, 0))
            expect_sorted(folder, random_array(kind, (1,)), (1, 0))
            expect_sorted(folder, np.asfortranarray(random_array(kind, (7, 5, 3))), (1, 0), "--flatten", flat=True)

        source = os.path.join(folder, "in.npy")
        np.save(source, random_array("<f8", (50_000,)))
        # In place, and through pipes: the bytes are a .npy file wherever they come from.
        expected = np.sort(np.load(source))
        with open(source, "rb") as file:
            piped = subprocess.run([SWEEPSORT, "sort", "-"], stdin=file, capture_output=True).stdout
        assert sort(source, "--in-place").returncode == 0
        with open(source, "rb") as file:
            assert file.read() == piped, "a pipe gives another result than the file"
        assert np.array_equal(np.load(source), expected, equal_nan=True)

        refused = {
            "objects": np.array([1, "a", None], dtype=object),
            "structured": np.zeros(3, dtype=[("a", "<u4"), ("b", "<u4")]),
            "strings": np.array(["a", "b"]),
            "complex": np.zeros(3, dtype=np.complex128),
            "half": np.zeros(3, dtype=np.float16),
            "dates": np.zeros(3, dtype="M8[ns]"),
            "matrix": np.zeros((3, 3), dtype="<u4"),
            "scalar": np.zeros((), dtype="<u4"),
        }
        for name, array in refused.items():
            np.save(source, array, allow_pickle=True)
            target = os.path.join(folder, "refused.npy")
            result = sort(source, "-o", target)
            assert result.returncode == 2 and "in.npy: " in result.stderr, f"{name}: {result}"
            assert not os.path.exists(target), f"{name}: something was written"
    print("numpy and sweepsort agree")


main()
