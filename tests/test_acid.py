"""The seven acid rows of design section 7, through the public API: threshold 3, cool-down 0.3 s.

Half-open lets `probes` (3) out at once; time is virtual, threads and tasks are real.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor  # noqa: TID251 - callers at once; nothing is abandoned in it
from typing import Any

import pytest
from langgraph.errors import GraphInterrupt

from langgraph_degrade import CircuitOpen, Degrader, Policy
from langgraph_degrade.testing import FakeClock, run_virtual
from tests.conftest import Both

PROBES = 3
RULE = {"consecutive": 3, "min_calls": 3, "open_for": 0.3, "ramp": 0.3, "probes": PROBES}
POLICY = {"targets": {"shop": {"effect": "read", "timeout": "none", "breakers": [RULE]}}}


class Shop:
    """A target whose health the test sets, and which counts who reached it."""

    def __init__(self, both: Both, clock: FakeClock) -> None:
        self.error: BaseException | None = None
        self.hits = 0
        self.degrader = Degrader(Policy.model_validate(POLICY), clock=clock)
        self._both, self._clock = both, clock
        self.call: Any = self.degrader.guard("shop")(both.paint(self._answer))

    def _answer(self) -> str:
        self.hits += 1
        if self.error is not None:
            raise self.error
        return "ok"

    def once(self) -> object:
        """One call: its value, or the error it ended with."""
        return self.many(1)[0]

    def many(self, number: int) -> list[object]:
        """So many calls at once."""
        if self._both.colour == "sync":
            with ThreadPoolExecutor(number) as pool:
                return list(pool.map(lambda _: _outcome(self.call), range(number)))

        async def all_at_once() -> list[object]:
            return await asyncio.gather(*(self.call() for _ in range(number)), return_exceptions=True)

        return run_virtual(all_at_once(), self._clock)

    def kill(self) -> None:
        """Fail until the breaker is open."""
        self.error = ConnectionResetError()
        for _ in range(3):
            assert isinstance(self.once(), ConnectionResetError)
        assert isinstance(self.once(), CircuitOpen)
        self.hits = 0


@pytest.fixture
def shop(both: Both, clock: FakeClock) -> Shop:
    return Shop(both, clock)


def _outcome(call: Any) -> object:
    try:
        return call()
    except Exception as error:
        return error


@pytest.mark.row("B8")
def test_eight_parallel_calls_are_in_the_target_at_the_same_time(both: Both, clock: FakeClock) -> None:
    """A lock held across the call would let one in at a time, and the barrier would never fill."""
    degrader = Degrader(Policy.model_validate(POLICY), clock=clock)
    if both.colour == "sync":
        barrier = threading.Barrier(8, timeout=10)
        call = degrader.guard("shop")(barrier.wait)
        with ThreadPoolExecutor(8) as pool:
            assert sorted(pool.map(lambda _: call(), range(8))) == list(range(8))
        return
    together = asyncio.Barrier(8)

    @degrader.guard("shop")
    async def meet() -> int:
        return await together.wait()

    async def all_at_once() -> list[int]:
        async with asyncio.timeout(10):
            return await asyncio.gather(*(meet() for _ in range(8)))

    assert sorted(run_virtual(all_at_once(), clock)) == list(range(8))


@pytest.mark.row("B4")
@pytest.mark.case("case-B04")
@pytest.mark.parametrize("health", ["healthy", "dead"])
def test_half_open_admits_a_few_of_fifty(shop: Shop, clock: FakeClock, health: str) -> None:
    shop.kill()
    clock.advance(0.31)
    shop.error = None if health == "healthy" else ConnectionResetError()
    shop.many(50)
    assert 1 <= shop.hits <= PROBES


@pytest.mark.row("B4")
@pytest.mark.case("case-B01")
def test_a_cancelled_probe_does_not_wedge_the_breaker(clock: FakeClock) -> None:
    degrader = Degrader(Policy.model_validate(POLICY), clock=clock)
    state = {"mode": "fail"}

    @degrader.guard("shop")
    async def call() -> str:
        if state["mode"] == "fail":
            raise ConnectionResetError
        if state["mode"] == "hang":
            await asyncio.Event().wait()
        return "ok"

    async def story() -> str:
        for _ in range(3):
            with pytest.raises(ConnectionResetError):
                await call()
        clock.advance(0.31)
        state["mode"] = "hang"
        probes = [asyncio.create_task(call()) for _ in range(PROBES)]
        await asyncio.sleep(0)
        for probe in probes:
            probe.cancel()
        for ended in await asyncio.gather(*probes, return_exceptions=True):
            assert isinstance(ended, asyncio.CancelledError | CircuitOpen)
        state["mode"] = "ok"
        clock.advance(0.31)
        return await call()

    assert run_virtual(story(), clock) == "ok"


@pytest.mark.row("B4")
@pytest.mark.case("case-B01")
def test_a_sync_probe_that_ends_in_ctrl_c_does_not_wedge_the_breaker(clock: FakeClock) -> None:
    degrader = Degrader(Policy.model_validate(POLICY), clock=clock)
    errors: list[BaseException | None] = [ConnectionResetError()] * 3 + [KeyboardInterrupt(), None]

    @degrader.guard("shop")
    def call() -> str:
        error = errors.pop(0)
        if error is not None:
            raise error
        return "ok"

    for _ in range(3):
        with pytest.raises(ConnectionResetError):
            call()
    clock.advance(0.31)
    with pytest.raises(KeyboardInterrupt):
        call()
    assert call() == "ok"


@pytest.mark.row("B4")
@pytest.mark.case("case-B02")
def test_an_ignored_kind_in_half_open_neither_wedges_nor_closes(shop: Shop, clock: FakeClock) -> None:
    """A 401 says nothing about the target's health; the 50 calls right after still meet a half-open gate."""
    shop.kill()
    clock.advance(0.31)
    shop.error = PermissionDenied()
    assert isinstance(shop.once(), PermissionDenied)
    shop.error = None
    shop.hits = 0
    shop.many(50)
    assert 1 <= shop.hits <= PROBES


