"""`degrader.node`: updates are never judged, fallbacks get what they ask for, no form of update loses the context."""

from __future__ import annotations

import json
import logging
import operator
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Send, StreamWriter
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from langgraph_degrade import DegradeContext, Degrader, DegradeState
from langgraph_degrade.context import merge
from langgraph_degrade.testing import FakeClock
from tests.conftest import Both

CONFIG = {"configurable": {"thread_id": "t", "user": "u-1"}}


class Plan(MessagesState, DegradeState, total=False):
    x: Any
    error: str
    data: Any


class Nodes:
    """Graphs of guarded nodes in the colour of the test."""

    def __init__(self, both: Both, clock: FakeClock) -> None:
        self._both = both
        self.degrader = Degrader(clock=clock)

    def node(self, fn: Any, *fallbacks: Any, stage: Any = "plan", name: str | None = "it") -> Any:
        paint = self._both.paint
        return self.degrader.node(paint(fn), stage=stage, name=name, fallbacks=[paint(fb) for fb in fallbacks])

    def run(self, schema: Any, node: Any, given: Any = None, **options: Any) -> Any:
        graph = StateGraph(schema).add_node("it", node).add_edge(START, "it").compile(**options)
        given = {"messages": [HumanMessage("hello", id="q")]} if given is None else given
        return self._both.call(graph, "invoke", given, CONFIG)


@pytest.fixture
def nodes(both: Both, clock: FakeClock) -> Nodes:
    return Nodes(both, clock)


def fails(state: Any) -> Any:
    raise RuntimeError("down")


@pytest.mark.row("F1")
@pytest.mark.parametrize(
    "update",
    [{"error": "needs an order id"}, {"data": None}, {"data": {"code": 500, "message": "failed"}}, {"x": ""}, {}],
)
def test_an_update_is_never_taken_for_an_error_report(nodes: Nodes, update: dict[str, Any]) -> None:
    out = nodes.run(Plan, nodes.node(lambda state: update, lambda state: {"x": "fallback"}))
    assert {name: out[name] for name in update} == update
    assert out.get("x") != "fallback"
    assert DegradeContext.of(out).events == []


@pytest.mark.row("F1")
def test_a_fallbacks_update_is_never_judged_either(nodes: Nodes) -> None:
    out = nodes.run(Plan, nodes.node(fails, lambda state: {"error": "ask for the order id"}, lambda state: {"x": 2}))
    assert out["error"] == "ask for the order id"
    assert "x" not in out


@pytest.mark.row("D1")
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("cannot parse the plan"), "business"),
        (FileNotFoundError("prompt.txt"), None),
        (KeyError("plan"), None),
        (TypeError("no plan"), None),
    ],
)
def test_whatever_a_node_raises_walks_its_fallbacks_and_is_recorded(
    nodes: Nodes, error: Exception, kind: str | None
) -> None:
    def bad(state: Any) -> Any:
        raise error

    out = nodes.run(Plan, nodes.node(bad, lambda state: {"x": 42}))
    event = DegradeContext.of(out).events[0]
    assert out["x"] == 42
    assert (event["target"], event["direction"]) == ("node:it", "data")
    assert kind in (None, event["kind"])


@pytest.mark.row("D1")
def test_a_fallbacks_own_no_goes_on_to_the_next(nodes: Nodes) -> None:
    def no(state: Any) -> Any:
        raise ValueError("no")

    out = nodes.run(Plan, nodes.node(fails, no, lambda state: {"x": 3}))
    assert out["x"] == 3
    assert [event["outcome"] for event in DegradeContext.of(out).events] == ["failed", "ok"]


def _all(
    state: Any, config: RunnableConfig, runtime: Runtime[Any], writer: StreamWriter, store: BaseStore, previous: Any
) -> Any:
    return {"x": (config["configurable"]["user"], runtime.store is store, callable(writer), previous)}


def _keywords(state: Any, *, config: RunnableConfig | None = None, flavour: str = "plain") -> Any:
    return {"x": (config or {})["configurable"]["user"] + flavour}


def _own_store(state: Any, store: dict[str, int] = {"plans": 1}) -> Any:  # noqa: B006 - never written to
    return {"x": store}


