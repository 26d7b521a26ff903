"""Nobody can cut an `async def` that blocks the event loop; it can be caught in the act (spec T5)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any

HELD = 0.1
"""Seconds one step of a coroutine may hold the event loop before it is reported ○."""


class Watched(Coroutine[Any, Any, Any]):
    """A coroutine whose every step is timed: from being resumed to the next time it waits.

    `report(seconds)` is told of the first step longer than `limit` seconds, after the fact: while it lasts nothing
    else in the loop can run.
    """

    __slots__ = ("_coroutine", "_limit", "_now", "_report")

    def __init__(
        self,
        coroutine: Coroutine[Any, Any, Any],
        *,
        now: Callable[[], float],
        limit: float,
        report: Callable[[float], None],
    ) -> None:
        self._coroutine = coroutine
        self._now = now
        self._limit = limit
        self._report = report

    def send(self, value: Any, /) -> Any:
        """Run the next step."""
        started = self._now()
        try:
            return self._coroutine.send(value)
        finally:
            held = self._now() - started
            if held > self._limit:
                self._report_once(held)

    def throw(self, *error: Any) -> Any:
        """Run the next step with an error raised in it."""
        started = self._now()
        try:
            return self._coroutine.throw(*error)
        finally:
            held = self._now() - started
            if held > self._limit:
                self._report_once(held)

    def close(self) -> None:
        """End the coroutine where it stands."""
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        """Let it be awaited like the coroutine it stands for, untimed."""
        return self._coroutine.__await__()

    def __getattr__(self, name: str) -> Any:
        """Show `cr_frame` and the like, so that a task that hangs prints its stack."""
        return getattr(self._coroutine, name)

    def _report_once(self, held: float) -> None:
        self._limit = float("inf")
        self._report(held)
