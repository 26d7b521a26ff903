"""Time that jumps, and targets that do as told: tests rest on them, so they are tested themselves."""

from __future__ import annotations

import asyncio
import math
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor  # noqa: TID251 (as users have them)
from itertools import repeat
from types import SimpleNamespace
from typing import Any

import pytest

from langgraph_degrade.engine.clock import Clock, SystemClock
from langgraph_degrade.engine.ports import AsyncPorts, CallTimedOut, SyncPorts, complete
from langgraph_degrade.engine.workers import Workers
from langgraph_degrade.testing import (
    Called,
    Delay,
    FakeClock,
    Hang,
    ScriptEnded,
    Stuck,
    assert_events,
    run_virtual,
    scripted,
)


@pytest.fixture
def ports(clock: FakeClock) -> AsyncPorts:
    return AsyncPorts(clock, Workers())


def call(ports: Any, fn: Any, timeout: float | None = 3.0) -> Any:
    return ports.call(fn, is_async=False, timeout=timeout, own_thread=False)


# The clock


def test_time_moves_only_when_told():
    clock = FakeClock(start=5.0, epoch=1000.0)
    assert (clock.monotonic(), clock.time()) == (5.0, 1005.0)
    clock.advance(2.0)
    clock.advance_to(1.0)  # never backwards
    assert (clock.monotonic(), clock.time()) == (7.0, 1007.0)


def test_sleeping_passes_the_time_in_both_colours(both: Any, clock: FakeClock):
    both.call(SimpleNamespace(nap=clock.sleep, anap=clock.asleep), "nap", 2.5)
    assert clock.monotonic() == 2.5


def test_in_an_ordinary_loop_asleep_passes_the_time_at_once(clock: FakeClock):
    asyncio.run(clock.asleep(3600.0))
    assert clock.monotonic() == 3600.0


def test_a_hang_in_the_callers_own_thread_is_an_error_not_a_hang(clock: FakeClock):
    with pytest.raises(Stuck):
        scripted([Hang()], clock=clock)()


@pytest.mark.parametrize("clock", [FakeClock(patience=0.02), SystemClock()])
def test_both_clocks_are_clocks(clock: Clock):
    baton = threading.Lock()
    assert clock.wait(baton, 0.01)
    before = clock.monotonic()
    assert not clock.wait(baton, 0.01)
    assert clock.monotonic() >= before + 0.01


def test_sync_calls_in_parallel_threads_sleep_side_by_side(clock: FakeClock):
    ports = SyncPorts(clock, Workers())
    started = threading.Barrier(3)

    def tool(seconds: float) -> float:
        started.wait(5.0)
        clock.sleep(seconds)
        return clock.monotonic()

    with ThreadPoolExecutor() as pool:
        ended = list(pool.map(lambda seconds: complete(call(ports, lambda: tool(seconds), 60.0)), [1.0, 2.0, 4.0]))
    assert (ended, clock.monotonic()) == ([1.0, 2.0, 4.0], 4.0)


def test_work_the_clock_cannot_see_gets_real_time_before_the_limit_passes():
    clock = FakeClock(patience=0.05)
    with pytest.raises(CallTimedOut):
        complete(call(SyncPorts(clock, Workers()), threading.Event().wait))
    assert clock.monotonic() == 3.0


# The loop


def test_an_hour_takes_no_time_and_ends_in_order(clock: FakeClock):
    async def body() -> list[tuple[float, str]]:
        ended: list[tuple[float, str]] = []

        async def visit(at: float, name: str) -> None:
            await clock.asleep(at)
            ended.append((clock.monotonic(), name))

        await asyncio.gather(visit(3600.0, "last"), visit(0.5, "first"), visit(1800.0, "middle"))
        return ended

    assert run_virtual(body(), clock) == [(0.5, "first"), (1800.0, "middle"), (3600.0, "last")]


def test_asyncios_own_timeouts_run_on_the_clock(clock: FakeClock):
    async def body() -> None:
        async with asyncio.timeout(30.0):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        run_virtual(body(), clock)
    assert clock.monotonic() == 30.0


def test_a_loop_in_which_nothing_can_happen_any_more_says_so(clock: FakeClock):
    clock.patience = 0.01
    with pytest.raises(Stuck, match="every task waits"):
        run_virtual(asyncio.Event().wait(), clock)


def test_one_clock_serves_loop_after_loop(clock: FakeClock):
    for _ in range(3):
        run_virtual(clock.asleep(10.0), clock)
    assert clock.monotonic() == 30.0


def test_a_timer_due_now_fires_at_any_hour():
    """At Unix time, floats are coarser than the resolution asyncio compares timers with."""

    async def body() -> bool:
        fired = asyncio.Event()
        asyncio.get_running_loop().call_later(0.0, fired.set)
        return await fired.wait()

    assert run_virtual(body(), FakeClock(start=1.7e9))


