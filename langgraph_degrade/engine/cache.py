"""The two caches of a target (spec E3): the last good value, and the read-through cache with single flight.

Both hold copies and hand out copies, never failures and never degraded values (the caller puts only what passed
the classifier and its schema), and are bounded: by age, by number (least recently used go first), by size of a value.
Time is passed in: monotonic seconds. `key` is what `keys.scope_key` and `keys.canonical` give, together.
"""

from __future__ import annotations

import copy
import sys
from collections import OrderedDict
from collections.abc import Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from langgraph_degrade.policy import CachePolicy

LARGEST = 1_000_000
"""Bytes (about) of the largest value kept (○)."""

EMPTY_TTL = 5.0
"""Seconds an empty value may stand in (○, case-K04): as often a hiccup of the target as the truth."""

LEASE = 60.0
"""Seconds after which a leader that never came back is given up (○): no key stays pending for ever."""


class Hit(NamedTuple):
    """A kept value and its age in seconds."""

    value: Any
    age: float


class LastGood:
    """What a target last answered, by key: stands in when it fails, never instead of a live call."""

    def __init__(self, policy: CachePolicy) -> None: ...

    def put(self, key: Hashable, value: object, now: float) -> bool:
        """Keep a copy; False where the value can't be copied or is too large, or a newer one is there."""
        raise NotImplementedError

    def get(self, key: Hashable, now: float) -> Hit | None:
        """A copy of the value and its age, at most the policy's TTL; None where there is none."""
        raise NotImplementedError


class Lead:
    """The right, and the duty, to load one key: `with lead: lead.fulfil(load(), now)`.

    Leaving the block without a value (failure, cancellation, a degraded answer) lets one of the waiters lead.
    """

    def fulfil(self, value: object, now: float) -> None:
        """Keep the value and wake the waiters. Allowed after the block too: a late result is still a result."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class ReadThrough:
    """A normal cache with single flight: one caller loads a key, the others wait for it.

    One algorithm for both colours; only the wait is a port (`future.result(timeout)` in a thread,
    `asyncio.wait_for(asyncio.wrap_future(future), timeout)` in a task):

        while True:
            match cache.claim(key, clock.monotonic()):
                case Hit(value, age): return value
                case Lead() as lead:
                    with lead:
                        value = await call(...)
                        lead.fulfil(value, clock.monotonic())
                        return value
                case Future() as done: await wait(done, timeout)
    """

    def __init__(self, policy: CachePolicy) -> None: ...

    def claim(self, key: Hashable, now: float) -> Hit | Lead | Future[None]:
        """The value, or the right to load it, or a future that is done as soon as the leader is, either way."""
        raise NotImplementedError
