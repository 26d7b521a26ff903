"""How calls are run under a limit: what the caller gets, when, and what becomes of a call nobody waits for."""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import contextvars
import gc
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, Literal, NamedTuple

import pytest
from langgraph.errors import GraphBubbleUp

from langgraph_degrade.engine.blocking import watched
from langgraph_degrade.engine.clock import SystemClock
from langgraph_degrade.engine.ports import (
    CLEANUP,
    AsyncPorts,
    Bulkhead,
    CallTimedOut,
    Late,
    NoWorker,
    Ports,
    SyncPorts,
    ToolCancelled,
    complete,
)
from langgraph_degrade.engine.workers import Worker, Workers
from langgraph_degrade.testing import Delay, FakeClock, Hang, run_virtual, scripted


class Way(NamedTuple):
    """One of the ways a call can go: the caller's colour and the function's."""

    caller: Literal["sync", "async"]
    fn: Literal["sync", "async"]
    clock: FakeClock
    workers: Workers

    @property
    def is_async(self) -> bool:
        return self.fn == "async"

    def paint(self, fn: Callable[[], Any]) -> Callable[[], Any]:
        async def painted() -> Any:
            return fn()

        return painted if self.is_async else fn

    def scripted(self, *steps: Any) -> Any:
        return scripted(steps, colour=self.fn, clock=self.clock)

    def run(self, fn: Callable[[], Any], *, timeout: float | None = 3.0, own_thread: bool = False, **more: Any) -> Any:
        ports: Ports = (SyncPorts if self.caller == "sync" else AsyncPorts)(self.clock, self.workers)
        call = ports.call(fn, is_async=self.is_async, timeout=timeout, own_thread=own_thread, **more)
        return complete(call) if self.caller == "sync" else run_virtual(call, self.clock)


@pytest.fixture
def workers() -> Workers:
    return Workers(idle_timeout=0.05)


@pytest.fixture(params=["sync-sync", "async-sync", "async-async"])
def way(request: pytest.FixtureRequest, clock: FakeClock, workers: Workers) -> Way:
    caller, fn = request.param.split("-")
    return Way(caller, fn, clock, workers)


def held(value: Any = None) -> tuple[list[Late], Callable[[Late], None], threading.Event]:
    """A place for what comes late, and an event that says so."""
    came, event = list[Late](), threading.Event()

    def on_late(late: Late) -> None:
        came.append(late)
        event.set()

    return came, on_late, event


# What the caller gets


@pytest.mark.parametrize("timeout", [None, 3.0])
def test_a_value_is_returned(way: Way, timeout: float | None):
    assert way.run(way.scripted({"stock": 17}), timeout=timeout) == {"stock": 17}


@pytest.mark.parametrize("timeout", [None, 3.0])
def test_an_error_is_raised_as_it_was_with_its_traceback(way: Way, timeout: float | None):
    error = ConnectionResetError("peer")

    def in_the_depth_of_the_tool() -> None:
        raise error

    with pytest.raises(ConnectionResetError) as caught:
        way.run(way.paint(in_the_depth_of_the_tool), timeout=timeout)
    assert caught.value is error
    assert "in_the_depth_of_the_tool" in [frame.name for frame in traceback.extract_tb(error.__traceback__)]


@pytest.mark.row("F3")
@pytest.mark.parametrize("timeout", [None, 3.0])
@pytest.mark.parametrize("signal", [GraphBubbleUp("interrupt"), SystemExit(3), KeyboardInterrupt()])
def test_control_flow_passes_untouched(way: Way, timeout: float | None, signal: BaseException):
    with pytest.raises(type(signal)) as caught:
        way.run(way.scripted(signal), timeout=timeout)
    assert caught.value is signal


@pytest.mark.parametrize("timeout", [None, 3.0])
def test_an_exhausted_iterator_in_a_tool_is_an_error_not_a_hang(way: Way, timeout: float | None):
    with pytest.raises(RuntimeError) as caught:
        way.run(way.paint(lambda: next(iter(()))), timeout=timeout)
    assert isinstance(caught.value.__cause__, StopIteration)


