"""Twenty bad days of the demo's shop, three agents: what the customers got. `python -m benchmarks.demo`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import report

COUNTS = ("answered", "partial", "failed", "wrong", "lost_writes", "double_writes", "backend_calls")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.demo", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="days (default: 20)")
    parser.add_argument("--folder", type=Path, default=report.FOLDER, help="where RESULTS.md is (default: here)")
    options = parser.parse_args()
    days = run(options.seeds)
    sums = {
        agent: {name: sum(day[agent][name] for day in days.values()) for name in COUNTS}
        for agent in ("plain", "langchain", "degraded")
    }
    text = report.table(
        ("", *COUNTS), [(agent, *(str(count) for count in counts.values())) for agent, counts in sums.items()]
    )
    print(text)
    title = f"The demo's shop, {options.seeds} bad days of twelve conversations"
    report.publish("demo", title, text, {"seeds": options.seeds, "sums": sums, "days": days}, folder=options.folder)
    bad = sums["degraded"]
    return int(any(bad[name] for name in ("failed", "wrong", "lost_writes", "double_writes")))


def run(seeds: int) -> dict[str, Any]:
    """Run the demo itself, as `make demo` does, on every day."""
    with tempfile.TemporaryDirectory() as folder:
        numbers, page = Path(folder) / "days.json", Path(folder) / "days.html"
        command = [
            "-m",
            "examples.customer_service",
            "--seeds",
            str(seeds),
            "--json",
            str(numbers),
            "--html",
            str(page),
        ]
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
        days: dict[str, Any] = json.loads(numbers.read_text("utf-8"))
        return days


if __name__ == "__main__":
    sys.exit(main())
