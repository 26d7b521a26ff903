"""Stories of whole services: cancellation, two kinds of limits, and one slow tool that must not take the rest down."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from langgraph_degrade import CircuitOpen, Degrader, Policy, ToolSchemaError
from langgraph_degrade.testing import Delay, FakeClock, run_virtual, scripted
from tests.conftest import Both

RULE = {"consecutive": 3, "min_calls": 3, "open_for": "30s"}


@pytest.mark.row("F3")
@pytest.mark.case("case-B10")
def test_the_callers_cancellation_comes_out_unchanged_and_is_neutral(clock: FakeClock) -> None:
    degrader = Degrader(
        Policy.model_validate({"targets": {"shop": {"effect": "read", "breakers": [RULE]}}}), clock=clock
    )
    hang = asyncio.Event()

    @degrader.guard("shop")
    async def call() -> str:
        await hang.wait()
        return "ok"

    async def story() -> str:
        for _ in range(5):
            task = asyncio.create_task(call())
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        hang.set()
        return await call()

    assert run_virtual(story(), clock) == "ok"
    assert degrader.breaker("shop").current_state == "closed"


@pytest.mark.row("T3")
@pytest.mark.case("case-M08")
def test_a_calls_own_limit_is_not_the_requests(both: Both, clock: FakeClock) -> None:
    """Four calls of 2.6 s under a limit of 5 s each all run: 10.4 s of a session of 60."""
    schema = {"type": "object", "required": ["left"]}
    policy = {"targets": {"stock": {"effect": "read", "timeout": "5s", "result_schema": schema, "breakers": []}}}
    degrader = Degrader(Policy.model_validate(policy), clock=clock)
    target = scripted([*[Delay(2.6, {"wrong": 1})] * 3, Delay(2.6, {"left": 1})], colour=both.colour, clock=clock)
    guarded = degrader.guard("stock")(target)

    async def call() -> Any:
        try:
            return await guarded() if both.colour == "async" else guarded()
        except ToolSchemaError as error:
            return error.path

    with degrader.scope(session=60.0):
        answers = [both.run(call()) for _ in range(4)]
    assert answers == ["$", "$", "$", {"left": 1}]
    assert len(target.calls) == 4
    assert clock.monotonic() == pytest.approx(10.4)


@pytest.mark.row("B2")
@pytest.mark.row("T5")
@pytest.mark.case("case-M10")
def test_one_tool_at_45_s_does_not_take_the_others_down(clock: FakeClock) -> None:
    """Sixty turns at once, again and again; orders go from 0.3 s to 45 s and heal; stock stays well throughout."""
    read = {"effect": "read", "timeout": "3s"}
    degrader = Degrader(Policy.model_validate({"targets": {"orders": read, "stock": read}}), clock=clock)
    state = {"latency": 0.3, "in_flight": 0, "worst": 0, "reached": 0}

    @degrader.guard("orders")
    async def orders() -> str:
        state["in_flight"] += 1
        state["reached"] += 1
        state["worst"] = max(state["worst"], state["in_flight"])
        try:
            await asyncio.sleep(state["latency"])
        finally:
            state["in_flight"] -= 1
        return "ok"

    @degrader.guard("stock")
    async def stock() -> str:
        await asyncio.sleep(0.05)
        return "ok"

    async def turn() -> tuple[object, object]:
        with degrader.scope(session=30.0):
            first, second = await asyncio.gather(orders(), stock(), return_exceptions=True)
        return first, second

    async def wave() -> list[tuple[object, object]]:
        done = await asyncio.gather(*(turn() for _ in range(60)))
        await asyncio.sleep(1.0)
        return done

    async def story() -> tuple[list[Any], list[Any]]:
        await wave()
        state["latency"] = 45.0
        ill = [pair for _ in range(20) for pair in await wave()]
        reached = state["reached"]
        state["latency"] = 0.3
        healed = [pair for _ in range(60) for pair in await wave()]
        assert reached < 60 * 6  # of 1,260 turns; without a breaker each would have waited, three times over
        return ill, healed[-600:]

    ill, healed = run_virtual(story(), clock)
    assert all(second == "ok" for _, second in ill)
    assert all(pair == ("ok", "ok") for pair in healed)
    assert sum(isinstance(first, CircuitOpen) for first, _ in ill) > len(ill) / 2
    assert state["worst"] <= 60 * 2
