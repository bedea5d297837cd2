#!/usr/bin/env python3
# io_faults_test.py PROGRAM LIBRARY - every system call on a file's way through fails once, the first time, the second,
# and so on until a run has fewer; each time the output is the old one or the whole new one, and nothing is left behind.
import errno
import os
import random
import struct
import subprocess
import sys
import tempfile

SWEEPSORT, LIBRARY = sys.argv[1:3]
COUNT = 300_000
RANDOM = random.Random(int(os.environ.get("SWEEPSORT_SEED", "20240229"), 0))


def run(command, arguments, **variables):
    environment = dict(os.environ, LD_PRELOAD=LIBRARY, **{name: str(value) for name, value in variables.items()})
    return subprocess.run([SWEEPSORT, *command, *arguments], env=environment, capture_output=True)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def running_sums(keys):
    total = 0
    for key in keys:
        total = (total + key) & 0xFFFFFFFF
        yield total


class Scene:
    """An input, what a command makes of it, and an old output."""

    def __init__(self, folder, command, made_of):
        self.folder = folder
        self.command = command
        self.input = os.path.join(folder, "in.u32")
        self.output = os.path.join(folder, "out")
        self.log = os.path.join(folder, "log")
        keys = [RANDOM.getrandbits(32) for _ in range(COUNT)]
        self.keys = struct.pack(f"<{COUNT}I", *keys)
        self.made = struct.pack(f"<{COUNT}I", *made_of(keys))
        self.old = b"the old output"
        with open(self.input, "wb") as file:
            file.write(self.keys)

    def fail(self, call, at, error):
        """True if there was such a call."""
        with open(self.output, "wb") as file:
            file.write(self.old)
        result = run(self.command, [self.input, "-o", self.output, "-f"], FAIL_CALL=call, FAIL_AT=at, FAIL_ERRNO=error,
                     FAIL_LOG=self.log)
        has_failed = os.path.exists(self.log)
        if has_failed:
            os.unlink(self.log)
        what = f"{self.command[0]}: {call} failing the {at}. time with {errno.errorcode[error]}: exit {result.returncode}, {result.stderr}"
        assert content(self.input) == self.keys, what
        assert sorted(os.listdir(self.folder)) == ["in.u32", "out"], f"{what}: left {os.listdir(self.folder)}"
        assert result.stdout == b"", what
        found = content(self.output)
        assert found in (self.old, self.made), f"{what}: a broken output of {len(found)} bytes"
        if result.returncode == 0:
            assert found == self.made, what
        else:
            # The directory's fsync comes after the rename: the one late call.
            assert result.returncode == 2 and (found == self.old or call == "fsync"), what
            assert result.stderr.startswith(f"sweepsort: {self.command[0]}: ".encode()), what
        return has_failed


def play(command, made_of):
    reached = {}
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(folder, command, made_of)
        for call in ["pread", "pwrite", "fallocate", "fchmod", "fdatasync", "linkat", "renameat2", "fsync"]:
            for error in [errno.EIO, errno.ENOSPC]:
                at = 1
                while scene.fail(call, at, error):
                    at += 1
                reached[call] = at - 1
        # On a file system where fallocate is not to be had it goes on without; EINTR is tried again.
        for error in [errno.EOPNOTSUPP, errno.EINTR]:
            scene.fail("fallocate", 1, error)
            assert content(scene.output) == scene.made, f"fallocate with {errno.errorcode[error]} is no failure"
        # O_DIRECT refused by the transfer itself: through the page cache then.
        scene.fail("pwrite", 1, errno.EINVAL)
        assert content(scene.output) in (scene.made, scene.old)

        result = run(scene.command, [scene.input, "-o", scene.output, "-f"], FAIL_SHORT=1)
        assert result.returncode == 0 and content(scene.output) == scene.made, f"short transfers: {result}"
        pipe = subprocess.run([SWEEPSORT, *command, "-", "-t", "u32"], input=scene.keys, capture_output=True,
                              env=dict(os.environ, LD_PRELOAD=LIBRARY, FAIL_SHORT="1"))
        assert pipe.returncode == 0 and pipe.stdout == scene.made, f"short transfers by pipes: {pipe.stderr}"
    for call, times in reached.items():
        assert times > 0, f"{call} was never called: the test does not test it"
    print(f"{command[0]}: calls that failed in turn:", ", ".join(f"{call} {times}" for call, times in reached.items()))


def main():
    if not run(["--help"], []).stdout:
        print("skipped: the library cannot be preloaded here")
        sys.exit(77)
    play(["sort"], sorted)
    play(["scan", "--wrap"], running_sums)


main()
