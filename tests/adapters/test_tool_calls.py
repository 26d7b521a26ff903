"""Tool calls in graphs: ids that come back each round, replays, tools and messages that other middleware brings."""

from __future__ import annotations

import logging
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command

from langgraph_degrade import DegradeContext, Degrader, DegradeState, Policy, ToolResult
from langgraph_degrade.testing import FakeClock
from tests.adapters.graphs import State
from tests.agents import ScriptedModel, asks, tool_messages
from tests.conftest import Both

WRITE = {"effect": "write", "timeout": "3s"}
SECRET = "hunter2"


class Inner(AgentMiddleware[Any, Any, Any]):
    """Somebody else's middleware around each tool call, in both colours."""

    def __init__(self, around: Any) -> None:
        super().__init__()
        self._around = around

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        request, finish = self._around(request)
        return finish(handler(request))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        request, finish = self._around(request)
        return finish(await handler(request))


def degrader(clock: FakeClock, **tools: Any) -> Degrader:
    return Degrader(Policy.model_validate({"tools": tools}), clock=clock)


def agent(app: Degrader, tools: list[BaseTool], *words: Any, inner: Any = None) -> Any:
    others = [Inner(inner)] if inner is not None else []
    model = ScriptedModel.saying(*words)
    return create_agent(model, tools, middleware=[app.middleware(), *others], checkpointer=InMemorySaver())


def ask(both: Both, graph: Any) -> dict[str, Any]:
    state = {"messages": [HumanMessage("hi")]}
    return both.call(graph, "invoke", state, {"configurable": {"thread_id": "t"}})


def result_of(message: Any) -> ToolResult:
    result = ToolResult.of(message)
    assert result is not None
    return result


def refunds(both: Both, sent: list[str], name: str = "refund") -> BaseTool:
    def refund(order: str) -> str:
        """Refund."""
        sent.append(order)
        return f"R{len(sent)}"

    return tool(name)(both.paint(refund))


@pytest.mark.row("E4")
@pytest.mark.case("case-W01")
def test_an_id_used_again_in_the_next_round_is_another_call(both: Both, clock: FakeClock) -> None:
    """Some providers number their calls per message: two vouchers wanted, two sent."""
    sent: list[str] = []
    call = ("refund", {"order": "A"})
    out = ask(both, agent(degrader(clock, refund=WRITE), [refunds(both, sent)], asks(call), asks(call), "done"))
    assert sent == ["A", "A"]
    assert [(message.content, result_of(message).source) for message in tool_messages(out)] == [
        ("R1", None),
        ("R2", None),
    ]


@pytest.mark.row("E4")
@pytest.mark.case("case-W04")
def test_a_replayed_call_is_told_what_it_gave_the_first_time(both: Both, clock: FakeClock) -> None:
    """The node runs again from the same messages: the very same call."""
    sent: list[str] = []
    node = degrader(clock, refund=WRITE).tool_node([refunds(both, sent)])
    graph = StateGraph(State).add_node("tools", node).set_entry_point("tools").compile()
    asked = AIMessage("", id="ai-1", tool_calls=asks(("refund", {"order": "A"})).tool_calls)
    state = {"messages": [HumanMessage("hi", id="h-1"), asked]}
    config = {"configurable": {"thread_id": "t"}}
    last = [both.call(graph, "invoke", state, config)["messages"][-1] for _ in range(2)]
    assert sent == ["A"]
    assert [(message.content, message.status, result_of(message).source) for message in last] == [
        ("R1", "success", None),
        ("R1", "success", "replay"),
    ]


