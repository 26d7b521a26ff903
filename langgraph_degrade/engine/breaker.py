"""`Breaker`: whether calls to a target may go, decided from what became of the last ones (spec B2, B4).

    closed ──── one kind fails too often ───> open <── enough probes fail, or none tells ──┐
       ^                                       │                                           │
       │                                       └── `open_for` is over, a call comes ──> half-open
       └──────────────── every step of the ramp was passed ────────────────────────────────┘

A pure state machine. It is told the time and what happened; it calls nothing, waits for nothing, and holds no lock while
a call runs.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from langgraph_degrade.engine.ramp import Lease, Ramp, State
from langgraph_degrade.engine.window import Tally, Window

if TYPE_CHECKING:
    from langgraph_degrade.failures import Kind
    from langgraph_degrade.policy import BreakerRule

log = logging.getLogger("langgraph_degrade")

COUNTED: frozenset[Kind] = frozenset(
    {
        "timeout",
        "connection",
        "rate_limit",
        "overloaded",
        "server_error",
        "incompatible",
        "schema",
        "empty",
        "malformed_call",
        "unknown",
    }
)
"""Kinds to `fail` with: the target's fault, and likely to happen to the next caller too. `ANSWERS` (a "no" is an answer)
are told as `succeed`; the rest (`auth`, `quota`, `refusal`, whatever depends on the request or is our own doing) as
`release`."""

LEASE = 60.0
"""Seconds a probe may stay silent ○; at least `open_for`."""

Permit = int | Lease
"""What `acquire` grants and every outcome gives back: the generation that admitted it, in half-open as a lease."""


class Breaker:
    """One rule's breaker on one target. Safe under threads; `now` is monotonic seconds, from whichever clock.

    Every permit must be given back once, by `succeed`, `fail` or `release`. One that isn't is harmless: closed needs
    none back, a half-open lease expires. Each change of state starts a new generation, and outcomes admitted by an
    older one no longer count: a late failure never extends a break, a late success never ends one.

    Example:
        >>> from langgraph_degrade.policy import BreakerRule
        >>> breaker = Breaker(BreakerRule(consecutive=3, min_calls=3, open_for=30))
        >>> for second in range(3):
        ...     permit = breaker.acquire(now=second)
        ...     breaker.fail(permit, "timeout", now=second)
        >>> breaker.acquire(now=3), breaker.retry_after(now=3)
        (None, 29.0)
    """

    __slots__ = (
        "_capacity",
        "_changes",
        "_closed",
        "_generation",
        "_lease",
        "_lock",
        "_opened_at",
        "_ramp",
        "_refused",
        "_rule",
        "_telling",
        "_until",
        "_window",
        "on_change",
    )

    def __init__(
        self,
        rule: BreakerRule,
        *,
        capacity: float | None = None,
        lease: float = LEASE,
        on_change: Callable[[State, State], None] | None = None,
    ) -> None:
        """Start closed.

        Args:
            rule: when to open, and how to come back.
            capacity: calls a second that are never exceeded while coming back (spec B4).
            lease: seconds after which a silent probe is given up. Longer than the target's slowest good call, or that
                call can't prove anything.
            on_change: told every change as (from, to), in order, after the lock is released. Its errors are logged.
        """
        self.on_change = on_change
        self._rule = rule
        self._capacity = capacity
        self._lease = max(lease, rule.open_for)
        self._lock = threading.RLock()  # re-entrant: the `finally` of a collected coroutine may report from inside
        self._window = Window(rule.window)
        self._generation = 0
        # The state, in one of three fields. Closed is read without the lock: one field, one atomic read.
        self._closed: int | None = 0
        self._ramp: Ramp | None = None
        self._until = 0.0
        self._opened_at = 0.0
        self._refused = 0
        self._changes: list[tuple[State, State]] = []
        self._telling = threading.Lock()

    def acquire(self, now: float) -> Permit | None:
        """Ask for one call. None: refused, see `retry_after`."""
        generation = self._closed
        return self._ask(now) if generation is None else generation

    def succeed(self, permit: Permit, now: float) -> None:
        """Tell that the call went well."""
        if permit == self._closed and self._window.tick(now):
            return
        with self._lock:
            if permit == self._closed:
                self._window.succeed(now)
                return
            if self._ramp is not None and isinstance(permit, Lease):
                self._go(self._ramp.succeed(permit, now), now)
        self._tell()

    def fail(self, permit: Permit, kind: Kind, now: float) -> None:
        """Tell that the call failed, in one of the `COUNTED` kinds."""
        kind = "server_error" if kind == "overloaded" else kind  # a 503 is a 5xx (spec B2)
        with self._lock:
            if permit == self._closed:
                self._go("open" if self._trips(self._window.fail(kind, now)) else None, now)
            elif self._ramp is not None and isinstance(permit, Lease):
                self._go(self._ramp.fail(permit, kind, now), now)
        self._tell()

    def release(self, permit: Permit, now: float) -> None:
        """Give the permit back without a verdict: cancelled, interrupted, or nothing that speaks about the target."""
        with self._lock:
            if self._ramp is not None and isinstance(permit, Lease):
                self._go(self._ramp.release(permit, now), now)
        self._tell()

    def state(self, now: float) -> State:
        """Tell what the next call meets: an open time that is over reads as half-open, even before a call came."""
        with self._lock:
            return "half_open" if self._state == "open" and self._wait(now) == 0 else self._state

    def retry_after(self, now: float) -> float:
        """Seconds until asking again may help; 0.0 where it may help now."""
        with self._lock:
            return self._wait(now) if self._ramp is None else self._ramp.retry_after(now)

    @property
    def in_a_row(self) -> int:
        """Failures of one and the same kind since any other outcome, as long as it is closed."""
        return self._window.in_a_row

    def open(self, now: float, seconds: float | None = None) -> None:
        """Open on word from outside: an operator, another process, a target that asks to be left alone.

        Stays open for at least `seconds`, by default the rule's `open_for`; an open time already longer is kept.
        """
        seconds = self._rule.open_for if seconds is None else seconds
        with self._lock:
            self._open(now, max(seconds, self._wait(now)))
        self._tell()

    def close(self) -> None:
        """Close at once, with a fresh window, because an operator knows better."""
        with self._lock:
            self._close()
        self._tell()

    @property
    def _state(self) -> State:
        if self._closed is not None:
            return "closed"
        return "open" if self._ramp is None else "half_open"

    def _ask(self, now: float) -> Permit | None:
        with self._lock:
            permit = self._ask_locked(now)
        self._tell()
        return permit

    def _ask_locked(self, now: float) -> Permit | None:
        if self._state == "open":
            if self._wait(now) > 0:
                self._refused += 1
                return None
            self._half_open(now)
        if self._ramp is not None:
            self._go(self._ramp.turn(now), now)
        return self._closed if self._ramp is None else self._ramp.admit(now)

    def _wait(self, now: float) -> float:
        if self._closed is not None:
            return 0.0
        if now < self._opened_at:  # the clock ran backwards: no time has passed (case-B13)
            self._until -= self._opened_at - now
            self._opened_at = now
        return max(0.0, self._until - now)

    def _trips(self, tally: Tally) -> bool:
        """Spec B2: one kind, in a row and with a share; or many of it at a smaller share. Never on a handful of calls."""
        rule = self._rule
        if tally.calls < rule.min_calls:
            return False
        share = tally.errors / tally.calls
        in_a_row = tally.in_a_row >= rule.consecutive and share >= rule.rate
        return in_a_row or (tally.errors > rule.errors and share >= rule.error_rate)

    def _go(self, state: State | None, now: float) -> None:
        if state == "open":
            self._open(now, self._rule.open_for)
        elif state == "closed":
            self._close()

    def _open(self, now: float, seconds: float) -> None:
        self._change("open", closed=None, ramp=None)
        self._opened_at, self._until, self._refused = now, now + seconds, 0

    def _half_open(self, now: float) -> None:
        elapsed = now - self._opened_at
        demand = self._refused / elapsed if elapsed > 0 else 0.0
        ramp = Ramp(self._rule, now, due=self._until, demand=demand, lease=self._lease, capacity=self._capacity)
        self._change("half_open", closed=None, ramp=ramp)

    def _close(self) -> None:
        self._window = Window(self._rule.window)  # what failed before the break is no reason for the next one
        self._change("closed", closed=self._generation + 1, ramp=None)

    def _change(self, new: State, *, closed: int | None, ramp: Ramp | None) -> None:
        old, self._generation = self._state, self._generation + 1
        self._closed, self._ramp = closed, ramp
        if old != new and self.on_change is not None:
            self._changes.append((old, new))

    def _tell(self) -> None:
        """Tell changes in order, one thread at a time: whoever finds another one telling leaves it the rest."""
        while self._changes and self._telling.acquire(blocking=False):
            try:
                while self._changes:
                    self._tell_one(*self._changes.pop(0))
            finally:
                self._telling.release()

    def _tell_one(self, old: State, new: State) -> None:
        if self.on_change is None:
            return
        try:
            self.on_change(old, new)
        except Exception as error:
            log.warning("a breaker's on_change raised %s", type(error).__name__)
