"""The two caches of a target (spec E3): the last good value, and the read-through cache with single flight.

Both hold copies and hand out copies, never failures and never degraded values (the caller puts only what passed
the classifier and its schema), and are bounded: by age, by number (least recently used go first), by size of a value.
Time is passed in, in monotonic seconds. A key is what `keys.scope_key` and `keys.canonical` give, together; where
either gives None there is no caching.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from types import TracebackType
from typing import Any, NamedTuple, Self

from langgraph_degrade.engine.copies import copied
from langgraph_degrade.policy import CachePolicy

LARGEST = 1_000_000
"""Bytes (about) of the largest value kept (○)."""

EMPTY_TTL = 5.0
"""Seconds an empty value is kept at most (○, case-K04): as often a hiccup of the target as the truth."""

LEASE = 60.0
"""Seconds after which a leader that never came back is given up (○): no key stays pending for ever."""


class Hit(NamedTuple):
    """A kept value and its age in seconds."""

    value: Any
    age: float


class _Kept(NamedTuple):
    value: Any
    at: float
    ttl: float


class LastGood:
    """What a target last answered, by key: stands in when it fails, never instead of a live call.

    Example:
        >>> cache = LastGood(CachePolicy(ttl="30s"))
        >>> cache.put("A-1", {"stock": 3}, now=100.0)
        True
        >>> cache.get("A-1", now=112.0)
        Hit(value={'stock': 3}, age=12.0)
        >>> cache.get("A-1", now=131.0) is None
        True
    """

    def __init__(self, policy: CachePolicy) -> None:
        self._policy = policy
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._lock = Lock()

    def put(self, key: Hashable, value: object, now: float, *, empty: bool | None = None) -> bool:
        """Keep a copy. False where it can't be copied, is larger than `LARGEST`, or a newer one is there.

        An empty value replaces a full one, being the newer truth, but goes after `EMPTY_TTL`: from then on nothing
        stands in, which is honest, where neither value would be. `empty` says so for values that hide it.
        """
        mine = copied(value, LARGEST)
        if mine is None:
            return False
        brief = is_empty(value) if empty is None else empty
        kept = _Kept(mine.value, now, min(self._policy.ttl, EMPTY_TTL) if brief else self._policy.ttl)
        with self._lock:
            older = self._kept.get(key)
            if older is not None and older.at > now:  # a late result never replaces a newer one
                return False
            self._kept[key] = kept
            self._kept.move_to_end(key)
            if len(self._kept) > self._policy.max_entries:
                self._kept.popitem(last=False)
        return True

    def get(self, key: Hashable, now: float) -> Hit | None:
        """A copy of the value and its age, which is at most its TTL; None where there is none."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            if now - kept.at > kept.ttl:
                del self._kept[key]
                return None
            self._kept.move_to_end(key)
        yours = copied(kept.value)
        return None if yours is None else Hit(yours.value, max(0.0, now - kept.at))

    def __len__(self) -> int:
        return len(self._kept)


@dataclass(slots=True)
class _Pending:
    since: float
    waiters: list[Future[None]] = field(default_factory=list[Future[None]])


class Lead:
    """The right, and the duty, to load one key: `with lead: lead.fulfil(load(), now)`.

    Leaving the block without a value (a failure, a cancellation, a degraded answer) lets one of the waiters lead.
    """

    __slots__ = ("_finish", "_put")

    def __init__(self, put: Callable[..., bool], finish: Callable[[], None]) -> None:
        self._put = put
        self._finish = finish

    def fulfil(self, value: object, now: float, *, empty: bool | None = None) -> bool:
        """Keep the value, as `LastGood.put` does. Also after the block: a late result is still a result."""
        return self._put(value, now, empty=empty)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finish()


class ReadThrough:
    """A normal cache with single flight: one caller loads a key, the others wait until it is done.

    One algorithm serves both colours; only the wait is theirs (`Ports.wait`), bounded by the caller's own time:

        while True:
            match cache.claim(key, clock.monotonic()):
                case Hit(value, age):
                    return value
                case Lead() as lead:
                    with lead:
                        value = await call(...)
                        lead.fulfil(value, clock.monotonic())
                        return value
                case future:
                    await wait(future, timeout)
    """

    def __init__(self, policy: CachePolicy) -> None:
        self._values = LastGood(policy)
        self._pending: dict[Hashable, _Pending] = {}
        self._lock = Lock()

    def claim(self, key: Hashable, now: float) -> Hit | Lead | Future[None]:
        """The value, or the right to load it, or a future that is done when the leader is, whatever came of it.

        Each waiter has a future of its own: cancelling one wait touches nobody else's.
        """
        hit = self._values.get(key, now)
        if hit is not None:
            return hit
        with self._lock:
            hit = self._values.get(key, now)
            if hit is not None:
                return hit
            pending = self._pending.get(key)
            if pending is None or now - pending.since > LEASE:
                return self._lead(key, now, pending)
            waiter: Future[None] = Future()
            pending.waiters.append(waiter)
            return waiter

    def _lead(self, key: Hashable, now: float, lost: _Pending | None) -> Lead:
        mine = self._pending[key] = _Pending(now)
        if lost is not None:
            mine.waiters, lost.waiters = lost.waiters, []

        return Lead(partial(self._values.put, key), partial(self._finish, key, mine))

    def _finish(self, key: Hashable, mine: _Pending) -> None:
        with self._lock:
            if self._pending.get(key) is mine:
                del self._pending[key]
            waiters, mine.waiters = mine.waiters, []
        for waiter in waiters:
            if waiter.set_running_or_notify_cancel():
                waiter.set_result(None)

    def __len__(self) -> int:
        return len(self._values)


def is_empty(value: object) -> bool:
    """None, or something of length 0. Zero and False are values."""
    try:
        return value is None or len(value) == 0  # type: ignore[arg-type]
    except TypeError:
        return False
