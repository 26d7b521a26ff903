"""What has a colour in the whole package: making a call, waiting for another caller's, and pausing.

The engine is one `async def` over these ports. `AsyncPorts` suspends as any coroutine does; `SyncPorts` never does, so
`complete` runs the same algorithm with a single `send(None)`, with no event loop anywhere.
"""

from __future__ import annotations

import asyncio
import math
from _thread import allocate_lock
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from types import CoroutineType
from typing import Any, Protocol, TypeVar

from langgraph_degrade.engine.blocking import HELD
from langgraph_degrade.engine.bulkhead import Bulkhead, NoWorker
from langgraph_degrade.engine.clock import Clock
from langgraph_degrade.engine.own_task import CLEANUP, TaskCall, ToolCancelled, awaited
from langgraph_degrade.engine.pending import Late
from langgraph_degrade.engine.slots import enter, enter_blocking
from langgraph_degrade.engine.waiting import arrival, from_thread
from langgraph_degrade.engine.workers import Job, Workers

__all__ = [
    "CLEANUP",
    "HELD",
    "AsyncPorts",
    "Bulkhead",
    "CallTimedOut",
    "Late",
    "NoWorker",
    "Ports",
    "SyncPorts",
    "ToolCancelled",
    "complete",
]

T = TypeVar("T")


class CallTimedOut(TimeoutError):
    """Raised when our own limit cut a call. The target may have done the work all the same."""

    def __init__(self, seconds: float, *, queued: float = 0.0) -> None:
        super().__init__(f"no answer within {seconds:g} s")
        self.seconds = seconds
        """The limit."""
        self.queued = queued
        """The part of it spent waiting for a free worker: time the target never had."""
        self.is_told = False
        """Whoever set the limit has heard of it; from there on it is an error like others."""


class Ports(Protocol):
    """How the engine reaches the world."""

    def call(  # noqa: PLR0913
        self,
        fn: Callable[[], Any],
        *,
        is_async: bool,
        timeout: float | None,
        own_thread: bool,
        on_late: Callable[[Late], None] | None = None,
        blocked: Callable[[float], None] | None = None,
        bulkhead: Bulkhead | None = None,
    ) -> Coroutine[Any, Any, Any]:
        """Call `fn` and return or raise what it does, within `timeout` seconds (None: without a limit).

        Args:
            fn: takes no arguments.
            is_async: `fn` returns an awaitable.
            timeout: when over, the caller gets `CallTimedOut` at once; the call is abandoned, not waited for. A value
                that is there when the limit is looked at is returned, even if late: it is known.
            own_thread: a sync `fn` runs in the caller's own thread, where no limit can cut it.
            on_late: told, once, what an abandoned call did in the end; on a worker or in the event loop, so it must not
                block.
            blocked: told, once, how many seconds an async `fn` held the event loop in one step, where that was longer
                than `HELD` or `timeout`.
            bulkhead: the target's; where it is full, `NoWorker` is raised and `fn` not called.
        """
        ...

    async def wait(self, done: Future[None], limit: float | None) -> None:
        """Wait for another caller's work; `CallTimedOut` after `limit` seconds (None: as long as it takes)."""
        ...

    async def pause(self, seconds: float) -> None:
        """Wait, without occupying more than the caller."""
        ...


class SyncPorts:
    """For callers without an event loop, or who block it knowingly."""

    def __init__(self, clock: Clock, workers: Workers) -> None:
        self._clock = clock
        self._workers = workers

    async def call(  # noqa: PLR0913
        self,
        fn: Callable[[], Any],
        *,
        is_async: bool,
        timeout: float | None,  # noqa: ASYNC109
        own_thread: bool,
        on_late: Callable[[Late], None] | None = None,
        blocked: Callable[[float], None] | None = None,  # noqa: ARG002 (blocking is what sync calls do)
        bulkhead: Bulkhead | None = None,
    ) -> Any:
        """See `Ports.call`. Never suspends. An async `fn` is a `TypeError`, and is not called."""
        if is_async:
            raise TypeError("an async function was reached from sync code: use the async twin (ainvoke, astream, …)")
        value = fn() if timeout is None or own_thread else self._on_worker(timeout, fn, on_late, bulkhead)
        return no_coroutine(value)

    async def wait(self, done: Future[None], limit: float | None) -> None:
        """Block the caller's thread until `done` is."""
        baton = allocate_lock()
        baton.acquire()
        done.add_done_callback(lambda _: baton.release())
        if not self._clock.wait(baton, math.inf if limit is None else limit):
            raise CallTimedOut(limit or 0.0)

    async def pause(self, seconds: float) -> None:
        """Block the caller's thread."""
        self._clock.sleep(seconds)

    def _on_worker(
        self,
        limit: float,
        fn: Callable[[], Any],
        on_late: Callable[[Late], None] | None,
        bulkhead: Bulkhead | None,
    ) -> Any:
        queued = 0.0 if bulkhead is None else enter_blocking(bulkhead, limit, self._clock)
        job = Job(fn, self._clock, bulkhead, on_late)
        try:
            self._workers.start(job)
            arrived = self._clock.wait(job.done, limit - queued)
        except NoWorker:
            raise
        except BaseException:  # Ctrl-C while waiting
            job.give_up()
            raise
        if arrived or job.abandon():
            return job.result()
        raise CallTimedOut(limit, queued=queued)


