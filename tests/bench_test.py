#!/usr/bin/env python3
"""bench_test.py - sweepsort-bench on the CPU at small sizes, its JSON, and the report made from it.

Environment: SWEEPSORT_BENCH and SWEEPSORT, the programs.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))
import kernel_times  # noqa: E402
import launch_times  # noqa: E402

BENCH = os.environ["SWEEPSORT_BENCH"]
SWEEPSORT = os.environ["SWEEPSORT"]
TEXT, NUMBER = str, (int, float)
TOP_KEYS = {
    "schema": TEXT,
    "command": TEXT,
    "revision": TEXT,
    "date": TEXT,
    "backend": TEXT,
    "gpu": TEXT,
    "driver": TEXT,
    "cuda": TEXT,
    "cub": TEXT,
    "cpu": TEXT,
    "threads": int,
    "seed": int,
    "copy_bandwidth_bytes_s": NUMBER,
    "rows": list,
}
ROW_KEYS = {
    "backend": TEXT,
    "type": TEXT,
    "distribution": TEXT,
    "n": int,
    "order": TEXT,
    "value_bytes": int,
    "peer": TEXT,
    "detail": TEXT,
    "threads": int,
    "timing": TEXT,
    "batch": int,
    "runs": int,
    "median_s": NUMBER,
    "min_s": NUMBER,
    "max_s": NUMBER,
    "keys_per_s": NUMBER,
    "least_bytes": int,
    "copy_share": NUMBER,
    "verified": bool,
}
PASS_KEYS = {
    "backend": TEXT,
    "type": TEXT,
    "n": int,
    "peer": TEXT,
    "threads": int,
    "timing": TEXT,
    "cache": TEXT,
    "batch": int,
    "runs": int,
    "median_s": NUMBER,
    "min_s": NUMBER,
    "max_s": NUMBER,
    "elements_per_s": NUMBER,
    "least_bytes": int,
    "bytes_per_s": NUMBER,
    "verified": bool,
}
SCAN_KEYS = {**PASS_KEYS, "op": TEXT, "kind": TEXT, "copy_share": NUMBER}
MIN_KEYS = {**PASS_KEYS, "extreme": TEXT, "index": bool, "read_share": NUMBER}


def bench(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([BENCH, *words], capture_output=True, text=True)


def report(folder: pathlib.Path, *words: str) -> subprocess.CompletedProcess:
    command = [
        sys.executable,
        ROOT / "bench/report.py",
        "--results",
        folder,
        "--document",
        folder / "report.md",
        *words,
    ]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


class Temporary(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)

    def measure(self, *words: str, command: str = "sort") -> dict:
        """Runs the program on the CPU and returns its JSON."""
        path = self.folder / "measured.json"
        result = bench(command, "--backend", "cpu", "--repeat", "3", "--json", str(path), *words)
        self.assertEqual(0, result.returncode, result.stderr + result.stdout)
        self.assertIn("median(us)", result.stdout)
        return json.loads(path.read_text())


class Measuring(Temporary):
    def test_the_json_has_the_documented_keys_and_types(self):
        measured = self.measure(
            "--type", "u32,f32", "--size", "1000,2^10..2^11", "--seed", "7", "--revision", "r1"
        )
        self.assertEqual(TOP_KEYS.keys(), measured.keys())
        for key, kind in TOP_KEYS.items():
            self.assertIsInstance(measured[key], kind, key)
        self.assertEqual("sweepsort.bench/1", measured["schema"])
        self.assertEqual((7, "r1", "cpu"), (measured["seed"], measured["revision"], measured["backend"]))
        self.assertGreater(measured["copy_bandwidth_bytes_s"], 0)
        for row in measured["rows"]:
            self.assertEqual(ROW_KEYS.keys(), row.keys())
            for key, kind in ROW_KEYS.items():
                self.assertIsInstance(row[key], kind, key)
        cases = {(row["type"], row["n"]) for row in measured["rows"]}
        self.assertEqual({(t, n) for t in ("u32", "f32") for n in (1000, 1024, 2048)}, cases)

    def test_every_row_is_verified_and_its_figures_agree(self):
        for row in self.measure("--type", "u16,i64", "--size", "3000", "--order", "all")["rows"]:
            self.assertIs(True, row["verified"], row)
            self.assertEqual(3, row["runs"])
            self.assertTrue(0 < row["min_s"] <= row["median_s"] <= row["max_s"], row)
            self.assertAlmostEqual(1, row["keys_per_s"] * row["median_s"] / row["n"], places=6)

    def test_ours_comes_first_and_peers_stand_beside_it(self):
        rows = self.measure("--type", "u32", "--size", "3000")["rows"]
        self.assertEqual("sweepsort", rows[0]["peer"])
        self.assertIn("std", [row["peer"] for row in rows])
        alone = self.measure("--type", "u32", "--size", "3000", "--peer", "none")["rows"]
        self.assertEqual(["sweepsort"], [row["peer"] for row in alone])

    def test_peers_are_not_compared_with_ours_where_it_has_no_row(self):
        # Keys of 64 bits are not counted.
        words = ["-b", "cpu", "--algorithm", "counting", "-t", "u64", "-n", "3000", "-r", "1", "-p", "std"]
        self.assertRegex(bench("sort", *words).stdout, r" std .* - yes")

    def test_pairs_and_floats_with_nan_are_measured_and_right(self):
        rows = self.measure("--type", "u64", "--size", "5000", "--values", "4,8", "--distribution", "few-16")[
            "rows"
        ]
        self.assertEqual({4, 8}, {row["value_bytes"] for row in rows})
        rows = self.measure(
            "--type", "f32,f64", "--size", "5000", "--distribution", "float-specials", "--order", "all"
        )
        self.assertEqual({"f32", "f64"}, {row["type"] for row in rows["rows"]})

    def test_a_distribution_is_left_out_for_types_that_it_does_not_suit(self):
        rows = self.measure("--type", "u32,u64", "--size", "1000", "--distribution", "timestamps")["rows"]
        self.assertEqual({"u64"}, {row["type"] for row in rows})


class MeasuringPasses(Temporary):
    def check_keys(self, measured: dict, command: str, yardstick: str, row_keys: dict):
        head = {key: kind for key, kind in TOP_KEYS.items() if key != "copy_bandwidth_bytes_s"}
        head[yardstick] = NUMBER
        self.assertEqual(head.keys(), measured.keys())
        for key, kind in head.items():
            self.assertIsInstance(measured[key], kind, key)
        self.assertEqual(("sweepsort.bench/1", command), (measured["schema"], measured["command"]))
        self.assertGreater(measured[yardstick], 0)
        for row in measured["rows"]:
            self.assertEqual(row_keys.keys(), row.keys())
            for key, kind in row_keys.items():
                self.assertIsInstance(row[key], kind, key)

    def test_the_json_of_scan_and_min_has_the_documented_keys_and_types(self):
        scan = self.measure("--size", "5,1000", "--seed", "7", "--revision", "r1", command="scan")
        self.check_keys(scan, "scan", "copy_bandwidth_bytes_s", SCAN_KEYS)
        self.assertEqual((7, "r1"), (scan["seed"], scan["revision"]))
        search = self.measure("--size", "5,1000", "--cache", "warm", command="min")
        self.check_keys(search, "min", "read_bandwidth_bytes_s", MIN_KEYS)

    def test_every_scan_is_verified_and_its_figures_agree(self):
        options = ["--type", "all", "--size", "3000,70001", "--op", "all", "--kind", "all", "--cache", "warm"]
        rows = self.measure(*options, command="scan")["rows"]
        tasks = {(row["type"], row["op"], row["kind"]) for row in rows}
        self.assertEqual((8 * 4 + 2 * 3) * 2, len(tasks), "floats have no exclusive or")
        self.assertEqual({"threads", "sequential", "std"}, {row["peer"] for row in rows})
        for row in rows:
            self.assertIs(True, row["verified"], row)
            self.assertTrue(0 < row["min_s"] <= row["median_s"] <= row["max_s"], row)
            self.assertAlmostEqual(1, row["elements_per_s"] * row["median_s"] / row["n"], places=6)
            self.assertAlmostEqual(1, row["bytes_per_s"] * row["median_s"] / row["least_bytes"], places=6)

    def test_every_search_is_verified(self):
        options = ["--type", "all", "--size", "3000,70001", "--extreme", "all", "--cache", "warm"]
        rows = self.measure(*options, command="min")["rows"]
        tasks = {(row["type"], row["extreme"], row["index"]) for row in rows}
        self.assertEqual(10 * 2 * 2, len(tasks))
        self.assertEqual([], [row for row in rows if not row["verified"]])

    def test_only_what_was_asked_for_is_measured(self):
        rows = self.measure("-n", "100", "--algorithm", "sequential", "-p", "none", command="scan")["rows"]
        self.assertEqual(["sequential"], [row["peer"] for row in rows])
        options = ["-n", "100", "-t", "u32", "--index", "with", "-p", "std", "--cache", "warm"]
        rows = self.measure(*options, command="min")["rows"]
        self.assertEqual([("threads", True), ("std", True)], [(row["peer"], row["index"]) for row in rows])


class Refusing(Temporary):
    def test_scans_that_cannot_be_measured_are_refused_by_the_option_s_name(self):
        for words, text in (
            (["scan", "--algorithm", "hilis-steele"], "did you mean hillis-steele"),
            (["scan", "--op", "product"], "--op"),
            (["scan", "--op", "xor", "-t", "f32"], "xor is for integers"),
            (["scan", "--kind", "both"], "--kind"),
            (["scan", "--timing", "graph", "--cache", "cold"], "--cache"),
            (["scan", "--cache", "warm,cold"], "--cache takes one name"),
            (["scan", "--algorithm", "threads,lookback"], "'lookback' is none of --backend cpu"),
            (["min", "--algorithm", "two-launch"], "--algorithm"),
            (["min", "--index", "yes"], "--index"),
            (["min", "--extreme", "least"], "--extreme"),
            (["min", "stray"], "stray"),
        ):
            result = bench(words[0], "--backend", "cpu", *words[1:])
            self.assertEqual(2, result.returncode, words)
            self.assertIn(text, result.stderr)

    def test_what_cannot_be_measured_is_refused_with_exit_code_2_and_the_option_s_name(self):
        for words, text in (
            (["--type", "u33"], "u33"),
            (["--size", "2^10..2^9"], "--size"),
            (["--size", "0"], "--size"),
            (["--distribution", "unifrom"], "did you mean uniform"),
            (["--order", "up"], "--order"),
            (["--values", "3"], "--values"),
            (["--peer", "thurst"], "did you mean thrust"),
            (["--nonsense"], "nonsense"),
            (["--limit", "x"], "--limit"),
            (["--timing", "events,graph"], "--timing takes one name"),
            (["stray"], "stray"),
        ):
            result = bench("sort", "--backend", "cpu", *words)
            self.assertEqual(2, result.returncode, words)
            self.assertIn(text, result.stderr)
            self.assertEqual("", result.stdout)

    def test_an_unknown_command_is_refused_with_a_proposal(self):
        result = bench("sotr")
        self.assertEqual(2, result.returncode)
        self.assertIn("did you mean sort", result.stderr)

    def test_an_unwritable_json_file_is_an_error(self):
        result = bench(
            "sort", "--backend", "cpu", "--size", "100", "--json", str(self.folder / "none" / "x.json")
        )
        self.assertEqual(2, result.returncode)
        self.assertIn("x.json", result.stderr)


class Reporting(Temporary):
    TABLE = "Before.\n\n<!-- bench: rows=n backend=cpu type=u32 -->\nold\n<!-- /bench -->\n\nAfter.\n"

    def setUp(self):
        super().setUp()
        self.document = self.folder / "report.md"
        self.document.write_text(self.TABLE)

    def result(self, name: str, date: str, peers: dict, **more):
        """A results file of one u32 case with the given medians of the peers, in seconds."""
        rows = [
            {
                "backend": "cpu",
                "type": "u32",
                "distribution": "uniform",
                "n": 1 << 20,
                "order": "ascending",
                "value_bytes": 0,
                "peer": peer,
                "detail": "",
                "threads": 1,
                "timing": "clock",
                "batch": 1,
                "runs": 3,
                "median_s": median_s,
                "min_s": median_s,
                "max_s": median_s,
                "keys_per_s": (1 << 20) / median_s,
                "least_bytes": 8 << 20,
                "copy_share": 0.5,
                "verified": True,
                **more,
            }
            for peer, median_s in peers.items()
        ]
        (self.folder / name).write_text(
            json.dumps(
                {
                    "schema": "sweepsort.bench/1",
                    "command": "sort",
                    "revision": name,
                    "date": date,
                    "backend": "cpu",
                    "gpu": "",
                    "driver": "",
                    "cuda": "",
                    "cub": "",
                    "cpu": "Test CPU",
                    "threads": 2,
                    "seed": 1,
                    "copy_bandwidth_bytes_s": 1e9,
                    "rows": rows,
                }
            )
        )

    def made(self) -> str:
        result = report(self.folder, "--no-plots")
        self.assertEqual(0, result.returncode, result.stderr)
        return self.document.read_text()

    def test_a_measurement_ends_up_in_the_table_and_nothing_else_changes(self):
        median_s = self.measure("--type", "u32", "--size", "2^12", "--revision", "r77")["rows"][0]["median_s"]
        text = self.made()
        self.assertTrue(text.startswith("Before.\n") and text.endswith("\nAfter.\n"))
        self.assertIn("| 2^12 |", text)
        self.assertIn(f"**{median_s * 1e3:.3g}**", text)
        self.assertIn("revision r77", text)
        self.assertNotIn("old", text)
        self.assertEqual(text, self.made(), "a second run changes nothing")

    def test_a_peer_s_cell_holds_its_time_and_how_much_longer_it_took(self):
        self.result("a.json", "2026-01-01T00:00:00Z", {"sweepsort": 0.002, "std": 0.010})
        self.assertIn("| 2^20 | **2** | 0.524 | 50 % | 10 (5.00×) |", self.made())

    def test_the_newest_result_counts(self):
        self.result("b.json", "2026-01-01T00:00:00Z", {"sweepsort": 0.002})
        self.result("a.json", "2026-01-02T00:00:00Z", {"sweepsort": 0.001})
        text = self.made()
        self.assertIn("**1**", text)
        self.assertNotIn("**2**", text)

    def test_a_peer_measured_by_itself_joins_in(self):
        self.result("a.json", "2026-01-01T00:00:00Z", {"sweepsort": 0.002})
        self.result("b.json", "2026-01-02T00:00:00Z", {"numpy": 0.004})
        self.assertIn("4 (2.00×)", self.made())

    def test_a_wrong_result_is_shown_as_wrong(self):
        self.result("a.json", "2026-01-01T00:00:00Z", {"sweepsort": 0.002}, verified=False)
        self.assertIn("WRONG", self.made())

    def test_nothing_measured_is_said(self):
        self.assertIn("not measured yet", self.made())

    def test_check_fails_on_a_table_that_was_edited(self):
        self.result("a.json", "2026-01-01T00:00:00Z", {"sweepsort": 0.002})
        self.made()
        self.assertEqual(0, report(self.folder, "--check").returncode)
        self.document.write_text(self.document.read_text().replace("**2**", "**1**"))
        self.assertEqual(2, report(self.folder, "--check").returncode)

    def test_a_damaged_or_foreign_result_is_named(self):
        for text in (
            "{",
            '{"schema": "other/1", "rows": []}',
            "[]",
            '{"schema": "sweepsort.bench/1", "date": "", "rows": [{"n": 1}]}',
            '{"schema": "sweepsort.bench/1", "date": "", "rows": 1}',
            '{"schema": "sweepsort.files/1", "date": "", "rows": []}',
        ):
            (self.folder / "bad.json").write_text(text)
            result = report(self.folder)
            self.assertEqual(2, result.returncode)
            self.assertIn("bad.json", result.stderr)

    def scan_result(self, name: str, date: str, sizes: list[int], peers: dict):
        """A results file of inclusive sums of u32 on a GPU: the peers' seconds per element at each size."""
        rows = [
            {
                "backend": "cuda",
                "type": "u32",
                "op": "sum",
                "kind": "inclusive",
                "n": n,
                "peer": peer,
                "timing": "events",
                "cache": "cold",
                "median_s": n * element_s,
                "elements_per_s": 1 / element_s,
                "bytes_per_s": 8 / element_s,
                "copy_share": 0.5,
                "verified": True,
            }
            for n in sizes
            for peer, element_s in peers.items()
        ]
        head = {"schema": "sweepsort.bench/1", "command": "scan", "revision": name, "date": date}
        head |= {"gpu": "Test GPU", "driver": "1", "cuda": "13.0", "cub": "3.0", "cpu": "Test CPU", "threads": 2}
        (self.folder / name).write_text(json.dumps({**head, "copy_bandwidth_bytes_s": 1e9, "rows": rows}))

    def test_scans_stand_beside_each_other_or_below_each_other(self):
        self.scan_result("a.json", "2026-01-01T00:00:00Z", [1000], {"cub": 4e-6, "lookback": 2e-6})
        self.document.write_text("<!-- bench: command=scan rows=n -->\n<!-- /bench -->\n")
        self.assertIn("| 1,000 | **2** | 0.0005 | 50 % | 4 (2.00×) |", self.made())
        self.document.write_text("<!-- bench: command=scan rows=peer n=1000 -->\n<!-- /bench -->\n")
        text = self.made()
        self.assertIn("| **lookback** | 2 | 0.0005 | 0.004 | 50 % |", text)
        self.assertLess(text.index("lookback"), text.index("| cub"), "fastest first")

    def test_a_table_of_scans_can_demand_a_peer_and_leave_others_out(self):
        self.scan_result("a.json", "2026-01-01T00:00:00Z", [1000], {"lookback": 2e-6, "blelloch": 8e-6})
        self.scan_result("b.json", "2026-01-02T00:00:00Z", [1000], {"lookback": 1e-6, "copy": 1e-6})
        self.document.write_text("<!-- bench: command=scan rows=n has=blelloch -->\n<!-- /bench -->\n")
        self.assertIn("**2**", self.made())
        self.document.write_text("<!-- bench: command=scan rows=n peers=lookback -->\n<!-- /bench -->\n")
        text = self.made()
        self.assertIn("**1**", text)
        self.assertNotIn("copy, ms", text)

    def test_a_plot_is_shown_once_there_are_points_enough(self):
        self.document.write_text("<!-- plot: scan-events-cuda-u32 -->\n<!-- /plot -->\n")
        self.scan_result("a.json", "2026-01-01T00:00:00Z", [10, 100], {"lookback": 1e-6})
        self.assertIn("not measured yet", self.made())
        self.scan_result("a.json", "2026-01-01T00:00:00Z", [10, 100, 1000], {"lookback": 1e-6})
        self.assertIn("(plots/scan-events-cuda-u32.svg)", self.made())

    def test_an_unknown_field_of_a_scan_s_table_is_an_error(self):
        self.document.write_text("<!-- bench: command=scan rows=n distribution=zipf -->\n<!-- /bench -->\n")
        result = report(self.folder, "--no-plots")
        self.assertEqual(2, result.returncode)
        self.assertIn("distribution", result.stderr)

    def test_a_size_that_is_no_count_is_an_error(self):
        for size in ("many", "2^x", "1.5"):
            self.document.write_text(f"<!-- bench: rows=type n={size} -->\n<!-- /bench -->\n")
            result = report(self.folder, "--no-plots")
            self.assertEqual(2, result.returncode)
            self.assertIn(f"n={size}", result.stderr)

    def test_the_repository_s_own_results_and_documents_agree(self):
        result = subprocess.run(
            [sys.executable, str(ROOT / "bench/report.py"), "--check"], capture_output=True, text=True
        )
        self.assertEqual(0, result.returncode, result.stderr)


