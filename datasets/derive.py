#!/usr/bin/env python3
"""derive.py - makes the files in datasets/real again from what Debian packages.

usage: datasets/derive.py [--debs DIRECTORY] OUTPUT_DIRECTORY

The packages are fetched with `apt-get download` (nothing is installed), or taken as *.deb files from DIRECTORY. Other
versions of the packages make other files; datasets/README.md names the versions behind the committed ones.
"""

import argparse
import csv
import pathlib
import struct
import subprocess
import tempfile

PACKAGES = ["ieee-data", "unicode-data", "wamerican", "tzdata"]


def unpack(debs: pathlib.Path) -> pathlib.Path:
    root = debs / "root"
    for package in PACKAGES:
        found = sorted(debs.glob(f"{package}_*.deb"))
        if not found:
            subprocess.run(["apt-get", "download", "-q", package], cwd=debs, check=True)
            found = sorted(debs.glob(f"{package}_*.deb"))
        print("from", found[-1].name)
        subprocess.run(["dpkg-deb", "--extract", found[-1], root], check=True)
    return root / "usr/share"


def npy_header(descr: str, count: int) -> bytes:
    """Version 1.0 of numpy's format: the keys begin at a multiple of 64 bytes."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}"
    padding = -(10 + len(text) + 1) % 64
    text += " " * padding + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode("ascii")


def mac_blocks(share: pathlib.Path) -> list[int]:
    """The 24-bit prefixes of network cards' addresses, in the order of the registry."""
    with open(share / "ieee-data/oui.csv", encoding="utf-8", newline="") as file:
        return [int(row["Assignment"], 16) for row in csv.DictReader(file)]


def collation(share: pathlib.Path) -> list[tuple[int, int]]:
    """(code point, primary weight) of every single code point in the collation table, in the table's order."""
    pairs = []
    for line in open(share / "unicode/allkeys.txt", encoding="utf-8"):
        points, separator, elements = line.partition(";")
        if not separator or line.startswith(("@", "#")) or len(points.split()) != 1:
            continue
        weight = elements.split("[")[1][1:].split(".")[0]
        pairs.append((int(points, 16), int(weight, 16)))
    return pairs


def words(share: pathlib.Path) -> list[int]:
    """The first 8 bytes of every 8th word, the first letter on top: numbers in the order of the bytes."""
    lines = (share / "dict/american-english").read_bytes().split(b"\n")[:-1]
    return [int.from_bytes(word[:8].ljust(8, b"\0"), "big") for word in lines[::8]]


def transition_times(share: pathlib.Path) -> list[int]:
    """Seconds since 1970 (or before) at which clocks changed, zone after zone (RFC 8536, the 64-bit part)."""
    times = []
    for line in open(share / "zoneinfo/zone1970.tab", encoding="utf-8"):
        if line.startswith("#"):
            continue
        data = (share / "zoneinfo" / line.split("\t")[2].strip()).read_bytes()
        is_ut, is_standard, leaps, count, types, characters = struct.unpack(">6l", data[20:44])
        second = 44 + count * 5 + types * 6 + characters + leaps * 8 + is_standard + is_ut
        (count,) = struct.unpack(">l", data[second + 32 : second + 36])
        times += struct.unpack(f">{count}q", data[second + 44 : second + 44 + 8 * count])
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--debs", type=pathlib.Path, help="a directory that has the packages already")
    parser.add_argument("output", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        debs = pathlib.Path(scratch)
        if arguments.debs:
            for deb in arguments.debs.glob("*.deb"):
                (debs / deb.name).symlink_to(deb.resolve())
        share = unpack(debs)
        macs, table, packed, times = mac_blocks(share), collation(share), words(share), transition_times(share)
        # The licences require that their notices stay with the data.
        notices = {name: (share / "doc" / name / "copyright").read_bytes() for name in ("unicode-data", "wamerican")}

    def write(name: str, header: bytes, layout: str, keys: list[int]) -> None:
        data = header + struct.pack(f"{layout[0]}{len(keys)}{layout[1]}", *keys)
        (arguments.output / name).write_bytes(data)
        print(f"{name}: {len(keys)} keys, {len(data)} bytes")

    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, text in notices.items():
        (arguments.output / f"{name}.copyright").write_bytes(text)
    write("mac_blocks.u32", b"", "<I", macs)
    write("collation_order.npy", npy_header("<u4", len(table)), "<I", [point for point, _ in table])
    write("collation_weights.u16", b"", "<H", [weight for _, weight in sorted(table)])
    write("words_uint64", struct.pack("<Q", len(packed)), "<Q", packed)
    write("time_zone_transitions.npy", npy_header(">i8", len(times)), ">q", times)


if __name__ == "__main__":
    main()