def test_workers_that_sleep_share_the_time_with_the_loop(clock: FakeClock, ports: AsyncPorts):
    async def body() -> list[Any]:
        tool = scripted(repeat(Delay(2.0, "slept"), 20), clock=clock)
        return await asyncio.gather(*(call(ports, tool) for _ in range(20)), clock.asleep(1.0))

    assert run_virtual(body(), clock) == ["slept"] * 20 + [None]
    assert clock.monotonic() == 2.0


def test_the_loop_waits_really_for_a_worker_at_work(clock: FakeClock, ports: AsyncPorts):
    """Its work takes real time; the limit of 3 s lies ahead and must not be jumped to."""
    assert run_virtual(call(ports, lambda: sum(range(300_000))), clock) == sum(range(300_000))
    assert clock.monotonic() == 0.0


def test_the_loop_waits_really_for_an_executor(clock: FakeClock):
    async def body() -> int:
        async with asyncio.timeout(3.0):
            return await asyncio.to_thread(lambda: sum(range(300_000)))

    assert run_virtual(body(), clock) == sum(range(300_000))
    assert clock.monotonic() == 0.0


@pytest.fixture
def echo() -> Iterator[tuple[str, int]]:
    """A real server that answers one line with the same, after a moment's work."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            line = connection.makefile("rb").readline()
            sum(range(300_000))
            connection.sendall(line)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield server.getsockname()
    thread.join(5.0)
    server.close()


def test_real_loopback_sockets_may_be_mixed_in(clock: FakeClock, echo: tuple[str, int]):
    async def body() -> bytes:
        async with asyncio.timeout(3.0):
            reader, writer = await asyncio.open_connection(*echo)
            writer.write(b"hello\n")
            line = await reader.readline()
            writer.close()
            await writer.wait_closed()
            return line

    assert (run_virtual(body(), clock), clock.monotonic()) == (b"hello\n", 0.0)


# Targets


def test_a_script_is_played_step_by_step_in_both_colours(both: Any, clock: FakeClock):
    target = scripted([1, ConnectionResetError(), TimeoutError, Delay(2.0, 4), Delay(1.0, KeyError("k"))], colour=both.colour, clock=clock)  # fmt: skip
    ends: list[Any] = []
    for number in range(5):
        try:
            ends.append(both.call(SimpleNamespace(step=target, astep=target), "step", number, key="value"))
        except Exception as error:
            ends.append(type(error))
    assert ends == [1, ConnectionResetError, TimeoutError, 4, KeyError]
    assert target.calls[3:] == [Called((3,), {"key": "value"}, 0.0), Called((4,), {"key": "value"}, 2.0)]


def test_a_call_beyond_the_script_is_the_tests_failure(both: Any, clock: FakeClock):
    target = scripted([], colour=both.colour, clock=clock)
    with pytest.raises(ScriptEnded, match="call 1"):
        both.call(SimpleNamespace(step=target, astep=target), "step")
    assert not issubclass(ScriptEnded, Exception)


def test_a_released_hang_answers(both: Any):
    hang = Hang("after all")
    hang.release()
    target = scripted([hang, hang], colour=both.colour)
    assert both.call(SimpleNamespace(step=target, astep=target), "step") == "after all"


def test_releasing_wakes_tasks_that_hang(clock: FakeClock):
    hang = Hang(17)

    async def body() -> Any:
        waiting = asyncio.create_task(scripted([hang], colour="async")())
        await clock.asleep(100.0)
        hang.release()
        return await waiting

    assert run_virtual(body(), clock) == 17


def test_releasing_wakes_threads_that_hang():
    hang, got = Hang(17), list[int]()
    thread = threading.Thread(target=lambda: got.append(scripted([hang])()))
    thread.start()
    hang.release()
    thread.join(5.0)
    assert got == [17]


def test_releasing_after_the_loop_is_gone_is_harmless(clock: FakeClock, ports: AsyncPorts):
    hang = Hang()
    target = scripted([hang], colour="async")
    with pytest.raises(CallTimedOut):
        run_virtual(ports.call(target, is_async=True, timeout=3.0, own_thread=False), clock)
    hang.release()
    assert math.isfinite(clock.monotonic())


# Events


def event(target: str, kind: str, direction: str | None, reason: str = "") -> dict[str, Any]:
    return {"target": target, "kind": kind, "direction": direction, "reason": reason, "elapsed": 0.1}


def test_events_as_expected_pass():
    context = SimpleNamespace(events=[event("a", "timeout", None), event("a", "timeout", "data")])
    assert_events(context, [("a", "timeout", None), ("a", "timeout", "data")])
    assert_events(context.events, [("a", "timeout", None), ("a", "timeout", "data")])


def test_events_that_differ_are_shown_side_by_side_with_their_reasons():
    found = [event("a", "timeout", None, "no answer within 3 s"), event("a", "server_error", "data", "http 503")]
    with pytest.raises(AssertionError) as caught:
        assert_events(found, [("a", "timeout", None), ("a", "timeout", "data"), ("b", "open", "function")])
    assert str(caught.value).splitlines() == [
        "events differ (- expected, + found):",
        "  a: timeout -> None   (no answer within 3 s)",
        "- a: timeout -> data",
        "- b: open -> function",
        "+ a: server_error -> data   (http 503)",
    ]
