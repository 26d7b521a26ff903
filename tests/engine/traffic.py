"""Traffic against one breaker in virtual time: an hour of it passes in seconds, and every call is accounted for."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Literal

from langgraph_degrade.engine.breaker import Breaker, Permit
from langgraph_degrade.failures import Kind

Outcome = Kind | Literal["ok", "neutral", "silent"]
"""What becomes of one admitted call: a failure kind, a success, no verdict, or nobody ever says."""


def steadily(rate: float, start: float, end: float) -> Iterator[float]:
    """Arrivals at even distances."""
    number = 0
    while (at := start + number / rate) < end:
        yield at
        number += 1


def at_random(rate: float, start: float, end: float, seed: int) -> Iterator[float]:
    """Poisson arrivals."""
    chance, at = Random(seed), start
    while (at := at + chance.expovariate(rate)) < end:
        yield at


@dataclass
class Record:
    """Who asked, and who got through."""

    offered: list[float] = field(default_factory=list)
    admitted: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    changes: list[tuple[float, str]] = field(default_factory=list)
    """(when, the new state)"""

    def opened(self) -> list[float]:
        """When it opened."""
        return [at for at, state in self.changes if state == "open"]

    def share(self, start: float, end: float) -> float:
        """Part of the calls from `start` until `end` that got through."""
        return self.count(self.admitted, start, end) / self.count(self.offered, start, end)

    @staticmethod
    def count(times: list[float], start: float, end: float) -> int:
        """How many lie in this span."""
        return sum(start <= at < end for at in times)


def run(
    breaker: Breaker, arrivals: Iterator[float], outcome: Callable[[float], Outcome], *, latency: float = 0.0
) -> Record:
    """Send every arrival through the breaker; the outcome is asked for at the call's start, told at its end."""
    record, state, numbers = Record(), breaker.state(0.0), count()
    out: list[tuple[float, int, Permit, Outcome]] = []

    def look(now: float) -> None:
        nonlocal state
        if (new := breaker.state(now)) != state:
            state = new
            record.changes.append((now, new))

    def finish(until: float) -> None:
        while out and out[0][0] <= until:
            at, _, permit, result = heapq.heappop(out)
            tell(breaker, permit, result, at)
            look(at)

    for now in arrivals:
        finish(now)
        look(now)
        record.offered.append(now)
        permit = breaker.acquire(now)
        look(now)
        if permit is None:
            record.refused.append(now)
            continue
        record.admitted.append(now)
        heapq.heappush(out, (now + latency, next(numbers), permit, outcome(now)))
    finish(float("inf"))
    return record


def tell(breaker: Breaker, permit: Permit, result: Outcome, now: float) -> None:
    """Give one permit back, as the engine would."""
    if result == "ok":
        breaker.succeed(permit, now)
    elif result == "neutral":
        breaker.release(permit, now)
    elif result != "silent":
        breaker.fail(permit, result, now)