@pytest.mark.row("T3")
@pytest.mark.parametrize("step", [Delay(5.0, "late"), Hang()])
def test_at_the_limit_the_caller_gets_a_timeout(way: Way, step: Any):
    with pytest.raises(CallTimedOut) as caught:
        way.run(way.scripted(step))
    assert (way.clock.monotonic(), caught.value.seconds, caught.value.queued) == (3.0, 3.0, 0.0)


@pytest.mark.row("T3")
def test_within_the_limit_the_value_comes_when_it_comes(way: Way):
    assert (way.run(way.scripted(Delay(2.0, "here"))), way.clock.monotonic()) == ("here", 2.0)


def test_a_timeout_of_the_tools_own_is_not_ours(way: Way):
    with pytest.raises(TimeoutError) as caught:
        way.run(way.scripted(TimeoutError("read")))
    assert not isinstance(caught.value, CallTimedOut)


def test_the_callers_context_reaches_the_call_and_is_not_changed_by_it(way: Way):
    tenant = contextvars.ContextVar("tenant", default="nobody")
    tenant.set("acme")

    def tool() -> str:
        seen = tenant.get()
        tenant.set("tool's own")
        return seen

    assert (way.run(way.paint(tool)), tenant.get()) == ("acme", "acme")


# Where it runs


def test_a_sync_call_with_a_limit_runs_on_a_worker(clock: FakeClock, workers: Workers, colour: str):
    way = Way(colour, "sync", clock, workers)
    assert isinstance(way.run(threading.current_thread), Worker)


@pytest.mark.parametrize("timeout", [None, 3.0])
def test_own_thread_is_the_callers(clock: FakeClock, workers: Workers, colour: str, timeout: float | None):
    way = Way(colour, "sync", clock, workers)
    assert way.run(threading.current_thread, timeout=timeout, own_thread=True) is threading.current_thread()


def test_without_a_limit_sync_code_is_not_handed_over(clock: FakeClock, workers: Workers):
    assert Way("sync", "sync", clock, workers).run(threading.current_thread, timeout=None) is threading.current_thread()


def test_a_sync_tool_never_blocks_the_loop(clock: FakeClock, workers: Workers):
    assert isinstance(Way("async", "sync", clock, workers).run(threading.current_thread, timeout=None), Worker)


def test_an_async_function_reached_from_sync_code_is_refused_before_it_is_called(clock: FakeClock, workers: Workers):
    tool = scripted([1], colour="async")
    ports = SyncPorts(clock, workers)
    with pytest.raises(TypeError, match="ainvoke"):
        complete(ports.call(tool, is_async=True, timeout=None, own_thread=False))
    assert tool.calls == []


@pytest.mark.parametrize("timeout", [None, 3.0])
def test_a_coroutine_is_never_taken_for_a_value(clock: FakeClock, workers: Workers, colour: str, timeout: float | None):
    """And none is left un-awaited: that would be a warning, and warnings are errors here."""
    tool = scripted([1], colour="async")
    with pytest.raises(TypeError, match="async def"):
        Way(colour, "sync", clock, workers).run(tool, timeout=timeout)


# What becomes of an abandoned call


@pytest.mark.row("T5")
def test_a_late_result_is_told_once(way: Way):
    came, on_late, told = held()
    late = Hang("found after all")

    async def follow(ports: Ports) -> None:
        with pytest.raises(CallTimedOut):
            await ports.call(way.scripted(late), is_async=way.is_async, timeout=3.0, own_thread=False, on_late=on_late)

    _follow(way, follow)
    late.release()
    if not way.is_async:
        assert told.wait(5.0)
        assert [(entry.value, entry.error) for entry in came] == [("found after all", None)]
    else:
        assert [type(entry.error) for entry in came] == [asyncio.CancelledError]


