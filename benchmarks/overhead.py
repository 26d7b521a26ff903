"""What the success path costs, against the budgets of the design: `make bench`.

Everything compared is measured in one run, taking turns. A row whose piece is not there is `missing`, never `ok`.
The exit code says whether every budget held.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from benchmarks import agents, calls, footprint, report
from benchmarks.rows import Row

GROUPS: tuple[Callable[[int], Iterator[Row]], ...] = (
    calls.breaker,
    calls.guard_sync,
    calls.guard_async,
    calls.validation,
    agents.middleware,
    footprint.memory,
    footprint.imports,
)


NOTE = """\
All of it runs on one core: over two, a bare hand-over to a worker takes 16 or 90 µs, as the scheduler likes.
Two budgets of the first design are ratios now. A time limit that holds costs a hand-over to a worker, or a task of its
own, and three of those alone, made barely in the same agent, are beyond the 100 µs it gave the middleware for a run of
two model calls and a tool; so the middleware is held to four times them (runs gave 2.4 to 3.4), and an async guard with
a limit to twice a bare task (it was 25 µs, of which that task alone takes 16 here).
"""


def measure(group: Callable[[int], Iterator[Row]], rounds: int) -> list[Row]:
    try:
        return list(group(rounds))
    except (ImportError, AttributeError, NotImplementedError) as error:
        what = str(error).split(" (", maxsplit=1)[0]  # an ImportError goes on with the path of the file
        return [Row(group.__name__.replace("_", ", "), note=f"{type(error).__name__}: {what}")]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead", description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=300, help="batches of each variant; more on a busy machine (default: 300)"
    )
    parser.add_argument(
        "--folder", type=Path, default=report.FOLDER, help="where RESULTS.md and results/ are (default: here)"
    )
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rows: list[Row] = []
    for number, group in enumerate(GROUPS, start=1):
        print(f"\r[{number}/{len(GROUPS)}] {group.__name__:<20}", end="", file=sys.stderr, flush=True)
        rows += measure(group, options.rounds)
    print(f"\r{'':<40}\r", end="", file=sys.stderr)
    text = report.table(("what", "measured", "at most", "", "how"), [row.cells() for row in rows]) + "\n\n" + NOTE
    print(text)
    data = {"rounds": options.rounds, "rows": [{**asdict(row), "verdict": row.verdict} for row in rows]}
    report.publish("overhead", "What the success path costs", text, data, folder=options.folder)
    return int(any(row.verdict in {"missing", "OVER"} for row in rows))


if __name__ == "__main__":
    sys.exit(main())
