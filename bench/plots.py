"""plots.py - curves and bars from measured cases. Needs matplotlib."""

import collections
import pathlib

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "sweepsort"  # the same figures give the same file
import matplotlib.pyplot as plot

from passes import PEERS as PASS_PEERS
from passes import Curves, PassCase, curves_of
from results import PEERS, Case, machine_of, select, shown

ENOUGH = 3  # fewer points make no curve


def save(figure, folder: pathlib.Path, name: str) -> pathlib.Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.svg"
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plot.close(figure)
    return path


def curves(cases: list[Case], title: str):
    """Throughput over n, one line per peer."""
    figure, axes = plot.subplots(figsize=(7, 4))
    for peer in ["sweepsort", *PEERS]:
        rows = [case.rows[peer] for case in cases if peer in case.rows]
        if rows:
            width = 2.5 if peer == "sweepsort" else 1.2
            points = ([row["n"] for row in rows], [row["keys_per_s"] * 1e-9 for row in rows])
            axes.plot(*points, marker="o", linewidth=width, label=peer)
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.set(xlabel="keys", ylabel="Gkeys/s", title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def bars(cases: list[Case], title: str):
    """One group of bars per distribution: sweepsort and the first of its peers."""
    peers = ["sweepsort", *[peer for peer in PEERS if any(peer in case.rows for case in cases)][:1]]
    figure, axes = plot.subplots(figsize=(7, 1.2 + 0.32 * len(cases)))
    height = 0.8 / len(peers)
    for index, peer in enumerate(peers):
        widths = [case.rows[peer]["keys_per_s"] * 1e-9 if peer in case.rows else 0 for case in cases]
        axes.barh([place + index * height for place in range(len(cases))], widths, height, label=peer)
    axes.set_yticks([place + height * (len(peers) - 1) / 2 for place in range(len(cases))])
    axes.set_yticklabels([case.fields["distribution"] for case in cases])
    axes.invert_yaxis()
    axes.set(xlabel="Gkeys/s", title=title)
    axes.legend()
    return figure


def draw_plots(cases: list[Case], folder: pathlib.Path) -> list[pathlib.Path]:
    """Curves and bars for each backend and type that was measured often enough."""
    paths = []
    for backend, key_type in sorted({(case.fields["backend"], case.fields["type"]) for case in cases}):
        wanted = {"backend": backend, "type": key_type, "order": "ascending", "value_bytes": "0"}
        fitting = [case for case in cases if case.matches(wanted)]
        if not fitting:
            continue
        # A plot shows one machine, the one that was measured last.
        machine = wanted["machine"] = machine_of(fitting[-1].run, backend)
        by_size = select(cases, ["n"], {**wanted, "distribution": "uniform"})
        if len(by_size) >= ENOUGH:
            figure = curves(by_size, f"{key_type}, uniform, {machine}")
            paths.append(save(figure, folder, f"throughput-{backend}-{key_type}"))
        # The size at which most distributions were measured.
        sizes = collections.Counter(
            n for n, _ in {(c.fields["n"], c.fields["distribution"]) for c in fitting}
        )
        size = max(sizes, key=lambda n: (sizes[n], n))
        by_distribution = select(cases, ["distribution"], {**wanted, "n": str(size)})
        if len(by_distribution) >= ENOUGH:
            figure = bars(by_distribution, f"{key_type}, {shown('n', size)} keys, {machine}")
            paths.append(save(figure, folder, f"distributions-{backend}-{key_type}"))
    return paths


def scan_curves(curves: Curves):
    """Bytes per second over n, one line per peer. Both axes are logarithmic, since a ladder spans several powers."""
    figure, axes = plot.subplots(figsize=(7, 4.5))
    for peer in PASS_PEERS:
        rows = [case.rows[peer] for case in curves.cases if peer in case.rows]
        if rows:
            first = peer == "lookback"
            points = ([row["n"] for row in rows], [row["bytes_per_s"] * 1e-9 for row in rows])
            dashed = "--" if peer in ("copy", "cub", "thrust", "std") else "-"
            axes.plot(*points, dashed, marker=".", linewidth=2.5 if first else 1.2, label=peer)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set(xlabel="elements", ylabel="GB/s (read + written)", title=curves.title)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return figure


def draw_scan_plots(cases: list[PassCase], folder: pathlib.Path) -> list[pathlib.Path]:
    return [save(scan_curves(curves), folder, curves.name) for curves in curves_of(cases)]