def _follow(way: Way, body: Callable[[Ports], Any]) -> None:
    if way.caller == "sync":
        complete(body(SyncPorts(way.clock, way.workers)))
    else:
        run_virtual(body(AsyncPorts(way.clock, way.workers)), way.clock)


@pytest.mark.row("T5")
def test_a_late_error_is_told_too(clock: FakeClock, workers: Workers, colour: str):
    came, on_late, told = held()
    step = Hang(ConnectionResetError())
    way = Way(colour, "sync", clock, workers)
    with pytest.raises(CallTimedOut):
        way.run(way.scripted(step), on_late=on_late)
    clock.advance(7.0)
    step.release()
    assert told.wait(5.0)
    assert [(type(late.error), late.elapsed) for late in came] == [(ConnectionResetError, 10.0)]


def test_an_error_of_on_late_ends_there(clock: FakeClock, workers: Workers, caplog: pytest.LogCaptureFixture):
    told = threading.Event()

    def on_late(late: Late) -> None:
        told.set()
        raise LookupError("secret")

    step = Hang()
    way = Way("sync", "sync", clock, workers)
    with pytest.raises(CallTimedOut):
        way.run(way.scripted(step), on_late=on_late)
    step.release()
    assert told.wait(5.0)
    assert way.run(lambda: "the worker lives") == "the worker lives"
    assert "secret" not in caplog.text


