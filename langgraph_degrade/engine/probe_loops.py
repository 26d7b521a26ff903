"""Event loops for async probes that a thread makes (`with degrader:`), one for each, so that one that blocks holds up no other.

Each stays as long as its run: a client the probe has made, and its connections, are bound to the loop they were made in.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from langgraph_degrade.engine.ports import CallTimedOut, SyncPorts
from langgraph_degrade.engine.watch import NotAProbe

if TYPE_CHECKING:
    from langgraph_degrade.engine.clock import Clock
    from langgraph_degrade.engine.workers import Workers


class ProbePorts(SyncPorts):
    """Sync ports that can call an async probe too: on a loop of its own, cancelled when it is late."""

    def __init__(self, clock: Clock, workers: Workers) -> None:
        super().__init__(clock, workers)
        self._loops: dict[Callable[[], Any], _Loop] = {}
        self._lock = threading.Lock()
        self._is_over = False

    async def call(self, fn: Callable[[], Any], *, is_async: bool, **how: Any) -> Any:
        """See `Ports.call`."""
        if not is_async:
            return await super().call(fn, is_async=False, **how)
        asked = self._ask(fn)
        try:
            return await super().call(asked.result, is_async=False, **how)
        except CallTimedOut:
            asked.cancel()  # the worker that waits for it ends as well
            raise

    def close(self) -> None:
        """End the loops, and what still runs in them; not waited for."""
        with self._lock:
            self._is_over = True
            loops, self._loops = self._loops, {}
        for loop in loops.values():
            loop.stop()

    def _ask(self, fn: Callable[[], Any]) -> Future[Any]:
        with self._lock:
            if self._is_over:
                raise NotAProbe("the probes have been stopped")
            loop = self._loops.get(fn)
            if loop is None:
                loop = self._loops[fn] = _Loop()
        return loop.ask(fn)


class _Loop:
    """One loop on a daemon thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, name="degrade-probe-loop", daemon=True).start()

    def ask(self, fn: Callable[[], Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(_probed(fn), self._loop)

    def stop(self) -> None:
        with suppress(RuntimeError):  # closed already
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_forever()  # leaving it cancels what still runs, and closes the loop


async def _probed(fn: Callable[[], Any]) -> Any:
    """Call a probe; a client of another event loop's says nothing about its target."""
    try:
        return await fn()
    except RuntimeError as error:
        if "loop" in str(error):
            raise NotAProbe("its client belongs to another event loop: start it with `async with`") from error
        raise
