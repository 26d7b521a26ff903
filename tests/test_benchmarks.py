"""The benchmarks run, and what they write is theirs alone and says nothing about whose machine it was."""

from __future__ import annotations

import getpass
import json
import platform
import subprocess
import sys
from pathlib import Path

from benchmarks import report


def test_a_benchmark_replaces_its_own_part_and_no_other(tmp_path: Path):
    for name, text in (("first", "old"), ("second", "kept"), ("first", "new")):
        report.publish(name, name.title(), text, {}, folder=tmp_path)
    results = (tmp_path / "RESULTS.md").read_text("utf-8")
    assert results.index("new") < results.index("kept")
    assert "old" not in results


def test_results_say_when_on_what_and_with_which_versions(tmp_path: Path):
    path = report.publish("first", "First", "", {"rows": [1]}, folder=tmp_path)
    written = json.loads(path.read_text("utf-8"))
    assert written["rows"] == [1]
    assert {"date", "machine", "versions"} <= written.keys()
    assert written["versions"]["langgraph"] in (tmp_path / "RESULTS.md").read_text("utf-8")


def test_results_do_not_say_whose_machine_it_was(tmp_path: Path):
    report.publish("first", "First", "", {}, folder=tmp_path)
    text = "".join(path.read_text("utf-8") for path in tmp_path.rglob("*.*"))
    assert not [word for word in (platform.node(), str(tmp_path), f"/{getpass.getuser()}") if word in text]


def test_every_budget_of_the_success_path_is_measured(tmp_path: Path):
    """Measured only: a budget is judged by `make bench`, on a machine that does nothing else."""
    command = [sys.executable, "-m", "benchmarks.overhead", "--rounds", "2", "--folder", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    rows = json.loads((tmp_path / "results" / "overhead.json").read_text("utf-8"))["rows"]
    assert [row["note"] for row in rows if row["verdict"] == "missing"] == [], done.stderr
    assert len([row for row in rows if row["budget"] is not None]) == 12
