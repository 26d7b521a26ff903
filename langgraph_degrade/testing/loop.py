"""`VirtualLoop`: an asyncio event loop on a `FakeClock`. An hour of traffic takes as long as computing it."""

from __future__ import annotations

import asyncio
import contextlib
import math
import selectors
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor
from functools import partial
from typing import Any, TypeVar, TypeVarTuple

from langgraph_degrade.testing.clock import FakeClock, Stuck, job_of

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Ready = list[tuple[selectors.SelectorKey, int]]


def run_virtual(main: Coroutine[Any, Any, T], clock: FakeClock) -> T:
    """Run `main` in a new `VirtualLoop` on `clock`, as `asyncio.run` would in real time.

    Example:
        >>> clock = FakeClock()
        >>> run_virtual(asyncio.sleep(3600, "done"), clock), clock.monotonic()
        ('done', 3600.0)
    """
    with asyncio.Runner(loop_factory=partial(VirtualLoop, clock)) as runner:
        return runner.run(main)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Jumps to the next timer whenever nothing else can happen.

    What else can happen is looked at first: descriptors that are ready now; our workers, and functions in executors,
    that are at work (not asleep on the clock). While there is such work, or an open socket, the loop waits for it in
    real time, at most the clock's `patience`, and only then jumps. So real loopback I/O and threads may be mixed in if
    they answer within `patience`; those that don't are overtaken by the timers. Open sockets cost up to `patience` a
    jump: keep long virtual times free of them. Threads of other kinds the loop can't know.

    Nothing due, nobody at work: `Stuck`, where another loop would wait for ever.
    """

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._outside = 0
        self._real = selectors.DefaultSelector()
        super().__init__(_Selector(self._real, self._let_time_pass))
        self._own_descriptors = len(self._real.get_map())
        self._clock_resolution = 1e-6  # or a timer due now never is, where floats are coarser than the machine's clock
        clock.attach(self)

    def time(self) -> float:
        """The clock's time."""
        return self._clock.monotonic()

    def close(self) -> None:
        """Close the loop; the clock stays."""
        if not self.is_closed():
            self._clock.detach(self)
        super().close()

    def wake(self) -> None:
        """Look again: a worker fell asleep."""
        with contextlib.suppress(RuntimeError):  # closed in this moment
            self.call_soon_threadsafe(_nothing)

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """As usual, and count it as work under way."""
        future = super().run_in_executor(executor, func, *args)
        self._outside += 1
        future.add_done_callback(self._came_back)
        return future

    def _came_back(self, _: asyncio.Future[Any]) -> None:
        self._outside -= 1

    def _let_time_pass(self, timeout: float | None) -> Ready:
        """Nothing is ready now. `timeout`: seconds to the loop's next timer (None: there is none)."""
        due = self._clock.next_due()
        if timeout is not None:
            due = min(due, self.time() + timeout)
        if math.isinf(due):
            return self._wait_for_work()
        if self._is_work_under_way() and (ready := self._real.select(self._clock.patience)):
            return ready
        self._clock.advance_to(max(due, math.nextafter(self.time(), math.inf)))
        return []

    def _wait_for_work(self) -> Ready:
        ready = self._real.select(None if self._is_work_under_way() else self._clock.patience)
        if not ready:
            raise Stuck("every task waits, no timer is set and no worker is at work")
        return ready

    def _is_work_under_way(self) -> bool:
        has_sockets = len(self._real.get_map()) > self._own_descriptors
        return self._outside > 0 or has_sockets or any(map(self._is_at_work, threading.enumerate()))

    def _is_at_work(self, thread: threading.Thread) -> bool:
        """Whether it is a worker that runs something somebody waits for."""
        job = job_of(thread)
        return job is not None and not job.abandoned and not self._clock.is_asleep(job)


class _Selector(selectors.BaseSelector):
    """A real selector that asks before it waits."""

    def __init__(
        self,
        real: selectors.BaseSelector,
        wait: Callable[[float | None], Ready],
    ) -> None:
        self._real = real
        self._wait = wait

    def select(self, timeout: float | None = None) -> Ready:
        ready = self._real.select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        return self._wait(timeout)

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.get_key(fileobj)

    def close(self) -> None:
        self._real.close()


def _nothing() -> None:
    """Wakes a loop by being called in it."""
