"""What hostile tests found between the parts: each stood in nobody's own tests."""

from __future__ import annotations

import copy
import gc
import threading
from time import strptime
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from langgraph_degrade import Degrader, Policy, ToolResult, classify
from langgraph_degrade.context import DegradeContext
from langgraph_degrade.store import MemoryStore
from langgraph_degrade.testing import Delay, FakeClock, scripted
from tests.agents import ScriptedModel
from tests.conftest import Both


class Overloaded(Exception):
    status_code = 503


def _graph(**nodes: Any) -> Any:
    builder, before = StateGraph(MessagesState), START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    return builder.compile()


@pytest.mark.row("R3")
def test_guarded_subgraphs_of_a_plain_graph_share_one_request() -> None:
    degrader, seen = Degrader(), set[str]()

    def inner(_: Any) -> dict[str, Any]:
        scope = degrader._engine.scopes.find()
        assert scope is not None
        seen.add(scope.id)
        return {}

    sub = _graph(x=inner)

    def call(_: Any) -> dict[str, Any]:
        sub.invoke({"messages": [("user", "q")]})
        gc.collect()
        return {}

    _graph(a=call, b=call, c=sub, d=sub).invoke({"messages": [("user", "hello")]})
    assert len(seen) == 1


_READ = {"effect": "read", "timeout": "1s"}


def _passing(backend: Any) -> Any:
    def pay(order: str) -> Any:
        return backend(order)

    return pay


def test_a_run_first_seen_from_inside_is_ended_when_it_is_over(clock: FakeClock) -> None:
    degrader = Degrader(Policy.model_validate({"targets": {"svc": _READ}}), clock=clock)
    guarded = degrader.guard("svc")(lambda: 1)
    outer = _graph(a=_graph(x=lambda _: {"messages": [str(guarded())]}))
    for _ in range(5):
        outer.invoke({"messages": [("user", "hello")]})
        gc.collect()
    assert len(degrader._engine.scopes) <= 1


def test_a_run_may_end_while_its_context_is_being_written() -> None:
    """The end is told by the collector, in whatever that thread is just doing."""
    context = DegradeContext(None)
    done = threading.Event()

    def nested() -> None:
        with context._lock:
            assert context.events == []
        done.set()

    threading.Thread(target=nested, daemon=True).start()
    assert done.wait(10)


@pytest.mark.row("E4")
def test_a_write_cut_after_queueing_is_not_believed_undone(clock: FakeClock) -> None:
    """It was sent, late, and is at work: `verify` finds nothing yet."""
    policy = {"pay": {"effect": "write", "timeout": "1s", "max_abandoned": 1, "verify": "look"}}
    degrader = Degrader(Policy.model_validate({"tools": policy}), clock=clock)
    degrader.register(look=lambda args, config: False)
    backend = scripted([Delay(0.8, "A"), Delay(0.8, "B")], clock=clock)
    guarded = degrader.tool(StructuredTool.from_function(_passing(backend), name="pay", description="Pay."))
    call = {"name": "pay", "type": "tool_call", "args": {"order": "A"}, "id": "1"}
    first = threading.Thread(target=guarded.invoke, args=(call,))
    first.start()
    while not backend.calls:
        pass
    result = ToolResult.of(guarded.invoke({**call, "args": {"order": "B"}, "id": "2"}))
    first.join()
    assert result is not None
    assert result.status == "unknown"


@pytest.mark.row("E3")
def test_a_stand_in_is_not_kept_for_a_fresh_value(both: Both, clock: FakeClock) -> None:
    policy = {"svc": {**_READ, "timeout": "3s", "read_through": {"ttl": "60s", "scope": "shared"}}}
    degrader = Degrader(Policy.model_validate({"targets": policy, "request": {"retries": 0}}), clock=clock)
    service = scripted([ConnectionResetError(), 7], colour=both.colour, clock=clock)
    guarded = degrader.guard("svc", fallbacks=[both.paint(lambda sku: 0)])(service)
    assert [both.run(_colourless(both, guarded, "A")) for _ in range(2)] == [0, 7]


