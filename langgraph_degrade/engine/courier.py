"""`Courier`: deliveries that may be slow or raise, away from the thread that has something to tell."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

log = logging.getLogger("langgraph_degrade")


class Courier:
    """Makes deliveries in order, on one daemon thread of its own that the first one starts.

    The sender never waits and never sees an error: those are logged by type (their text may hold secrets). Beyond
    `limit` waiting deliveries ○ new ones are dropped, and the log says so once.
    """

    def __init__(
        self, name: str, *, limit: int = 1000, idle: Callable[[], object] | None = None, every: float = 1.0
    ) -> None:
        """`idle` is called on the same thread at the start, after each delivery, and every `every` seconds."""
        self._name = name
        self._limit = limit
        self._idle = idle
        self._every = every
        self._queue = SimpleQueue[Callable[[], object] | None]()
        self._thread: threading.Thread | None = None
        self._starting = threading.RLock()
        self._dropping = False

    def send(self, deliver: Callable[[], object]) -> None:
        """Have `deliver` called, soon and elsewhere."""
        if self._queue.qsize() >= self._limit:
            if not self._dropping:
                log.warning("%s: %d deliveries wait, further ones are dropped", self._name, self._limit)
            self._dropping = True
            return
        self._dropping = False
        self._queue.put(deliver)
        self.start()

    def start(self) -> None:
        """Have the thread running. After a fork the child's first delivery starts its own."""
        thread = self._thread
        if thread is not None and thread.is_alive():
            return
        with self._starting:
            if self._thread is thread:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """Deliver what waits, then end the thread; wait for that at most `timeout` seconds."""
        with self._starting:
            thread, self._thread = self._thread, None
        if thread is None:
            return
        self._queue.put(None)
        if thread is not threading.current_thread():
            thread.join(timeout)

    def _run(self) -> None:
        deliver: Callable[[], object] | None = _nothing
        while deliver is not None:
            self._attempt(deliver)
            if self._idle is not None:
                self._attempt(self._idle)
            try:
                deliver = self._queue.get(timeout=None if self._idle is None else self._every)
            except Empty:
                deliver = _nothing

    def _attempt(self, deliver: Callable[[], object]) -> None:
        try:
            deliver()
        except Exception as error:
            log.warning("%s: a delivery failed with %s", self._name, type(error).__name__)


def _nothing() -> None:
    pass
