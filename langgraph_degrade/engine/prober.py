"""Who carries a `Patrol` out: a thread, or a task. Either stops within a second, whatever hangs."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from langgraph_degrade.engine.logs import frames
from langgraph_degrade.engine.patrol import Patrol, Way
from langgraph_degrade.engine.ports import AsyncPorts, complete
from langgraph_degrade.engine.probe_loops import ProbePorts
from langgraph_degrade.engine.waiting import Waiter, arrival, settle
from langgraph_degrade.engine.workers import Job, Workers

if TYPE_CHECKING:
    from langgraph_degrade.engine.clock import Clock

log = logging.getLogger("langgraph_degrade")

Look = Callable[[], Coroutine[Any, Any, None]]

STOPPING = 1.0
"""Seconds `stop` waits for the thread, which no probe holds up ○."""


class Run(Way, Protocol):
    """A patrol under way. It begins with the first `wake`."""

    patrol: Patrol

    def is_alive(self) -> bool: ...
    def wake(self) -> None:
        """End the pause; from any thread."""
        ...

    def stop(self) -> None: ...
    async def astop(self) -> None: ...


class ThreadRun:
    """By a daemon thread that only keeps time; each look is a worker's."""

    def __init__(self, patrol: Patrol, clock: Clock, workers: Workers) -> None:
        self.patrol = patrol
        self.ports = ProbePorts(clock, workers)
        self.is_over = False
        self._clock = clock
        self._workers = workers
        self._bell = threading.Semaphore(0)
        # In an empty context: whoever starts it may be inside a request.
        self._thread = threading.Thread(
            target=Context().run, args=(self._keep_time,), name="degrade-probes", daemon=True
        )

    def is_alive(self) -> bool:
        return not self.is_over

    def wake(self) -> None:
        if self._thread.ident is None:
            self._thread.start()
        self._bell.release()

    def spawn(self, look: Look) -> None:
        self._workers.start(Job(partial(_to_its_end, look), self._clock, None, None, self._bell.release))

    async def pause(self, seconds: float) -> None:
        self._clock.wait(self._bell, seconds)

    def stop(self) -> None:
        self.is_over = True
        self.ports.close()
        self._bell.release()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(STOPPING)

    async def astop(self) -> None:
        self.stop()

    def _keep_time(self) -> None:
        _to_its_end(partial(self.patrol.run, self))


class LoopRun:
    """By a task; each look is another one."""

    def __init__(self, patrol: Patrol, clock: Clock, workers: Workers) -> None:
        self.patrol = patrol
        self.ports = AsyncPorts(clock, workers)
        self.is_over = False
        self._loop = asyncio.get_running_loop()
        self._tasks = set[asyncio.Task[None]]()
        self._waiter: Waiter | None = None

    def is_alive(self) -> bool:
        return not (self.is_over or self._loop.is_closed())

    def wake(self) -> None:
        with suppress(RuntimeError):  # the loop was closed
            self._loop.call_soon_threadsafe(self._ring)

    def spawn(self, look: Look) -> None:
        task = self._loop.create_task(look(), name="degrade-probe", context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def pause(self, seconds: float) -> None:
        self._waiter = self._loop.create_future()
        await arrival(self._waiter, None if math.isinf(seconds) else seconds)

    def stop(self) -> None:
        self.is_over = True
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._cancel)

    async def astop(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            self.stop()
            return
        self.is_over = True
        self._cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ring(self) -> None:
        if self._waiter is not None:
            settle(self._waiter)
        elif not (self._tasks or self.is_over):
            self.spawn(partial(self.patrol.run, self))

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._ring()

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()


def _to_its_end(look: Look) -> None:
    """Run it on this thread; what a probe must not raise (`SystemExit`) ends here."""
    try:
        complete(look())
    except BaseException as error:
        log.error("a probe ended with %s\n%s", type(error).__name__, frames(error))  # noqa: TRY400 - no text
