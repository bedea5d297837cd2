#!/usr/bin/env python3
"""promise_test.py PROGRAM - whatever happens to a sort larger than memory: the output is the old one or the complete
new one, nothing is left behind, and no more memory is used than was allowed."""
import array
import ctypes
import filecmp
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SWEEPSORT = sys.argv.pop(1)
RANDOM = random.Random(int(os.environ.get("SWEEPSORT_SEED", "20240229"), 0))
MIB = 1 << 20


def packed(keys):
    return struct.pack(f"<{len(keys)}Q", *keys)


class Place(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sweepsort-promise-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.spill = self.folder / "spill"
        self.spill.mkdir()

    def write_input(self, name="in.u64", count=40_000):
        keys = [RANDOM.getrandbits(64) for _ in range(count)]
        (self.folder / name).write_bytes(packed(keys))
        return packed(sorted(keys))

    def command(self, *arguments, memory="64K"):
        return [SWEEPSORT, "sort", "-q", "-f", "--memory", memory, "-T", self.spill, *map(str, arguments)]

    def wait_for_names(self):
        """A killed sort that was about to name its output leaves that to a child, which is now our child."""
        while True:
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                return

    def require_nothing_left(self, *names):
        self.assertEqual(sorted(os.listdir(self.folder)), sorted([*names, "spill"]))
        self.assertEqual(os.listdir(self.spill), [])


PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # orphaned grandchildren become children


class Ends(Place):
    """Sorts that end before they are done."""

    def end_by(self, how, runs, in_place=False):
        done = self.write_input()
        source = self.folder / "in.u64"
        output = source if in_place else self.folder / "out"
        begun = source.read_bytes()
        old = begun if in_place else b"the old output"
        arguments = [source, "--in-place"] if in_place else [source, "-o", output]
        start = time.monotonic()
        subprocess.run(self.command(*arguments), check=True)
        usual_s = time.monotonic() - start
        found_old = 0
        for _ in range(runs):
            source.write_bytes(begun)
            output.write_bytes(old)
            process = subprocess.Popen(self.command(*arguments))
            time.sleep(RANDOM.random() * 1.5 * usual_s)
            process.send_signal(how)
            asked = time.monotonic()
            code = process.wait()
            if how != signal.SIGKILL:
                self.assertLess(time.monotonic() - asked, 2, "a signal must end it soon")
            self.wait_for_names()
            found = output.read_bytes()
            self.assertIn(code, (0, -how))
            self.assertIn(found, (old, done))
            if code == 0:
                self.assertEqual(found, done)
            found_old += found == old
            self.require_nothing_left(*({"in.u64"} | ({"out"} if not in_place else set())))
        self.assertGreater(found_old, 0, "no run was ended before it was done")

    def test_kill_9_leaves_the_old_output_or_the_new_one(self):
        self.end_by(signal.SIGKILL, 40)

    def test_kill_9_in_place_leaves_the_input_or_the_sorted_keys(self):
        self.end_by(signal.SIGKILL, 25, in_place=True)

    def test_signals_end_it_soon_and_by_their_name(self):
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(how=how):
                self.end_by(how, 67)


class Company(Place):
    def test_eight_writers_of_one_output_leave_the_whole_file_of_one(self):
        results = [self.write_input(f"in{i}.u64", 5000 + i) for i in range(8)]
        for _ in range(8):
            writers = [
                subprocess.Popen(self.command(self.folder / f"in{i}.u64", "-o", self.folder / "out"))
                for i in range(8)
            ]
            while any(writer.poll() is None for writer in writers):
                if (self.folder / "out").exists():
                    self.assertIn((self.folder / "out").read_bytes(), results)
            self.assertEqual([writer.wait() for writer in writers], [0] * 8)
            self.assertIn((self.folder / "out").read_bytes(), results)
        self.require_nothing_left("out", *(f"in{i}.u64" for i in range(8)))

    def test_an_input_that_is_cut_meanwhile_is_an_error_or_was_read_before(self):
        done = self.write_input()
        source = self.folder / "in.u64"
        begun = source.read_bytes()
        cut = array.array("Q", sorted(array.array("Q", begun[:160_000]))).tobytes()
        output = self.folder / "out"
        codes = set()
        for _ in range(25):
            source.write_bytes(begun)
            output.write_bytes(b"old")
            process = subprocess.Popen(self.command(source, "-o", output), stderr=subprocess.PIPE)
            time.sleep(RANDOM.random() * 0.03)
            os.truncate(source, 160_000)
            error = process.communicate()[1]
            codes.add(process.returncode)
            if process.returncode == 0:
                self.assertTrue(output.read_bytes() in (done, cut))
            else:
                self.assertEqual(process.returncode, 2, error)
                self.assertEqual(output.read_bytes(), b"old")
                self.assertIn(b"while it was", error)
        self.require_nothing_left("in.u64", "out")


class Streams(Place):
    """Pipes that their writer keeps open without writing more into them."""

    def failed_soon(self, command, data, pipes=0):
        """Runs command with `data` in standard input, or in `pipes` named pipes."""
        names = [self.folder / f"pipe{i}.u64" for i in range(pipes)]
        held = []
        for name in names:
            os.mkfifo(name)
            held.append(os.open(name, os.O_RDWR))
        process = subprocess.Popen([SWEEPSORT, *command, *map(str, names)],
                                   stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        writers = [threading.Thread(target=self.write_all, args=(to, data), daemon=True)
                   for to in held or [process.stdin.fileno()]]
        for writer in writers:
            writer.start()
        try:
            self.assertEqual(process.wait(60), 2)
            return process.stderr.read()
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        finally:
            process.stdin.close()
            process.stderr.close()
            for writer in writers:
                writer.join(10)
            for one in held:
                os.close(one)

    @staticmethod
    def write_all(to, data):
        try:
            while data:
                data = data[os.write(to, data):]
        except BrokenPipeError:
            pass  # it failed before it had read everything

    def test_an_output_that_fails_ends_a_scan_whose_input_idles(self):
        for _ in range(5):
            error = self.failed_soon(["scan", "-t", "u8", "-", "-o", "/dev/full"], bytes(MIB + 100))
            self.assertIn(b"/dev/full", error)

    def test_an_overflow_ends_a_scan_whose_input_idles(self):
        for _ in range(5):
            error = self.failed_soon(["scan", "-t", "u8", "-", "-o", "/dev/null"],
                                     bytes(MIB) + b"\xff" * MIB + bytes(100))
            self.assertIn(b"overflows", error)

    def test_an_output_that_fails_ends_a_merge_whose_inputs_idle(self):
        command = ["sort", "--merge", "-t", "u64", "--memory", "64K", "-o", "/dev/full"]
        for pipes in (1, 2):
            error = self.failed_soon(command, packed(range(5000)), pipes=pipes)
            self.assertIn(b"/dev/full", error)
            for i in range(pipes):
                (self.folder / f"pipe{i}.u64").unlink()


    def test_an_error_ends_a_merge_into_a_socket_that_nobody_reads(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)  # a few KB, so the sort has read the rest by then
            process = subprocess.Popen([SWEEPSORT, "sort", "--merge", "-S", "64K", "-t", "u64", "-"],
                                       stdin=subprocess.PIPE, stdout=theirs, stderr=subprocess.PIPE)
            try:
                error = process.communicate(packed([*range(1500), 0]), timeout=60)[1]
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        self.assertEqual(process.returncode, 2)
        self.assertIn(b"not sorted", error)


class Surroundings(Place):
    """Containers, missing devices, files of other users. What is not allowed here is a reported skip."""

    def wrapped(self, *wrapper):
        """The wrapper as strings, if programs can be run by it."""
        command = [*map(str, wrapper)]
        tried = shutil.which(command[0]) and subprocess.run([*command, "true"], capture_output=True)
        if not tried or tried.returncode != 0:
            self.skipTest(f"{' '.join(command)} is not allowed here")
        return command

    @staticmethod
    def new_namespace(kind):
        return ["unshare", f"-{kind}"] if os.geteuid() == 0 else ["unshare", f"-Ur{kind}"]

    @staticmethod
    def child_that_catches(parent, how):
        """The process ID of the only child, once it has a handler for the signal."""
        while True:
            try:
                child = int(pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text())
                status = pathlib.Path(f"/proc/{child}/status").read_text()
                if int(status.split("SigCgt:")[1].split()[0], 16) >> (how - 1) & 1:
                    return child
            except (FileNotFoundError, ValueError):
                pass  # not there yet
            time.sleep(0.001)

    def test_a_signal_ends_the_first_process_of_a_container(self):
        first = self.wrapped(*self.new_namespace("pf"), "--kill-child")
        output = self.folder / "out"
        output.write_bytes(b"old")
        for how in (signal.SIGTERM, signal.SIGINT):
            process = subprocess.Popen([*first, *map(str, self.command("-t", "u64", "-", "-o", output))],
                                       stdin=subprocess.PIPE)
            try:
                process.stdin.write(bytes(MIB))
                os.kill(self.child_that_catches(process.pid, how), how)
                self.assertEqual(process.wait(20), 128 + how)
            finally:
                process.kill()
                process.wait()
                process.stdin.close()
            self.assertEqual(output.read_bytes(), b"old")
            self.require_nothing_left("out")

    def test_an_output_does_not_take_the_place_of_a_closed_standard_error(self):
        """Not even without /dev/null."""
        bare = [*self.wrapped(*self.new_namespace("m")), "sh", "-c"]
        done = self.write_input()
        source, output = self.folder / "in.u64", self.folder / "out"
        for closed in ("<&- >&- 2>&-", "2>&-", "<&- 2>&-"):
            for result in ("-o", "--in-place"):
                self.folder.joinpath("in").write_bytes(source.read_bytes())
                to = ["-t", "u64", "in", *(["-o", output] if result == "-o" else ["--in-place"])]
                command = [str(word) for word in self.command("--progress", "always", *to) if word != "-q"]
                script = f'mount -t tmpfs none /dev || exit 99; exec "$@" {closed}'
                ended = subprocess.run([*bare, script, "sh", *command], cwd=self.folder, stderr=subprocess.PIPE)
                if ended.returncode == 99:
                    self.skipTest("mounting is not allowed here")
                self.assertEqual(ended.returncode, 0)
                written = output if result == "-o" else self.folder / "in"
                self.assertEqual(written.read_bytes(), done, closed)

    def as_root(self):
        if os.geteuid() != 0:
            self.skipTest("only root has files of other users")

    def test_root_that_is_no_owner_of_all_files_replaces_one_of_another_user(self):
        self.as_root()
        command = self.wrapped("setpriv", "--bounding-set", "-fowner", "--inh-caps", "-fowner")
        done = self.write_input()
        output = self.folder / "out"
        output.write_bytes(b"old")
        os.chown(output, 1234, 2345)
        output.chmod(0o640)
        subprocess.run([*command, *map(str, self.command(self.folder / "in.u64", "-o", output))], check=True)
        self.assertEqual(output.read_bytes(), done)
        found = output.stat()
        self.assertEqual((found.st_uid, found.st_gid, found.st_mode & 0o7777), (1234, 2345, 0o640))

    def test_a_user_namespace_does_not_own_the_files_of_others(self):
        """It has all capabilities, but only over its own users' files."""
        self.as_root()
        user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        program = self.folder / "sweepsort"
        shutil.copy(SWEEPSORT, program)
        sticky, own = self.folder / "sticky", self.folder / "own"
        sticky.mkdir()
        own.mkdir()
        self.folder.chmod(0o755)
        sticky.chmod(0o1777)
        own.chmod(0o777)
        theirs = sticky / "out"
        theirs.write_bytes(b"old")
        theirs.chmod(0o666)
        self.write_input(count=1000)
        command = [*self.wrapped(*user, "unshare", "-Ur"), program, "sort", "-q", "-f", "-u", self.folder / "in.u64",
                   "--counts", own / "counts", "-o", theirs]
        ended = subprocess.run([*map(str, command)], stderr=subprocess.PIPE)
        self.assertEqual(ended.returncode, 2)
        self.assertIn(b"belongs to another user", ended.stderr)
        self.assertEqual(os.listdir(own), [])
        self.assertEqual(theirs.read_bytes(), b"old")

    def test_an_output_made_immutable_meanwhile_keeps_the_other_one_old(self):
        main, counts = self.folder / "main", self.folder / "counts"
        main.write_bytes(b"old")
        counts.write_bytes(b"old")
        tried = shutil.which("chattr") and subprocess.run(["chattr", "+i", main], capture_output=True)
        if not tried or tried.returncode != 0:
            self.skipTest("chattr is not allowed here")
        self.addCleanup(subprocess.run, ["chattr", "-i", main])
        subprocess.run(["chattr", "-i", main], check=True)
        process = subprocess.Popen(self.command("-u", "-t", "u64", "-", "--counts", counts, "-o", main),
                                   stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(bytes(MIB))
        while not Space.has_nameless_file(process) and process.poll() is None:
            time.sleep(0.001)
        subprocess.run(["chattr", "+i", main], check=True)
        error = process.communicate()[1]
        self.assertEqual(process.returncode, 2)
        self.assertIn(b"chattr +i", error)
        self.assertEqual((main.read_bytes(), counts.read_bytes()), (b"old", b"old"))

    def test_a_redirected_file_that_changes_is_an_error_wherever_it_is_read_from(self):
        source = self.folder / "in.u64"
        for start in (0, 8):
            for command in (["scan", "--wrap"], ["check"], ["min"]):
                source.write_bytes(bytes(64 * MIB))
                with open(source, "rb") as file:
                    file.seek(start)
                    process = subprocess.Popen([SWEEPSORT, *command, "-t", "u64", "-"], stdin=file,
                                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                    while os.lseek(file.fileno(), 0, os.SEEK_CUR) == start and process.poll() is None:
                        time.sleep(0.0001)
                    os.truncate(source, 64 * MIB + 8)
                    error = process.communicate()[1]
                if command == ["scan", "--wrap"] or process.returncode != 0:  # a scan waits for us to read
                    self.assertEqual((process.returncode, command, b"changed while" in error), (2, command, True))


class Space(Place):
    def mounted(self, size):
        """A tmpfs of this many bytes, or a reported skip."""
        place = self.folder / "small"
        place.mkdir()
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], capture_output=True)
        if mount.returncode != 0:
            place.rmdir()
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", "-l", place], capture_output=True)
        return place

    def mounted_with_whole_seconds(self):
        """A file system whose times are whole seconds, or a reported skip."""
        image = self.folder / "image"
        with open(image, "wb") as file:
            file.truncate(16 * MIB)
        command = ["mkfs.ext2", "-q", "-I", "128", image]
        make = shutil.which(command[0]) and subprocess.run(command, capture_output=True)
        if not make or make.returncode != 0:
            self.skipTest("there is no mkfs.ext2 here")
        place = self.folder / "seconds"
        place.mkdir()
        if subprocess.run(["mount", "-o", "loop", image, place], capture_output=True).returncode != 0:
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", "-l", place], capture_output=True)
        return place

    @staticmethod
    def has_nameless_file(process):
        try:
            files = os.listdir(f"/proc/{process.pid}/fd")
            return any("(deleted)" in os.readlink(f"/proc/{process.pid}/fd/{file}") for file in files)
        except FileNotFoundError:
            return False  # closed meanwhile

    def test_in_place_a_change_in_the_second_of_the_last_one_is_noticed(self):
        source = self.mounted_with_whole_seconds() / "in.u64"
        self.write_input(count=200_000)
        time.sleep(1.02 - time.time() % 1)  # files are stamped with the last tick
        source.write_bytes((self.folder / "in.u64").read_bytes())
        sort = subprocess.Popen(self.command(source, "--in-place"), stderr=subprocess.PIPE)
        while not self.has_nameless_file(sort):  # the later output
            time.sleep(0.001)
        sort.send_signal(signal.SIGSTOP)
        with open(source, "r+b") as file:
            file.write(bytes(8))
        sort.send_signal(signal.SIGCONT)
        self.assertIn(b"changed while it was being read", sort.communicate()[1])
        self.assertEqual(source.read_bytes()[:8], bytes(8))

    def loop_device(self, data, *options):
        """A block device that holds `data`, or a reported skip."""
        (self.folder / "disk").write_bytes(data)
        loop = shutil.which("losetup") and subprocess.run(
            ["losetup", *options, "-f", "--show", self.folder / "disk"], capture_output=True, text=True)
        if not loop or loop.returncode != 0:
            self.skipTest("loop devices are not allowed here")
        device = loop.stdout.strip()
        self.addCleanup(subprocess.run, ["losetup", "-d", device], capture_output=True)
        if not os.access(device, os.R_OK):
            self.skipTest("loop devices cannot be read here")
        return device

    def test_a_report_does_not_overwrite_a_block_device(self):
        data = RANDOM.randbytes(MIB)
        device = self.loop_device(data)
        self.write_input()
        check = subprocess.run([SWEEPSORT, "check", "-q", f"--json={device}", self.folder / "in.u64"],
                               capture_output=True)
        self.assertEqual(check.returncode, 2)
        self.assertIn(b"is neither a file nor a pipe", check.stderr)
        self.assertEqual((self.folder / "disk").read_bytes(), data)

    def test_a_full_disk_under_the_output_keeps_the_old_one(self):
        self.write_input()
        small = self.mounted(200 << 10)
        (small / "out").write_bytes(b"old")
        sort = subprocess.run(self.command(self.folder / "in.u64", "-o", small / "out"), capture_output=True)
        self.assertEqual(sort.returncode, 2)
        self.assertIn(b"No space left on device", sort.stderr)
        self.assertEqual((small / "out").read_bytes(), b"old")
        self.assertEqual(os.listdir(small), ["out"])

    def test_a_full_disk_under_the_spill_files_is_found_before_anything_is_read(self):
        self.write_input()
        small = self.mounted(200 << 10)
        command = [SWEEPSORT, "sort", "-S", "64K", "-T", small, self.folder / "in.u64", "-o", self.folder / "out"]
        sort = subprocess.run(command, capture_output=True)
        self.assertEqual(sort.returncode, 2)
        self.assertIn(b"No space left on device", sort.stderr)
        self.assertIn(b"-T", sort.stderr)
        self.assertEqual(os.listdir(small), [])
        self.require_nothing_left("in.u64", "small")

    def test_a_block_device_is_read_by_name_and_from_where_standard_input_stands(self):
        keys = [RANDOM.getrandbits(64) for _ in range(1024)]
        device = self.loop_device(packed(keys), "-r")
        try:
            disk = open(device, "rb", buffering=0)
        except OSError:
            self.skipTest("loop devices cannot be read here")
        with disk:
            command = self.command("-t", "u64", memory="64M")
            self.assertEqual(subprocess.run([*command, device], capture_output=True).stdout, packed(sorted(keys)))
            for first in (0, 3):
                disk.seek(8 * first)
                sort = subprocess.run([*command, "-"], stdin=disk, capture_output=True)
                self.assertEqual((sort.returncode, sort.stdout), (0, packed(sorted(keys[first:]))))

    def test_a_block_device_that_is_too_small_keeps_what_it_has(self):
        device = self.loop_device(b"kept" * 1024)
        for keys in (513, 512):
            (self.folder / "in.u64").write_bytes(packed(range(keys)))
            sort = subprocess.run(self.command(self.folder / "in.u64", "-o", device, memory="64M"), capture_output=True)
            if b"cannot open" in sort.stderr:
                self.skipTest("loop devices cannot be written here")
            if keys == 513:
                self.assertEqual(sort.returncode, 2, sort.stderr)
                self.assertIn(b"cannot write 4104 bytes: No space left on device", sort.stderr)
                self.assertEqual(pathlib.Path(device).read_bytes(), b"kept" * 1024)
        self.assertEqual(sort.returncode, 0, sort.stderr)
        self.assertEqual(pathlib.Path(device).read_bytes(), packed(range(512)))

    def test_a_limit_on_files_is_no_signal(self):
        self.write_input()
        limited = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        for target in (self.folder / "out", "-"):
            sort = subprocess.run(self.command(self.folder / "in.u64", "-o", target), capture_output=True,
                                  preexec_fn=limited)
            self.assertEqual(sort.returncode, 2)
            self.assertIn(b"File too large", sort.stderr)
        self.require_nothing_left("in.u64")


class Memory(Place):
    def peak(self, *arguments, memory, stdin=None):
        process = subprocess.Popen(self.command(*arguments, memory=memory), stdin=stdin, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss * 1024

    def generate(self, name, count, distribution):
        source = self.folder / name
        subprocess.run([SWEEPSORT, "generate", "-n", count, "-d", distribution, "-o", source], check=True)
        return source

    def checked(self, file):
        """What `sweepsort check` says about a file."""
        check = subprocess.run([SWEEPSORT, "check", "-q", "--json", file], capture_output=True)
        self.assertIn(check.returncode, (0, 1), check.stderr)
        return json.loads(check.stdout)

    def test_no_more_memory_is_taken_than_allowed_and_64_mib(self):
        # Inputs of 128 MiB, because holding one of them would exceed the limit.
        for name, count, distribution, how in (
            ("a.u64", "2^24", "uniform", "-u"),
            ("b.u64", "2^24", "ninety-percent-one-value", "--argsort"),
            ("c.u32", "2^25", "uniform", "--no-verify"),
            ("d.u8", "2^27", "uniform", "-r"),
        ):
            source = self.generate(name, count, distribution)
            with self.subTest(name=name):
                allowed = 8 * MIB + 64 * MIB
                self.assertLess(self.peak(source, "-o", self.folder / "out", memory="8M"), allowed)
                self.assertLess(self.peak(source, how, "-o", self.folder / "out", memory="8M"), allowed)
                piped = subprocess.Popen(["cat", source], stdout=subprocess.PIPE)
                arguments = ["-t", name.split(".")[1], "-", "-o", self.folder / "out"]
                self.assertLess(self.peak(*arguments, memory="8M", stdin=piped.stdout), allowed)
                piped.wait()
            source.unlink()

    def test_a_referee_has_a_part_of_what_is_allowed(self):
        source = self.generate("v.u64", "2^24", "uniform")  # 128 MiB, a copy of them, and as much to sort the copy
        arguments = [source, "--validate", "thrust", "-o", self.folder / "out"]
        little = subprocess.run(self.command(*arguments, memory="300M"), capture_output=True)
        if b"no thrust" in little.stderr:
            self.skipTest("this build has no Thrust")
        self.assertEqual(little.returncode, 2)
        self.assertIn(b"256.0 MiB to check that", little.stderr)
        self.assertLess(self.peak(*arguments, memory="480M"), 480 * MIB + 64 * MIB)
        # If the input is a pipe, its keys stay in memory beside that.
        arguments = ["-t", "u64", "-", "--validate", "thrust", "-o", self.folder / "out"]
        with subprocess.Popen(["cat", source], stdout=subprocess.PIPE) as piped:
            little = subprocess.run(self.command(*arguments, memory="440M"), capture_output=True, stdin=piped.stdout)
        self.assertEqual(little.returncode, 2)
        self.assertIn(b"but only 440.0 MiB is allowed, of which the stream itself takes 128.0 MiB", little.stderr)
        with subprocess.Popen(["cat", source], stdout=subprocess.PIPE) as piped:
            self.assertLess(self.peak(*arguments, memory="600M", stdin=piped.stdout), 600 * MIB + 64 * MIB)

    def test_bytes_from_a_pipe_are_counted_in_memory_that_does_not_grow(self):
        source = self.generate("long.u8", "2^27", "uniform")
        with subprocess.Popen(["cat", source], stdout=subprocess.PIPE) as piped:
            arguments = ["-t", "u8", "-", "--backend", "cpu", "-o", self.folder / "out.u8"]
            self.assertLess(self.peak(*arguments, memory="1G", stdin=piped.stdout), 64 * MIB)
        self.assertEqual((self.folder / "out.u8").stat().st_size, source.stat().st_size)
        output = self.checked(self.folder / "out.u8")
        self.assertTrue(output["sorted"])
        self.assertEqual(output["fingerprint"], self.checked(source)["fingerprint"])

    def test_a_merge_of_streams_takes_no_more_however_long_they_are(self):
        source = self.generate("long.u64", "2^24", "sorted")
        piped = subprocess.Popen(["cat", source], stdout=subprocess.PIPE)
        arguments = ["--merge", "-t", "u64", "-", source, "-o", self.folder / "out"]
        self.assertLess(self.peak(*arguments, memory="8M", stdin=piped.stdout), 8 * MIB + 64 * MIB)
        piped.wait()
        self.assertEqual((self.folder / "out").stat().st_size, 2 * source.stat().st_size)
        with open(source, "rb") as once, open(self.folder / "out", "rb") as twice:
            while part := once.read(MIB):
                keys, both = array.array("Q", part), array.array("Q", twice.read(2 * len(part)))
                self.assertTrue(both[::2] == keys and both[1::2] == keys)

    def test_little_address_space_is_enough_or_an_error(self):
        done = self.write_input()
        for megabytes in (24, 32, 48, 96, 400):
            limited = lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes * MIB, megabytes * MIB))
            sort = subprocess.run([SWEEPSORT, "sort", "-f", self.folder / "in.u64", "-o", self.folder / "out"],
                                  capture_output=True, preexec_fn=limited)
            if sort.returncode == 0:
                self.assertEqual((self.folder / "out").read_bytes(), done)
            else:
                self.assertIn(sort.returncode, (2, 127), sort.stderr)  # 127: not even the libraries could be loaded
        self.assertEqual(sort.returncode, 0)

    def test_threads_leave_address_space_to_the_sort(self):
        source = self.generate("in.u32", "8M", "uniform")

        def run(megabytes, *arguments):
            limited = lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes * MIB, megabytes * MIB))
            return subprocess.run([SWEEPSORT, *arguments], capture_output=True, preexec_fn=limited)

        program = next(megabytes for megabytes in range(4, 1000) if run(megabytes, "--version").returncode == 0)
        for more in range(24, 80, 14):
            sort = run(program + more, "sort", "-f", "--threads", "2", "-T", self.spill, source, "-o", self.folder / "out")
            self.assertEqual(sort.returncode, 0, f"{program} + {more} MiB: {sort.stderr}")

    def test_runs_of_few_values_leave_address_space_to_those_that_follow(self):
        source = self.generate("few.u64", "2^25", "few-1000")
        with open(source, "rb") as file:
            different = packed(sorted({*array.array("Q", file.read(MIB))}))  # its beginning has all of them
        limited = lambda: resource.setrlimit(resource.RLIMIT_AS, (300 * MIB, 300 * MIB))
        for arguments in (["-u", source], ["-u", "-t", "u64", "-"]):
            with open(source, "rb") as file:
                cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
                sort = subprocess.run([SWEEPSORT, "sort", "-f", "--threads", "2", "-T", self.spill, *arguments,
                                       "-o", self.folder / "out"],
                                      stdin=cat.stdout, capture_output=True, preexec_fn=limited)
                cat.stdout.close()
                cat.wait()
            self.assertEqual(sort.returncode, 0, sort.stderr)
            self.assertEqual((self.folder / "out").stat().st_size, 8000)
            self.assertEqual((self.folder / "out").read_bytes(), different)

    def test_a_stream_needs_no_more_address_space_than_there_is(self):
        source = self.generate("long.u64", "24M", "uniform")
        done = self.folder / "done"
        subprocess.run([SWEEPSORT, "sort", source, "-o", done], check=True)
        # With less memory, or with more threads, the C library's reservation for each thread would decide.
        for megabytes in (300, 400, 500, 600):
            limited = lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes * MIB, megabytes * MIB))
            with open(source, "rb") as file:
                cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
                sort = subprocess.run([SWEEPSORT, "sort", "-f", "-t", "u64", "--threads", "2", "-T", self.spill,
                                       "-", "-o", self.folder / "out"],
                                      stdin=cat.stdout, capture_output=True, preexec_fn=limited)
                cat.stdout.close()
                cat.wait()
            self.assertEqual(sort.returncode, 0, f"{megabytes} MiB: {sort.stderr}")
            self.assertTrue(filecmp.cmp(self.folder / "out", done, shallow=False))

    def test_more_than_2_to_the_32_keys_are_counted(self):
        source = self.folder / "zeros.u8"
        with open(source, "wb") as file:
            file.truncate(2**32 + 3)
            file.seek(2**32)
            file.write(b"\x07\x05\x01")
        tail = subprocess.run(f"'{SWEEPSORT}' sort -S 16M -t u8 -r '{source}' | head -c 5 | od -An -tu1", shell=True,
                              capture_output=True).stdout
        self.assertEqual(tail.split(), [b"7", b"5", b"1", b"0", b"0"])


if __name__ == "__main__":
    unittest.main()
