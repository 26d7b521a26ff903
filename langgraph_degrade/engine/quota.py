"""How much a path may take: a share of another path's traffic, or so many calls a second (spec S1, D2)."""

from __future__ import annotations

import threading
from math import ceil

from langgraph_degrade.engine.window import WHOLE, RollingCount

SPAN = 10.0
"""Seconds over which offered and admitted traffic are compared ○."""


class Pace:
    """Lets at most `per_second` calls begin within any second, wherever that second starts.

    They may begin all at once. A rate that is not whole is kept over the shortest span that makes it so: 0.5 is one
    call in two seconds, 2.5 three in 1.2.
    """

    __slots__ = ("_begun", "_most")

    def __init__(self, per_second: float) -> None:
        self._most = ceil(per_second)
        self._begun = RollingCount(self._most / per_second / WHOLE)

    def take(self, now: float) -> bool:
        """Whether one more call may begin now; True counts it."""
        if self._begun.total(now) >= self._most:
            return False
        self._begun.add(now)
        return True


class Quota:
    """Bounds a degraded path by the traffic *offered* to the path it stands in for, or by its own declared capacity.

    Told of every call to the main path by `offered`, asked for every call to its own by `admit`. Safe under threads.

    Example:
        >>> quota = Quota(share=0.5)
        >>> for _ in range(100):
        ...     quota.offered(now=0.0)
        >>> sum(quota.admit(now=0.0) for _ in range(100))
        50
    """

    def __init__(self, share: float = 0.5, floor: float = 1.0, capacity: float | None = None) -> None:
        """Take the numbers of spec S1.

        Args:
            share: of the traffic offered to the main path, 0 to 1.
            floor: calls a second that are never refused, however quiet the main path is ○.
            capacity: calls a second this path is declared to take; where given it alone counts.
        """
        self._share = share
        self._floor = floor * SPAN
        self._pace = None if capacity is None else Pace(capacity)
        self._offered = RollingCount(SPAN)
        self._admitted = RollingCount(SPAN)
        self._lock = threading.RLock()  # re-entrant: the `finally` of a collected coroutine may come from inside

    def offered(self, now: float) -> None:
        """Count one call that came to the main path, whatever became of it."""
        if not self._offered.tick(now):
            with self._lock:
                self._offered.add(now)

    def admit(self, now: float) -> bool:
        """Whether this path may take one more call now; True counts it."""
        with self._lock:
            return self._within_share(now) if self._pace is None else self._pace.take(now)

    def _within_share(self, now: float) -> bool:
        limit = max(self._floor, self._share * self._offered.total(now))
        if self._admitted.total(now) + 1 > limit:
            return False
        self._admitted.add(now)
        return True