def test_a_call_that_answered_in_time_is_not_late(way: Way):
    came, on_late, _ = held()
    assert way.run(way.scripted("here"), on_late=on_late) == "here"
    assert came == []


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """A run started in the background ignores Ctrl-C; here it means what it means at a terminal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_reaches_the_caller_who_waits_and_the_call_is_told_as_late(workers: Workers):
    came, on_late, told = held()
    step = Hang("done")

    def tool() -> Any:
        _thread.interrupt_main()
        step.block(SystemClock())
        return step.value

    ports = SyncPorts(SystemClock(), workers)
    with pytest.raises(KeyboardInterrupt):
        complete(ports.call(tool, is_async=False, timeout=60.0, own_thread=False, on_late=on_late))
    step.release()
    assert told.wait(5.0)
    assert [late.value for late in came] == ["done"]


@pytest.mark.row("T5")
@pytest.mark.case("case-M01")
def test_a_slow_finally_does_not_hold_the_caller(clock: FakeClock, workers: Workers):
    came, on_late, _ = held()
    bulkhead = Bulkhead()

    async def tool() -> None:
        try:
            await clock.asleep(10.0)
        finally:
            await clock.asleep(20.0)

    async def body() -> None:
        ports = AsyncPorts(clock, workers)
        with pytest.raises(CallTimedOut):
            await ports.call(tool, is_async=True, timeout=3.0, own_thread=False, on_late=on_late, bulkhead=bulkhead)
        assert (clock.monotonic(), bulkhead.abandoned, came) == (3.0, 1, [])
        await clock.asleep(21.0)
        assert (bulkhead.abandoned, [late.elapsed for late in came]) == (0, [23.0])

    run_virtual(body(), clock)


@pytest.mark.row("T5")
def test_a_cleanup_without_end_is_cancelled_again(clock: FakeClock, workers: Workers):
    """It may catch a cancellation, or hang in its `finally`; each time it has `CLEANUP` seconds."""
    came, on_late, _ = held()

    async def tool() -> str:
        for _ in range(3):
            with contextlib.suppress(asyncio.CancelledError):
                await clock.asleep(1e6)
        return "at last"

    async def body() -> None:
        with pytest.raises(CallTimedOut):
            await AsyncPorts(clock, workers).call(tool, is_async=True, timeout=3.0, own_thread=False, on_late=on_late)
        await clock.asleep(1e4)

    run_virtual(body(), clock)
    assert [(late.value, late.elapsed) for late in came] == [("at last", 3.0 + 2 * CLEANUP)]


def test_a_loop_that_closes_leaves_nobody_waiting_and_the_outcome_is_late(workers: Workers):
    came, on_late, told = held()
    step = Hang("done")
    ports = AsyncPorts(SystemClock(), workers)

    async def body() -> None:
        call = ports.call(
            lambda: (step.block(SystemClock()), "done")[1],
            is_async=False,
            timeout=60.0,
            own_thread=False,
            on_late=on_late,
        )
        task = asyncio.create_task(call)
        await asyncio.wait([task], timeout=0.01)

    asyncio.run(body())  # cancels the task
    step.release()
    assert told.wait(5.0)
    assert [late.value for late in came] == ["done"]


def test_a_call_whose_loop_was_closed_over_it_is_late_too(workers: Workers):
    came, on_late, told = held()
    step, bulkhead = Hang(), Bulkhead()
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: None)  # it complains of the task we leave pending
    call = AsyncPorts(SystemClock(), workers).call(
        scripted([step]), is_async=False, timeout=60.0, own_thread=False, on_late=on_late, bulkhead=bulkhead
    )
    task = loop.create_task(call)
    loop.run_until_complete(asyncio.wait([task], timeout=0.01))
    loop.close()
    step.release()
    assert told.wait(5.0)
    del task, call
    gc.collect()
    assert (len(came), bulkhead.running, bulkhead.abandoned) == (1, 0, 0)


# Cancellation


@pytest.mark.row("F3")
@pytest.mark.parametrize("timeout", [None, 3.0])
def test_the_callers_cancellation_comes_out_at_once(way: Way, timeout: float | None):
    if way.caller == "sync":
        return _sync_calls_cannot_be_cancelled(way)

    async def body() -> None:
        ports = AsyncPorts(way.clock, way.workers)
        call = ports.call(way.scripted(Hang()), is_async=way.is_async, timeout=timeout, own_thread=False)
        task = asyncio.create_task(call)
        await way.clock.asleep(1.0)
        task.cancel("by the user")
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        assert (caught.value.args, task.cancelled(), way.clock.monotonic()) == (("by the user",), True, 1.0)

    return run_virtual(body(), way.clock)


def _sync_calls_cannot_be_cancelled(way: Way) -> None:
    with pytest.raises(asyncio.CancelledError):
        way.run(way.scripted(asyncio.CancelledError()))


@pytest.mark.row("T5")
@pytest.mark.case("case-M01")
def test_a_slow_finally_does_not_hold_a_cancelled_caller(clock: FakeClock, workers: Workers):
    came, on_late, _ = held()

    async def tool() -> None:
        try:
            await clock.asleep(100.0)
        finally:
            await clock.asleep(20.0)

    async def body() -> None:
        task = asyncio.create_task(
            AsyncPorts(clock, workers).call(tool, is_async=True, timeout=50.0, own_thread=False, on_late=on_late)
        )
        await clock.asleep(1.0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (clock.monotonic(), came) == (1.0, [])
        await clock.asleep(20.0)
        assert [late.elapsed for late in came] == [21.0]

    run_virtual(body(), clock)


@pytest.mark.row("F3")
@pytest.mark.case("case-M02")
@pytest.mark.parametrize("fn", ["sync", "async"])
def test_a_cancellation_is_not_eaten_when_it_meets_the_result(clock: FakeClock, workers: Workers, fn: Any):
    """The result is there, the caller not yet resumed: exactly then the user hangs up."""
    came, on_late, told = held()
    way = Way("async", fn, clock, workers)

    async def body() -> None:
        loop = asyncio.get_running_loop()

        def tool() -> str:
            if way.is_async:
                loop.call_soon(task.cancel)
            else:
                loop.call_soon_threadsafe(loop.call_soon, task.cancel)
            return "here"

        call = AsyncPorts(clock, workers).call(
            way.paint(tool), is_async=way.is_async, timeout=3.0, own_thread=False, on_late=on_late
        )
        task = asyncio.create_task(call)
        with pytest.raises(asyncio.CancelledError):
            await task

    run_virtual(body(), clock)
    assert told.wait(5.0)
    assert [late.value for late in came] == ["here"]


@pytest.mark.parametrize("timeout", [None, 3.0])
def test_a_tool_that_cancels_itself_has_failed(clock: FakeClock, workers: Workers, timeout: float | None):
    async def tool() -> None:
        gone = asyncio.get_running_loop().create_future()
        gone.cancel()
        await gone

    with pytest.raises(ToolCancelled) as caught:
        Way("async", "async", clock, workers).run(tool, timeout=timeout)
    assert isinstance(caught.value.__cause__, asyncio.CancelledError)


@pytest.mark.row("T3")
def test_an_outer_limit_ends_the_inner_call_too(clock: FakeClock, workers: Workers):
    ports = AsyncPorts(clock, workers)
    ended: list[float] = []

    async def tool() -> None:
        try:
            await clock.asleep(100.0)
        finally:
            ended.append(clock.monotonic())

    async def node() -> Any:
        return await ports.call(tool, is_async=True, timeout=50.0, own_thread=False)

    async def body() -> None:
        with pytest.raises(CallTimedOut) as caught:
            await ports.call(node, is_async=True, timeout=3.0, own_thread=False)
        assert caught.value.seconds == 3.0
        await clock.asleep(1.0)

    run_virtual(body(), clock)
    assert ended == [3.0]


def test_a_call_cancelled_before_its_first_step_never_reaches_the_target(clock: FakeClock, workers: Workers):
    came, on_late, _ = held()
    bulkhead = Bulkhead()
    tool = scripted([1], colour="async", clock=clock)

    async def body() -> None:
        call = AsyncPorts(clock, workers).call(
            tool, is_async=True, timeout=3.0, own_thread=False, on_late=on_late, bulkhead=bulkhead
        )
        call.send(None)  # the call's task exists, and has not run yet
        with pytest.raises(asyncio.CancelledError):
            call.throw(asyncio.CancelledError())
        await clock.asleep(0.0)

    run_virtual(body(), clock)
    assert (tool.calls, bulkhead.abandoned, [type(late.error) for late in came]) == ([], 0, [asyncio.CancelledError])


# A blocked event loop


@pytest.mark.row("T5")
def test_a_blocking_async_def_is_reported_once_and_its_value_kept(clock: FakeClock, workers: Workers):
    blocked: list[float] = []

    async def tool() -> str:
        clock.sleep(0.05)
        await clock.asleep(0.1)
        clock.sleep(2.0)
        await clock.asleep(0.1)
        clock.sleep(5.0)
        return "late, but known"

    assert Way("async", "async", clock, workers).run(tool, timeout=3.0, blocked=blocked.append) == "late, but known"
    assert blocked == [2.0]


def test_a_limit_shorter_than_a_tenth_counts_as_blocked_already(clock: FakeClock, workers: Workers):
    blocked: list[float] = []

    async def tool() -> None:
        clock.sleep(0.06)

    Way("async", "async", clock, workers).run(tool, timeout=0.05, blocked=blocked.append)
    assert blocked == [0.06]


def test_awaiting_for_long_is_not_blocking(clock: FakeClock, workers: Workers):
    blocked: list[float] = []
    way = Way("async", "async", clock, workers)
    way.run(way.scripted(Delay(2.9)), blocked=blocked.append)
    assert blocked == []


def test_blocking_in_the_cleanup_is_seen_too(clock: FakeClock, workers: Workers):
    blocked: list[float] = []

    async def tool() -> None:
        try:
            await clock.asleep(10.0)
        finally:
            clock.sleep(1.0)

    with pytest.raises(CallTimedOut):
        Way("async", "async", clock, workers).run(tool, blocked=blocked.append)
    assert blocked == [1.0]


def test_a_hanging_task_shows_its_stack(clock: FakeClock, workers: Workers):
    async def body() -> None:
        call = AsyncPorts(clock, workers).call(
            scripted([Hang()], colour="async"), is_async=True, timeout=3.0, own_thread=False, blocked=print
        )
        waiting = asyncio.create_task(call)
        await clock.asleep(1.0)
        (hanging,) = asyncio.all_tasks() - {asyncio.current_task(), waiting}
        assert [frame.f_code.co_name for frame in hanging.get_stack()] == ["_run"]
        assert "TaskCall._run" in repr(hanging)
        with pytest.raises(CallTimedOut):
            await waiting

    run_virtual(body(), clock)


def test_a_timed_coroutine_can_be_closed_where_it_stands():
    closed: list[str] = []

    async def tool() -> None:
        try:
            await asyncio.Future(loop=loop)
        finally:
            closed.append("tool")

    async def body() -> None:
        await watched(tool(), SystemClock().monotonic, 1.0, print)

    with contextlib.closing(asyncio.new_event_loop()) as loop:
        coroutine = body()
        coroutine.send(None)
        coroutine.close()
    assert closed == ["tool"]


# Bulkheads


@pytest.mark.row("T5")
@pytest.mark.row("E5")
@pytest.mark.case("case-M05")
def test_hung_calls_of_one_target_leave_the_others_alone(clock: FakeClock, workers: Workers, colour: str):
    way, hung = Way(colour, "sync", clock, workers), Bulkhead(4)
    for _ in range(4):
        with pytest.raises(CallTimedOut):
            way.run(way.scripted(Hang()), bulkhead=hung)
    refused = way.scripted("never called")
    with pytest.raises(NoWorker):
        way.run(refused, bulkhead=hung)
    assert (hung.abandoned, hung.running, refused.calls) == (4, 4, [])
    assert way.run(way.scripted("healthy"), bulkhead=Bulkhead(4)) == "healthy"


@pytest.mark.row("T5")
def test_abandoned_tasks_are_bounded_too(clock: FakeClock, workers: Workers):
    bulkhead = Bulkhead(2)

    async def stubborn() -> None:
        while clock.monotonic() < 1000.0:
            try:
                await clock.asleep(1000.0)
            except asyncio.CancelledError:
                continue

    async def body() -> None:
        ports = AsyncPorts(clock, workers)
        for expected in (CallTimedOut, CallTimedOut, NoWorker):
            with pytest.raises(expected):
                await ports.call(stubborn, is_async=True, timeout=3.0, own_thread=False, bulkhead=bulkhead)

    run_virtual(body(), clock)


@pytest.mark.row("T5")
@pytest.mark.case("case-M05")
def test_a_hundred_hanging_at_once_hold_no_more_workers_than_the_limit(clock: FakeClock, workers: Workers):
    bulkhead = Bulkhead(8)
    hang = Hang()

    async def body() -> list[Any]:
        ports = AsyncPorts(clock, workers)
        tool = scripted([hang] * 100, clock=clock)
        calls = [ports.call(tool, is_async=False, timeout=3.0, own_thread=False, bulkhead=bulkhead) for _ in range(100)]
        ended = await asyncio.gather(*calls, return_exceptions=True)
        assert len(tool.calls) == bulkhead.running == bulkhead.abandoned == 8
        return ended

    ended = run_virtual(body(), clock)
    assert [sum(isinstance(end, kind) for end in ended) for kind in (CallTimedOut, NoWorker)] == [8, 92]
    assert clock.monotonic() == 3.0
    hang.release()


@pytest.mark.row("T5")
def test_two_hundred_healthy_calls_queue_for_their_turn(workers: Workers):
    clock = FakeClock(patience=10.0)  # a loaded machine may take long to wake 200 threads

    async def body() -> list[Any]:
        ports = AsyncPorts(clock, workers)
        tool = scripted([Delay(0.1, "ok")] * 200, clock=clock)
        bulkhead = Bulkhead(32)
        return await asyncio.gather(
            *(ports.call(tool, is_async=False, timeout=3.0, own_thread=False, bulkhead=bulkhead) for _ in range(200))
        )

    assert run_virtual(body(), clock) == ["ok"] * 200


@pytest.mark.row("T5")
@pytest.mark.case("case-M05")
def test_queueing_counts_against_the_limit_and_is_told(clock: FakeClock, workers: Workers):
    bulkhead = Bulkhead(1)
    ports = AsyncPorts(clock, workers)

    async def body() -> CallTimedOut:
        tool = scripted([Delay(2.0, "first"), Delay(2.0, "second")], clock=clock)
        first, second = (
            asyncio.create_task(ports.call(tool, is_async=False, timeout=3.0, own_thread=False, bulkhead=bulkhead))
            for _ in range(2)
        )
        assert await first == "first"
        with pytest.raises(CallTimedOut) as caught:
            await second
        return caught.value

    error = run_virtual(body(), clock)
    assert (error.seconds, error.queued, clock.monotonic()) == (3.0, 2.0, 3.0)


def test_a_sync_caller_queues_too(workers: Workers):
    clock, bulkhead = SystemClock(), Bulkhead(1)
    ports = SyncPorts(clock, workers)
    assert bulkhead.enter()
    threading.Timer(0.02, bulkhead.leave).start()
    assert complete(ports.call(lambda: 1, is_async=False, timeout=5.0, own_thread=False, bulkhead=bulkhead)) == 1
    assert bulkhead.enter()
    with pytest.raises(NoWorker):
        complete(ports.call(lambda: 1, is_async=False, timeout=0.02, own_thread=False, bulkhead=bulkhead))
    assert bulkhead.running == 1


def test_a_slot_given_to_somebody_who_left_goes_on(clock: FakeClock, workers: Workers):
    bulkhead = Bulkhead(1)
    ports = AsyncPorts(clock, workers)

    async def body() -> None:
        assert bulkhead.enter()
        waiting = asyncio.create_task(
            ports.call(lambda: 1, is_async=False, timeout=None, own_thread=False, bulkhead=bulkhead)
        )
        await clock.asleep(0.0)
        bulkhead.leave()  # the slot is handed over, and its taker not yet awake
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert bulkhead.running == 0

    run_virtual(body(), clock)


def test_ctrl_c_in_the_queue_gives_the_place_back(workers: Workers):
    bulkhead = Bulkhead(1)
    assert bulkhead.enter()
    with pytest.raises(KeyboardInterrupt):
        complete(
            SyncPorts(Interrupted(), workers).call(
                scripted([1]), is_async=False, timeout=60.0, own_thread=False, bulkhead=bulkhead
            )
        )
    bulkhead.leave()
    assert bulkhead.running == 0


class Interrupted(FakeClock):
    """A clock on which nobody waits to the end."""

    def wait(self, baton: Any, seconds: float) -> bool:
        raise KeyboardInterrupt


# Waiting for somebody else's call


def test_who_waits_for_another_callers_result_wakes_with_it(both: Any, clock: FakeClock, workers: Workers):
    ports: Any = (SyncPorts if both.colour == "sync" else AsyncPorts)(clock, workers)
    done: Future[None] = Future()
    threading.Timer(0.02, done.set_result, [None]).start()
    assert both.run(ports.wait(done, None)) is None


@pytest.mark.row("T3")
def test_who_waits_for_another_callers_result_has_a_limit_of_his_own(both: Any, clock: FakeClock, workers: Workers):
    ports: Any = (SyncPorts if both.colour == "sync" else AsyncPorts)(clock, workers)
    with pytest.raises(CallTimedOut):
        both.run(ports.wait(Future(), 3.0))
    assert clock.monotonic() == 3.0


# Driving


def test_pausing_takes_its_time_in_both_colours(both: Any, clock: FakeClock, workers: Workers):
    ports = (SyncPorts if both.colour == "sync" else AsyncPorts)(clock, workers)
    both.run(ports.pause(0.5))
    assert clock.monotonic() == 0.5


def test_a_coroutine_that_waits_cannot_be_completed_without_a_loop(clock: FakeClock):
    async def waits() -> None:
        await asyncio.Future(loop=loop)

    with contextlib.closing(asyncio.new_event_loop()) as loop, pytest.raises(RuntimeError, match="wanted to wait"):
        complete(waits())