@pytest.mark.row("E4")
@pytest.mark.case("case-W04")
def test_a_replayed_call_without_a_recorded_answer_is_said_to_be_done(both: Both, clock: FakeClock) -> None:
    """A command can't be recorded: what it changed in the graph is lost, that it was done is not."""
    sent: list[str] = []

    def pay(order: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Pay."""
        sent.append(order)
        return Command(update={"messages": [ToolMessage("paid", tool_call_id=tool_call_id)]})

    node = degrader(clock, pay=WRITE).tool_node([both.paint(pay)])
    graph = StateGraph(State).add_node("tools", node).set_entry_point("tools").compile()
    asked = AIMessage("", id="ai-1", tool_calls=asks(("pay", {"order": "A"})).tool_calls)
    state = {"messages": [HumanMessage("hi", id="h-1"), asked]}
    config = {"configurable": {"thread_id": "t"}}
    told = [both.call(graph, "invoke", state, config)["messages"][-1].content for _ in range(2)]
    assert sent == ["A"]
    assert told[0] == "paid"
    assert "Do not submit it again" in told[1]


@pytest.mark.row("E6")
@pytest.mark.parametrize(("effect", "status"), [("write", "unknown"), ("read", "unavailable")])
def test_a_tool_that_another_middleware_brings_fails_on_the_record(
    both: Both, clock: FakeClock, caplog: pytest.LogCaptureFixture, effect: str, status: str
) -> None:
    def dynamic(order: str) -> str:
        """Brought in at run time."""
        raise TimeoutError(f"password={SECRET}")

    brought = tool(both.paint(dynamic))
    app = degrader(clock, dynamic={"effect": effect, "timeout": "3s"})
    good = refunds(both, [], "good")
    model = ScriptedModel.saying(asks(("dynamic", {"order": "A"}), ("good", {"order": "B"})), "done")

    class Brings(Inner):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(tools=[*request.tools, brought]))

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return await handler(request.override(tools=[*request.tools, brought]))

    def swap(request: Any) -> Any:
        is_mine = request.tool_call["name"] == "dynamic"
        return (request.override(tool=brought) if is_mine else request), lambda result: result

    graph = create_agent(model, [good], middleware=[app.middleware(), Brings(swap)])
    with caplog.at_level(logging.DEBUG, "langgraph_degrade"):
        out = ask(both, graph)
    first, second = tool_messages(out)
    assert (result_of(first).status, result_of(first).failure["kind"]) == (status, "timeout")  # type: ignore[index]
    assert second.content == "R1"
    context = DegradeContext.of(out)
    event = context.events[0]
    assert (event["target"], event["kind"], event["direction"], event["outcome"]) == (
        "tool:dynamic",
        "timeout",
        "function",
        status,
    )
    assert [item["what"] for item in context.unfinished] == ['dynamic(order="A")']
    assert SECRET not in str(out) + caplog.text
    assert "TimeoutError" in caplog.text


@pytest.mark.row("E6")
@pytest.mark.parametrize(("effect", "status"), [("write", "unknown"), ("read", "unavailable")])
def test_an_error_message_of_others_is_not_the_tools_no(both: Both, clock: FakeClock, effect: str, status: str) -> None:
    def audit(request: Any) -> Any:
        id = request.tool_call["id"]
        return request, lambda _: ToolMessage("audit log unreachable", tool_call_id=id, status="error")

    app = degrader(clock, refund={"effect": effect, "timeout": "3s"})
    words = asks(("refund", {"order": "A"})), "done"
    message = tool_messages(ask(both, agent(app, [refunds(both, [])], *words, inner=audit)))[0]
    result = result_of(message)
    assert (result.status, result.failure["kind"]) == (status, "unknown")  # type: ignore[index]


def raising(request: Any) -> Any:
    """A middleware that holds back every answer."""

    def finish(result: Any) -> Any:
        raise RuntimeError(SECRET)

    return request, finish


@pytest.mark.row("E4")
def test_a_write_whose_answer_was_held_back_is_known_to_be_done(both: Both, clock: FakeClock) -> None:
    app = degrader(clock, refund=WRITE)
    out = ask(both, agent(app, [refunds(both, [])], asks(("refund", {"order": "A"})), "done", inner=raising))
    message = tool_messages(out)[0]
    assert (result_of(message).status, result_of(message).source, message.status) == ("ok", "verified", "success")
    assert "Do not submit it again" in message.content
    assert "R1" not in str(out["messages"])
    assert DegradeContext.of(out).unfinished == []
    assert [event["outcome"] for event in DegradeContext.of(out).events] == ["verified"]


@pytest.mark.row("E4")
def test_a_write_in_doubt_whose_answer_was_held_back_leaves_one_item(both: Both, clock: FakeClock) -> None:
    """Under the name the engine gave it, defaults filled in."""

    def ship(order: str, express: bool = False) -> str:
        """Ship."""
        raise ConnectionResetError

    app = degrader(clock, ship=WRITE)
    out = ask(both, agent(app, [tool(both.paint(ship))], asks(("ship", {"order": "A"})), "done", inner=raising))
    assert [item["what"] for item in DegradeContext.of(out).unfinished] == ['ship(order="A", express=false)']
    assert result_of(tool_messages(out)[0]).status == "unknown"


@pytest.mark.row("R3")
def test_messages_may_stand_under_another_key(both: Both, clock: FakeClock) -> None:
    class Chat(DegradeState):
        chat: Annotated[list[Any], add_messages]

    def broken(order: str) -> str:
        """Break."""
        raise ConnectionResetError

    node = degrader(clock, broken={"effect": "read"}).tool_node([both.paint(broken)], messages_key="chat")
    graph = StateGraph(Chat).add_node("tools", node).set_entry_point("tools").compile()
    asked = asks(("broken", {"order": "A"}))
    out = both.call(graph, "invoke", {"chat": [HumanMessage("查一下订单"), asked], "degrade": {}})
    assert "目前不可用" in out["chat"][-1].content
    assert len(DegradeContext.of(out).events) == 2


@pytest.mark.row("E6")
@pytest.mark.case("case-T08")
def test_a_call_without_a_result_is_not_said_to_have_run_or_not(both: Both, clock: FakeClock) -> None:
    model = ScriptedModel.saying("done")
    graph = create_agent(model, [], middleware=[degrader(clock).middleware()])
    both.call(graph, "invoke", {"messages": [HumanMessage("one"), asks(("pay", {})), HumanMessage("two")]})
    told = str(model.asked[0][2].content)
    assert "may or may not have run" in told
    assert "do not repeat a change before it is checked" in told
