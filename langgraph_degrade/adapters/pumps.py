"""Pull a run's stream step by step under the user tier, in a context of its own, without running ahead of the caller.

The user tier is what the user waits for: the time a caller spends with a chunk before it asks for the next one is its
own.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

from langgraph_degrade.engine.own_task import reap
from langgraph_degrade.engine.ports import CallTimedOut, NoWorker, complete
from langgraph_degrade.engine.scope import ACTIVE

if TYPE_CHECKING:
    from langgraph_degrade.engine.engine import Engine
    from langgraph_degrade.engine.scope import Scope

END = object()
"""After the last chunk."""
GRACE = 1.0
"""Seconds a cancelled run's cleanup is waited for ○; then it goes on by itself."""


class _Patience:
    """How much of the user tier is left; only time inside the block counts."""

    def __init__(self, engine: Engine) -> None:
        self._now = engine.clock.monotonic
        self.left: float = engine.policy.timeouts.user
        self._since = 0.0

    def __enter__(self) -> float:
        self._since = self._now()
        return self.left

    def __exit__(self, *_: object) -> None:
        self.left = max(0.0, self.left - (self._now() - self._since))


class SyncPump:
    """Each step on a worker, all in one context; a step that outlives the user's time is left to itself."""

    def __init__(self, make: Callable[[], Iterator[Any]], engine: Engine, scope: Scope) -> None:
        self._ports = engine.sync_ports
        self._patience = _Patience(engine)
        self._context = contextvars.copy_context()
        self._context.run(ACTIVE.set, scope)
        self._steps = self._context.run(make)
        self._is_gone = False

    def next(self) -> Any:
        """The next chunk, or `END`; `CallTimedOut` when the user tier is over first."""
        with self._patience as limit:
            call = self._ports.call(
                self._step, is_async=False, timeout=limit, own_thread=False, on_late=self._come_late
            )
            try:
                return complete(call)
            except NoWorker:  # never begun
                raise
            except BaseException:  # ended by what it raised, or, at a limit or Ctrl-C, still busy on its worker
                self._is_gone = True
                raise

    def close(self) -> None:
        """The caller is done, early or not."""
        if not self._is_gone:
            self._context.run(_close, self._steps)

    def _step(self) -> Any:
        return self._context.run(next, self._steps, END)

    def _come_late(self, _: object) -> None:
        self._context.run(_close, self._steps)


class AsyncPump:
    """One task drives the whole run, a step each time it is asked; it can be left to itself when time is over."""

    def __init__(self, make: Callable[[], AsyncIterator[Any]], engine: Engine, scope: Scope) -> None:
        self._make = make
        self._patience = _Patience(engine)
        self._context = contextvars.copy_context()
        self._context.run(ACTIVE.set, scope)
        self._asked = asyncio.Event()
        self._reply: asyncio.Future[Any] | None = None
        self._task: asyncio.Task[None] | None = None

    async def next(self) -> Any:
        """See `SyncPump.next`."""
        loop = asyncio.get_running_loop()
        reply = self._reply = loop.create_future()
        self._asked.set()
        if self._task is None:
            self._task = loop.create_task(self._drive(), context=self._context)
        with self._patience as limit:
            await asyncio.wait({reply, self._task}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if reply.done():
            return reply.result()
        if self._task.done():  # somebody else ended it
            raise asyncio.CancelledError
        raise CallTimedOut(limit)

    async def close(self) -> None:
        """The caller is done, early, cancelled or not: end the run, and don't wait long for its cleanup."""
        task = self._task
        if task is None or task.done():
            return
        reap(task)
        await asyncio.wait({task}, timeout=GRACE)

    async def _drive(self) -> None:
        steps = self._make()
        try:
            while True:
                await self._asked.wait()
                self._asked.clear()
                self._answer(await anext(steps, END), None)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or not task.cancelling():  # the graph's own, not ours
                self._answer(None, error)
            raise
        except BaseException as error:  # whoever asked raises it: a node may end in more than an `Exception`
            self._answer(None, error)
        finally:
            await steps.aclose()  # type: ignore[attr-defined]

    def _answer(self, chunk: Any, error: BaseException | None) -> None:
        if self._reply is None or self._reply.done():
            return
        if error is None:
            self._reply.set_result(chunk)
        else:
            self._reply.set_exception(error)


def _close(steps: Iterator[Any]) -> None:
    steps.close()  # type: ignore[attr-defined]
