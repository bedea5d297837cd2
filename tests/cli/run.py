#!/usr/bin/env python3
"""run.py - golden tests of the command line.

A *.test file is text with commands in it, indented by two spaces:

    Whatever stands at the left margin is comment.

      $ sweepsort check -t u8 data
      file         data
      2| what the command wrote to standard error
      [1]

`  $ ` starts a command of the POSIX shell, `  > ` continues it. What follows is expected: standard output,
then standard error (`  2| `), then the exit code if it is not 0. An empty line is written `  ~`. A line that
ends in ` (glob)` may hold * and ?. All commands of a file run in one new directory. `needs: no-gpu` at the
margin skips the file where a GPU is usable.
Times, rates and the directory's name are replaced before the comparison, see `steady`.

    run.py --sweepsort build/release/bin/sweepsort             compare (all files, or those named)
    run.py --sweepsort build/release/bin/sweepsort --rewrite   write down what happens instead
"""

import argparse
import difflib
import fnmatch
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
EMPTY = "~"
SECONDS_A_COMMAND = 60

VOLATILE = [
    # "  12.3 ms" -> " TIME": with the blanks before it, because columns are aligned to the right
    (re.compile(r" *\b\d+(\.\d+)? (s|ms|us)\b"), " TIME"),
    (re.compile(r"(\d+\.\d+ [kMGT]?(B|keys)/s)"), "RATE"),
    (re.compile(r'("[a-z_]*(_s|_share|spread)": )[-+.e0-9]+'), r"\1NUMBER"),
]


class Case:
    """One command with the lines that are expected after it."""

    def __init__(self, command_lines):
        self.command_lines = command_lines
        self.expected = []

    def script(self):
        return "\n".join(line[4:] for line in self.command_lines)


def parse(text):
    """A list of comment lines (str) and cases, in the file's order."""
    parts = []
    for line in text.splitlines():
        current = parts[-1] if parts and isinstance(parts[-1], Case) else None
        if line.startswith("  $ "):
            parts.append(Case([line]))
        elif line.startswith("  > ") and current and not current.expected:
            current.command_lines.append(line)
        elif line.startswith("  ") and current:
            current.expected.append(line)
        else:
            parts.append(line)
    return parts


def steady(text, directory):
    """`text` without what differs between two runs."""
    text = text.replace(os.path.realpath(directory), "$DIRECTORY").replace(directory, "$DIRECTORY")
    for pattern, replacement in VOLATILE:
        text = pattern.sub(replacement, text)
    return text


def run(case, directory, environment):
    """The lines that the command really gives."""
    process = subprocess.Popen(["sh", "-c", case.script()], cwd=directory, env=environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    try:
        stdout, stderr = process.communicate(timeout=SECONDS_A_COMMAND)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return ["  [timed out]"]
    lines = []
    for mark, stream in (("  ", stdout), ("  2| ", stderr)):
        text = steady(stream.decode("utf-8", "backslashreplace"), directory)
        lines += [mark + (line.rstrip() or EMPTY) for line in text.split("\n")]
        if not text or text.endswith("\n"):
            lines.pop()
    if process.returncode != 0:
        lines.append(f"  [{process.returncode}]")
    return lines


def matches(expected, actual):
    if expected.endswith(" (glob)"):
        return fnmatch.fnmatchcase(actual, expected[: -len(" (glob)")].replace("[", "[[]"))
    return expected == actual


def merged(expected, actual):
    """The actual lines, but expected globs that match stay globs."""
    if len(expected) != len(actual):
        return actual
    return [e if matches(e, a) else a for e, a in zip(expected, actual)]


def run_file(path, environment, rewrite):
    """Number of cases that differ."""
    parts = parse(path.read_text())
    failures = 0
    output = []
    with tempfile.TemporaryDirectory(prefix="sweepsort-cli-") as directory:
        for part in parts:
            if isinstance(part, str):
                output.append(part)
                continue
            actual = merged(part.expected, run(part, directory, environment))
            output += part.command_lines + actual
            if actual != part.expected:
                failures += 1
                if not rewrite:
                    print(f"{path}: differs:")
                    print("\n".join(part.command_lines))
                    print("\n".join(list(difflib.unified_diff(part.expected, actual, "expected", "actual",
                                                              lineterm=""))[2:]))
    if rewrite and failures:
        path.write_text("\n".join(output) + "\n")
        print(f"{path}: {failures} rewritten")
        return 0
    return failures


def gpu_is_usable(sweepsort):
    report = json.loads(subprocess.run([sweepsort, "info", "--json"], check=True, capture_output=True).stdout)
    return any(backend["usable"] and backend["name"].startswith("cuda") for backend in report["backends"])


def main():
    parser = argparse.ArgumentParser(description="golden tests of the command line")
    parser.add_argument("--sweepsort", required=True, type=pathlib.Path)
    parser.add_argument("--rewrite", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    sweepsort = options.sweepsort.resolve(strict=True)

    environment = {key: value for key, value in os.environ.items() if not key.startswith("SWEEPSORT_")}
    environment.pop("TMPDIR", None)
    environment["PATH"] = os.pathsep.join([str(sweepsort.parent), str(HERE / "tools"), environment["PATH"]])
    environment["LC_ALL"] = "C"
    environment["PYTHONDONTWRITEBYTECODE"] = "1"

    failures = skipped = 0
    files = options.files or sorted(HERE.glob("*.test"))
    for path in files:
        if re.search(r"^needs: no-gpu$", path.read_text(), re.MULTILINE) and gpu_is_usable(str(sweepsort)):
            print(f"{path}: skipped: a GPU is usable here")
            skipped += 1
            continue
        failures += run_file(path, environment, options.rewrite)
    print(f"{len(files)} files, {failures} commands differ, {skipped} files skipped")
    return 1 if failures else SKIPPED if skipped == len(files) else 0


if __name__ == "__main__":
    sys.exit(main())