async def _colourless(both: Both, fn: Any, *args: Any) -> Any:
    return fn(*args) if both.colour == "sync" else await fn(*args)


@pytest.mark.row("E3")
@pytest.mark.row("D1")
def test_a_simpler_answer_that_comes_late_is_not_kept_for_the_full_question(clock: FakeClock) -> None:
    cache = {"ttl": "60s", "scope": "shared"}
    entry = {"effect": "read", "timeout": "2s", "cache": cache, "params": {"drop": ["detail"]}}
    degrader = Degrader(Policy.model_validate({"tools": {"look": entry}, "request": {"retries": 2}}), clock=clock)
    is_down: list[bool] = []

    def look(detail: bool = False) -> Any:
        """Look."""
        if is_down:
            raise ConnectionRefusedError
        clock.sleep(50 if detail else 3)
        return {"detail": detail}

    guarded = degrader.tool(StructuredTool.from_function(look))
    call = {"name": "look", "type": "tool_call", "args": {"detail": True}, "id": "1"}
    guarded.invoke(call)
    clock.sleep(5)
    is_down.append(True)
    result = ToolResult.of(guarded.invoke({**call, "id": "2"}))
    assert result is not None
    assert result.status == "unavailable"


@pytest.mark.row("E4")
@pytest.mark.row("R3")
@pytest.mark.parametrize("is_wrapped", [False, True])
def test_a_guarded_write_in_a_plain_tool_node_is_not_repeated_by_a_resume(is_wrapped: bool) -> None:
    degrader, sent = Degrader(Policy.model_validate({"tools": {"refund": {"effect": "write"}}})), list[str]()

    @tool
    def refund(order: str) -> str:
        """Refund."""
        sent.append(order)
        return "done"

    @tool
    def ask(what: str) -> str:
        """Ask."""
        return str(interrupt(what))

    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode([degrader.tool(refund), ask]))
    builder.add_edge(START, "tools")
    graph: Any = builder.compile(checkpointer=InMemorySaver())
    graph = degrader.wrap(graph) if is_wrapped else graph
    calls = [{"name": "refund", "args": {"order": "1"}, "id": "c1"}, {"name": "ask", "args": {"what": "?"}, "id": "c2"}]
    config = {"configurable": {"thread_id": "t"}}
    graph.invoke({"messages": [HumanMessage("refund it", id="h"), AIMessage("", id="a", tool_calls=calls)]}, config)
    graph.invoke(Command(resume="yes"), config)
    assert sent == ["1"]


class Remembering(MemoryStore):
    """Remembers what it was told of how writes ended."""

    def __init__(self) -> None:
        super().__init__()
        self.states: list[str] = []
        self.late = threading.Event()

    def settle(self, claim: Any, state: Any, result: object = None) -> Any:
        self.states.append(state)
        settled = super().settle(claim, state, result)
        if state == "late":
            self.late.set()
        return settled


@pytest.mark.row("E4")
def test_a_late_refusal_of_one_attempt_says_nothing_of_the_other(clock: FakeClock) -> None:
    entry, store = {"effect": "write", "idempotent": True, "timeout": "2s"}, Remembering()
    degrader = Degrader(Policy.model_validate({"tools": {"pay": entry}}), clock=clock, store=store)
    attempts: list[int] = []

    def pay(order: str) -> str:
        """Pay."""
        attempts.append(1)
        is_first = len(attempts) == 1
        clock.sleep(5 if is_first else 60)
        if is_first:
            raise Overloaded
        return "done"

    guarded = degrader.tool(StructuredTool.from_function(pay))
    with degrader.scope(thread="t", turn="1"):
        guarded.invoke({"name": "pay", "type": "tool_call", "args": {"order": "1"}, "id": "1"})
        clock.sleep(10)
        while degrader._engine.targets()["tool:pay"].bulkhead.abandoned > 1:
            pass
        clock.sleep(60)
        assert store.late.wait(10)
    assert store.states == ["unknown", "late"]


