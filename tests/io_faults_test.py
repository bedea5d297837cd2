#!/usr/bin/env python3
# io_faults_test.py PROGRAM FORCED LIBRARY - every system call and allocation on a file's way through the program fails:
# the first time, the second, and so on until a run makes fewer calls. It fails only that time, or from then on. Each
# time, the outputs are either the old ones or the complete new ones, nothing is left behind, and exit code and message
# say what happened. FORCED is the same program with runs and merges for every file.
import dataclasses
import errno
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

SWEEPSORT, FORCED, LIBRARY = map(os.path.abspath, sys.argv[1:4])
LEAST_ALLOCATION = 1024  # smaller ones are thousands of strings and lists
RANDOM = random.Random(int(os.environ.get("SWEEPSORT_SEED", "20240229"), 0))


@dataclasses.dataclass
class Call:
    errors: tuple  # for a call that fails once, and for one that fails from then on
    says: bytes  # what is in the message between the file and the system's own words; a position is a group
    named: str = "none"  # how many outputs may have their names by then
    is_needed: bool = True  # a run in which it fails is never a success


IO, DISK = (errno.EIO, errno.EIO), (errno.ENOSPC, errno.EIO)
FILES, MEMORY = (errno.EMFILE, errno.EMFILE), (errno.ENOMEM, errno.ENOMEM)
CALLS = {
    "pread": Call(IO, rb"cannot read at byte (\d+)"),
    "read": Call(IO, rb"cannot read"),
    "pwrite": Call(DISK, rb"cannot write at byte (\d+)"),
    "write": Call(DISK, rb"cannot write at byte (\d+)"),
    "fallocate": Call(DISK, rb"cannot reserve \d+ bytes"),
    "ftruncate": Call(DISK, rb"cannot cut it to \d+ bytes"),
    "fchmod": Call(IO, rb"cannot set the mode"),
    "fdatasync": Call(DISK, rb"cannot write it to the disk"),
    "sync_file_range": Call(DISK, rb"cannot write it to the disk"),
    "linkat": Call(DISK, rb"cannot give the file its name", named="some"),
    "renameat2": Call(DISK, rb"cannot give the file its name", named="some"),
    "fsync": Call(DISK, rb"cannot write (?:it|its directory) to the disk", named="all"),
    # For a file that was only read, or that is no longer needed, this does not matter.
    "close": Call(DISK, rb"cannot close", named="all", is_needed=False),
    "open": Call(FILES, rb"cannot (?:open|open its directory|create a (?:temporary )?file .*)", is_needed=False),
    "mmap": Call(MEMORY, b"", is_needed=False),
    "malloc": Call(MEMORY, b"", named="any", is_needed=False),
}
HINTS = {errno.ENOSPC: rb"hint: free some space there.*\n", errno.EMFILE: rb"hint: raise the limit of open files.*\n"}
ALLOCATIONS = ("mmap", "malloc")
# The possible numbers of such outputs.
NAMED = {"none": lambda count: {0}, "some": lambda count: {*range(max(count, 1))}, "all": lambda count: {count},
         "any": lambda count: {*range(count + 1)}}
# Errors that are not reported: the call is repeated, waited for, or replaced by another way.
HARMLESS = {
    "pread": [errno.EINTR],
    "read": [errno.EINTR, errno.EAGAIN],
    "pwrite": [errno.EINTR],
    "write": [errno.EINTR, errno.EAGAIN],
    "fallocate": [errno.EINTR, errno.EOPNOTSUPP],
    "ftruncate": [errno.EINTR],
    "fdatasync": [errno.EINTR],
    "sync_file_range": [errno.EINTR, errno.ENOSYS],
    "fsync": [errno.EINTR, errno.EINVAL],
    "open": [errno.EINTR],
}


def packed(keys, form="I"):
    return struct.pack(f"<{len(keys)}{form}", *keys)


