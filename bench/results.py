"""results.py - results files as cases: one input in one run, with sweepsort's row and those of its peers."""

import json
import pathlib

import measured

SORT_SCHEMA, FILES_SCHEMA = "sweepsort.bench/1", "sweepsort.files/1"
CASE_FIELDS = ["backend", "type", "distribution", "n", "order", "value_bytes"]
PEERS = ["cub", "thrust", "vqsort", "parallel", "std", "numpy"]
TYPES = list(measured.KEY_BYTES)
RUN_FIELDS = {"revision", "date", "cpu", "threads", "rows"}
ROW_FIELDS = {
    "backend",
    "type",
    "distribution",
    "n",
    "order",
    "value_bytes",
    "peer",
    "timing",
    "runs",
    "median_s",
    "min_s",
    "max_s",
    "keys_per_s",
    "verified",
}
PASS_ROW_FIELDS = {
    "backend",
    "type",
    "n",
    "peer",
    "timing",
    "cache",
    "median_s",
    "elements_per_s",
    "bytes_per_s",
    "verified",
}


class ReportError(Exception):
    """What is wrong with a result or a document; main prints it."""


class Case:
    """One case of one run: sweepsort's row, its peers' rows, and the run they come from."""

    def __init__(self, run: dict, fields: tuple):
        self.run, self.fields, self.rows = run, dict(zip(CASE_FIELDS, fields)), {}

    def matches(self, wanted: dict) -> bool:
        machine = wanted.get("machine")
        if machine and machine not in machine_of(self.run, self.fields["backend"]):
            return False
        if "timing" in wanted and self.rows["sweepsort"]["timing"] != wanted["timing"]:
            return False
        return all(
            str(self.fields[field]) == value for field, value in wanted.items() if field in CASE_FIELDS
        )


def machine_of(run: dict, backend: str) -> str:
    return run["gpu"] if backend == "cuda" else run["cpu"]


def is_sort(run: dict) -> bool:
    return run["schema"] == SORT_SCHEMA and run.get("command", "sort") == "sort"


def fields_needed(run: dict) -> set[str]:
    """The fields that every row must have."""
    if run["schema"] == FILES_SCHEMA:
        return {"program", "median_s", "bytes_s", "cpu_s", "peak_bytes", "verified"}
    return ROW_FIELDS if is_sort(run) else PASS_ROW_FIELDS


def load_results(folder: pathlib.Path) -> list[dict]:
    """Every results file, oldest first."""
    runs = []
    for path in sorted(folder.glob("*.json")):
        try:
            run = json.loads(path.read_text(encoding="utf-8"))
            if run.get("schema") not in (SORT_SCHEMA, FILES_SCHEMA):
                raise ReportError(f"{path}: unknown schema {run.get('schema')!r}")
            missing = RUN_FIELDS - run.keys()
            for row in run.get("rows", []):
                missing |= fields_needed(run) - row.keys()
        except (AttributeError, TypeError, ValueError) as error:
            raise ReportError(f"{path}: no results of a benchmark: {error}") from error
        if missing:
            raise ReportError(f"{path}: it, or a row, lacks {', '.join(sorted(missing))}")
        run["path"] = path
        runs.append(run)
    return sorted(runs, key=lambda run: run["date"])


def cases_of(runs: list[dict]) -> list[Case]:
    """Cases with sweepsort in them, oldest first, completed with peers that were measured separately."""
    cases, alone = [], {}
    for run in runs:
        if not is_sort(run):
            continue
        of_run = {}
        for row in run["rows"]:
            fields = tuple(row[field] for field in CASE_FIELDS)
            of_run.setdefault(fields, Case(run, fields)).rows[row["peer"]] = row
        for fields, case in of_run.items():
            if "sweepsort" in case.rows:
                cases.append(case)
            else:
                alone[(fields, machine_of(run, case.fields["backend"]))] = case
    for case in cases:
        key = (tuple(case.fields.values()), machine_of(case.run, case.fields["backend"]))
        if key in alone:
            case.rows = {**alone[key].rows, **case.rows}
    return cases


def select(cases: list[Case], axes: list[str], wanted: dict) -> list[Case]:
    newest = {}
    for case in cases:  # oldest first, so a later one replaces it
        if case.matches(wanted):
            newest[tuple(case.fields[axis] for axis in axes)] = case

    def rank(values):
        return tuple(
            TYPES.index(v) if axis == "type" else v if isinstance(v, int) else 0
            for axis, v in zip(axes, values)
        )

    return [newest[values] for values in sorted(newest, key=rank)]


def shown(field: str, value) -> str:
    if field == "n" and value > 1 and value & (value - 1) == 0:
        return f"2^{value.bit_length() - 1}"
    return f"{value:,}" if field == "n" else "" if value is None else str(value)
