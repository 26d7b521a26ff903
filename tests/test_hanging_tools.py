"""A tool that hangs costs its own timeout, a bounded number of threads, and not the process's exit (spec T5)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
from typing import Any

import pytest
from langchain_core.tools import StructuredTool

from langgraph_degrade import Degrader, Policy, ToolResult
from langgraph_degrade.testing import FakeClock, Hang
from tests.agents import call_of
from tests.conftest import Both

POLICY = Policy.model_validate(
    {
        "tools": {"slow": {"effect": "read", "timeout": "3s", "breakers": [], "max_abandoned": 8}},
        "request": {"retries": 0},
    }
)


def slow_tool(both: Both, hang: Hang, clock: FakeClock, *, cleanup: Hang | None = None) -> Any:
    def sync() -> str:
        """Hang."""
        hang.block(clock)
        return "late"

    async def coro() -> str:
        """Hang, and take long to be cancelled."""
        try:
            await hang.suspend()
        finally:
            if cleanup is not None:
                await cleanup.suspend()
        return "late"

    made = {"func": sync} if both.colour == "sync" else {"coroutine": coro}
    return StructuredTool.from_function(name="slow", **made)


@pytest.mark.row("T3")
@pytest.mark.row("T5")
@pytest.mark.case("case-M01")
@pytest.mark.case("case-M04")
@pytest.mark.parametrize("slow_cleanup", [False, True])
def test_the_caller_waits_its_timeout_and_no_longer(both: Both, clock: FakeClock, slow_cleanup: bool) -> None:
    hang, cleanup = Hang(), Hang()
    degrader = Degrader(POLICY, clock=clock)
    guarded = degrader.tool(slow_tool(both, hang, clock, cleanup=cleanup if slow_cleanup else None))
    began = clock.monotonic()
    try:
        if both.colour == "sync":
            message = guarded.invoke(call_of(guarded))
            waited = clock.monotonic() - began
        else:

            async def story() -> Any:
                answered = await guarded.ainvoke(call_of(guarded))
                elapsed = clock.monotonic() - began
                hang.release()
                cleanup.release()
                return answered, elapsed

            message, waited = both.run(story())
    finally:
        hang.release()
        cleanup.release()
    assert waited == pytest.approx(3.0, abs=0.05)
    assert ToolResult.of(message).failure["kind"] == "timeout"  # type: ignore[union-attr]


@pytest.mark.row("T5")
@pytest.mark.case("case-M05")
def test_a_hundred_hung_calls_hold_no_more_threads_than_stated_and_no_healthy_tool(clock: FakeClock) -> None:
    both = Both("sync", clock)
    hang = Hang()
    degrader = Degrader(POLICY, clock=clock)
    hung = degrader.tool(slow_tool(both, hang, clock))

    def healthy() -> str:
        """Be quick."""
        return "fine"

    quick = degrader.tool(healthy)
    before = threading.active_count()
    try:
        kinds = [ToolResult.of(hung.invoke(call_of(hung))).failure["kind"] for _ in range(100)]  # type: ignore[union-attr]
        assert threading.active_count() - before <= 8 + 1
        assert kinds == ["timeout"] * 8 + ["shed"] * 92
        assert quick.invoke(call_of(quick)).content == "fine"
    finally:
        hang.release()


@pytest.mark.row("T5")
@pytest.mark.parametrize("colour", ["sync", "async"])
def test_the_process_exits_although_calls_hang(colour: str) -> None:
    program = textwrap.dedent(f"""
        import asyncio, threading
        from langgraph_degrade import Degrader, Policy
        degrader = Degrader(Policy.model_validate({{"targets": {{"slow": {{"timeout": "10ms", "breakers": [], "max_abandoned": 100}}}}}}))
        guard = degrader.guard("slow")
        hang = guard(lambda: threading.Event().wait(600))
        async def story():
            async def wait():
                await asyncio.to_thread(lambda: None)
                await asyncio.Event().wait()
            calls = [guard(wait)() for _ in range(100)]
            print(sum(isinstance(e, TimeoutError) for e in await asyncio.gather(*calls, return_exceptions=True)))
        if {colour!r} == "async":
            asyncio.run(story())
        else:
            late = 0
            for _ in range(100):
                try: hang()
                except TimeoutError: late += 1
            print(late)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "100"


@pytest.mark.row("T5")
def test_a_blocking_async_def_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    """It can't be cut by anybody: its value is late but known, and the block is said."""
    degrader = Degrader(Policy.model_validate({"targets": {"slow": {"effect": "read", "timeout": "20ms"}}}))

    @degrader.guard("slow")
    async def slow() -> str:
        threading.Event().wait(0.06)
        return "late"

    assert asyncio.run(slow()) == "late"
    assert "blocked the event loop" in caplog.text
    assert degrader._engine.targets()["slow"].blocked > 0.02