def content(path):
    """The content of a file; None if there is no such file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def put(path, data):
    """Gives more rights than the umask leaves, so that the mode of what replaces the file must be set."""
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, 0o666)


LARGE = [RANDOM.getrandbits(32) for _ in range(300_000)]
KEYS = [RANDOM.getrandbits(32) for _ in range(2000)]
VALUES = [RANDOM.getrandbits(64) for _ in KEYS]
FEW = [RANDOM.randrange(700) for _ in KEYS]
FOUR = [RANDOM.randrange(4) for _ in KEYS]
LEFT, RIGHT = (sorted(RANDOM.getrandbits(32) for _ in range(count)) for count in (1500, 900))
BYTES = RANDOM.randbytes(2000)
ORDER = sorted(range(len(FEW)), key=FEW.__getitem__)  # stable
INPUTS = {"large.u32": packed(LARGE), "keys.u32": packed(KEYS), "few.u32": packed(FEW), "bytes.u8": BYTES,
          "left.u32": packed(LEFT), "right.u32": packed(RIGHT), "values.u64": packed(VALUES, "Q"),
          "four.u32": packed(FOUR)}


def ended(result):
    return f"exit {result.returncode}, {len(result.stdout)} bytes, {result.stderr}"


def running_sums(keys):
    total = 0
    for key in keys:
        total = (total + key) & 0xFFFFFFFF
        yield total


@dataclasses.dataclass
class Scene:
    """A command and what it makes of INPUTS: files, in the order in which they get their names, and standard output."""

    words: str  # without -f there are no old outputs
    outputs: dict
    stdout: bytes = b""
    stdin: str = os.devnull
    program: str = SWEEPSORT
    exit_code: int = 0
    with_allocations: bool = False
    to_file: bool = False  # standard output is no pipe
    is_hidden: bool = False  # no O_TMPFILE: outputs have hidden names
    may_talk: bool = False  # on standard error, although nothing fails

    def __post_init__(self):
        words = self.words.split()
        self.command = [self.program, *words]
        self.title = ("forced " * (self.program == FORCED) + self.words + f" < {self.stdin}" * (self.stdin in INPUTS) +
                      " > file" * self.to_file + ", hidden names" * self.is_hidden)
        self.has_old = "-f" in words or "--in-place" in words
        self.is_answer = words[0] in ("min", "check")
        self.streams = bool(self.stdout) and not self.is_answer
        self.files = {*words, "standard input", "standard output", ".", ".: a temporary file in it"}
        reads, writes = any(word in INPUTS for word in words), bool(self.outputs)
        # The calls that must occur; otherwise the test would not test them.
        self.makes = {
            "pread": reads, "read": self.stdin in INPUTS, "write": self.streams, "pwrite": writes,
            "fallocate": writes and "-" not in words, "ftruncate": writes and "-u" in words,
            "fchmod": writes and self.has_old, "fdatasync": writes or self.to_file, "fsync": writes,
            "sync_file_range": self.program == FORCED and "--argsort" in words,
            "linkat": writes and not self.is_hidden, "renameat2": writes and (self.has_old or self.is_hidden),
            "open": reads or writes, "close": True, "mmap": self.with_allocations, "malloc": self.with_allocations,
        }

    def old(self, name):
        return INPUTS.get(name, b"the old output" if self.has_old else None)

    def put_old(self):
        for name in self.outputs:
            if self.old(name) is not None:
                put(name, self.old(name))
            elif os.path.exists(name):
                os.unlink(name)

    def run(self, **variables):
        self.put_old()
        folder, library = os.path.split(LIBRARY)  # LD_PRELOAD cannot hold a path with spaces
        variables |= {"LD_PRELOAD": library, "LD_LIBRARY_PATH": folder, "TMPDIR": ".", "FAIL_LOG": "../log",
                      "NO_TMPFILE": int(self.is_hidden)}
        environment = dict(os.environ, **{name: str(value) for name, value in variables.items()})
        pipe = content(self.stdin) if self.stdin in INPUTS else b""
        if not self.to_file:
            return subprocess.run(self.command, env=environment, input=pipe, capture_output=True)
        with open("../stdout", "wb") as file:
            result = subprocess.run(self.command, env=environment, input=pipe, stdout=file, stderr=subprocess.PIPE)
        result.stdout = content("../stdout")
        return result

    def clear(self):
        for name in self.outputs:
            os.unlink(name)
            if name in INPUTS:
                put(name, INPUTS[name])

    def count_new(self, what):
        found = {name: content(name) for name in self.outputs}
        for name, data in found.items():
            assert data in (self.old(name), self.outputs[name]), f"{what}: {name}: a broken output"
        are_new = [found[name] == self.outputs[name] for name in found]
        assert are_new == sorted(are_new, reverse=True), f"{what}: outputs that do not belong together: {are_new}"
        return sum(are_new)

    def judge(self, what, result):
        """Checks what must be true in any case. Returns how many outputs are new."""
        for name, data in INPUTS.items():
            assert name in self.outputs or content(name) == data, f"{what}: {name} is another one"
        left = set(os.listdir()) - {*INPUTS, *self.outputs}
        assert not left, f"{what}: left {left}"
        new = self.count_new(what)
        if result.returncode == self.exit_code:
            assert new == len(self.outputs) and result.stdout == self.stdout, what
            assert self.may_talk or not result.stderr, what
        else:
            assert result.returncode == 2, what
            assert self.stdout.startswith(result.stdout), f"{what}: not the beginning of the right stream"
            assert not (self.is_answer and result.stdout), f"{what}: an answer"
        return new

    def judge_failure(self, what, call, error, result, positions):
        new = self.judge(what, result)
        expected = CALLS[call]
        if result.returncode != 2:
            assert not expected.is_needed, f"{what}: not a call that can be left out"
            return
        # Standard output is complete before any output gets its name.
        named = "none" if b"standard output" in result.stderr else expected.named
        assert new in NAMED[named](len(self.outputs)), f"{what}: {new} of the outputs are new"
        if call in ALLOCATIONS:
            assert result.stderr.startswith(b"sweepsort: "), what
            return
        says = rb"sweepsort: \w+: (.*): " + expected.says + b": " + re.escape(os.strerror(error).encode()) + b"\n"
        message = re.fullmatch(says + HINTS.get(error, b""), result.stderr)
        assert message and message[1].decode() in self.files, f"{what}: not the message of {call}"
        if message.lastindex == 2:
            right = [len(result.stdout)] if call == "write" else positions
            assert int(message[2]) in right, f"{what}: it was at {right}"

    def fail(self, call, at, error, onwards=0, is_failure=True, least=LEAST_ALLOCATION):
        """Returns the exit code, or None if there are fewer calls."""
        result = self.run(FAIL_CALL=call, FAIL_AT=at, FAIL_ERRNO=error, FAIL_ONWARDS=onwards, FAIL_LEAST=least)
        positions = [int(line) for line in (content("../log") or b"").split()]
        when = f"the {at}. time{' and on' * onwards} with {errno.errorcode[error]}"
        what = f"{self.title}: {call} failing {when}: {ended(result)}"
        if not positions:
            self.judge(what, result)
            assert result.returncode == self.exit_code, what
            return None
        os.unlink("../log")
        if is_failure:
            self.judge_failure(what, call, error, result, positions)
        else:
            self.judge(what, result)
        return result.returncode

    def play(self):
        calls = [call for call in CALLS if call not in ALLOCATIONS or self.with_allocations]
        reached = {call: self.play_call(call) for call in calls}
        for call in calls:
            assert reached[call] or not self.makes[call], f"{self.title}: {call} was never called"
        times = ", ".join(f"{call} {times}" for call, times in reached.items() if times)
        print(f"{self.title}: calls that failed in turn: {times}")
        result = self.run(FAIL_SHORT=1)
        what = f"{self.title}: short transfers: {ended(result)}"
        self.judge(what, result)
        assert result.returncode == self.exit_code, what
        self.clear()

    def play_call(self, call):
        """Returns how many calls there were."""
        for onwards, error in enumerate(CALLS[call].errors):
            codes = []
            for at in moments():
                codes.append(self.fail(call, at, error, onwards))
                if codes[-1] is None:
                    break
            if at == 1:
                return 0
            if call == "close":
                noticed = codes.count(2)
                assert noticed >= len(self.outputs) + self.streams, f"{self.title}: {noticed} failed closes noticed"
        for error in HARMLESS.get(call, []):
            code = self.fail(call, 1, error, is_failure=False)
            assert code == self.exit_code, f"{self.title}: {call} with {errno.errorcode[error]} is no failure"
        # The transfer itself refuses O_DIRECT: it then goes through the page cache. Where there is no O_DIRECT, this is
        # an error.
        if call == "pwrite":
            self.fail(call, 1, errno.EINVAL, is_failure=False)
        return at - 1


def moments():
    """1, 2, 3, ... and, from the sixteenth on, further and further apart."""
    at = 1
    while True:
        yield at
        at += 1 if at < 16 else at // 4


def made_by(words):
    """The standard output of a command in which nothing fails, if the test is about something else."""
    return subprocess.run([SWEEPSORT, *words.split()], capture_output=True, check=True).stdout


def scenes():
    large, keys, few = (packed(sorted(keys)) for keys in (LARGE, KEYS, FEW))
    sums = packed([*running_sums(LARGE)])
    values = packed([VALUES[i] for i in ORDER], "Q")
    distinct = sorted(set(FEW))
    unique, counts = packed(distinct), packed([FEW.count(key) for key in distinct], "Q")
    weights = packed([sum(weight for of, weight in zip(FEW, KEYS) if of == key) for key in distinct], "Q")
    positions = packed(ORDER)
    first_places = [FEW.index(key) for key in distinct]
    firsts, first_values = packed(first_places), packed([VALUES[i] for i in first_places], "Q")
    merged, three = packed(sorted(LEFT + RIGHT)), packed(sorted(LEFT + RIGHT + KEYS))
    smallest = f"{min(LARGE)} {LARGE.index(min(LARGE))}\n".encode()
    checked = made_by("check left.u32")
    random_keys = made_by("generate -n 300000 -t u32 -o -")
    table = [
        Scene("sort large.u32 -o out -f", {"out": large}, with_allocations=True),
        Scene("scan --wrap large.u32 -o out -f", {"out": sums}),
        Scene("scan --wrap - -t u32 -o -", {}, sums, "large.u32"),
        Scene("min --index large.u32", {}, smallest),
        Scene("min --index - -t u32", {}, smallest, "large.u32"),
        Scene("check left.u32", {}, checked),
        Scene("check -q large.u32", {}, exit_code=1),
        Scene("check -q - -t u32", {}, stdin="large.u32", exit_code=1),
        Scene("generate -n 300000 -t u32 -o out -f", {"out": random_keys}),
        Scene("generate -n 300000 -t u32 -o -", {}, random_keys),
        Scene("sort large.u32 -o -", {}, large),
        Scene("sort large.u32 -o -", {}, large, to_file=True),
        Scene("sort - -t u32 -o out -f", {"out": large}, stdin="large.u32"),
        Scene("sort keys.u32 --in-place", {"keys.u32": keys}),
        Scene("sort -u few.u32 -o out -f", {"out": unique}),
        Scene("sort -u few.u32 --counts counts -o out", {"counts": counts, "out": unique}, is_hidden=True),
        Scene("sort --argsort few.u32 -o out -f", {"out": positions}, program=FORCED, is_hidden=True),
    ]
    # What every strategy must guarantee: in memory, and with runs and merges.
    for program in (SWEEPSORT, FORCED):
        table += [
            Scene("sort keys.u32 -o out", {"out": keys}, program=program, with_allocations=program == FORCED),
            Scene("sort bytes.u8 -o out -f", {"out": bytes(sorted(BYTES))}, program=program),
            Scene("sort - -t u32", {}, keys, "keys.u32", program),
            Scene("sort keys.u32 left.u32 right.u32 -o out -f", {"out": three}, program=program),
            Scene("sort --merge left.u32 right.u32 -o out -f", {"out": merged}, program=program),
            Scene("sort --merge - left.u32 -t u32 -o out -f", {"out": merged}, stdin="right.u32", program=program),
            Scene("sort --argsort few.u32 -o out -f", {"out": positions}, program=program),
            Scene("sort few.u32 --values values.u64 --values-output values -o out -f", {"values": values, "out": few},
                  program=program),
            Scene("sort -u few.u32 --counts counts -o out -f", {"counts": counts, "out": unique}, program=program),
            Scene("sort -u few.u32 --values keys.u32 --counts counts -o out -f", {"counts": weights, "out": unique},
                  program=program),
            Scene("sort -u few.u32 --values values.u64 --values-output values -o out -f",
                  {"values": first_values, "out": unique}, program=program),
            Scene("sort -u --argsort few.u32 -o out -f", {"out": firsts}, program=program),
            Scene("sort --merge left.u32 right.u32 --values left.u32 --values right.u32 --values-output values -o out "
                  "-f", {"values": merged, "out": merged}, program=program),
            Scene("sort -u - -t u32 --counts counts -o - -f", {"counts": counts}, unique, "few.u32", program),
        ]
    return table


def play_killed_child(scene):
    """The child that names an output is killed before it does so. That is no success."""
    for at in range(1, len(scene.outputs) + 1):
        result = scene.run(FAIL_CALL="renameat2", FAIL_AT=at, FAIL_KILLS=1)
        os.unlink("../log")
        what = f"{scene.title}: the {at}. child killed: {ended(result)}"
        assert scene.judge(what, result) == at - 1 and result.returncode == 2, what
    scene.clear()


def play_little_memory(scene):
    """However small the allocation that fails, this is an error; also if there is no memory left for its message."""
    for onwards in (0, 1):
        for at in moments():
            if scene.fail("malloc", at, errno.ENOMEM, onwards, is_failure=False, least=0) is None:
                break
        assert at > 20, f"{at - 1} allocations"
    scene.clear()


def play_misread_keys():
    """A key misread in the search for a cut changes nothing, or is an error: not only the order of values."""
    order = sorted(range(len(FOUR)), key=FOUR.__getitem__)  # stable
    outputs = {"values": packed([VALUES[i] for i in order], "Q"), "out": packed(sorted(FOUR))}
    scene = Scene("sort four.u32 --values values.u64 --values-output values -o out -f", outputs, program=FORCED)
    codes = []
    for at in moments():
        result = scene.run(FAIL_CALL="pread", FAIL_AT=at, FAIL_FLIPS=1, FAIL_MOST=8)
        scene.judge(f"{scene.title}: the {at}. key misread: {ended(result)}", result)
        if content("../log") is None:
            break
        os.unlink("../log")
        codes.append(result.returncode)
    assert 0 in codes and 2 in codes, f"{scene.title}: keys misread: {codes}"
    scene.clear()


def main():
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "work"))
        os.chdir(os.path.join(folder, "work"))
        if not Scene("--help", {}).run().stdout:
            print("skipped: the library cannot be preloaded here")
            sys.exit(77)
        for name, bytes in INPUTS.items():
            put(name, bytes)
        table = scenes()
        for scene in table:
            scene.play()
        by_words = {scene.words: scene for scene in reversed(table)}
        play_killed_child(by_words["sort few.u32 --values values.u64 --values-output values -o out -f"])
        play_little_memory(by_words["sort keys.u32 --in-place"])
        play_misread_keys()
        # The thread that shows the progress must not end the sort, nor end the process in its own way.
        in_place = by_words["sort keys.u32 --in-place"]
        talks = dataclasses.replace(in_place, words=f"{in_place.words} --progress always", may_talk=True)
        play_little_memory(talks)


main()
