"""What the success path costs, against budgets: the design's, and two of our own (`NOTE`). `make bench`.

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

from benchmarks import agents, calls, chains, footprint, report
from benchmarks.rows import Row

GROUPS: tuple[Callable[[int], Iterator[Row]], ...] = (
    calls.breaker,
    calls.guard_sync,
    calls.guard_async,
    calls.validation,
    agents.middleware,
    chains.chain,
    footprint.memory,
    footprint.imports,
)


NOTE = """\
Where the machine allows, all of it runs on one core: over two, what a hand-over to a worker takes is the scheduler's
choice, by a factor of five.

Two budgets are not the first design's, and were set after measuring. It gave an async guard with a limit 25 µs; it is
held to twice what a bare task takes in the same run. It gave the middleware 100 µs a run. That goal is not reached: the
bare limits alone take more, and so do our hooks without them; both are in the row. Four times the bare limits is a fence
against getting slower, no more.
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
