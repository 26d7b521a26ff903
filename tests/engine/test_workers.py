"""The threads behind calls that may be abandoned: reused, never in the way, gone when idle, and no reason to stay."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from langgraph_degrade.engine.bulkhead import Bulkhead, NoWorker
from langgraph_degrade.engine.clock import SystemClock
from langgraph_degrade.engine.pending import Late
from langgraph_degrade.engine.ports import CallTimedOut, SyncPorts, complete
from langgraph_degrade.engine.workers import Job, Worker, Workers


def call(workers: Workers, fn: Callable[[], Any], timeout: float = 5.0, **more: Any) -> Any:
    ports = SyncPorts(SystemClock(), workers)
    return complete(ports.call(fn, is_async=False, timeout=timeout, own_thread=False, **more))


def resting(workers: Workers, count: int) -> list[Worker]:
    """Make `count` workers, all of them at work at once, and let them come to rest."""
    together, found = threading.Barrier(count + 1), list[Worker]()
    jobs = [Job(lambda: (found.append(threading.current_thread()), together.wait()), SystemClock(), None, None) for _ in range(count)]  # type: ignore[arg-type, func-returns-value]  # fmt: skip
    for job in jobs:
        workers.start(job)
    together.wait(5.0)
    assert all(job.done.acquire(timeout=5.0) for job in jobs)
    return found


def test_one_worker_serves_call_after_call():
    workers = Workers()
    assert len({call(workers, threading.get_ident) for _ in range(20)}) == 1


def test_a_worker_is_a_named_daemon():
    thread = call(Workers(), threading.current_thread)
    assert (thread.daemon, thread.name) == (True, "degrade-worker-1")


@pytest.mark.row("T5")
def test_a_worker_whose_call_was_abandoned_serves_again():
    workers, hang, told = Workers(), threading.Event(), threading.Event()
    with pytest.raises(CallTimedOut):
        call(workers, lambda: (threading.get_ident(), hang.wait())[0], 0.02, on_late=lambda late: told.set())
    assert call(workers, lambda: threading.current_thread().name) == "degrade-worker-2"
    hang.set()
    assert told.wait(5.0)
    (first,) = [
        thread for thread in threading.enumerate() if thread.name == "degrade-worker-1" and _is_of(thread, workers)
    ]
    while first not in workers._idle:
        assert first.is_alive()
    assert call(workers, threading.current_thread) is first


def _is_of(thread: threading.Thread, workers: Workers) -> bool:
    return isinstance(thread, Worker) and thread._pool is workers


@pytest.mark.row("T5")
@pytest.mark.case("case-M05")
def test_a_slow_on_late_holds_its_own_worker_only():
    workers, hang, slow = Workers(), threading.Event(), threading.Event()
    with pytest.raises(CallTimedOut):
        call(workers, hang.wait, 0.02, on_late=lambda late: slow.wait())
    hang.set()
    assert [call(workers, lambda: "healthy") for _ in range(5)] == ["healthy"] * 5
    slow.set()


class Meddling(Workers):
    """Workers whose callers give up in the very moment their call has ended."""

    def rest(self, worker: Worker) -> bool:
        rested = super().rest(worker)
        if worker.job is not None:
            worker.job.abandoned = True
            worker.job.count()
        return rested


@pytest.mark.row("T5")
@pytest.mark.case("case-M05")
def test_a_call_given_up_as_it_ends_is_told_where_it_holds_nobody():
    """Its worker rests already and may have the next job; a slow `on_late` must not run there."""
    workers, bulkhead, told, slow = Meddling(), Bulkhead(), threading.Event(), threading.Event()
    on: list[threading.Thread] = []

    def on_late(late: Late) -> None:
        on.append(threading.current_thread())
        told.set()
        slow.wait(5.0)

    job = Job(lambda: "done", SystemClock(), bulkhead, on_late)
    assert bulkhead.enter()
    workers.start(job)
    assert told.wait(5.0)
    assert not isinstance(on[0], Worker)
    slow.set()
    on[0].join(5.0)
    assert (bulkhead.running, bulkhead.abandoned) == (0, 0)


def test_a_resting_worker_keeps_nothing_alive():
    class Result:
        pass

    workers = Workers()
    result = weakref.ref(call(workers, Result))
    call(workers, lambda: None)  # the worker has passed its last look at the first job
    gc.collect()
    assert result() is None


def test_an_error_leaves_no_cycle_behind():
    class Big(Exception):
        pass

    gc.collect()
    gc.disable()
    try:
        workers = Workers()
        with pytest.raises(Big) as caught:
            call(workers, _raise(Big))
        error = weakref.ref(caught.value)
        del caught
        call(workers, lambda: None)
        assert error() is None
    finally:
        gc.enable()


def _raise(error: type[Exception]) -> Callable[[], None]:
    def tool() -> None:
        raise error

    return tool


def test_idle_workers_end_by_themselves():
    for worker in resting(Workers(idle_timeout=0.02), 3):
        worker.join(5.0)
        assert not worker.is_alive()


def test_only_so_many_rest():
    workers = Workers(max_idle=2)
    made = resting(workers, 5)
    while sum(worker.is_alive() for worker in made) > 2:
        assert len(workers._idle) <= 2
    assert {worker for worker in made if worker.is_alive()} == set(workers._idle)


def test_a_job_that_meets_a_worker_about_to_end_is_served():
    workers = Workers(idle_timeout=0.0)
    assert [call(workers, lambda: "served") for _ in range(200)] == ["served"] * 200


def test_when_the_machine_has_no_thread_left_the_call_is_refused_and_its_slot_given_back(
    monkeypatch: pytest.MonkeyPatch,
):
    def no_thread(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    bulkhead = Bulkhead()
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    with pytest.raises(NoWorker):
        call(Workers(), lambda: 1, bulkhead=bulkhead)
    assert bulkhead.running == 0


@pytest.mark.row("T5")
def test_every_outcome_goes_to_exactly_one_of_caller_and_late():
    """The limit is about as long as the call: who comes first is anybody's guess, every time."""
    workers, bulkhead, told = Workers(), Bulkhead(), threading.Semaphore(0)
    came: list[int] = []

    def on_late(late: Late) -> None:
        came.append(late.value)
        told.release()

    got: list[int] = []
    for number in range(400):
        ends = threading.Event()
        threading.Timer(0.0002, ends.set).start()
        try:
            got.append(call(workers, lambda: (ends.wait(), number)[1], 0.0004, on_late=on_late, bulkhead=bulkhead))  # noqa: B023
        except CallTimedOut:
            assert told.acquire(timeout=5.0)
    assert sorted(got + came) == list(range(400))
    assert (bulkhead.running, bulkhead.abandoned) == (0, 0)


