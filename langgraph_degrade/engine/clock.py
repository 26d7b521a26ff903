"""Time as an argument: the one place where the package asks the machine what time it is."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Protocol


class Baton(Protocol):
    """What a caller waits for: a lock that another thread releases (`threading.Lock` is one)."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002 (the lock's own signature)
        """Take it, waiting at most `timeout` seconds."""
        ...


class Clock(Protocol):
    """Where time comes from. Seconds, as floats. `testing.FakeClock` is the other implementation."""

    def monotonic(self) -> float:
        """Seconds since some moment; never runs backwards."""
        ...

    def time(self) -> float:
        """Unix time, for records people read; never for decisions."""
        ...

    def sleep(self, seconds: float, /) -> None:
        """Block this thread."""
        ...

    async def asleep(self, seconds: float, /) -> None:
        """Suspend this task."""
        ...

    def wait(self, baton: Baton, seconds: float, /) -> bool:
        """Block this thread until it has taken `baton` (True), or `seconds` are over."""
        ...


class SystemClock:
    """The machine's clocks."""

    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)
    asleep = staticmethod(asyncio.sleep)
    time = staticmethod(time.time)  # last: from here on the name means this one

    @staticmethod
    def wait(baton: Baton, seconds: float) -> bool:
        """Block this thread until it has taken `baton` (True), or `seconds` are over."""
        return baton.acquire(timeout=min(max(seconds, 0.0), threading.TIMEOUT_MAX))