class AsyncPorts:
    """For callers in an event loop; in whichever loop the calling task runs."""

    def __init__(self, clock: Clock, workers: Workers) -> None:
        self._clock = clock
        self._workers = workers

    def call(  # noqa: PLR0913
        self,
        fn: Callable[[], Any],
        *,
        is_async: bool,
        timeout: float | None,
        own_thread: bool,
        on_late: Callable[[Late], None] | None = None,
        blocked: Callable[[float], None] | None = None,
        bulkhead: Bulkhead | None = None,
    ) -> Coroutine[Any, Any, Any]:
        """See `Ports.call`. A sync `fn` runs on a worker, where it can't block the loop, unless `own_thread`."""
        # Not `async` itself: every frame between a task and what it waits for is passed twice.
        if not is_async:
            return _here(fn) if own_thread else self._on_worker(timeout, fn, on_late, bulkhead)
        if timeout is None:
            return awaited(fn)
        return self._in_task(timeout, TaskCall(fn, self._clock, bulkhead, on_late), blocked)

    async def wait(self, done: Future[None], limit: float | None) -> None:
        """Suspend the caller's task until `done` is."""
        waiter = asyncio.get_running_loop().create_future()
        wake = from_thread(waiter)
        done.add_done_callback(lambda _: wake())
        if not await arrival(waiter, limit):
            raise CallTimedOut(limit or 0.0)

    async def pause(self, seconds: float) -> None:
        """Suspend the caller's task."""
        await self._clock.asleep(seconds)

    async def _in_task(self, limit: float, call: TaskCall, blocked: Callable[[float], None] | None) -> Any:
        call.start(limit, blocked)
        try:
            await arrival(call.waiter, limit)
        except BaseException:  # the caller is cancelled
            call.give_up()
            raise
        if call.finished:
            return call.result()
        call.give_up()
        raise CallTimedOut(limit)

    async def _on_worker(
        self,
        limit: float | None,
        fn: Callable[[], Any],
        on_late: Callable[[Late], None] | None,
        bulkhead: Bulkhead | None,
    ) -> Any:
        queued = 0.0 if bulkhead is None else await enter(bulkhead, limit, self._clock)
        waiter = asyncio.get_running_loop().create_future()
        job = Job(fn, self._clock, bulkhead, on_late, from_thread(waiter))
        self._workers.start(job)
        try:
            await arrival(waiter, None if limit is None else limit - queued)
        except BaseException:  # the caller is cancelled
            job.give_up()
            raise
        if limit is None or job.take() or job.abandon():
            return no_coroutine(job.result())
        raise CallTimedOut(limit, queued=queued)


async def _here(fn: Callable[[], Any]) -> Any:
    return no_coroutine(fn())


def no_coroutine(value: Any) -> Any:
    """Return `value`; a sync function that gives a coroutine was meant to be async, and is told so."""
    if value.__class__ is CoroutineType:
        value.close()
        raise TypeError("a function taken for sync returned a coroutine: declare it with `async def`")
    return value


def complete(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, without an event loop.

    Example:
        >>> async def answer() -> int:
        ...     return 42
        >>> complete(answer())
        42
    """
    try:
        coroutine.send(None)
    except StopIteration as stop:
        value: T = stop.value
        return value
    coroutine.close()
    raise RuntimeError("a coroutine meant to run without an event loop wanted to wait")
