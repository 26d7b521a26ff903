"""`Bulkhead`: one target's hung calls can't take the workers of the others (spec T5, E5)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable


class NoWorker(RuntimeError):
    """Raised when a call was refused before it began: its target's bulkhead is full, or the machine has no thread left.

    Nothing reached the target, so it is not its failure (kind `shed`), and asking again later is safe.
    """


class Bulkhead:
    """Bounds the workers one target may hold, those of abandoned calls included, and counts the abandoned.

    A call beyond the limit queues for a slot within its own time; while as many calls hang as there are slots it is
    refused at once. Async targets hold no worker: of them only the abandoned ones count.
    """

    def __init__(self, limit: int = 32, *, interruptible: bool = True) -> None:
        """Bound a target.

        Args:
            limit: worker calls at once, and abandoned calls before the next is refused (design section 2: 32 ○).
            interruptible: an async call that is given up is cancelled; else it is left to end by itself (spec T5).
        """
        self.limit = limit
        self.interruptible = interruptible
        self.left_running: set[object] = set()
        """Given-up tasks that must not be cancelled; an event loop alone would hold them weakly."""
        self.running = 0
        """Calls that hold a worker now, whether or not somebody still waits for them."""
        self.abandoned = 0
        """Calls given up that still run."""
        self._queue: deque[Callable[[], object]] = deque()
        self._lock = threading.Lock()

    def check(self) -> None:
        """Raise `NoWorker` while so many calls hang that another one must not start."""
        if self.abandoned >= self.limit:
            raise NoWorker(f"{self.abandoned} abandoned calls still hang")

    def enter(self) -> bool:
        """Take a slot. False: none is free now."""
        self.check()
        with self._lock:
            if self.running >= self.limit:
                return False
            self.running += 1
            return True

    def queue(self, wake: Callable[[], object]) -> None:
        """Ask for a slot: `wake` is called, in any thread, once it is the caller's."""
        with self._lock:
            if self.running >= self.limit:
                self._queue.append(wake)
                return
            self.running += 1
        wake()

    def withdraw(self, wake: Callable[[], object]) -> None:
        """Stop queueing, and give the slot back where it was handed over meanwhile."""
        with self._lock:
            if wake in self._queue:
                self._queue.remove(wake)
                return
        self.leave()

    def leave(self) -> None:
        """Give the slot to the next in the queue, or back."""
        with self._lock:
            if not self._queue:
                self.running -= 1
                return
            wake = self._queue.popleft()
        try:
            wake()
        except RuntimeError:  # its event loop is closed: nobody waits there any more
            self.leave()

    def abandon(self) -> None:
        """Count a call that runs on although nobody waits for it."""
        with self._lock:
            self.abandoned += 1

    def forget(self) -> None:
        """Take a call off the count: it has ended after all."""
        with self._lock:
            self.abandoned -= 1
