"""A real shop: τ²-bench's retail tools, unmodified, with faults on a fifth of the calls; in full: `benchmarks/retail.py`."""

from __future__ import annotations

import pytest

from benchmarks.retail import setting, written
from benchmarks.retail_door import Colour, Door
from benchmarks.retail_faults import Weather
from benchmarks.retail_judge import PROMISES, Book
from benchmarks.retail_plain import plain_day
from benchmarks.retail_replay import Replay, Setting
from benchmarks.retail_shop import gold_tasks, open_shop, policy, undisturbed_hash
from langgraph_degrade import Degrader, ToolResult
from langgraph_degrade.testing import FakeClock
from tests.conftest import Both

SHOWERS, STORM = 6, 13
"""Seeds: calls in a scope, with read-backs, by an agent that asks again; a graph without read-backs, likewise."""


@pytest.mark.row("E1")
@pytest.mark.row("E4")
@pytest.mark.row("F2")
@pytest.mark.parametrize("seed", [SHOWERS, STORM])
def test_a_bad_day_at_a_real_shop_keeps_every_promise(seed: int, colour: Colour) -> None:
    book = Replay(setting(seed, colour)).run()
    assert {promise: cases for promise, cases in book.broken.items() if cases} == {}
    assert 0.15 < book.faults.total() / book.counts["attempts"] < 0.3
    assert set(book.statuses) == {"ok", "stale", "unavailable", "unknown", "rejected"}
    assert book.counts["asked again"] > 0
    assert book.counts["business errors"] > 0


@pytest.mark.row("F3")
def test_a_fair_day_is_as_if_nobody_stood_between() -> None:
    """Sync tools called from async code, every gold call; the tasks hold 18 that the shop refuses."""
    book = Replay(Setting(0, "mixed", weather="fair")).run()
    assert {promise: cases for promise, cases in book.broken.items() if cases} == {}
    assert book.statuses == {"ok": sum(len(task.actions) for task in gold_tasks()) - 18, "rejected": 18}
    assert book.hash == undisturbed_hash()


def test_the_judge_sees_writes_that_are_sent_twice() -> None:
    """The same day with every write declared a read: it is retried."""
    book = Replay(setting(SHOWERS, "sync"), policy(verify=False, all_reads=True)).run()
    assert book.broken["once"]
    assert book.broken["done"] or book.broken["not done"]


@pytest.mark.row("F3")
@pytest.mark.row("B2")
def test_nothing_but_refusals_opens_no_breaker(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(policy(verify=False), clock=clock)
    door = Door(open_shop(), Weather(0, "fair"), clock)
    tool = next(tool for tool in door.tools(both.colour) if tool.name == "cancel_pending_order")
    guarded = degrader.tool(tool)
    for number in range(40):
        clock.advance(0.5)
        call = {"order_id": "#W0000000", "reason": "no longer needed"}
        message = both.call(
            guarded, "invoke", {"name": tool.name, "args": call, "id": str(number), "type": "tool_call"}
        )
        result = ToolResult.of(message)
        assert result is not None
        assert (result.status, result["failure"]["kind"]) == ("rejected", "business")
        assert "Order not found" in message.content
    assert degrader.breaker(f"tool:{tool.name}").current_state == "closed"


def test_the_report_tells_of_broken_promises_and_of_the_day_without_a_degrader() -> None:
    bare = plain_day(SHOWERS, "showers", "plain")
    assert bare["exceptions"] > 0
    assert bare["garbage taken for an answer"] > 0
    assert bare["writes done, and nobody told"] > 0
    book = Book()
    book.require("once", "task 0", is_kept=False)
    lines = written([(setting(SHOWERS, "sync"), book)], {"plain": bare, "with_retry": bare}).splitlines()
    assert [line.split()[-2] for line in lines if PROMISES["once"] in line] == ["1"]
