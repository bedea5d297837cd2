#!/usr/bin/env python3
"""report.py - fills the tables of a Markdown document, and draws its plots, from results/*.json.

A table stands between two comments; the first says what it shows:

    <!-- bench: rows=type backend=cuda n=2^28 distribution=uniform -->
    <!-- /bench -->

rows=FIELD[,FIELD] names what differs from row to row; every other field is fixed: backend, type, distribution
(uniform), n, order (ascending), value_bytes (0), timing (any), machine (a part of the GPU's or processor's name).
rows=...,program makes a table of files.py's results, with type, distribution, n, cache, backend, memory and gpu_memory
(the budgets of `external`), machine and threads (of the machine) as fields.
command=scan and command=min make tables of those commands' results, with the fields of passes.py; rows=peer compares
all who passed over one array; peers=NAME[,NAME] leaves out other columns, has=NAME cases that NAME is not in.
Where several results match a row, the newest counts. What stands beside sweepsort in a row comes from the same
run, but for peers that sweepsort-bench does not have (numpy): theirs is the newest run on the same processor.

With matplotlib, plots go to docs/plots: throughput over n for each type, a bar for each distribution, curves of the
scans. `<!-- plot: NAME -->` and `<!-- /plot -->` hold one of the latter, once there are results for it.
"""

import argparse
import pathlib
import re
import sys

import measured
from passes import PEERS as PASS_PEERS
from passes import (
    Curves,
    below_each_other,
    beside_each_other,
    curves_of,
    parse_pass,
    pass_cases_of,
    select_passes,
)
from results import (
    CASE_FIELDS,
    FILES_SCHEMA,
    PEERS,
    Case,
    ReportError,
    cases_of,
    load_results,
    machine_of,
    select,
    shown,
)

FILE_FIELDS = ["type", "distribution", "n", "cache", "backend", "memory", "gpu_memory"]
PRESETS = {"order": "ascending", "value_bytes": "0", "distribution": "uniform"}
DOCUMENTS = [measured.ROOT / "docs" / name for name in ("performance.md", "scans.md", "files.md")]
PLOTTED = re.compile(r"(<!-- plot: (?P<name>[^\n]*?) -->\n).*?(<!-- /plot -->)", re.DOTALL)
MARKED = re.compile(r"(<!-- bench: (?P<what>[^\n]*?) -->\n).*?(<!-- /bench -->)", re.DOTALL)


def parse_what(text: str) -> tuple[list[str], dict]:
    """ "rows=type n=2^28" -> (["type"], {"n": "268435456"})."""
    wanted = {}
    for word in text.split():
        field, equals, value = word.partition("=")
        if not equals:
            raise ReportError(f"'{word}' in '{text}': expected FIELD=VALUE")
        try:
            wanted[field] = str(measured.parse_count(value)) if field == "n" else value
        except ValueError as error:
            raise ReportError(f"'{text}': {error}") from error
    if "rows" not in wanted:
        raise ReportError(f"'{text}': no rows=")
    axes = wanted.pop("rows").split(",")
    if "command" in wanted:
        return axes, wanted
    known = {*CASE_FIELDS, *FILE_FIELDS, "timing", "machine", "threads"}
    for field in [*wanted, *axes]:
        if field not in known and field != "program":
            raise ReportError(f"'{text}': unknown field '{field}'")
    for field, preset in PRESETS.items():
        if field not in axes:
            wanted.setdefault(field, preset)
    return axes, wanted


def significant(value: float) -> str:
    """Three significant digits: 0.0112, 2.64, 16.3, 1234."""
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def time_cell(row: dict) -> str:
    return significant(row["median_s"] * 1e3) + ("" if row["verified"] else " WRONG")


def markdown(header: list[str], body: list[list[str]]) -> str:
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *body]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def provenance(runs: list[dict], backend: str) -> str:
    """Where the figures come from, one line per run."""
    lines = []
    for run in runs:
        facts = [machine_of(run, backend)]
        if backend == "cuda":
            facts += [f"driver {run['driver']}", f"CUDA {run['cuda']}", f"CUB {run['cub']}"]
        else:
            facts.append(f"{run['threads']} threads")
        for bandwidth, what in (("copy_bandwidth_bytes_s", "copies"), ("read_bandwidth_bytes_s", "reads")):
            if run.get(bandwidth):
                facts.append(f"{what} at {run[bandwidth] * 1e-9:.4g} GB/s")
        if run.get("load", 0) > run.get("threads", 1):
            facts.append(f"shared with other work (load {run['load']:.1f})")
        facts += [f"revision {run['revision']}", run["date"][:10], f"`{run['path'].name}`"]
        lines.append("*" + ", ".join(facts) + "*")
    return "\n" + "<br>\n".join(lines) + "\n"