HUNDRED_HANG = """
import threading
from langgraph_degrade.engine.clock import SystemClock
from langgraph_degrade.engine.ports import CallTimedOut, NoWorker, SyncPorts, AsyncPorts, Bulkhead, complete
from langgraph_degrade.engine.workers import Worker, Workers

ports, bulkhead, ends = SyncPorts(SystemClock(), Workers()), Bulkhead(), []
for _ in range(100):
    try:
        complete(ports.call(threading.Event().wait, is_async=False, timeout=0.001, own_thread=False, bulkhead=bulkhead))
    except (CallTimedOut, NoWorker) as error:
        ends.append(type(error).__name__)
print(ends.count("CallTimedOut"), ends.count("NoWorker"), sum(isinstance(t, Worker) for t in threading.enumerate()))
"""


@pytest.mark.row("T5")
@pytest.mark.case("case-M04")
def test_the_process_exits_while_a_hundred_calls_hang():
    """They hang for ever: a process that joined them would never exit."""
    ran = subprocess.run([sys.executable, "-c", HUNDRED_HANG], check=True, capture_output=True, text=True, timeout=60)
    assert ran.stdout.split() == ["32", "68", "32"]


FORK = """
import os, threading
from langgraph_degrade.engine.clock import SystemClock
from langgraph_degrade.engine.ports import SyncPorts, complete
from langgraph_degrade.engine.workers import Workers

ports = SyncPorts(SystemClock(), Workers())
def call():
    return complete(ports.call(os.getpid, is_async=False, timeout=30.0, own_thread=False))

assert call() == os.getpid()
child = os.fork()
if child == 0:
    os._exit(0 if call() == os.getpid() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), call() == os.getpid())
"""


def test_a_forked_child_makes_workers_of_its_own():
    ran = subprocess.run([sys.executable, "-c", FORK], check=True, capture_output=True, text=True, timeout=60)
    assert ran.stdout.split() == ["0", "True"]
