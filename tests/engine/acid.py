"""The acid table of design section 7 (threshold 3, cool-down 0.3 s), against whatever guards a call.

A subclass named `Test…` gives `System` and gets the rows; the breaker alone is one (test_breaker.py). No row looks at
the wall clock: calls that must run at once meet at a barrier, calls that must overlap wait for each other.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

import pytest
from langgraph.errors import GraphInterrupt

COOL_DOWN = 0.3
PATIENTLY = 20.0  # seconds a thread waits for another before the test fails


class Refused(Exception):
    """The system did not make the call."""


class Ignored(Exception):
    """A failure that says nothing about the target: an expired key of ours, say."""


class System(ABC):
    """One guarded target: threshold 3, cool-down 0.3 s, `PROBES` places in half-open."""

    PROBES: ClassVar[int] = 3

    @abstractmethod
    def call(self, target: Callable[[], object]) -> object:
        """Call `target` under the guard, in this thread. Raises what it raises, or `Refused`."""

    @abstractmethod
    def abandon(self) -> None:
        """Be admitted for a call whose outcome nobody ever tells; `Refused` where not."""

    @abstractmethod
    def advance(self, seconds: float) -> None:
        """Let time pass."""

    def admitted(self, target: Callable[[], object] = lambda: "fine") -> bool:
        """Call; whether the target was reached."""
        try:
            self.call(target)
        except Refused:
            return False
        except Exception:
            return True
        return True

    def open(self) -> None:
        """Fail three times."""
        for _ in range(3):
            assert self.admitted(fail)
        assert not self.admitted()

    def half_open(self) -> None:
        """Open, and wait for the end of the cool-down."""
        self.open()
        self.advance(COOL_DOWN)


def fail() -> None:
    raise ConnectionError("reset by peer")


class Crowd:
    """Threads that ask at the same moment; nobody who was admitted returns before everybody got his answer."""

    def __init__(self, system: System, size: int, target: Callable[[], object]) -> None:
        self.admitted = 0
        self._system, self._target = system, target
        self._start = threading.Barrier(size)
        self._answered = threading.Semaphore(0)
        self._go = threading.Event()
        self._lock = threading.Lock()
        threads = [threading.Thread(target=self._ask) for _ in range(size)]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert self._answered.acquire(timeout=PATIENTLY)
        self._go.set()
        for thread in threads:
            thread.join(PATIENTLY)
            assert not thread.is_alive()

    def _ask(self) -> None:
        self._start.wait(PATIENTLY)
        if not self._system.admitted(self._inside):
            self._answered.release()

    def _inside(self) -> object:
        with self._lock:
            self.admitted += 1
        self._answered.release()
        assert self._go.wait(PATIENTLY)
        return self._target()


@contextmanager
def running(system: System, count: int, target: Callable[[], object]) -> Iterator[None]:
    """`count` calls that have begun, and end as `target` does when the block ends."""
    begun, end = threading.Barrier(count + 1), threading.Event()

    def slow() -> object:
        begun.wait(PATIENTLY)
        assert end.wait(PATIENTLY)
        return target()

    threads = [threading.Thread(target=system.admitted, args=(slow,)) for _ in range(count)]
    for thread in threads:
        thread.start()
    begun.wait(PATIENTLY)
    try:
        yield
    finally:
        end.set()
        for thread in threads:
            thread.join(PATIENTLY)


def ignored() -> None:
    raise Ignored


def cancelled() -> None:
    raise asyncio.CancelledError


def interrupted() -> None:
    raise GraphInterrupt


@pytest.mark.row("B8", "B4")
class AcidTable:
    """The seven rows."""

    @pytest.fixture
    def system(self) -> System:
        raise NotImplementedError

    def test_eight_parallel_calls_run_at_the_same_time(self, system: System) -> None:
        together = threading.Barrier(8)  # passes only when all eight calls are inside at once
        results: list[bool] = []

        def ask() -> None:
            system.call(lambda: together.wait(PATIENTLY))
            results.append(True)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENTLY)
        assert len(results) == 8

    @pytest.mark.parametrize("target", [lambda: "fine", fail], ids=["healthy", "dead"])
    def test_a_crowd_in_half_open_gets_the_probes_places(self, system: System, target: Callable[[], object]) -> None:
        system.half_open()
        assert 1 <= Crowd(system, 50, target).admitted <= system.PROBES

    @pytest.mark.parametrize("target", [lambda: "fine", fail], ids=["healthy", "dead"])
    def test_fifty_calls_that_return_at_once_get_no_more(self, system: System, target: Callable[[], object]) -> None:
        system.half_open()
        assert 1 <= sum(system.admitted(target) for _ in range(50)) <= system.PROBES

    @pytest.mark.case("case-B01")
    def test_a_cancelled_probe_gives_its_place_back(self, system: System) -> None:
        system.half_open()
        with pytest.raises(asyncio.CancelledError):
            system.call(cancelled)
        assert system.call(lambda: "fine") == "fine"

    @pytest.mark.case("case-B02")
    def test_an_ignored_probe_neither_closes_nor_wedges(self, system: System) -> None:
        system.half_open()
        with pytest.raises(Ignored):
            system.call(ignored)
        assert 1 <= Crowd(system, 50, lambda: "fine").admitted <= system.PROBES

    @pytest.mark.case("case-B05")
    def test_late_failures_leave_the_reopening_time_alone(self, system: System) -> None:
        with running(system, 5, fail):
            system.open()
            system.advance(0.9 * COOL_DOWN)
        assert not system.admitted()
        system.advance(0.1 * COOL_DOWN)
        assert system.admitted()

    def test_an_interrupt_is_not_a_failure(self, system: System) -> None:
        for _ in range(50):
            with pytest.raises(GraphInterrupt):
                system.call(interrupted)
        system.half_open()
        with pytest.raises(GraphInterrupt):
            system.call(interrupted)
        assert system.call(lambda: "fine") == "fine"

    def test_a_probe_nobody_reports_loses_its_place(self, system: System) -> None:
        system.half_open()
        for _ in range(system.PROBES):
            system.abandon()
        assert not system.admitted()
        system.advance(3600)
        assert system.call(lambda: "fine") == "fine"