def _main_asks(state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> Any:
    raise RuntimeError("down")


@pytest.mark.row("D1")
@pytest.mark.parametrize("main", [fails, _main_asks])
@pytest.mark.parametrize(
    ("fallback", "expected"),
    [
        (lambda state: {"x": 42}, 42),
        (_all, ("u-1", True, True, None)),
        (_keywords, "u-1plain"),
        (partial(_keywords, flavour="short"), "u-1short"),
        (_own_store, {"plans": 1}),
    ],
)
def test_a_fallback_is_called_with_what_it_asks_for_itself(
    nodes: Nodes, main: Any, fallback: Any, expected: Any
) -> None:
    out = nodes.run(Plan, nodes.node(main, fallback), store=InMemoryStore())
    assert out["x"] == expected


@pytest.mark.row("D1")
def test_a_runnable_stands_in_with_the_runs_config(both: Both, clock: FakeClock, nodes: Nodes) -> None:
    fallback: Any = RunnableLambda(lambda state, config: {"x": config["configurable"]["user"]})
    node = nodes.degrader.node(both.paint(_main_asks), stage="plan", fallbacks=[fallback])
    assert nodes.run(Plan, node)["x"] == "u-1"


@pytest.mark.row("D1")
def test_outside_a_graph_a_fallback_gets_what_the_node_was_given(both: Both, clock: FakeClock) -> None:
    def main(state: Any, config: RunnableConfig, size: int) -> Any:
        raise RuntimeError("down")

    node = Degrader(clock=clock).node(
        both.paint(main), stage="plan", fallbacks=[lambda state, size, config: {"x": (size, config)}]
    )
    got = node({}, {"tags": ["a"]}, size=3)
    assert (both.run(got) if both.colour == "async" else got) == {"x": (3, {"tags": ["a"]})}


class Work(TypedDict, total=False):
    done: Annotated[list[Any], operator.add]
    degrade: Annotated[dict[str, Any], merge]


@pytest.mark.row("R3")
@pytest.mark.parametrize("payload", [{"i": 1}, "one", ["one"], 1, None])
def test_a_sent_payload_need_not_carry_the_context(nodes: Nodes, both: Both, payload: Any) -> None:
    node = nodes.node(fails, lambda state: {"done": ["stood in"]}, stage="execute")
    builder = StateGraph(Work).add_node("it", node)
    builder.add_conditional_edges(START, lambda state: [Send("it", payload) for _ in range(2)], ["it"])
    out = both.call(builder.compile(), "invoke", {"done": []})
    context = DegradeContext.of(out)
    assert out["done"] == ["stood in"] * 2
    assert context.level == 2
    assert len(context.events) == 2


@pytest.mark.row("R3")
def test_a_node_with_an_input_of_its_own_keeps_the_context(nodes: Nodes, both: Both) -> None:
    class Order(TypedDict):
        x: int

    builder = StateGraph(Plan).add_node("first", nodes.node(lambda state: {}, name="first")).add_edge(START, "first")
    builder.add_node("it", nodes.node(fails, lambda state: {"x": 2}), input_schema=Order).add_edge("first", "it")
    out = both.call(builder.compile(), "invoke", {"messages": [HumanMessage("hello")], "x": 1})
    assert (out["x"], DegradeContext.of(out).level) == (2, 2)


@pytest.mark.row("R3")
def test_a_graph_without_the_key_is_left_as_it_is(nodes: Nodes) -> None:
    out = nodes.run(MessagesState, nodes.node(fails, lambda state: {"messages": [AIMessage("hi")]}))
    assert list(out) == ["messages"]
    assert len(out["messages"]) == 2


class Model(BaseModel):
    x: int = 0
    y: int | None = None  # LangGraph leaves out what is None and was not set
    degrade: Annotated[dict[str, Any], merge] = Field(default_factory=dict)


@dataclass
class Record:
    x: int = 0
    y: int = 0
    degrade: Annotated[dict[str, Any], merge] = field(default_factory=dict)


class Plain(TypedDict, total=False):
    x: int
    y: int
    degrade: Annotated[dict[str, Any], merge]


@pytest.mark.row("R3")
@pytest.mark.parametrize(
    ("schema", "update"),
    [
        (Model, Model(x=7)),
        (Record, Record(x=7, y=1)),
        (Plain, {"x": 7}),
        (Plain, Command(update={"x": 7})),
        (Plain, Command(update=[("x", 7)])),
        (Plain, Command(update=(("x", 7),), goto=END)),
        (Plain, [Command(update={"x": 7}), Command()]),
        (Plain, [{"x": 7}, Command(goto=END)]),
        (Model, Command(update=Model(x=7))),
    ],
)
def test_no_form_of_update_loses_its_value_or_the_context(nodes: Nodes, schema: Any, update: Any) -> None:
    out = nodes.run(schema, nodes.node(fails, lambda state: update), {"x": 1, "y": 1})
    assert (out["x"], out["y"]) == (7, 1)
    assert DegradeContext.of(out).level == 2


@pytest.mark.row("R3")
def test_a_command_still_goes_where_it_went(nodes: Nodes, both: Both) -> None:
    builder = StateGraph(Plain).add_edge(START, "it").add_node("next", lambda state: {"y": state["x"] + 1})
    builder.add_node("it", nodes.node(fails, lambda s: Command(update=[("x", 7)], goto="next")), destinations=("next",))
    out = both.call(builder.compile(), "invoke", {"x": 1})
    assert (out["y"], DegradeContext.of(out).level) == (8, 2)


@pytest.mark.row("R3")
def test_a_command_to_the_parent_takes_the_context_along(nodes: Nodes, both: Both) -> None:
    def leave(state: Any) -> Any:
        return Command(graph=Command.PARENT, update={"x": 7}, goto="next")

    inner = StateGraph(Plain).add_node("it", nodes.node(fails, leave)).add_edge(START, "it").compile()
    outer = StateGraph(Plain).add_node("inner", inner, destinations=("next",)).add_edge(START, "inner")
    out = both.call(outer.add_node("next", lambda state: {"y": 8}).compile(), "invoke", {"x": 1})
    assert (out["x"], out["y"], DegradeContext.of(out).level) == (7, 8, 2)


@pytest.mark.row("A4")
def test_with_nothing_left_the_state_stays_whatever_it_is(nodes: Nodes) -> None:
    assert nodes.run(dict, nodes.node(fails), {"x": 1}) == {"x": 1}
    out = nodes.run(Plan, nodes.node(fails), {"messages": [HumanMessage("hello")], "x": 1})
    assert (out["x"], len(out["messages"]), DegradeContext.of(out).level) == (1, 1, 6)


@pytest.mark.row("A4")
def test_an_answer_node_answers_where_the_whole_state_is_a_conversation(nodes: Nodes) -> None:
    out = nodes.run(Annotated[list, add_messages], nodes.node(fails, stage="answer"), [HumanMessage("hello")])
    assert out[-1].response_metadata["degraded"]
    assert "down" not in out[-1].text


class Answer(TypedDict, total=False):
    answer: str
    degrade: Annotated[dict[str, Any], merge]


@pytest.mark.row("A4")
def test_an_answer_node_without_messages_invents_nothing_and_says_so(
    nodes: Nodes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "langgraph_degrade"):
        out = nodes.run(Answer, nodes.node(fails, stage="answer"), {"answer": ""})
    assert out["answer"] == ""
    assert DegradeContext.of(out).level == 6
    assert any("no `messages` to answer in" in record.getMessage() for record in caplog.records)


@pytest.mark.row("A4")
def test_a_last_fallback_answers_where_the_graph_keeps_its_answer(nodes: Nodes) -> None:
    node = nodes.node(fails, lambda state: {"answer": "Sorry, ask me later."}, stage="answer")
    assert nodes.run(Answer, node, {"answer": ""})["answer"] == "Sorry, ask me later."


@pytest.mark.row("R3")
def test_what_a_node_writes_is_plain_json(nodes: Nodes) -> None:
    out = nodes.run(Plan, nodes.node(fails, lambda state: Command(update=[("x", 1)])))
    assert json.loads(json.dumps(out["degrade"])) == out["degrade"]
