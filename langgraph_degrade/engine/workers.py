"""Daemon threads that run sync calls which may have to be abandoned.

Not a `ThreadPoolExecutor`: its threads are joined at exit, so one hung tool would hold the process (case-M04); and its
size is fixed, so a few hung tools would hold all others (case-M05). Here a thread is made whenever none is idle; what
bounds them is a `Bulkhead` per target.
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from _thread import allocate_lock
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from langgraph_degrade.engine.bulkhead import Bulkhead, NoWorker
from langgraph_degrade.engine.clock import Clock
from langgraph_degrade.engine.pending import Late, Pending


class Job(Pending):
    """A sync call handed to a worker, under a copy of the caller's context.

    `done` is the baton: released once, by the worker, then taken by exactly one, the caller or the late path.
    """

    __slots__ = ("_context", "_fn", "_wake", "done")

    def __init__(
        self,
        fn: Callable[[], Any],
        clock: Clock,
        bulkhead: Bulkhead | None,
        on_late: Callable[[Late], None] | None,
        wake: Callable[[], object] | None = None,
    ) -> None:
        """`wake`: called on the worker when the call has ended, for a caller that can't block on `done`."""
        super().__init__(clock, bulkhead, on_late)
        self._fn = fn
        self._context = copy_context()
        self._wake = wake
        self.done = allocate_lock()
        self.done.acquire()

    @property
    def is_blocking(self) -> bool:
        """Whether the caller's thread waits on `done`; else an event loop is woken."""
        return self._wake is None

    def take(self) -> bool:
        """Take the outcome. False: there is none yet, or somebody else has it."""
        return self.done.acquire(blocking=False)

    def abandon(self) -> bool:
        """Give the call up. True: it ended at the last moment, and its outcome is the caller's."""
        self.abandoned = True
        if self.take():
            return True
        self.count()
        return False

    def give_up(self) -> None:
        """Give the call up for a caller that has gone; what it did, or will do, is told as late."""
        if not self.abandoned and self.abandon():
            self.tell()

    def run(self) -> None:
        """Make the call (on the worker); every way it can end is an outcome."""
        try:
            self.value = self._context.run(self._fn)
        except BaseException as error:
            self.error = error
        if self.bulkhead is not None:
            self.bulkhead.leave()

    def offer(self) -> bool:
        """Offer the outcome to the caller (on the worker). False: nobody is there any more."""
        self.done.release()
        if self.abandoned:
            return not self.take()
        if self._wake is not None:
            try:
                self._wake()
            except RuntimeError:  # the loop is closed, and the caller gone with it
                self.abandoned = True
                self.count()
                return not self.take()
        return True


class Worker(threading.Thread):
    """One daemon thread. Whoever puts a job into `next_job` releases `go`."""

    def __init__(self, pool: Workers, name: str, job: Job) -> None:
        super().__init__(name=name, daemon=True)
        self._pool = pool
        self.next_job: Job | None = job
        self.job: Job | None = None
        """What it runs now. Together with `next_job` never both None while there is work."""
        self.go = allocate_lock()  # not taken: the first job is there

    def run(self) -> None:
        """Serve jobs until there is none for `idle_timeout` seconds, or enough other workers rest."""
        while self._serve(self._take_job()):  # in no variable here: a resting worker must not keep a result alive
            pass

    def _take_job(self) -> Job | None:
        while not self.go.acquire(timeout=self._pool.idle_timeout):
            if self._pool.retire(self):
                return None
        self.job, self.next_job = self.next_job, None
        return self.job

    def _serve(self, job: Job | None) -> bool:
        if job is None:
            return False
        job.run()
        # Resting before the caller is woken lets its next call find this worker. But `on_late` is foreign code that
        # may take its time: a worker that is going to run it isn't offered to anybody yet.
        resting = not job.abandoned and self._pool.rest(self)
        if not job.offer():
            _end_late(job, on_thread=resting)
        self.job = None
        return resting or self._pool.rest(self)


def _end_late(job: Job, *, on_thread: bool) -> None:
    """`on_thread`: the worker rests already, and may have the next job: given up in the very moment it ended."""
    if on_thread:
        threading.Thread(target=job.end_late, daemon=True).start()
    else:
        job.end_late()


class Workers:
    """The application's workers: made on demand, reused last in first out, never joined.

    Example:
        >>> workers = Workers(idle_timeout=60.0, max_idle=32)
    """

    def __init__(self, *, idle_timeout: float = 60.0, max_idle: int = 32) -> None:
        """`idle_timeout`: seconds without work after which a worker ends ○; `max_idle`: how many may rest ○."""
        self.idle_timeout = idle_timeout
        self._max_idle = max_idle
        self._idle: list[Worker] = []
        self._numbers = itertools.count(1)
        _forget_after_fork(weakref.ref(self))

    def start(self, job: Job) -> None:
        """Hand `job` to a worker. Raises `NoWorker` when the machine gives no more threads."""
        try:
            worker = self._idle.pop()
        except IndexError:
            self._spawn(job)
            return
        worker.next_job = job
        worker.go.release()

    def rest(self, worker: Worker) -> bool:
        """Take a worker back. False: enough are resting, it is to end."""
        if len(self._idle) >= self._max_idle:
            return False
        self._idle.append(worker)
        return True

    def retire(self, worker: Worker) -> bool:
        """Let a resting worker end. False: somebody is about to give it a job."""
        try:
            self._idle.remove(worker)
        except ValueError:
            return False
        return True

    def forget_idle(self) -> None:
        """Drop the resting workers: in a forked child their threads don't exist."""
        self._idle = []

    def _spawn(self, job: Job) -> None:
        worker = Worker(self, f"degrade-worker-{next(self._numbers)}", job)
        try:
            worker.start()
        except RuntimeError as error:
            if job.bulkhead is not None:
                job.bulkhead.leave()
            raise NoWorker("the machine gives no more threads") from error


def _forget_after_fork(pool: weakref.ref[Workers]) -> None:
    """The registration lasts as long as the process, so it must not hold the pool."""

    def forget() -> None:
        workers = pool()
        if workers is not None:
            workers.forget_idle()

    if hasattr(os, "register_at_fork"):  # Windows has neither
        os.register_at_fork(after_in_child=forget)
