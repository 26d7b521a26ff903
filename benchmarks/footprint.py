"""What the package takes while nothing is wrong: memory, and the time to import it."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from contextvars import copy_context
from statistics import median

from benchmarks.calls import answer
from benchmarks.rows import Row
from benchmarks.timing import times

MANY = 500
"""Targets, and requests, kept at once to measure one."""


def memory(_rounds: int) -> Iterator[Row]:
    from langgraph_degrade import Degrader

    degrader = Degrader()
    guarded = degrader.guard("first")(answer)
    guarded()

    def idle_target(number: int) -> object:
        target = degrader.guard(f"target {number}")(answer)
        return target, target()

    yield Row("memory per idle target", kept(idle_target), "KB", 8, "after one call")
    with ExitStack() as requests:

        def live_request(_: int) -> object:
            context, request = copy_context(), ExitStack()
            context.run(request.enter_context, degrader.scope())
            requests.callback(context.run, request.close)
            return context.run(guarded)

        yield Row("memory per live request", kept(live_request), "KB", 4, "after one call in it")


def imports(rounds: int) -> Iterator[Row]:
    from langgraph_degrade import Degrader  # noqa: F401 (missing is missing, not fast)

    code = "import time; begin = time.perf_counter(); {}; print(time.perf_counter() - begin)"
    ours, theirs = "from langgraph_degrade import Degrader", "import langgraph.graph"
    taken: dict[str, list[float]] = {theirs: [], ours: []}
    for _ in range(max(1, rounds // 30)):
        for statement, seconds in taken.items():
            command = [sys.executable, "-c", code.format(statement)]
            seconds.append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    note = f"of `{theirs}` ({median(taken[theirs]) * 1e3:.0f} ms)"
    yield Row(f"`{ours}`", times(taken, ours, theirs), "×", 1.3, note)


def kept(make: Callable[[int], object]) -> float:
    """Kilobytes that each of many stays with, while it is kept."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    alive = [make(number) for number in range(MANY)]
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) / len(alive) / 1024
