"""`FakeClock`: time that moves only when told, or when everybody who could do something waits for it."""

from __future__ import annotations

import asyncio
import math
import threading
from typing import TYPE_CHECKING

from langgraph_degrade.engine.clock import Baton
from langgraph_degrade.engine.workers import Job, Worker

if TYPE_CHECKING:
    from langgraph_degrade.testing.loop import VirtualLoop

TICK = 0.001
"""Real seconds between two looks at a worker."""


class Stuck(BaseException):
    """Raised where a test would wait for ever: nothing is due, and nobody is at work.

    A `BaseException`, so that what is being tested can't degrade it.
    """


class _Sleeper:
    """A worker's thread that sleeps on the clock."""

    def __init__(self, job: Job, due: float, event: threading.Event) -> None:
        self.job = job
        self.due = due
        self.event = event


class _Waiter:
    """A caller's thread that waits for its worker."""

    def __init__(self, baton: Baton, due: float) -> None:
        self.baton = baton
        self.due = due
        self.ticks = 0
        """Looks at a worker that was awake, and not done."""


class FakeClock:
    """A `Clock` for tests: sleeping moves the time instead of taking it.

    Where calls with a timeout run on workers, their sleeps run side by side with the limits, as real ones would: a
    `sleep(5)` under a limit of 3 s is cut at 3, and goes on, abandoned, until the time has come to 5. Work the clock
    can't see (a socket, an `Event`) gets `patience` *real* seconds before the time moves past it.

    Limits: threads that aren't our workers move the time by sleeping, one after the other, even if they'd sleep side by
    side; two calls in parallel threads share one time but start where the clock stands when they get there.

    Example:
        >>> clock = FakeClock()
        >>> clock.sleep(30.0)
        >>> clock.monotonic()
        30.0
    """

    def __init__(self, start: float = 0.0, *, epoch: float = 1_700_000_000.0, patience: float = 0.25) -> None:
        """`start`: of `monotonic`; `epoch`: Unix time at `monotonic() == 0`; `patience`: real seconds."""
        self.patience = patience
        self._now = start
        self._epoch = epoch
        self._lock = threading.Lock()
        self._sleepers: list[_Sleeper] = []
        self._waiters: list[_Waiter] = []
        self._loops: list[VirtualLoop] = []

    def monotonic(self) -> float:
        """Seconds since the test began (from `start`)."""
        return self._now

    def time(self) -> float:
        """Unix time, moving with `monotonic`."""
        return self._epoch + self._now

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass; what was due meanwhile wakes up."""
        self.advance_to(self._now + seconds)

    def advance_to(self, moment: float) -> None:
        """Let the time come to `moment` of `monotonic`; never runs backwards."""
        with self._lock:
            self._move(moment)

    def sleep(self, seconds: float) -> None:
        """Let `seconds` pass; on a worker: wait until they have passed for those who wait for it."""
        self.hang(threading.Event(), seconds)

    def hang(self, released: threading.Event, seconds: float = math.inf) -> None:
        """Sleep until `released` is set, at most `seconds`."""
        job = self._job_here()
        if job is not None:
            self._park(_Sleeper(job, self._now + seconds, released))
        elif math.isinf(seconds):
            raise Stuck("a call without a limit hangs in its caller's own thread")
        else:
            self.advance(seconds)

    async def asleep(self, seconds: float) -> None:
        """Suspend the task for `seconds` of virtual time; in an ordinary event loop: let them pass at once."""
        if asyncio.get_running_loop() in self._loops:
            await asyncio.sleep(seconds)  # in that loop it takes no time
        else:
            self.advance(seconds)
            await asyncio.sleep(0)

    def wait(self, baton: Baton, seconds: float) -> bool:
        """Block until `baton` is taken (True) or `seconds` have passed, which they do once every worker sleeps."""
        waiter = _Waiter(baton, self._now + seconds)
        with self._lock:
            self._waiters.append(waiter)
        try:
            while not baton.acquire(timeout=TICK):
                if self._is_over(waiter):
                    return baton.acquire(blocking=False)
            return True
        finally:
            with self._lock:
                self._waiters.remove(waiter)

    # What `VirtualLoop` needs to know.

    def attach(self, loop: VirtualLoop) -> None:
        """Let `loop` drive the time."""
        self._loops.append(loop)

    def detach(self, loop: VirtualLoop) -> None:
        """End what `attach` began."""
        self._loops.remove(loop)

    def next_due(self) -> float:
        """When the next sleeping worker wakes up (infinite: none does)."""
        with self._lock:
            return min((sleeper.due for sleeper in self._sleepers), default=math.inf)

    def is_asleep(self, job: Job) -> bool:
        """Whether the worker that runs `job` sleeps on this clock."""
        return any(sleeper.job is job for sleeper in self._sleepers)

    def _job_here(self) -> Job | None:
        """The job of this thread, if somebody who watches this clock waits for it."""
        thread = threading.current_thread()
        if isinstance(thread, Worker) and thread.job is not None and (thread.job.is_blocking or self._loops):
            return thread.job
        return None

    def _park(self, sleeper: _Sleeper) -> None:
        with self._lock:
            if sleeper.due <= self._now:
                return
            self._sleepers.append(sleeper)
        for loop in tuple(self._loops):
            loop.wake()
        sleeper.event.wait()
        with self._lock:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)

    def _move(self, moment: float) -> None:
        self._now = max(self._now, moment)
        due = [sleeper for sleeper in self._sleepers if sleeper.due <= self._now]
        for sleeper in due:
            self._sleepers.remove(sleeper)
            sleeper.event.set()

    def _is_over(self, waiter: _Waiter) -> bool:
        """After a tick in vain: move the time, if everybody waits for that. True: `waiter`'s time is over."""
        with self._lock:
            waiter.ticks += not self._is_asleep(waiter)
            due = min([entry.due for entry in self._waiters] + [entry.due for entry in self._sleepers])
            if due < math.inf and self._is_quiet():
                self._move(due)
            return self._now >= waiter.due

    def _is_quiet(self) -> bool:
        """Whether every worker that is waited for sleeps, or has had all the real time we grant.

        Who waits for something else, such as another caller's result, doesn't hold the time up.
        """
        idle = [self._is_idle(waiter) for waiter in self._waiters]
        at_work = {id(job.done) for job in map(job_of, threading.enumerate()) if job is not None}
        busy = [id(waiter.baton) in at_work for waiter in self._waiters]
        return any(idle) and all(rests or not works for rests, works in zip(idle, busy, strict=True))

    def _is_idle(self, waiter: _Waiter) -> bool:
        return self._is_asleep(waiter) or waiter.ticks * TICK >= self.patience

    def _is_asleep(self, waiter: _Waiter) -> bool:
        return any(sleeper.job.done is waiter.baton for sleeper in self._sleepers)


def job_of(thread: threading.Thread) -> Job | None:
    """What a worker runs or is about to run; None for a resting one and any other thread."""
    if not isinstance(thread, Worker):
        return None
    return thread.next_job or thread.job  # in this order: it moves from the first to the second
