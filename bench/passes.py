"""passes.py - results of `sweepsort-bench scan` and `min`: cases, tables, and which curves they are enough for."""

import dataclasses

from results import TYPES, ReportError, machine_of, shown

COMMANDS = ["scan", "min"]
# In the order of the columns. The first peer that a case has is the one that the others are compared with.
PEERS = [
    "lookback",
    "single-pass",
    "shuffle",
    "blelloch-padded",
    "blelloch",
    "hillis-steele",
    "two-launch",
    "cub",
    "thrust",
    "copy",
    "read",
    "threads",
    "sequential",
    "std",
]
FIELDS = {
    "scan": ["backend", "type", "op", "kind", "n", "timing", "cache"],
    "min": ["backend", "type", "extreme", "index", "n", "timing", "cache"],
}
PRESETS = {
    "scan": {"backend": "cuda", "op": "sum", "kind": "inclusive"},
    "min": {"backend": "cuda", "extreme": "min"},
}
YARDSTICK = {"scan": "copy", "min": "read"}
ENOUGH = 3  # fewer points make no curve


class PassCase:
    """One array in one run, and the rows of all who passed over it. On a GPU, the CPU's rows may be among them."""

    def __init__(self, run: dict, rows: list[dict]):
        self.run, self.command = run, run["command"]
        self.rows = {row["peer"]: row for row in rows}
        self.ours = next((self.rows[peer] for peer in PEERS if peer in self.rows), rows[0])
        self.fields = {field: self.ours[field] for field in FIELDS[self.command]}
        if "index" in self.fields:
            self.fields["index"] = "with" if self.fields["index"] else "without"

    def matches(self, wanted: dict) -> bool:
        machine = wanted.get("machine")
        if machine and machine not in machine_of(self.run, self.fields["backend"]):
            return False
        if wanted.get("has", next(iter(self.rows))) not in self.rows:
            return False
        return all(str(self.fields[field]) == value for field, value in wanted.items() if field in self.fields)

    def share(self, row: dict) -> float:
        return row[YARDSTICK[self.command] + "_share"]


def pass_cases_of(runs: list[dict]) -> list[PassCase]:
    """Oldest first."""
    cases = []
    for run in runs:
        if run.get("command") not in COMMANDS:
            continue
        of_run = {}
        for row in run["rows"]:
            key = tuple(row[f] for f in FIELDS[run["command"]] if f not in ("backend", "timing", "cache"))
            of_run.setdefault(key, []).append(row)
        cases += [PassCase(run, rows) for rows in of_run.values()]
    return cases


def select_passes(cases: list[PassCase], command: str, axes: list[str], wanted: dict) -> list[PassCase]:
    """The newest case for each combination of the axes."""
    newest = {}
    for case in cases:
        if case.command == command and case.matches(wanted):
            newest[tuple(case.fields[axis] for axis in axes)] = case

    def rank(values):
        return tuple(
            TYPES.index(value) if axis == "type" else value if isinstance(value, int) else 0
            for axis, value in zip(axes, values)
        )

    return [newest[values] for values in sorted(newest, key=rank)]


def parse_pass(command: str, wanted: dict, axes: list[str]):
    """Checks the fields of a marker and adds the implied ones."""
    if command not in COMMANDS:
        raise ReportError(f"unknown command '{command}'")
    for field in [*wanted, *axes]:
        if field not in FIELDS[command] and field not in ("machine", "has", "peers", "peer"):
            raise ReportError(f"a table of {command}: unknown field '{field}'")
    for field, preset in PRESETS[command].items():
        if field not in axes:
            wanted.setdefault(field, preset)


def beside_each_other(chosen: list[PassCase], axes: list[str], peers: list[str], texts):
    """One row per case: ours in full, the others' times and how much longer they took. Returns header and body."""
    peers = [peer for peer in peers if any(peer in case.rows for case in chosen)]
    first = next(peer for peer in PEERS if peer in chosen[0].rows)
    yardstick = YARDSTICK[chosen[0].command]
    body = []
    for case in chosen:
        line = [shown(axis, case.fields[axis]) for axis in axes]
        line += [
            f"**{texts.time(case.ours)}**",
            texts.significant(case.ours["elements_per_s"] * 1e-9),
            f"{case.share(case.ours) * 100:.0f} %",
        ]
        for peer in peers:
            if peer == first:
                continue
            row = case.rows.get(peer)
            line.append(f"{texts.time(row)} ({row['median_s'] / case.ours['median_s']:.2f}×)" if row else "")
        body.append(line)
    others = [f"{peer}, ms" for peer in peers if peer != first]
    return [*axes, f"{first}, ms", "Gelements/s", f"of a {yardstick}", *others], body


def below_each_other(case: PassCase, texts):
    """One row for each of those who passed over one array, fastest first. Returns header and body."""
    rows = sorted(case.rows.values(), key=lambda row: row["median_s"])
    body = [
        [
            f"**{row['peer']}**" if row is case.ours else row["peer"],
            texts.time(row),
            texts.significant(row["elements_per_s"] * 1e-9),
            texts.significant(row["bytes_per_s"] * 1e-9),
            f"{case.share(row) * 100:.0f} %",
        ]
        for row in rows
    ]
    yardstick = YARDSTICK[case.command]
    return ["algorithm", "ms", "Gelements/s", "GB/s", f"of a {yardstick}"], body


@dataclasses.dataclass
class Curves:
    """A plot: one line per peer over n."""

    name: str
    title: str
    cases: list[PassCase]


def curves_of(cases: list[PassCase]) -> list[Curves]:
    """Scans of one type over n, all from one run: the run with most sizes, and the newest of equal ones."""
    found = []
    for timing, what in (("events", "from memory"), ("graph", "in the cache, without launch time")):
        for key_type in TYPES:
            wanted = {**PRESETS["scan"], "type": key_type, "timing": timing}
            by_run = {}
            for case in cases:
                if case.command == "scan" and case.matches(wanted):
                    by_run.setdefault(id(case.run), []).append(case)
            chosen = max(by_run.values(), key=lambda run: (len(run), run[0].run["date"]), default=[])
            if len(chosen) >= ENOUGH:
                title = f"inclusive sum of {key_type}, {what}, {machine_of(chosen[0].run, 'cuda')}"
                chosen = sorted(chosen, key=lambda case: case.fields["n"])
                found.append(Curves(f"scan-{timing}-cuda-{key_type}", title, chosen))
    return found
