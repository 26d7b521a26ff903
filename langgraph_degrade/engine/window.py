"""Counting over the last seconds, in constant time and space."""

from __future__ import annotations

from itertools import count
from math import floor
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from langgraph_degrade.failures import Kind


BUCKETS = 10
"""How finely a window forgets: a tenth of it at a time (○; Hystrix and Polly count in tenths too)."""
WHOLE = 1 - 1 / BUCKETS
"""The part of its span a window certainly covers; of the rest, less or more, as its oldest bucket has just gone."""


class RollingCount:
    """How many events the last `seconds` saw; the oldest tenth of that span is forgotten at once.

    Adding and reading are O(1). `tick` needs no lock, everything else does where there are threads. A clock that steps
    back is taken as standing still: what was counted stays counted, for one more window at most.
    """

    __slots__ = ("_base", "_end", "_past", "_ring", "_slot", "_start", "_ticks", "_width")

    def __init__(self, seconds: float) -> None:
        self._width = seconds / BUCKETS
        self._ring = [0] * BUCKETS
        self._slot = 0
        self._start = self._end = 0.0  # an empty slot: the first event looks for its own
        self._past = 0
        self._ticks = count()  # the running slot's events; `next` is one atomic step, `+= 1` is three
        self._base = 0  # where they began

    def tick(self, now: float) -> bool:
        """Count one event if its slot is the running one; False asks for `add`, under the lock."""
        if self._start <= now < self._end:
            next(self._ticks)
            return True
        return False

    def add(self, now: float) -> None:
        """Count one event."""
        if not self.tick(now):
            self._turn(now)
            next(self._ticks)

    def total(self, now: float) -> int:
        """Events in the window that ends now."""
        if not self._start <= now < self._end:
            self._turn(now)
        return self._past + self._running()

    def _running(self) -> int:
        running = next(self._ticks) - self._base
        self._base += 1  # looking counts too
        return running

    def _turn(self, now: float) -> None:
        ring, slot, running = self._ring, floor(now / self._width), self._running()
        ring[self._slot % BUCKETS] += running
        self._past += running
        self._base += running
        for passed in range(self._slot + 1, min(slot, self._slot + BUCKETS) + 1):
            self._past -= ring[passed % BUCKETS]
            ring[passed % BUCKETS] = 0
        self._slot = slot
        self._start, self._end = slot * self._width, (slot + 1) * self._width


class Tally(NamedTuple):
    """What a window knows about one failure kind."""

    calls: int
    """Calls of every outcome in the window."""
    errors: int
    """Those that failed in this kind."""
    in_a_row: int
    """How often this kind came last, without any other outcome between."""


class Window:
    """The outcomes of the last `seconds` of calls. Kinds are counted apart and never added up (spec B2)."""

    __slots__ = ("_calls", "_errors", "_last", "_seconds", "in_a_row")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._calls = RollingCount(seconds)
        self._errors: dict[Kind, RollingCount] = {}  # a kind that never came costs nothing
        self._last: Kind | None = None
        self.in_a_row = 0
        """Failures of one and the same kind since any other outcome."""

    def tick(self, now: float) -> bool:
        """Count a call that went well, without a lock; False asks for `succeed`, under it."""
        self.in_a_row = 0
        return self._calls.tick(now)

    def succeed(self, now: float) -> None:
        """Count a call that went well."""
        self._calls.add(now)
        self.in_a_row = 0

    def fail(self, kind: Kind, now: float) -> Tally:
        """Count a call that failed, and say how its kind stands now."""
        errors = self._errors.get(kind)
        if errors is None:
            errors = self._errors[kind] = RollingCount(self._seconds)
        self._calls.add(now)
        errors.add(now)
        self.in_a_row = self.in_a_row + 1 if kind == self._last else 1
        self._last = kind
        return Tally(self._calls.total(now), errors.total(now), self.in_a_row)