class Tables(Temporary):
    def test_a_measurement_that_fails_ends_them_and_is_not_put_apart(self):
        program = self.folder / "fails"
        program.write_text("""#!/bin/sh
for file; do :; done
echo '{"revision": "r1", "rows": []}' > "$file"
case $file in *floats*) exit 1;; esac
""")
        program.chmod(0o755)
        command = ["bash", ROOT / "bench/tables", program, self.folder, "card"]
        self.assertNotEqual(0, subprocess.run(list(map(str, command))).returncode)
        self.assertEqual([], list((self.folder / "apart").iterdir()))


class WholeFiles(Temporary):
    def files(self, *arguments: object, sweepsort: object = SWEEPSORT) -> subprocess.CompletedProcess:
        command = [ROOT / "bench/files.py", "--sweepsort", sweepsort, "--dir", self.folder, *arguments]
        return subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True)

    def test_the_program_that_is_measured_is_not_built(self):
        result = self.files(sweepsort=self.folder / "nowhere")
        self.assertEqual(2, result.returncode)
        self.assertIn("there is no program", result.stderr)
        self.assertIn("cmake --build", result.stderr)

    def test_turns_of_programs_whose_outputs_agree_with_each_other_and_with_sorted_text(self):
        path = self.folder / "files.json"
        programs = ["cp", "sweepsort", "external", "sort-n"]
        arguments = ["--type", "i16", "--count", "2000", "--runs", "2", "--memory", "64K", "--json", path]
        result = self.files(*arguments, "--programs", ",".join(programs))
        self.assertEqual(0, result.returncode, result.stderr)
        report = json.loads(path.read_text())
        self.assertEqual(4000, report["bytes"])
        self.assertEqual(programs, [row["program"] for row in report["rows"]])
        self.assertEqual([2, 2, 2, 1], [row["runs"] for row in report["rows"]])
        self.assertTrue(all(row["verified"] for row in report["rows"]))
        self.assertEqual([path], list(self.folder.iterdir()))

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "no numpy")
    def test_floats_that_numpy_sorts_need_only_have_equal_values(self):
        arguments = ["--type", "f32", "--count", "3000", "--distribution", "float-specials", "--runs", "1"]
        result = self.files(*arguments, "--programs", "cp,sweepsort,numpy,unique")
        self.assertEqual(0, result.returncode, result.stdout)

    def test_an_output_that_is_not_the_input_sorted_is_told(self):
        fraud = self.folder / "fraud"
        fraud.write_text(f"""#!/bin/sh
{SWEEPSORT} "$@" || exit
for output; do :; done
case "$1:$output" in sort:*sorted-by-sweepsort) head -c 400 /dev/zero > "$output";; esac
""")
        fraud.chmod(0o755)
        result = self.files("--count", "100", "--runs", "1", "--programs", "cp,sweepsort,sort-n", sweepsort=fraud)
        self.assertEqual(1, result.returncode, result.stderr)
        self.assertRegex(result.stdout, "sort-n .* WRONG")

    def test_what_sort_n_cannot_do(self):
        for arguments, code, message in (
            (["--type", "f32", "--programs", "sweepsort,sort-n"], 2, "integers alone"),
            (["--programs", "cp,sort-n"], 1, "compared with another"),
            (["--python", "/bin/false", "--programs", "sort-n,numpy"], 1, "compared with another"),
            (["--programs", "external"], 2, "needs --memory"),
            (["--runs", "0"], 2, "--runs: at least 1"),
        ):
            result = self.files("--count", "10", *arguments)
            self.assertEqual(code, result.returncode, arguments)
            self.assertIn(message, result.stderr)


