#!/usr/bin/env python3
# no_gpu_test.py PROGRAM FAKE_DRIVER FAKE_GPU CUDA [STUB] - what the program says and does, for each possible reason, if
# there is no GPU that it can use. FAKE_DRIVER is a libcuda.so.1 without a GPU. FAKE_GPU is the same program with a GPU
# for which it has no code. CUDA is the major version of the toolkit. STUB is the toolkit's stub of libcuda.so.1, if it
# has one.
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

SWEEPSORT, FAKE_DRIVER, FAKE_GPU = map(os.path.abspath, sys.argv[1:4])
CUDA = sys.argv[4]
STUB = sys.argv[5] if len(sys.argv) > 5 else ""
CPU = "or use --backend cpu"
NEEDS = re.compile(rb"this build needs \d+\.\d")
RANDOM = random.Random(int(os.environ.get("SWEEPSORT_SEED", "20240229"), 0))


class State:
    """A program and its environment, and what it must say about GPUs."""

    def __init__(self, reason, hint, program=SWEEPSORT, **variables):
        self.reason = reason
        self.hint = hint
        self.program = program
        self.variables = variables

    def run(self, *arguments, stdin=b""):
        """Puts N for the capability that this build needs, which is the least one that it was compiled for."""
        environment = dict(os.environ, **self.variables)
        result = subprocess.run([self.program, *arguments], env=environment, input=stdin, capture_output=True)
        result.stderr = NEEDS.sub(b"this build needs N", result.stderr)
        result.stdout = NEEDS.sub(b"this build needs N", result.stdout)
        return result


def driver(folder, library):
    """A folder for LD_LIBRARY_PATH with `library` as the driver. An empty one cannot be loaded: there is no driver."""
    os.mkdir(folder)
    path = os.path.join(folder, "libcuda.so.1")
    if library:
        shutil.copy(library, path)
    else:
        open(path, "w").close()
    return folder


def states(folder):
    fake = driver(os.path.join(folder, "fake"), FAKE_DRIVER)
    yield State("no NVIDIA driver is installed", f"install the NVIDIA driver, {CPU}",
                LD_LIBRARY_PATH=driver(os.path.join(folder, "none"), ""))
    if STUB:
        yield State("the CUDA driver library is the toolkit's stub, not a driver",
                    f"remove the stubs folder from LD_LIBRARY_PATH, {CPU}",
                    LD_LIBRARY_PATH=driver(os.path.join(folder, "stub"), STUB))
    else:
        print("not tested: this toolkit has no stub of the driver")
    yield State(f"the NVIDIA driver is too old for this build (CUDA {CUDA})", f"update the NVIDIA driver, {CPU}",
                LD_LIBRARY_PATH=fake, FAKE_VERSION="9020", FAKE_INIT="0")
    yield State("no CUDA device is visible", f"look at nvidia-smi and CUDA_VISIBLE_DEVICES, {CPU}",
                LD_LIBRARY_PATH=fake, FAKE_VERSION=f"{CUDA}090", FAKE_INIT="100")
    yield State("CUDA does not start: unknown error", f"look at nvidia-smi, {CPU}",
                LD_LIBRARY_PATH=fake, FAKE_VERSION=f"{CUDA}090", FAKE_INIT="999")
    yield State("no GPU here can be used: the newest is of compute capability 6.1 with 48 KiB of shared memory per block, "
                "this build needs N and 64 KiB", "use --backend cpu", program=FAKE_GPU, COMPUTE="61")


def expect(state, result, code, stdout, stderr):
    told = f"{state.reason}: {result.args[1:]}: exit {result.returncode}, {result.stdout[:2000]}, {result.stderr.decode()}"
    assert result.returncode == code, told
    if stdout is not None:
        assert result.stdout == stdout, told
    assert result.stderr.decode().splitlines() == stderr, told


def require_refusal(state):
    """A GPU is asked for by name."""
    for command, options in (("sort", ["-o", "out"]), ("scan", ["-o", "out"]), ("min", []), ("sort", [])):
        expect(state, state.run(command, "--backend", "cuda", "in.u32", *options), 2, b"",
               [f"sweepsort: {command}: the cuda backend cannot be used: {state.reason}", f"hint: {state.hint}"])
    assert not os.path.exists("out")


def require_cpu(state, keys):
    """A GPU would be of use: nobody knows the length of a stream that is larger than memory."""
    data = struct.pack(f"<{len(keys)}I", *keys)
    right = struct.pack(f"<{len(keys)}I", *sorted(keys))
    expect(state, state.run("sort", "--backend", "auto", "in.u32"), 0, struct.pack("<3I", 1, 2, 3), [])
    stream = ["sort", "--backend", "auto", "--threads", "1", "--memory", "64K", "-t", "u32", "-"]
    expect(state, state.run(*stream, stdin=data), 0, right, [])
    log = state.run(*stream, "-v", stdin=data)
    assert f"sweepsort: sort: backend cpu: no GPU: {state.reason}" in log.stderr.decode().splitlines(), log.stderr
    assert log.returncode == 0 and log.stdout == right


def require_report(state):
    version = state.run("--version")
    assert version.returncode == 0 and version.stderr == b"", version
    assert version.stdout.decode().splitlines()[-1] == f"cuda: not usable: {state.reason}", version.stdout
    info = state.run("info")
    assert info.returncode == 0 and info.stderr == b"", info
    assert info.stdout.decode().splitlines()[-2:] == [f"cuda         not usable: {state.reason}",
                                                      f"{'':13}hint: {state.hint}"], info.stdout
    backend = json.loads(state.run("info", "--json").stdout)["backends"][-1]
    assert backend == {"name": "cuda", "usable": False, "description": None, "details": [], "reason": state.reason,
                       "hint": state.hint}, backend


def require_no_code():
    """A GPU is new enough; only when it is woken up, it turns out that the build has no code for it."""
    reason = "this build has no code for Fake GPU, compute capability 12.0"
    state = State(reason, f"build with -DCMAKE_CUDA_ARCHITECTURES=120, {CPU}", program=FAKE_GPU, COMPUTE="120")
    expect(state, state.run("sort", "--backend", "cuda", "in.u32", "-o", "out"), 2, b"",
           [f"sweepsort: sort: {reason}", f"hint: {state.hint}"])
    assert not os.path.exists("out")
    expect(state, state.run("sort", "in.u32"), 0, struct.pack("<3I", 1, 2, 3), [])
    # A file that is worth a GPU, and that is never read.
    with open("large.u64", "wb") as file:
        file.truncate(64 << 30)
    expect(state, state.run("sort", "--dry-run", "--threads", "1", "large.u64", "-o", "out"), 0, None,
           [f"sweepsort: sort: the GPU failed ({reason}): starting again on the CPU"])


def main():
    with tempfile.TemporaryDirectory(prefix="sweepsort-no-gpu-") as folder:
        os.chdir(folder)
        with open("in.u32", "wb") as file:
            file.write(struct.pack("<3I", 3, 1, 2))
        keys = [RANDOM.getrandbits(32) for _ in range(30000)]
        for state in states(folder):
            require_refusal(state)
            require_cpu(state, keys)
            require_report(state)
            print(f"as it should be: {state.reason}")
        require_no_code()
    return 0


if __name__ == "__main__":
    sys.exit(main())
