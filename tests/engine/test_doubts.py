"""Writes in doubt, and other ways an engine could say more than it knows."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.graph import StateGraph
from langgraph.types import Command, interrupt

from langgraph_degrade import CircuitOpen, Degrader, Policy, UnknownOutcome
from langgraph_degrade.engine.store import StoreUnavailable
from langgraph_degrade.store.memory import MemoryStore
from langgraph_degrade.testing import Delay, FakeClock, Hang, scripted
from tests.adapters.graphs import State
from tests.conftest import Both
from tests.engine.test_ladder import Case, Refused

WRITE = {"effect": "write", "timeout": "3s"}
READ = {"effect": "read", "timeout": "3s"}


@pytest.mark.row("E4")
@pytest.mark.case("case-W05")
def test_a_write_in_doubt_is_not_sent_through_a_fallback(both: Both, clock: FakeClock) -> None:
    case = Case(both, clock, refund=WRITE)
    backup = case.target()
    error = case.call(case.degrader.guard("refund", fallbacks=[backup])(case.target(Hang())))
    assert isinstance(error, UnknownOutcome)
    assert backup.calls == []


@pytest.mark.row("E4")
def test_a_write_that_was_refused_may_be_sent_through_a_fallback(both: Both, clock: FakeClock) -> None:
    case = Case(both, clock, refund=WRITE)
    guarded = case.degrader.guard("refund", fallbacks=[case.target("done elsewhere")])(case.target(Refused(503)))
    assert case.call(guarded) == "done elsewhere"


@pytest.mark.row("E4")
def test_a_no_after_an_attempt_that_may_have_been_done_is_no_no(both: Both, clock: FakeClock) -> None:
    """The retry hears `already refunded`: because the first attempt did it."""
    case = Case(both, clock, refund={**WRITE, "idempotent": True})
    guarded = case.degrader.guard("refund")(case.target(ConnectionResetError(), ValueError("already refunded")))
    assert isinstance(case.call(guarded), UnknownOutcome)


@pytest.mark.row("E4")
def test_a_read_back_while_an_attempt_may_still_run_proves_nothing(both: Both, clock: FakeClock) -> None:
    case = Case(both, clock, refund={**WRITE, "idempotent": True, "verify": "look"})
    case.degrader.register(look=lambda args, config: False)
    guarded = case.degrader.guard("refund")(case.target(Hang(), ConnectionResetError()))
    assert isinstance(case.call(guarded), UnknownOutcome)


@pytest.mark.row("E4")
@pytest.mark.row("F3")
def test_an_interrupt_in_a_read_back_leaves_the_write_in_doubt(both: Both, clock: FakeClock) -> None:
    case = Case(both, clock, refund={**WRITE, "verify": "ask_somebody"})

    def ask_somebody(args: Any, config: Any) -> bool:
        raise GraphInterrupt(())

    case.degrader.register(ask_somebody)
    target = case.target(ConnectionResetError(), "sent twice")
    guarded = case.degrader.guard("refund")(target)
    with case.degrader.scope(thread="t", turn="1"):
        with pytest.raises(GraphInterrupt):
            raise case.call(guarded)
        with pytest.raises(GraphInterrupt):
            raise case.call(guarded)
    assert len(target.calls) == 1


@pytest.mark.row("E4")
@pytest.mark.case("case-W04")
def test_a_write_in_a_plain_node_is_sent_once_over_a_resume(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(Policy.model_validate({"targets": {"refund": WRITE}}), clock=clock)
    sent: list[str] = []

    @degrader.guard("refund")
    def refund(order: str) -> str:
        sent.append(order)
        return "R-1"

    def work(state: State) -> dict[str, Any]:
        refund("SO-1")
        interrupt("sure?")
        return {}

    graph = StateGraph(State).add_node("work", work).set_entry_point("work").compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    both.call(graph, "invoke", {"messages": [("user", "refund")]}, config)
    both.call(graph, "invoke", Command(resume="yes"), config)
    assert sent == ["SO-1"]


@pytest.mark.row("E4")
@pytest.mark.row("S3")
def test_a_doubt_outlives_a_store_that_could_not_be_told(both: Both, clock: FakeClock) -> None:
    class Forgetful(MemoryStore):
        def settle(self, *args: Any, **kwargs: Any) -> Any:
            raise StoreUnavailable("locked")

    degrader = Degrader(Policy.model_validate({"targets": {"refund": WRITE}}), clock=clock, store=Forgetful())
    target = scripted([Hang(), "sent twice"], colour=both.colour, clock=clock)
    guarded = degrader.guard("refund")(target)

    async def one() -> Any:
        try:
            return await guarded() if both.colour == "async" else guarded()
        except UnknownOutcome as error:
            return error

    with degrader.scope(thread="t", turn="1"):
        assert isinstance(both.run(one()), UnknownOutcome)
        assert isinstance(both.run(one()), UnknownOutcome)
    assert len(target.calls) == 1


@pytest.mark.row("E3")
def test_a_late_value_is_as_old_as_its_question(clock: FakeClock) -> None:
    both = Both("sync", clock)
    case = Case(both, clock, stock={**READ, "cache": {"ttl": "60s", "scope": "shared"}, "breakers": []})
    guarded = case.degrader.guard("stock")(case.target(Delay(5.0, "asked first"), "asked later", *[Refused(503)] * 2))
    case.call(guarded)  # cut at 3 s, tried again: that answer is the newer one
    clock.sleep(10)
    assert case.call(guarded) == "asked later"


@pytest.mark.row("F2")
def test_an_inner_calls_timeout_is_not_the_outers_deadline(both: Both, clock: FakeClock) -> None:
    limit = {} if both.colour == "async" else {"timeout": "none"}  # no virtual clock for a worker inside a worker
    case = Case(both, clock, inner={**READ, "timeout": "5s"}, outer={"effect": "read", **limit})
    inner = case.degrader.guard("inner")(case.target(Hang()))

    def sync() -> Any:
        return inner()

    async def coro() -> Any:
        return await inner()

    outer = case.degrader.guard("outer", fallbacks=[case.target("fallback")])(sync if both.colour == "sync" else coro)
    with case.degrader.scope(session=60.0):
        assert case.call(outer) == "fallback"
    assert [(event.target, event.kind) for event in case.events] == [("inner", "timeout"), ("outer", "timeout")]


@pytest.mark.row("R2")
def test_events_name_the_alternative_and_its_own_failure(both: Both, clock: FakeClock) -> None:
    case = Case(both, clock, stock={**READ, "endpoints": ["primary", "second", "third"]})
    case.degrader.register(second=case.target(Refused(401)), third=case.target("ok"))
    assert case.call(case.degrader.guard("stock")(case.target(Refused(503)))) == "ok"
    assert [(event.source, event.kind, event.outcome) for event in case.events] == [
        ("second", "auth", "failed"),
        ("third", "overloaded", "ok"),
    ]


@pytest.mark.row("T3")
def test_a_call_without_time_takes_no_place_of_the_backups(both: Both, clock: FakeClock) -> None:
    case = Case(both, clock, stock={**READ, "breakers": [{"consecutive": 1, "min_calls": 1}]})
    guarded = case.degrader.guard("stock")(case.target(Refused(503), "ok"))
    case.call(guarded)
    clock.advance(30.1)
    with case.degrader.scope(session=0.0):
        case.call(guarded)
    assert case.call(guarded) == "ok"  # the first probe was still free


@pytest.mark.row("B8")
def test_a_breaker_may_be_asked_for_before_its_tool_is_made(clock: FakeClock) -> None:
    from langchain_core.tools import StructuredTool

    degrader = Degrader(clock=clock)
    breaker = degrader.breaker("tool:look")
    tool = StructuredTool.from_function(lambda: "ok", name="look", description="Look.")
    tool.metadata = {"readOnlyHint": True}
    degrader.tool(tool)
    assert degrader._engine.targets()["tool:look"].is_read
    assert degrader.breaker("tool:look") is breaker


@pytest.mark.row("B4")
def test_a_slow_but_healthy_target_closes_its_breaker(clock: FakeClock) -> None:
    """Good calls of 90 s: a probe must not expire before it can prove anything."""
    both = Both("sync", clock)
    rule = {"consecutive": 1, "min_calls": 1, "open_for": "30s", "ramp": "30s"}
    case = Case(both, clock, report={"effect": "read", "timeout": "120s", "breakers": [rule]})
    steps = itertools.chain([Refused(503)], itertools.repeat(Delay(90, "ok")))
    guarded = case.degrader.guard("report")(scripted(steps, clock=clock))
    case.call(guarded)
    clock.advance(30.1)
    answers = [case.call(guarded) for _ in range(40)]
    assert not any(isinstance(answer, CircuitOpen) for answer in answers)
    assert case.degrader.breaker("report").current_state == "closed"


@pytest.mark.row("T5")
def test_a_write_that_may_not_be_interrupted_is_left_to_finish(clock: FakeClock) -> None:
    both = Both("async", clock)
    case = Case(both, clock, refund={**WRITE, "interruptible": False})
    done: list[str] = []

    @case.degrader.guard("refund")
    async def refund() -> str:
        await clock.asleep(10)
        done.append("R-1")
        return "R-1"

    async def story() -> Any:
        with pytest.raises(UnknownOutcome):
            await refund()
        await clock.asleep(20)

    both.run(story())
    assert done == ["R-1"]


def test_a_fallback_may_be_called_last_good(both: Both, clock: FakeClock) -> None:
    case = Case(both, clock, stock=READ)
    target = case.target(7)
    target.__name__ = "last_good"
    assert case.call(case.degrader.guard("stock", fallbacks=[target])(case.target(Refused(503)))) == 7
