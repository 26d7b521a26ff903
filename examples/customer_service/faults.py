"""The weather of one day: which call meets which fault, decided by the seed alone.

Document A's numbers: six stages at 99 % each. A model call covers two of them (planning and selecting, or context and
answering), so it fails in 2 % of the cases, a back-end call in 1 %; a question that takes two model calls and two
back-end calls gets through untouched in 94 %. And one dependency, drawn by the seed, is down for a third of the day,
at a time when a customer needs it: no day passes by unnoticed.

The decision for a call depends on the seed, the customer's turn, the service, what is asked of it, and how often that
was asked in this turn: every agent meets the same weather. An agent that calls again gets the next draw, not the same.

One production second lasts `SCALE` seconds here, for every agent and every fault: the day should not take an hour.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["delay", "429", "503", "cut", "null", "reset", "hang"]

SCALE = 0.2
STAGE_FAILURE_RATE = 0.01  # document A, 1.2
MODELS = ("model", "backup model", "local model")
SERVICES = ("model", "orders", "stock", "logistics", "aftersales", "shipping")
KINDS: tuple[Kind, ...] = ("delay", "429", "503", "cut", "null", "reset", "hang")
OUTAGE: dict[Kind, int] = {"503": 8, "hang": 5, "reset": 3, "429": 2, "cut": 1, "null": 1}  # what "down" looks like
DELAYS = (2, 4, 8)  # production seconds
HANG = 20  # production seconds until the connection is dropped
STATUS = {"429": 429, "503": 503, "delay": 200, "cut": 200, "null": 200}


def seconds(production: float) -> float:
    """Convert production seconds into this demo's."""
    return production * SCALE


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to one call. `seconds` pass first; `executes`: the service still does what was asked."""

    kind: Kind
    seconds: float = 0.0
    executes: bool = False
    retry_after: int | None = None

    @property
    def status(self) -> int | None:
        """HTTP status the caller sees, None where the connection just ends."""
        return STATUS.get(self.kind)


@dataclass(frozen=True, slots=True)
class Visit:
    """One turn of one conversation: `turn` counts the day's turns, `label` names it in records."""

    turn: int
    label: str


@dataclass(frozen=True, slots=True)
class Outage:
    """What `services` names is down from turn `first` to turn `last` of the day, both included."""

    services: AbstractSet[str]
    first: int
    last: int

    def __str__(self) -> str:
        return " and ".join(sorted(self.services, reverse=True))


class Weather:
    """A day's faults.

    `needs` holds for each turn of the day the dependencies it uses; `rate` is what one stage fails with; `down` is what
    goes down in place of what the seed would draw, its first name being what a customer needs.
    """

    def __init__(
        self,
        seed: int,
        needs: Sequence[AbstractSet[str]],
        *,
        rate: float = STAGE_FAILURE_RATE,
        outage: bool = True,
        down: Sequence[str] = (),
    ) -> None:
        self._seed = seed
        self._rate = rate
        self.outage = self._draw_outage(needs, down) if outage else None

    def _draw_outage(self, needs: Sequence[AbstractSet[str]], down: Sequence[str]) -> Outage:
        rng = random.Random(f"outage/{self._seed}")
        drawn = rng.choice(SERVICES)
        service = down[0] if down else drawn
        length = len(needs) // 3
        first = rng.choice([turn for turn, needed in enumerate(needs) if service in needed])
        first = min(first, len(needs) - length)
        return Outage(frozenset(down or {service}), first, first + length - 1)

    def fault(self, visit: Visit, service: str, what: str, nth: int) -> Fault | None:
        """Decide what happens to the `nth` call of `what` in this turn; None: nothing."""
        rng = random.Random(f"{self._seed}/{visit.label}/{service}/{what}/{nth}")
        if self._down(visit, service):
            return self._make(rng, rng.choices(tuple(OUTAGE), tuple(OUTAGE.values()))[0])
        stages = 2 if service in MODELS else 1
        if rng.random() < 1 - (1 - self._rate) ** stages:
            return self._make(rng, rng.choice(KINDS))
        return None

    def _down(self, visit: Visit, service: str) -> bool:
        outage = self.outage
        return outage is not None and service in outage.services and outage.first <= visit.turn <= outage.last

    @staticmethod
    def _make(rng: random.Random, kind: Kind) -> Fault:
        executes = rng.random() < 0.5  # lost on the way there, or on the way back
        match kind:
            case "delay":
                return Fault(kind, seconds(rng.choice(DELAYS)), executes=True)
            case "429":
                return Fault(kind, retry_after=rng.choice((None, 1)))
            case "cut":
                return Fault(kind, executes=True)
            case "reset":
                return Fault(kind, executes=executes)
            case "hang":
                return Fault(kind, seconds(HANG), executes=executes)
            case _:
                return Fault(kind)


@dataclass(slots=True)
class Entry:
    """One call that reached a service, as the board saw it; times are seconds since the customer spoke."""

    service: str
    what: str
    fault: str | None
    began: float
    ended: float = 0.0
    executed: bool = False
    status: int | None = None


@dataclass(slots=True)
class Board:
    """Stands in front of every service of one agent, asks the weather about each call and writes it down."""

    weather: Weather
    visit: Visit = field(default=Visit(0, "before opening"))
    entries: list[Entry] = field(default_factory=list["Entry"])
    _counts: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _origin: float = 0.0

    def begin(self, visit: Visit) -> list[Entry]:
        """Start listening to a customer; returns the record of what arrives from now on, as it grows."""
        with self._lock:
            self.visit, self.entries, self._origin = visit, [], time.perf_counter()
            return self.entries

    @contextmanager
    def call(self, service: str, what: str) -> Iterator[tuple[Fault | None, Entry]]:
        """Hold one call's record while it is served; yields the fault that it must meet."""
        with self._lock:
            visit, origin = self.visit, self._origin
            self._counts[visit.label, service, what] += 1
            nth = self._counts[visit.label, service, what]
            fault = self.weather.fault(visit, service, what, nth)
            entry = Entry(service, what, fault.kind if fault else None, time.perf_counter() - origin)
            self.entries.append(entry)
        try:
            yield fault, entry
        finally:
            entry.ended = time.perf_counter() - origin
