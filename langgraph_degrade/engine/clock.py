"""Time as an argument: the one place where the package asks the machine what time it is."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Where time comes from. Seconds, as floats. `testing.FakeClock` is the other implementation."""

    def monotonic(self) -> float:
        """Seconds since some moment; never runs backwards."""
        ...

    def time(self) -> float:
        """Unix time, for records people read; never for decisions."""
        ...

    def sleep(self, seconds: float) -> None:
        """Block this thread."""
        ...

    async def asleep(self, seconds: float) -> None:
        """Suspend this task."""
        ...


class SystemClock:
    """The machine's clocks."""

    monotonic = staticmethod(time.monotonic)
    time = staticmethod(time.time)
    sleep = staticmethod(time.sleep)
    asleep = staticmethod(asyncio.sleep)
