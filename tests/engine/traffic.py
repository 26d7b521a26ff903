"""Traffic against one breaker in virtual time: an hour of it passes in seconds, and every call is accounted for."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Literal

from langgraph_degrade.engine.breaker import Breaker, Permit
from langgraph_degrade.failures import Kind
from langgraph_degrade.policy import BreakerRule

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
    state: str = "closed"

    def look(self, breaker: Breaker, now: float) -> None:
        """Note a change."""
        state = breaker.state(now)
        if state != self.state:
            self.state = state
            self.changes.append((now, state))

    def openings(self) -> list[float]:
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
    breaker: Breaker, arrivals: Iterable[float], outcome: Callable[[float], Outcome], *, latency: float = 0.0
) -> Record:
    """Send every arrival through the breaker; the outcome is asked for at the call's start, told at its end."""
    record, numbers = Record(state=breaker.state(0.0)), count()
    out: list[tuple[float, int, Permit, Outcome]] = []
    for now in arrivals:
        _end_calls(breaker, out, record, until=now)
        record.look(breaker, now)
        record.offered.append(now)
        permit = breaker.acquire(now)
        record.look(breaker, now)
        if permit is None:
            record.refused.append(now)
        else:
            record.admitted.append(now)
            heapq.heappush(out, (now + latency, next(numbers), permit, outcome(now)))
    _end_calls(breaker, out, record, until=float("inf"))
    return record


def _end_calls(
    breaker: Breaker, out: list[tuple[float, int, Permit, Outcome]], record: Record, *, until: float
) -> None:
    while out and out[0][0] <= until:
        now, _, permit, result = heapq.heappop(out)
        tell(breaker, permit, result, now)
        record.look(breaker, now)


def tell(breaker: Breaker, permit: Permit, result: Outcome, now: float) -> None:
    """Give one permit back, as the engine would."""
    if result == "ok":
        breaker.succeed(permit, now)
    elif result == "neutral":
        breaker.release(permit, now)
    elif result != "silent":
        breaker.fail(permit, result, now)


def feed(breaker: Breaker, outcomes: str, now: float = 0.0) -> None:
    """One call after the other: `.` went well, `t`imeout, `c`onnection, `s`erver_error, `o`verloaded."""
    kinds: dict[str, Outcome] = {".": "ok", "t": "timeout", "c": "connection", "s": "server_error", "o": "overloaded"}
    for letter in outcomes:
        permit = breaker.acquire(now)
        assert permit is not None
        tell(breaker, permit, kinds[letter], now)


def opened(rule: BreakerRule | None = None, **options: float) -> Breaker:
    """A breaker that has just opened, at 0."""
    breaker = Breaker(rule or BreakerRule(), **options)
    breaker.open(0.0)
    return breaker
