#!/usr/bin/env python3
# io_faults_test.py PROGRAM FORCED LIBRARY - every system call and allocation on a file's way through fails: the first
# time, the second, and so on until a run has fewer; that once, and from then on. Each time the output is the old one or
# the whole new one, and nothing is left behind. FORCED is the same program with runs and merges for every file.
import errno
import os
import random
import struct
import subprocess
import sys
import tempfile

SWEEPSORT, FORCED, LIBRARY = sys.argv[1:4]
FILE_CALLS = ["pread", "pwrite", "fallocate", "fchmod", "fdatasync", "linkat", "renameat2", "fsync"]
ALLOCATIONS = ["malloc", "mmap"]
LEAST_ALLOCATION = 1024  # smaller ones are strings and lists, thousands of them
RANDOM = random.Random(int(os.environ.get("SWEEPSORT_SEED", "20240229"), 0))


def run(command, arguments, **variables):
    environment = dict(os.environ, LD_PRELOAD=LIBRARY, **{name: str(value) for name, value in variables.items()})
    return subprocess.run([*command, *arguments], env=environment, capture_output=True)


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

    def __init__(self, folder, command, made_of, count):
        self.folder = folder
        self.command = command
        self.input = os.path.join(folder, "in.u32")
        self.output = os.path.join(folder, "out")
        self.log = os.path.join(folder, "log")
        keys = [RANDOM.getrandbits(32) for _ in range(count)]
        self.keys = struct.pack(f"<{count}I", *keys)
        self.made = struct.pack(f"<{count}I", *made_of(keys))
        self.old = b"the old output"
        with open(self.input, "wb") as file:
            file.write(self.keys)

    def fail(self, call, at, error, onwards=0):
        """True if there was such a call."""
        with open(self.output, "wb") as file:
            file.write(self.old)
        os.chmod(self.output, 0o666)  # more than the umask leaves, so that the new one's mode has to be set
        result = run(self.command, [self.input, "-o", self.output, "-f"], FAIL_CALL=call, FAIL_AT=at, FAIL_ERRNO=error,
                     FAIL_ONWARDS=onwards, FAIL_LEAST=LEAST_ALLOCATION, FAIL_LOG=self.log)
        has_failed = os.path.exists(self.log)
        if has_failed:
            os.unlink(self.log)
        what = f"{self.command[1]}: {call} failing the {at}. time{' and on' * onwards} with {errno.errorcode[error]}: exit {result.returncode}, {result.stderr}"
        assert content(self.input) == self.keys, what
        assert sorted(os.listdir(self.folder)) == ["in.u32", "out"], f"{what}: left {os.listdir(self.folder)}"
        assert result.stdout == b"", what
        found = content(self.output)
        assert found in (self.old, self.made), f"{what}: a broken output of {len(found)} bytes"
        if result.returncode == 0:
            assert found == self.made, what
        else:
            # The directory's fsync comes after the rename, and so may an allocation.
            assert result.returncode == 2 and (found == self.old or call in ("fsync", "malloc")), what
            assert result.stderr.startswith(b"sweepsort: "), what
        return has_failed


def moments(often):
    """1, 2, 3, ... and where a call is made very often, further apart from the twentieth on."""
    at = 1
    while True:
        yield at
        at += 1 if at < 20 or not often else 1 + at // 8


def play(command, made_of, count, calls, errors):
    reached = {}
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(folder, command, made_of, count)
        for call in calls:
            for error in errors if call not in ALLOCATIONS else [errno.ENOMEM]:
                for onwards in [0, 1]:
                    for at in moments(call in ("pread", "malloc")):
                        if not scene.fail(call, at, error, onwards):
                            reached[call] = at - 1
                            break
        # On a file system where fallocate is not to be had it goes on without; EINTR is tried again.
        for error in [errno.EOPNOTSUPP, errno.EINTR]:
            scene.fail("fallocate", 1, error)
            assert content(scene.output) == scene.made, f"fallocate with {errno.errorcode[error]} is no failure"
        # O_DIRECT refused by the transfer itself: through the page cache then.
        scene.fail("pwrite", 1, errno.EINVAL)
        assert content(scene.output) in (scene.made, scene.old)

        result = run(scene.command, [scene.input, "-o", scene.output, "-f"], FAIL_SHORT=1)
        assert result.returncode == 0 and content(scene.output) == scene.made, f"short transfers: {result}"
        pipe = subprocess.run([*command, "-", "-t", "u32"], input=scene.keys, capture_output=True,
                              env=dict(os.environ, LD_PRELOAD=LIBRARY, FAIL_SHORT="1"))
        assert pipe.returncode == 0 and pipe.stdout == scene.made, f"short transfers by pipes: {pipe.stderr}"
    for call, times in reached.items():
        assert times > 0, f"{call} was never called: the test does not test it"
    print(f"{' '.join(command)}: calls that failed in turn:", ", ".join(f"{call} {times}" for call, times in reached.items()))


