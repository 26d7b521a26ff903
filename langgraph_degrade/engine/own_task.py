"""An async call in a task of its own, so that what cancelling it takes can't hold its caller (case-M01).

`asyncio.timeout` and `wait_for` wait for the cancelled coroutine: a `finally` of 30 s turns a limit of 3 s into 33.
Everything here happens in the loop's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from langgraph_degrade.engine.blocking import HELD, watched
from langgraph_degrade.engine.bulkhead import Bulkhead
from langgraph_degrade.engine.clock import Clock
from langgraph_degrade.engine.pending import Late, Pending
from langgraph_degrade.engine.waiting import Waiter, settle

CLEANUP = 30.0
"""Seconds an abandoned task has for its cleanup before it is cancelled once more, and again after as many ○."""


class ToolCancelled(RuntimeError):
    """Raised in place of a `CancelledError` that comes out of a tool although nobody cancelled the call.

    (anyio and MCP cancel scopes leak such.) Passed on as it is, it would end the caller's run; like this it is a
    failure among others, of kind `unknown`.
    """


class TaskCall(Pending):
    """One async call, run by `start`, waited for through `waiter`."""

    __slots__ = ("_fn", "_has_begun", "_task", "finished", "waiter")

    def __init__(
        self,
        fn: Callable[[], Awaitable[Any]],
        clock: Clock,
        bulkhead: Bulkhead | None,
        on_late: Callable[[Late], None] | None,
    ) -> None:
        super().__init__(clock, bulkhead, on_late)
        self._fn = fn
        self._has_begun = False
        self._task: asyncio.Task[None] | None = None
        self.finished = False

    def start(self, limit: float, blocked: Callable[[float], None] | None) -> None:
        """Create the task; `blocked` hears of a step that holds the loop longer than `HELD` or `limit` seconds."""
        if self.bulkhead is not None:
            self.bulkhead.check()
        loop = asyncio.get_running_loop()
        self.waiter: Waiter = loop.create_future()
        self._task = loop.create_task(self._run(min(limit, HELD), blocked))

    def give_up(self) -> None:
        """Cancel the call and leave it to its cleanup."""
        if self.finished:
            self.tell()
            return
        self.abandoned = True
        self.count()
        if not self._has_begun:  # and never will
            self.error = asyncio.CancelledError()
            self.end_late()
        self._let_go()
        self._task = None

    def _let_go(self) -> None:
        task, bulkhead = self._task, self.bulkhead
        if task is None:
            return
        if bulkhead is None or bulkhead.interruptible or not self._has_begun:
            reap(task)
            return
        bulkhead.left_running.add(task)
        task.add_done_callback(bulkhead.left_running.discard)

    async def _run(self, longest: float, blocked: Callable[[float], None] | None) -> None:
        """Make the call; every way it can end is an outcome, so the task itself never fails."""
        self._has_begun = True
        try:
            if blocked is None:
                self.value = await self._fn()
            else:
                self.value = await watched(_steps(self._fn), self._clock.monotonic, longest, blocked)
        except asyncio.CancelledError as error:
            self.error = error if self.abandoned else _as_failure(error)
        except BaseException as error:
            self.error = error
        self.finished = True
        if self.abandoned:
            self.end_late()
        else:
            settle(self.waiter)


async def awaited(fn: Callable[[], Awaitable[Any]]) -> Any:
    """Await `fn()` in the caller's own task, telling its cancellation from the tool's."""
    try:
        return await fn()
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise _as_failure(error) from error


async def _steps(fn: Callable[[], Awaitable[Any]]) -> Any:
    """What `fn` does before it returns its awaitable is a step too."""
    return await fn()


def _as_failure(error: asyncio.CancelledError) -> ToolCancelled:
    failure = ToolCancelled("cancelled by the tool")
    failure.__cause__ = error
    return failure


def reap(task: asyncio.Task[None]) -> None:
    """Cancel `task`, and again every `CLEANUP` seconds until it has ended.

    The timer also is what keeps the task alive (a loop holds its tasks weakly), and it dies with the loop.
    """
    if not task.done():
        task.cancel()
        task.get_loop().call_later(CLEANUP, reap, task)
