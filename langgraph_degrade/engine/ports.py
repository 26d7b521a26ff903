"""The two things in the whole package that have a colour: making a call, and pausing.

The engine is one `async def` over these ports. `AsyncPorts` suspends as any coroutine does; `SyncPorts` never does, so
`complete` runs the same algorithm with a single `send(None)`, with no event loop anywhere.
"""

from __future__ import annotations

import asyncio
from _thread import allocate_lock
from collections.abc import Awaitable, Callable, Coroutine
from types import CoroutineType
from typing import Any, Protocol, TypeVar

from langgraph_degrade.engine.blocking import Watched
from langgraph_degrade.engine.bulkhead import Bulkhead, NoWorker
from langgraph_degrade.engine.clock import Clock
from langgraph_degrade.engine.pending import Late, Pending
from langgraph_degrade.engine.workers import Job, Workers

__all__ = [
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

BLOCKED = 0.1
"""Seconds one step of a coroutine may hold the event loop before it is reported ○."""
CLEANUP = 30.0
"""Seconds an abandoned task has for its cleanup before it is cancelled once more, and again after as many ○."""


class CallTimedOut(TimeoutError):
    """Raised when our own limit cut a call. The target may have done the work all the same."""

    def __init__(self, seconds: float, *, queued: float = 0.0) -> None:
        super().__init__(f"no answer within {seconds:g} s")
        self.seconds = seconds
        """The limit."""
        self.queued = queued
        """The part of it spent waiting for a free worker: time the target never had."""


class ToolCancelled(RuntimeError):
    """Raised in place of a `CancelledError` that comes out of a tool although nobody cancelled the call.

    (anyio and MCP cancel scopes leak such.) A failure like any other: passed on as it is, it would end the caller's run.
    """


class Ports(Protocol):
    """How the engine reaches the world."""

    async def call(  # noqa: PLR0913
        self,
        fn: Callable[[], Any],
        *,
        is_async: bool,
        timeout: float | None,  # noqa: ASYNC109
        own_thread: bool,
        on_late: Callable[[Late], None] | None = None,
        blocked: Callable[[float], None] | None = None,
        bulkhead: Bulkhead | None = None,
    ) -> Any:
        """Call `fn` and return or raise what it does, within `timeout` seconds (None: without a limit).

        Args:
            fn: takes no arguments.
            is_async: `fn` returns an awaitable.
            timeout: when over, the caller gets `CallTimedOut` at once; the call is abandoned, not waited for. A value
                that is already there when the limit is looked at is returned: it is known.
            own_thread: a sync `fn` runs in the caller's own thread, where no limit can cut it.
            on_late: told what an abandoned call did in the end; on a worker or in the event loop, so it must not block.
            blocked: told, once, how many seconds an async `fn` held the event loop in one step, when that was longer
                than `BLOCKED` or `timeout`.
            bulkhead: the target's; `NoWorker` is raised where it is full.
        """
        ...

    async def pause(self, seconds: float) -> None:
        """Wait, without occupying more than the caller."""
        ...


class SyncPorts:
    """For callers without an event loop (or who block it, knowingly)."""

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
            raise TypeError("an async function was reached from sync code: call the async twin (ainvoke, astream, …)")
        if timeout is None or own_thread:
            return _plain(fn())
        return _plain(self._within(timeout, fn, on_late, bulkhead))

    async def pause(self, seconds: float) -> None:
        """Block the caller's thread."""
        self._clock.sleep(seconds)

    def _within(
        self,
        limit: float,
        fn: Callable[[], Any],
        on_late: Callable[[Late], None] | None,
        bulkhead: Bulkhead | None,
    ) -> Any:
        queued = 0.0 if bulkhead is None else self._enter(bulkhead, limit)
        job = Job(fn, self._clock, bulkhead, on_late)
        _start(job, self._workers, bulkhead)
        try:
            arrived = self._clock.wait(job.done, limit - queued)
        except BaseException:  # Ctrl-C while waiting
            _give_up(job)
            raise
        if arrived or job.abandon():
            return job.result()
        raise CallTimedOut(limit, queued=queued)

    def _enter(self, bulkhead: Bulkhead, limit: float) -> float:
        """Take a slot; returns the seconds it took."""
        granted = allocate_lock()
        granted.acquire()
        if bulkhead.enter(granted.release):
            return 0.0
        started = self._clock.monotonic()
        try:
            arrived = self._clock.wait(granted, limit)
        except BaseException:
            _leave_queue(bulkhead, granted.release)
            raise
        if not arrived:
            _leave_queue(bulkhead, granted.release)
            raise NoWorker("no worker became free in time")
        return min(self._clock.monotonic() - started, limit)


class AsyncPorts:
    """For callers in an event loop. Works in every loop that runs the calling task; it keeps none."""

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
        blocked: Callable[[float], None] | None = None,
        bulkhead: Bulkhead | None = None,
    ) -> Any:
        """See `Ports.call`. A sync `fn` runs on a worker, so that it can't block the loop, unless `own_thread`."""
        if not is_async:
            if own_thread:
                return _plain(fn())
            return _plain(await self._on_worker(timeout, fn, on_late, bulkhead))
        if timeout is None:
            return await _awaited(fn)
        if bulkhead is not None:
            bulkhead.check()
        return await self._in_task(timeout, fn, on_late, bulkhead, blocked)

    async def pause(self, seconds: float) -> None:
        """Suspend the caller's task."""
        await self._clock.asleep(seconds)

    async def _in_task(
        self,
        limit: float,
        fn: Callable[[], Awaitable[Any]],
        on_late: Callable[[Late], None] | None,
        bulkhead: Bulkhead | None,
        blocked: Callable[[float], None] | None,
    ) -> Any:
        """Run `fn` as a task of its own: what cancelling it takes (a slow `finally`, say) can't hold the caller."""
        loop = asyncio.get_running_loop()
        call = _TaskCall(fn, self._clock, bulkhead, on_late, loop.create_future())
        steps: Coroutine[Any, Any, None] = call.run()
        if blocked is not None:
            steps = Watched(steps, now=self._clock.monotonic, limit=min(limit, BLOCKED), report=blocked)
        task = loop.create_task(steps)
        try:
            await _expire(call.waiter, limit)
        except BaseException:  # the caller is cancelled
            call.give_up(task)
            raise
        if call.finished:
            return call.result()
        call.give_up(task)
        raise CallTimedOut(limit)

    async def _on_worker(
        self,
        limit: float | None,
        fn: Callable[[], Any],
        on_late: Callable[[Late], None] | None,
        bulkhead: Bulkhead | None,
    ) -> Any:
        queued = 0.0 if bulkhead is None else await self._enter(bulkhead, limit)
        waiter = asyncio.get_running_loop().create_future()
        job = Job(fn, self._clock, bulkhead, on_late, _from_thread(waiter, value=None))
        _start(job, self._workers, bulkhead)
        try:
            await _expire(waiter, None if limit is None else limit - queued)
        except BaseException:  # the caller is cancelled
            _give_up(job)
            raise
        if job.take() or job.abandon():
            return job.result()
        assert limit is not None  # noqa: S101
        raise CallTimedOut(limit, queued=queued)

    async def _enter(self, bulkhead: Bulkhead, limit: float | None) -> float:
        """Take a slot; returns the seconds it took."""
        waiter = asyncio.get_running_loop().create_future()
        granted = _from_thread(waiter, value=True)
        if bulkhead.enter(granted):
            return 0.0
        started = self._clock.monotonic()
        try:
            arrived = await _expire(waiter, limit)
        except BaseException:
            _leave_queue(bulkhead, granted)
            raise
        if not arrived:
            _leave_queue(bulkhead, granted)
            raise NoWorker("no worker became free in time")
        waited = self._clock.monotonic() - started
        return waited if limit is None else min(waited, limit)