@pytest.mark.row("E4")
def test_a_read_back_in_a_later_turn_proves_nothing_while_the_first_call_runs(clock: FakeClock) -> None:
    entry = {"effect": "write", "timeout": "1s", "verify": "look"}
    degrader = Degrader(Policy.model_validate({"tools": {"pay": entry}}), clock=clock)
    degrader.register(look=lambda args, config: False)
    backend = scripted([Delay(60, "done"), "twice"], clock=clock)
    guarded = degrader.tool(StructuredTool.from_function(_passing(backend), name="pay", description="Pay."))
    for turn in ("1", "2"):
        with degrader.scope(thread="t", turn=turn):
            result = ToolResult.of(
                guarded.invoke({"name": "pay", "type": "tool_call", "args": {"order": "1"}, "id": turn})
            )
        assert result is not None
        assert result.status == "unknown"
    assert len(backend.calls) == 1


@pytest.mark.row("E1")
def test_static_and_class_methods_are_methods_of_tools_too() -> None:
    class Static(BaseTool):
        name: str = "static"
        description: str = "Say."

        @staticmethod
        def _run(word: str) -> str:
            return f"static {word}"

    class OfClass(BaseTool):
        name: str = "of_class"
        description: str = "Say."

        @classmethod
        def _run(cls, word: str) -> str:
            return f"{cls.__name__} {word}"

    guarded = [Degrader().tool(made()) for made in (Static, OfClass)]
    assert [one.invoke({"word": "hi"}) for one in guarded] == ["static hi", "OfClass hi"]
    assert copy.deepcopy(guarded[0]).invoke({"word": "ho"}) == "static ho"


@pytest.mark.row("E3")
@pytest.mark.case("case-K01")
def test_one_objects_value_never_answers_for_another(clock: FakeClock) -> None:
    class Shop:
        def __init__(self, name: str) -> None:
            self.name = name

        def owner(self, sku: str) -> str:
            return f"{self.name} {sku}"

    policy = {"owner": {"effect": "read", "read_through": {"ttl": "60s", "scope": "shared"}}}
    degrader = Degrader(Policy.model_validate({"targets": policy}), clock=clock)
    one, other = (degrader.guard("owner")(Shop(name).owner) for name in ("one", "other"))
    assert [one("A"), other("A"), one("A")] == ["one A", "other A", "one A"]


@pytest.mark.row("F1")
@pytest.mark.parametrize("convert", [lambda: int("12.50"), lambda: strptime("x", "%Y"), lambda: [].index(1)])
def test_a_conversion_that_failed_is_no_decision(convert: Any) -> None:
    with pytest.raises(ValueError) as caught:
        convert()
    failure = classify(caught.value)
    assert failure is not None
    assert failure.kind == "schema"


@pytest.mark.row("T1")
@pytest.mark.row("T2")
def test_an_only_model_is_asked_once_more_in_place_of_its_sdks_retries(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    agent = create_agent(Flaky.saying("Hello."), [], middleware=[degrader.middleware()])
    out = both.call(agent, "invoke", {"messages": [("user", "Hi")]})
    assert out["messages"][-1].content == "Hello."
    assert [(e["kind"], e["outcome"]) for e in DegradeContext.of(out).events] == [("overloaded", "retried")]


class Flaky(ScriptedModel):
    """Overloaded, once."""

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.asked:
            self.asked.append(messages)
            raise Overloaded
        return super()._generate(messages, *args, **kwargs)


@pytest.mark.row("A3")
def test_nodes_of_one_name_in_two_stages_are_two(clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    graph = _graph(
        a=degrader.node(lambda _: {}, stage="plan"),
        b=degrader.node(lambda _: {"x": 1 / 0}, stage="answer"),
    )
    assert isinstance(graph.invoke({"messages": [("user", "hi")]})["messages"][-1], AIMessage)
    with pytest.raises(ValueError, match="no stage is called 'thinking'"):
        degrader.node(lambda _: {}, stage="thinking")  # type: ignore[arg-type]