def play_pair():
    """Keys and the values that belong to them: a disk that fails before the names change leaves both as they were."""
    with tempfile.TemporaryDirectory() as folder:
        place = lambda name: os.path.join(folder, name)
        names = ["keys.u32", "values.u32", "keys", "values"]
        for name in names[:2]:
            with open(place(name), "wb") as file:
                file.write(RANDOM.randbytes(4 * 5000))
        for call in ("fchmod", "fdatasync", "fsync"):
            for at in moments(False):
                for name in names[2:]:
                    with open(place(name), "wb") as file:
                        file.write(b"old")
                    os.chmod(place(name), 0o666)
                result = run([SWEEPSORT, "sort"], [place("keys.u32"), "-o", place("keys"), "--values", place("values.u32"),
                                                   "--values-output", place("values"), "-f"],
                             FAIL_CALL=call, FAIL_AT=at, FAIL_ERRNO=errno.EIO, FAIL_LOG=place("log"))
                if not os.path.exists(place("log")):
                    assert result.returncode == 0 and at > 2, f"{call}: {at - 1} calls for two outputs"
                    break
                os.unlink(place("log"))
                what = f"{call} failing the {at}. time: exit {result.returncode}, {result.stderr}"
                assert result.returncode == 2 and sorted(os.listdir(folder)) == sorted(names), what
                are_old = [content(place(name)) == b"old" for name in names[2:]]
                assert are_old[0] == are_old[1], f"{what}: keys and values do not belong together"


def play_killed_child():
    """The child that names the output is killed before it could: that is no success."""
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(folder, [SWEEPSORT, "sort"], sorted, 2000)
        with open(scene.output, "wb") as file:
            file.write(scene.old)
        result = run(scene.command, [scene.input, "-o", scene.output, "-f"], FAIL_CALL="renameat2", FAIL_AT=1, FAIL_KILLS=1)
        assert result.returncode == 2 and content(scene.output) == scene.old, f"{result}"
        assert sorted(os.listdir(folder)) == ["in.u32", "out"], os.listdir(folder)


def play_little_memory():
    """However small what cannot be had: an error. Where there is nothing left, not even for its message, too."""
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(folder, [SWEEPSORT, "sort"], sorted, 2000)
        with open(scene.output, "wb") as file:
            file.write(scene.old)
        for onwards in [0, 1]:
            for at in moments(True):
                result = run(scene.command, [scene.input, "-o", scene.output, "-f"], FAIL_CALL="malloc", FAIL_AT=at,
                             FAIL_ERRNO=errno.ENOMEM, FAIL_ONWARDS=onwards, FAIL_LOG=scene.log)
                if not os.path.exists(scene.log):
                    assert at > 20, f"{at - 1} allocations"
                    break
                os.unlink(scene.log)
                what = f"malloc failing the {at}. time{' and on' * onwards}: exit {result.returncode}, {result.stderr}"
                assert result.returncode in (0, 2) and result.stdout == b"", what
                assert content(scene.output) in ((scene.made,) if result.returncode == 0 else (scene.old, scene.made)), what
                assert sorted(os.listdir(folder)) == ["in.u32", "out"], what


def main():
    if not run([SWEEPSORT, "--help"], []).stdout:
        print("skipped: the library cannot be preloaded here")
        sys.exit(77)
    os.umask(0o022)
    play_pair()
    play_killed_child()
    play_little_memory()
    both = [errno.EIO, errno.ENOSPC]
    play([SWEEPSORT, "sort"], sorted, 300_000, FILE_CALLS + ALLOCATIONS, both)
    play([SWEEPSORT, "scan", "--wrap"], running_sums, 300_000, FILE_CALLS, both)
    play([FORCED, "sort", "--threads", "2"], sorted, 2000, FILE_CALLS + ALLOCATIONS, [errno.ENOSPC])
    play([FORCED, "sort", "-u"], lambda keys: sorted(set(keys)), 2000, ["pwrite", "fallocate", "ftruncate"], [errno.EIO])


main()
