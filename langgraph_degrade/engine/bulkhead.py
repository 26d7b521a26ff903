"""`Bulkhead`: one target's hung calls can't take the workers of the others (spec T5, E5)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable


class NoWorker(RuntimeError):
    """Raised when a call was refused before it began: its target's bulkhead is full, or the machine has no thread left.

    Nothing reached the target, so it is nobody's failure (kind `shed`) and safe to repeat later.
    """


class Bulkhead:
    """Bounds the workers one target may hold, those of abandoned calls included, and counts the abandoned.

    A call beyond the limit queues for a slot within its own time; when nothing but hung calls hold the slots it is
    refused at once. Async targets hold no worker: of them only the abandoned ones count.
    """

    def __init__(self, limit: int = 32) -> None:
        """`limit`: worker calls at once, and abandoned calls at most (design.md section 2: 32 ○)."""
        self.limit = limit
        self.running = 0
        """Calls that hold a worker now, whether or not somebody still waits for them."""
        self.abandoned = 0
        """Calls given up that still run. A moment may show one too few while a call ends as it is given up."""
        self._queue: deque[Callable[[], object]] = deque()
        self._lock = threading.Lock()

    @property
    def full(self) -> bool:
        """Whether so many calls hang that the next one is refused."""
        return self.abandoned >= self.limit

    def check(self) -> None:
        """Raise `NoWorker` when so many calls hang that another one must not start."""
        if self.full:
            raise NoWorker(f"{self.abandoned} abandoned calls still hang")

    def enter(self, wake: Callable[[], object]) -> bool:
        """Take a slot. False: none is free, `wake` is called (from any thread) once one has been handed over."""
        with self._lock:
            if self.running < self.limit:
                self.running += 1
                return True
            self.check()
            self._queue.append(wake)
            return False

    def withdraw(self, wake: Callable[[], object]) -> bool:
        """Stop queueing. False: a slot was handed over meanwhile and must be used or left."""
        with self._lock:
            if wake not in self._queue:
                return False
            self._queue.remove(wake)
            return True

    def leave(self) -> None:
        """Give the slot back, or on to the next in the queue."""
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
        """An abandoned call has ended after all."""
        with self._lock:
            self.abandoned -= 1