class Profiling(unittest.TestCase):
    HEAD = "ID,Kernel Name,Grid Size,Metric Name,Metric Unit,Metric Value".split(",")
    LAUNCHES = (
        "void sweepsort::bench::<unnamed>::fill_kernel<unsigned int>(T1 *)",
        "void sweepsort::digest_detail::digest_kernel<unsigned int>(Task<T1>)",  # a run to warm up
        "void sweepsort::bench::<unnamed>::compare_kernel<unsigned int>(T1 *)",
        "void sweepsort::digest_detail::digest_kernel<unsigned int>(Task<T1>)",
        "void sweepsort::onesweep_detail::onesweep_kernel<unsigned int>(Task<T1>)",
        "void sweepsort::bench::<unnamed>::compare_kernel<unsigned int>(T1 *)",
    )

    def test_the_last_run_s_kernels_are_read_from_what_ncu_prints(self):
        lines = [self.HEAD] + [
            [str(number), kernel, "(132, 1, 1)", metric, unit, value]
            for number, kernel in enumerate(self.LAUNCHES)
            for metric, unit, value in (
                ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "%", "87.50"),
                ("gpu__time_duration.sum", "us", f"{1000 + number:,}.5"),
            )
        ]
        text = "==PROF== Connected\n" + "\n".join(",".join(f'"{cell}"' for cell in line) for line in lines)
        run = kernel_times.last_run(kernel_times.kernels_of(text))
        self.assertEqual(["digest_kernel", "onesweep_kernel"], [kernel_times.short_name(r["kernel"]) for r in run])
        self.assertEqual([132, 132], [r["blocks"] for r in run])
        self.assertAlmostEqual(1.0035e-3, run[0]["time_s"])
        self.assertEqual(87.5, run[1]["dram_percent"])

    def test_launches_in_a_row_are_told_with_their_gaps_and_short_ones_summed_up(self):
        lines = [f"{10_000 * number}\t{10_000 * number + length}\t{0 if 'bench' in kernel else 3}\t132\t{kernel}"
                 for number, (kernel, length) in enumerate(zip(self.LAUNCHES, (500, 600, 700, 9_000, 1_500, 800)))]
        lines.insert(3, "25000\t26000\t0\t0\tmemset")  # the bench's own
        run = kernel_times.last_run(launch_times.launches_of("\n".join(lines)))
        self.assertEqual(run, launch_times.last_of(run + run))
        self.assertEqual([], launch_times.last_of([]))
        table = launch_times.table_of(run, 3e-6)
        self.assertEqual(2, len(table))
        self.assertRegex(table[0], r"digest_kernel +132 blocks +9\.0 us")
        self.assertRegex(table[1], r"1 shorter ones +1\.5 us")
        self.assertRegex(launch_times.table_of(run, 0)[1], r"onesweep_kernel +132 blocks +1\.5 us, behind a gap of +1\.0$")


if __name__ == "__main__":
    unittest.main()