class PermissionDenied(Exception):
    """What an SDK raises for a 401."""

    status_code = 401


@pytest.mark.row("B4")
@pytest.mark.case("case-B05")
def test_late_failures_of_earlier_calls_do_not_move_the_reopening(clock: FakeClock) -> None:
    degrader = Degrader(Policy.model_validate(POLICY), clock=clock)
    release = [asyncio.Event() for _ in range(2)]

    @degrader.guard("shop")
    async def slow(number: int) -> str:
        await release[number].wait()
        raise ConnectionResetError

    @degrader.guard("shop")
    async def fast(fail: bool) -> str:
        if fail:
            raise ConnectionResetError
        return "ok"

    async def story() -> str:
        early = [asyncio.create_task(slow(0)), asyncio.create_task(slow(1))]
        await asyncio.sleep(0)
        for _ in range(3):
            with pytest.raises(ConnectionResetError):
                await fast(True)
        clock.advance(0.2)
        for event in release:
            event.set()
        await asyncio.gather(*early, return_exceptions=True)
        clock.advance(0.11)  # 0.31 s after opening, 0.11 s after the late failures
        return await fast(False)

    assert run_virtual(story(), clock) == "ok"


@pytest.mark.row("F3")
def test_an_interrupt_is_not_counted(shop: Shop) -> None:
    shop.error = GraphInterrupt(())
    for _ in range(10):
        with pytest.raises(GraphInterrupt):
            raise shop.once() if isinstance(shop.once(), GraphInterrupt) else AssertionError
    shop.error = None
    assert shop.once() == "ok"


@pytest.mark.row("B4")
def test_a_probe_that_never_reports_gives_its_place_back(clock: FakeClock) -> None:
    """Killed threads, tasks collected unfinished: the lease ends and the next caller probes."""
    degrader = Degrader(Policy.model_validate(POLICY), clock=clock)
    hang = threading.Event()
    mode = {"error": True, "hang": False}

    @degrader.guard("shop")
    def call() -> str:
        if mode["error"]:
            raise ConnectionResetError
        if mode["hang"]:
            hang.wait(30)
        return "ok"

    for _ in range(3):
        with pytest.raises(ConnectionResetError):
            call()
    clock.advance(0.31)
    mode |= {"error": False, "hang": True}
    stuck = [threading.Thread(target=lambda: _outcome(call), daemon=True) for _ in range(PROBES)]
    try:
        for thread in stuck:
            thread.start()
        mode["hang"] = False
        clock.advance(3600)
        assert call() == "ok"
    finally:
        hang.set()
        for thread in stuck:
            thread.join(10)