class _TaskCall(Pending):
    """An async call in a task of its own. Everything here happens in the loop's thread."""

    __slots__ = ("_fn", "finished", "started", "waiter")

    def __init__(
        self,
        fn: Callable[[], Awaitable[Any]],
        clock: Clock,
        bulkhead: Bulkhead | None,
        on_late: Callable[[Late], None] | None,
        waiter: asyncio.Future[Any],
    ) -> None:
        super().__init__(clock, bulkhead, on_late)
        self._fn = fn
        self.waiter = waiter
        self.started = False
        self.finished = False

    async def run(self) -> None:
        """Make the call; every way it can end is an outcome, so the task itself never fails."""
        self.started = True
        try:
            self.value = await self._fn()
        except asyncio.CancelledError as error:
            self.error = error if self.abandoned else _tool_cancelled(error)
        except BaseException as error:
            self.error = error
        self.finished = True
        if self.abandoned:
            self.end_late()
        else:
            _set(self.waiter)

    def give_up(self, task: asyncio.Task[None]) -> None:
        """Cancel the call and leave it to its cleanup."""
        if self.finished:
            self.tell()
            return
        self.abandoned = True
        self.count()
        if not self.started:  # and never will be
            self.error = asyncio.CancelledError()
            self.end_late()
        _reap(task)


def _reap(task: asyncio.Task[None]) -> None:
    """Cancel `task`, and again every `CLEANUP` seconds until it has ended.

    The timer also is what keeps the task alive (a loop holds its tasks weakly), and dies with the loop.
    """
    if not task.done():
        task.cancel()
        task.get_loop().call_later(CLEANUP, _reap, task)


def _tool_cancelled(error: asyncio.CancelledError) -> ToolCancelled:
    wrapped = ToolCancelled("the tool cancelled itself")
    wrapped.__cause__ = error
    return wrapped


async def _awaited(fn: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return await fn()
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise _tool_cancelled(error) from error


async def _expire(waiter: asyncio.Future[Any], limit: float | None) -> Any:
    """Wait for `waiter`; None when `limit` seconds are over first."""
    timer = None if limit is None else asyncio.get_running_loop().call_later(limit, _set, waiter)
    try:
        return await waiter
    finally:
        if timer is not None:
            timer.cancel()


def _set(waiter: asyncio.Future[Any], value: Any = None) -> None:
    if not waiter.done():
        waiter.set_result(value)


def _from_thread(waiter: asyncio.Future[Any], value: Any) -> Callable[[], object]:
    """How another thread sets `waiter`. Raises `RuntimeError` when its loop is closed."""
    loop = asyncio.get_running_loop()

    def wake() -> None:
        loop.call_soon_threadsafe(_set, waiter, value)

    return wake


def _start(job: Job, workers: Workers, bulkhead: Bulkhead | None) -> None:
    try:
        workers.start(job)
    except BaseException:
        if bulkhead is not None:
            bulkhead.leave()
        raise


def _give_up(job: Job) -> None:
    """Abandon `job` although it may just have ended; then its outcome is told as late."""
    if job.take() or job.abandon():
        job.tell()


def _leave_queue(bulkhead: Bulkhead, wake: Callable[[], object]) -> None:
    if not bulkhead.withdraw(wake):
        bulkhead.leave()


def _plain(value: Any) -> Any:
    """Return `value`, unless it is a coroutine: a sync function that gives one was meant to be async."""
    if type(value) is CoroutineType:
        value.close()
        raise TypeError("a function declared sync returned a coroutine: declare it with `async def`")
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
    finally:
        coroutine.close()
    raise RuntimeError("a coroutine meant to run without an event loop wanted to wait")
