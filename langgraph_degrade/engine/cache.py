"""The two caches of a target (spec E3): the last good value, and the read-through cache with single flight.

Both hold copies and hand out copies, never failures and never degraded values (the caller puts only what passed
the classifier and its schema), and are bounded: by age, by number (least recently used go first), by size of a value.
Time is passed in, in monotonic seconds. A key is what `keys.scope_key` and `keys.canonical` give, together; where
either gives None there is no caching.
"""

from __future__ import annotations

import copy
import sys
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from types import TracebackType
from typing import Any, NamedTuple, Self

from langgraph_degrade.policy import CachePolicy

LARGEST = 1_000_000
"""Bytes (about) of the largest value kept (○)."""

EMPTY_TTL = 5.0
"""Seconds an empty value is kept at most (○, case-K04): as often a hiccup of the target as the truth."""

LEASE = 60.0
"""Seconds after which a leader that never came back is given up (○): no key stays pending for ever."""


_SMALL = frozenset({type(None), bool, int, float, complex})
_ATOMS = _SMALL | {str, bytes}


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
        mine = _copied(value, LARGEST)
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
        yours = _copied(kept.value)
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

    One algorithm serves both colours; only the wait is theirs, bounded by the caller's own time
    (`future.result(timeout)` in a thread, `asyncio.wait_for(asyncio.wrap_future(future), timeout)` in a task):

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


class _Copy(NamedTuple):
    value: Any


def _copied(value: object, room: int | None = None) -> _Copy | None:
    """A deep copy; None where there can be none: generators, locks, endless nesting, more than `room` bytes."""
    try:
        if room is not None and _room_left(value, room) < 0:
            return None
        return _Copy(_copy(value))
    except Exception:  # whatever a foreign `__deepcopy__` raises
        return None


def _copy(value: object) -> Any:
    """As `deepcopy`, several times faster on plain data."""
    copier: Callable[[Any], Any] = _COPIERS.get(type(value), copy.deepcopy)
    return copier(value)


def _copy_dict(value: dict[Any, Any]) -> dict[Any, Any]:
    return {key: item if type(item) in _ATOMS else _copy(item) for key, item in value.items()}


def _copy_list(value: list[Any]) -> list[Any]:
    return [item if type(item) in _ATOMS else _copy(item) for item in value]


def _copy_tuple(value: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_copy_list(list(value)))


_COPIERS: Mapping[type, Callable[[Any], Any]] = {dict: _copy_dict, list: _copy_list, tuple: _copy_tuple}


def _room_left(value: object, room: int) -> int:
    """`room` less the bytes (about) of all that hangs on `value`; stops counting below zero."""
    size, parts = _MEASURES.get(type(value), _measure_object)(value)
    room -= size
    for part in parts:
        if room < 0:
            break
        if type(part) is str:
            room -= 50 + len(part)
        elif type(part) not in _SMALL:
            room = _room_left(part, room)
    return room


def _measure_dict(value: dict[Any, Any]) -> tuple[int, Iterable[Any]]:
    return 64 + sum([len(key) + 100 if type(key) is str else 150 for key in value]), value.values()


def _measure_list(value: Collection[Any]) -> tuple[int, Iterable[Any]]:
    return 64 + 8 * len(value), value


def _measure_object(value: Any) -> tuple[int, Iterable[Any]]:
    return sys.getsizeof(value), getattr(value, "__dict__", _NOTHING).values()


_NOTHING: Mapping[str, Any] = {}
_MEASURES: Mapping[type, Callable[[Any], tuple[int, Iterable[Any]]]] = {
    dict: _measure_dict,
    list: _measure_list,
    tuple: _measure_list,
    set: _measure_list,
    frozenset: _measure_list,
}
