"""What the package takes while nothing is wrong: memory, and the time to import it."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextvars import copy_context
from statistics import median

from benchmarks.calls import answer
from benchmarks.rows import Row
from benchmarks.timing import times

KILO = 1024
MANY = 500


def memory(_rounds: int) -> Iterator[Row]:
    from langgraph_degrade import Degrader

    degrader = Degrader()
    degrader.guard("first")(answer)()

    def targets() -> list[object]:
        kept = [degrader.guard(f"target {number}")(answer) for number in range(MANY)]
        return [kept, [guarded() for guarded in kept]]

    guarded = degrader.guard("first")(answer)

    def requests() -> list[object]:
        return [
            copy_context().run(lambda: (scope := degrader.scope(), scope.__enter__(), guarded())) for _ in range(MANY)
        ]

    yield Row("memory per idle target", allocated(targets) / MANY / KILO, "KB", 8, "after one call")
    yield Row("memory per live request", allocated(requests) / MANY / KILO, "KB", 4, "after one call in it")


def imports(rounds: int) -> Iterator[Row]:
    from langgraph_degrade import Degrader  # noqa: F401 (missing is missing, not fast)

    code = "import time; begin = time.perf_counter(); {}; print(time.perf_counter() - begin)"
    ours, theirs = "from langgraph_degrade import Degrader", "import langgraph.graph"
    taken: dict[str, list[float]] = {theirs: [], ours: []}
    for _ in range(max(2, rounds // 10)):
        for statement, seconds in taken.items():
            command = [sys.executable, "-c", code.format(statement)]
            seconds.append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    note = f"of `{theirs}` ({median(taken[theirs]) * 1e3:.0f} ms)"
    yield Row(f"`{ours}`", times(taken, ours, theirs), "×", 1.3, note)


def allocated(make: Callable[[], object]) -> int:
    """Bytes that stay while what `make` returns is kept."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    kept = make()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return after - before