def sort_table(cases: list[Case], axes: list[str], wanted: dict) -> str:
    chosen = select(cases, axes, wanted)
    if not chosen:
        return "*not measured yet*\n"
    peers = [peer for peer in PEERS if any(peer in case.rows for case in chosen)]
    body = []
    for case in chosen:
        ours = case.rows["sweepsort"]
        share = f"{ours['copy_share'] * 100:.0f} %" if ours.get("copy_share") else "-"
        line = [shown(axis, case.fields[axis]) for axis in axes]
        line += [f"**{time_cell(ours)}**", significant(ours["keys_per_s"] * 1e-9), share]
        for peer in peers:
            row = case.rows.get(peer)
            line.append(f"{time_cell(row)} ({row['median_s'] / ours['median_s']:.2f}×)" if row else "")
        body.append(line)
    runs = list({id(case.run): case.run for case in chosen}.values())
    header = [*axes, "sweepsort, ms", "Gkeys/s", "of a copy", *(f"{peer}, ms" for peer in peers)]
    return markdown(header, body) + provenance(runs, chosen[0].fields["backend"])


def files_table(runs: list[dict], axes: list[str], wanted: dict) -> str:
    fields = [axis for axis in axes if axis != "program"]
    newest = {}
    for run in runs:
        fits = run["schema"] == FILES_SCHEMA and wanted.get("machine", "") in run["cpu"]
        fits = fits and wanted.get("threads", str(run["threads"])) == str(run["threads"])
        fits &= "memory" in {*axes, *wanted} or not run.get("memory")
        if fits and all(str(run.get(field)) == value for field, value in wanted.items() if field in FILE_FIELDS):
            newest[tuple(run.get(field) for field in fields)] = run
    if not newest:
        return "*not measured yet*\n"
    body = []
    for run in newest.values():
        times = {row["program"]: row["median_s"] for row in run["rows"]}
        for row in run["rows"]:
            ratio = f"{row['median_s'] / times['cp']:.2f}" if "cp" in times else "-"
            body.append(
                [
                    *(shown(field, run.get(field)) for field in fields),
                    row["program"],
                    significant(row["median_s"]) + ("" if row["verified"] else " WRONG"),
                    significant(row["bytes_s"] * 1e-9),
                    ratio,
                    significant(row["cpu_s"]),
                    f"{row['peak_bytes'] / 2**20:.0f}",
                ]
            )
    header = [*fields, "program", "s", "GB/s", "× cp", "CPU s", "peak MiB"]
    return markdown(header, body) + provenance(list(newest.values()), "cpu")


class Texts:
    """How passes.py must write figures."""

    time = staticmethod(time_cell)
    significant = staticmethod(significant)


def pass_table(runs: list[dict], axes: list[str], wanted: dict) -> str:
    command = wanted.pop("command")
    parse_pass(command, wanted, axes)
    by_peer = axes == ["peer"]
    chosen = select_passes(pass_cases_of(runs), command, [] if by_peer else axes, wanted)
    if not chosen:
        return "*not measured yet*\n"
    peers = wanted["peers"].split(",") if "peers" in wanted else PASS_PEERS
    if by_peer:
        header, body = below_each_other(chosen[0], Texts)
    else:
        header, body = beside_each_other(chosen, axes, peers, Texts)
    sources = list({id(case.run): case.run for case in chosen}.values())
    return markdown(header, body) + provenance(sources, chosen[0].fields["backend"])


def filled(document: str, runs: list[dict]) -> str:
    cases = cases_of(runs)
    curves = {curve.name: curve for curve in curves_of(pass_cases_of(runs))}

    def table(match: re.Match) -> str:
        axes, wanted = parse_what(match["what"])
        if "command" in wanted:
            text = pass_table(runs, axes, wanted)
        elif "program" in axes:
            text = files_table(runs, axes, wanted)
        else:
            text = sort_table(cases, axes, wanted)
        return f"{match[1]}\n{text}\n{match[3]}"

    def plot(match: re.Match) -> str:
        curve: Curves | None = curves.get(match["name"])
        text = f"![{curve.title}](plots/{curve.name}.svg)" if curve else "*not measured yet*"
        return f"{match[1]}\n{text}\n\n{match[3]}"

    return PLOTTED.sub(plot, MARKED.sub(table, document))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=pathlib.Path, default=measured.ROOT / "bench/results")
    parser.add_argument(
        "--document", type=pathlib.Path, help="default: " + " and ".join(str(path.name) for path in DOCUMENTS)
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail if the tables are not up to date"
    )
    parser.add_argument("--no-plots", action="store_true", help="tables alone")
    return parser.parse_args()


def update(document: pathlib.Path, runs: list[dict], check: bool):
    old = document.read_text(encoding="utf-8")
    new = filled(old, runs)
    if check and new != old:
        raise ReportError(f"{document}: the tables do not show the newest results; run bench/report.py")
    if new != old:
        document.write_text(new, encoding="utf-8")
    if not check:
        print(f"{document}: {len(MARKED.findall(new))} tables from {len(runs)} results")


def main() -> int:
    arguments = parse_arguments()
    documents = [arguments.document] if arguments.document else DOCUMENTS
    try:
        runs = load_results(arguments.results)
        for document in documents:
            update(document, runs, arguments.check)
        if not arguments.check and not arguments.no_plots:
            from plots import draw_plots, draw_scan_plots  # here, since matplotlib may be missing

            folder = documents[0].parent / "plots"
            for path in draw_plots(cases_of(runs), folder) + draw_scan_plots(pass_cases_of(runs), folder):
                print(path)
    except ImportError:
        print("no matplotlib: tables alone")
    except (ReportError, OSError) as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
