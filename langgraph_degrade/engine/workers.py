"""Daemon threads that run sync calls which may have to be abandoned.

Not a `ThreadPoolExecutor`: its threads are joined at exit, so one hung tool would hold the process; and its size is
fixed, so a few hung tools would hold all others (case-M04, case-M05). Here a thread is made whenever none is idle;
what bounds them is a `Bulkhead` per target.
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

    `done` is the baton: released once by the worker, then taken by exactly one, the caller or the late path.
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
        """`wake`: called from the worker when the call has ended, for a caller that does not block on `done`."""
        super().__init__(clock, bulkhead, on_late)
        self._fn = fn
        self._context = copy_context()
        self._wake = wake
        self.done = allocate_lock()
        self.done.acquire()

    @property
    def blocks_caller(self) -> bool:
        """Whether the caller's thread waits on `done` (else an event loop is woken)."""
        return self._wake is None

    def run(self) -> None:
        """Make the call (on the worker); every way it can end is an outcome."""
        try:
            self.value = self._context.run(self._fn)
        except BaseException as error:
            self.error = error
        if self._bulkhead is not None:
            self._bulkhead.leave()

    def finish(self) -> bool:
        """Offer the outcome to the caller (on the worker). True: nobody is there, it is late."""
        self.done.release()
        if self.abandoned:
            return self.take()
        if self._wake is not None:
            try:
                self._wake()
            except RuntimeError:  # the loop is closed, and the caller gone with it
                self.count()
                return self.take()
        return False

    def take(self) -> bool:
        """Take the outcome. False: there is none yet, or somebody else has it."""
        return self.done.acquire(blocking=False)

    def abandon(self) -> bool:
        """Give the call up. True: it has ended at the last moment, and the outcome is the caller's."""
        self.abandoned = True
        if self.take():
            return True
        self.count()
        return False


class Worker(threading.Thread):
    """One daemon thread; `wake` is released by whoever has put a job into `job`."""

    def __init__(self, pool: Workers, name: str, job: Job) -> None:
        super().__init__(name=name, daemon=True)
        self._pool = pool
        self.job: Job | None = job
        self.wake = allocate_lock()
        self.wake.acquire()

    def run(self) -> None:
        """Serve jobs until there is nothing to do for `idle_timeout` seconds."""
        while self._serve() and self._await_job():
            pass

    def _serve(self) -> bool:
        job = self.job
        assert job is not None  # noqa: S101
        job.run()
        self.job = None
        # Resting before the caller is woken lets its next call find this worker. But `on_late` is foreign code that
        # may take its time: a worker that may have to run it isn't offered to anybody yet.
        resting = not job.abandoned and self._pool.rest(self)
        if job.finish():
            self._end_late(job, resting=resting)
        return resting or self._pool.rest(self)

    def _end_late(self, job: Job, *, resting: bool) -> None:
        if resting:  # given up in the very moment it ended: somebody may have handed us the next job already
            threading.Thread(target=job.end_late, daemon=True).start()
        else:
            job.end_late()

    def _await_job(self) -> bool:
        while not self.wake.acquire(timeout=self._pool.idle_timeout):
            if self._pool.retire(self):
                return False
        return True


class Workers:
    """The application's workers: made on demand, reused last in first out, never joined."""

    def __init__(self, *, idle_timeout: float = 60.0, max_idle: int = 32) -> None:
        """`idle_timeout`: seconds without work after which a worker ends ○; `max_idle`: how many may rest at once ○."""
        self.idle_timeout = idle_timeout
        self._max_idle = max_idle
        self._idle: list[Worker] = []
        self._numbers = itertools.count(1)
        _forget_at_fork(self)

    def start(self, job: Job) -> None:
        """Hand `job` to a worker. Raises `NoWorker` when the machine gives no more threads."""
        try:
            worker = self._idle.pop()
        except IndexError:
            self._spawn(job)
            return
        worker.job = job
        worker.wake.release()

    def rest(self, worker: Worker) -> bool:
        """Take a worker back. False: enough are resting, it is to end."""
        if len(self._idle) >= self._max_idle:
            return False
        self._idle.append(worker)
        return True

    def retire(self, worker: Worker) -> bool:
        """Let an idle worker end. False: somebody is about to give it a job."""
        try:
            self._idle.remove(worker)
        except ValueError:
            return False
        return True

    def forget(self) -> None:
        """Drop every idle worker: in a forked child their threads don't exist."""
        self._idle = []

    def _spawn(self, job: Job) -> None:
        worker = Worker(self, f"degrade-worker-{next(self._numbers)}", job)
        try:
            worker.start()
        except RuntimeError as error:
            raise NoWorker("the machine gives no more threads") from error


def _forget_at_fork(workers: Workers) -> None:
    reference = weakref.ref(workers)

    def forget() -> None:
        if (alive := reference()) is not None:
            alive.forget()

    if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork either
        os.register_at_fork(after_in_child=forget)
