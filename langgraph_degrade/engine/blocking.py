"""Nobody can cut an `async def` that blocks the event loop; it can be caught in the act (spec T5)."""

from __future__ import annotations

import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")

HELD = 0.1
"""Seconds one step of a coroutine may hold the event loop before it is reported ○."""


@types.coroutine
def watched(
    steps: Coroutine[Any, Any, T], now: Callable[[], float], limit: float, report: Callable[[float], None]
) -> Generator[Any, Any, T]:
    """Await `steps`, timing every step: from being resumed to the next time it waits.

    `report(seconds)` is told of the first one longer than `limit` seconds, after the fact: while it lasts nothing else
    in the loop can run.
    """
    resume: Callable[[Any], Any] = steps.send
    sent: Any = None
    while True:
        started = now()
        try:
            waits_for = resume(sent)
        except StopIteration as stop:
            value: T = stop.value
            return value
        finally:
            held = now() - started
            if held > limit:
                limit = float("inf")
                report(held)
        try:
            sent = yield waits_for
            resume = steps.send
        except GeneratorExit:
            steps.close()
            raise
        except BaseException as error:
            sent, resume = error, steps.throw
