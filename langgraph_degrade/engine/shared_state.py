"""A breaker's state where other processes see it, in a user's pybreaker storage (spec B8, S3).

Decisions stay local: what others say is a hint, what can't be read is none. Import lazily, as `pybreaker_face`.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple, Protocol

import pybreaker

from langgraph_degrade.engine.clock import Clock
from langgraph_degrade.engine.courier import Courier
from langgraph_degrade.engine.ramp import State

log = logging.getLogger("langgraph_degrade")

EVERY = 1.0
"""Seconds between two looks at the storage (design section 9: at most once a second)."""
NAMES: dict[State, str] = {
    "closed": pybreaker.STATE_CLOSED,
    "open": pybreaker.STATE_OPEN,
    "half_open": pybreaker.STATE_HALF_OPEN,
}
"""What pybreaker calls our states."""


class Circuit(Protocol):
    """What is shown and steered: a `Breaker`, or several as one."""

    @property
    def in_a_row(self) -> int:
        """Failures in a row."""
        ...

    def state(self, now: float) -> State:
        """Tell what the next call meets."""
        ...

    def open(self, now: float, seconds: float | None = None) -> None:
        """Open on word from outside."""
        ...

    def close(self) -> None:
        """Close on word from outside."""
        ...


class SharedState:
    """Writes our openings to a storage and follows those of others, on one daemon thread; no call ever waits for it.

    Only who opened writes: a process that followed a hint leaves `opened_at` alone, however many follow one another
    (case-B11). A hint holds for what is left of `open_for`, so "open" left behind by a dead process is none.
    """

    def __init__(
        self, storage: pybreaker.CircuitBreakerStorage, circuit: Circuit, clock: Clock, *, name: str, open_for: float
    ) -> None:
        self.reachable = True
        """Whether the last look at the storage worked."""
        self._storage = storage
        self._circuit = circuit
        self._clock = clock
        self._name = name
        self._open_for = open_for
        self._looked_at = float("-inf")
        self._known: Opening | None = None  # what the last look saw: an opening is followed once
        self._following = False
        self._reader: StorageReader | RedisReader = StorageReader(storage, clock)
        if isinstance(storage, pybreaker.CircuitRedisStorage):
            self._reader = RedisReader(storage, clock)
        self._courier = Courier(f"degrade-shared-{name}", idle=self.poll, every=EVERY)

    def start(self) -> None:
        """Begin to look at the storage."""
        self._courier.start()

    def stop(self) -> None:
        """End the thread, after what waits has been written."""
        self._courier.stop()

    def changed(self, old: State, new: State) -> None:
        """Have a change of ours written, unless all began with somebody else's."""
        if (old, new) == ("half_open", "open"):
            self._following = False  # our own probes failed: now it is our word
        if not self._following:
            self._courier.send(partial(self._write, new))
        if new == "closed":
            self._following = False

    def poll(self) -> None:
        """Look at the storage, unless that was less than a second ago; open if somebody else has just opened."""
        now = self._clock.monotonic()
        if 0 <= now - self._looked_at < EVERY:
            return
        self._looked_at = now
        try:
            seen, shared_now = self._reader.opening(), self._reader.now()
        except Exception as error:
            self._reached(reached=False, why=type(error).__name__)
            return
        self._reached(reached=True)
        known, self._known = self._known, seen
        if seen is not None and seen != known:
            self._follow(seen, shared_now, now)

    def _follow(self, seen: Opening, shared_now: float, now: float) -> None:
        age = 0.0 if seen.at is None else max(0.0, shared_now - seen.at)
        if age < self._open_for and self._circuit.state(now) == "closed":
            self._following = True
            self._circuit.open(now, self._open_for - age)

    def _write(self, state: State) -> None:
        storage = self._storage
        if state == "open":
            storage.opened_at = datetime.fromtimestamp(
                self._shared_now(), UTC
            )  # first: who sees "open" sees since when
        storage.state = NAMES[state]
        if state == "closed":
            storage.reset_counter()
        storage.reset_success_counter()

    def _shared_now(self) -> float:
        try:
            return self._reader.now()
        except Exception:
            return self._clock.time()

    def _reached(self, *, reached: bool, why: str = "") -> None:
        if reached != self.reachable:
            said = "can be read again" if reached else f"can't be read ({why}): deciding alone"
            log.warning("shared state of breaker %s %s", self._name, said)
        self.reachable = reached


class Opening(NamedTuple):
    """Somebody's breaker is open."""

    at: float | None
    """Since when, on the storage's clock; None where that was lost."""


class StorageReader:
    """Reads any storage by its public properties."""

    def __init__(self, storage: pybreaker.CircuitBreakerStorage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock

    def opening(self) -> Opening | None:
        """Who is open; None for nobody."""
        if self._storage.state != pybreaker.STATE_OPEN:
            return None
        at = self._storage.opened_at
        return Opening(None if at is None else at.timestamp())

    def now(self) -> float:
        """Unix time where the storage is."""
        return self._clock.time()


class RedisReader:
    """Reads Redis itself: the storage's own properties take a dead Redis for "closed" and write to a missing key."""

    def __init__(self, storage: pybreaker.CircuitRedisStorage, clock: Clock) -> None:
        private: Any = storage  # there is no public way to its client and keys
        self._redis, self._key, self._is_cluster = private._redis, private._namespace, private._cluster_mode  # noqa: SLF001
        self._clock = clock

    def opening(self) -> Opening | None:
        """Who is open; None for nobody, or where the key was evicted."""
        if self._get("state") != pybreaker.STATE_OPEN:
            return None
        at = self._get("opened_at")
        return Opening(None if at is None else float(at))

    def now(self) -> float:
        """Unix time by the server's clock, which all its clients share; a cluster has no one clock."""
        if self._is_cluster:
            return self._clock.time()
        seconds, microseconds = self._redis.time()
        return float(seconds) + float(microseconds) / 1e6

    def _get(self, key: str) -> str | None:
        value: bytes | str | None = self._redis.get(self._key(key))
        return value.decode() if isinstance(value, bytes) else value
