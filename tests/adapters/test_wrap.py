"""`degrader.wrap(graph)`: time for a whole run, and an honest answer where it would crash."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained
from langgraph.graph import END, MessagesState, StateGraph
from langgraph.runtime import RunControl
from langgraph.types import Command, interrupt

from langgraph_degrade import DegradeContext, Degrader, Policy
from langgraph_degrade.testing import FakeClock
from tests.adapters.graphs import State
from tests.agents import ScriptedModel, asks
from tests.conftest import Both

QUESTION = {"messages": [HumanMessage("where is SO-1?")]}
MODES: list[Any] = ["values", "updates", "messages", "custom", ["updates", "messages"]]


@tool
def look(order: str) -> dict[str, str]:
    """Look up an order."""
    return {"order": order, "status": "shipped"}


def crashing(degrader: Degrader, *, plain: bool = False, **options: Any) -> Any:
    """An agent whose model dies after the tool has answered."""
    model = ScriptedModel.saying(asks(("look", {"order": "SO-1"})), RuntimeError("db password is hunter2"))
    middleware = [] if plain else [degrader.middleware()]
    return degrader.wrap(create_agent(model, [look], middleware=middleware, **options))


def said(state: dict[str, Any]) -> str:
    return str(state["messages"][-1].content)


@pytest.mark.row("A3")
@pytest.mark.case("case-F11")
@pytest.mark.parametrize("plain", [True, False])
def test_a_crash_becomes_an_honest_answer(both: Both, clock: FakeClock, plain: bool) -> None:
    out = both.call(crashing(Degrader(clock=clock), plain=plain), "invoke", QUESTION)
    assert isinstance(out["messages"][-1], AIMessage)
    assert said(out).strip()
    assert "hunter2" not in str(out)
    assert "shipped" in said(out) or plain  # typed results exist only where the tools are guarded


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("subgraphs", [False, True])
def test_every_stream_mode_keeps_its_shape(
    both: Both, clock: FakeClock, mode: Any, version: str, subgraphs: bool
) -> None:
    def shape(graph: Any) -> list[Any]:
        kwargs: dict[str, Any] = {"stream_mode": mode, "version": version, "subgraphs": subgraphs}
        if both.colour == "sync":
            return [_shape(chunk) for chunk in graph.stream(QUESTION, **kwargs)]

        async def collect() -> list[Any]:
            return [_shape(chunk) async for chunk in graph.astream(QUESTION, **kwargs)]

        return both.run(collect())

    def build() -> Any:
        return create_agent(ScriptedModel.saying(asks(("look", {"order": "SO-1"})), "on its way"), [look])

    assert shape(Degrader(clock=clock).wrap(build())) == shape(build())


def _shape(chunk: Any) -> Any:
    if isinstance(chunk, tuple):
        return tuple(_shape(part) for part in chunk)
    return sorted(chunk) if isinstance(chunk, dict) else type(chunk).__name__


@pytest.mark.parametrize("mode", MODES)
def test_the_last_word_reaches_every_stream(both: Both, clock: FakeClock, mode: Any) -> None:
    graph = crashing(Degrader(clock=clock), plain=True)
    if both.colour == "sync":
        chunks = list(graph.stream(QUESTION, stream_mode=mode))
    else:

        async def collect() -> list[Any]:
            return [chunk async for chunk in graph.astream(QUESTION, stream_mode=mode)]

        chunks = both.run(collect())
    assert ("ask" in str(chunks[-1:]).lower()) == (mode != "custom")
    assert "hunter2" not in str(chunks)


@pytest.mark.row("R3")
def test_the_ending_is_kept_and_the_thread_goes_on(both: Both, clock: FakeClock) -> None:
    graph = crashing(Degrader(clock=clock), plain=True, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    out = both.call(graph, "invoke", QUESTION, config)
    kept = graph.get_state(config)
    assert kept.next == ()
    assert [message.type for message in kept.values["messages"]] == ["human", "ai", "tool", "ai"]
    assert kept.values["messages"][-1].content == said(out)


@pytest.mark.case("case-X05")
def test_a_tool_call_cut_off_by_the_crash_is_answered_in_history(both: Both, clock: FakeClock) -> None:
    @tool
    def broken() -> str:
        """Break."""
        raise RuntimeError("hunter2")

    degrader = Degrader(clock=clock)
    agent = create_agent(ScriptedModel.saying(asks(("broken", {}))), [broken], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    both.call(degrader.wrap(agent), "invoke", QUESTION, config)
    messages = agent.get_state(config).values["messages"]
    assert [message.type for message in messages] == ["human", "ai", "tool", "ai"]
    assert messages[2].status == "error"


@pytest.mark.case("case-F11")
@pytest.mark.row("T3")
def test_the_recursion_limit_ends_in_an_answer(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    model = ScriptedModel.saying(*[asks(("look", {"order": "SO-1"}), start=number) for number in range(20)])
    graph = degrader.wrap(create_agent(model, [look], middleware=[degrader.middleware()]))
    out = both.call(graph, "invoke", QUESTION, {"recursion_limit": 8})
    assert "shipped" in said(out)


@pytest.mark.row("T3")
def test_the_session_tier_ends_the_task_with_what_it_has(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(Policy.model_validate({"timeouts": {"session": "30s"}}), clock=clock)
    seen: list[int] = []

    def slow(state: State) -> dict[str, Any]:
        clock.advance(20)
        seen.append(1)
        return {"messages": [AIMessage("", tool_calls=[])]}

    builder = StateGraph(State).add_node("slow", slow).set_entry_point("slow")
    builder.add_conditional_edges("slow", lambda state: "slow", ["slow"])
    out = both.call(degrader.wrap(builder.compile()), "invoke", QUESTION)
    assert len(seen) == 2
    assert out["messages"][-1].response_metadata["degraded"] is True
    assert [event["kind"] for event in DegradeContext.of(out).events] == ["deadline"]


@pytest.mark.row("T3")
def test_the_user_tier_answers_although_a_node_hangs(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(Policy.model_validate({"timeouts": {"user": "0.05s", "session": "0.04s", "tool": "0.03s"}}))
    release = threading.Event()

    def hang(state: State) -> dict[str, Any]:
        release.wait(20)
        return {}

    async def hang_async(state: State) -> dict[str, Any]:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.to_thread(release.wait, 20)
        return {}

    node = hang if both.colour == "sync" else hang_async
    graph = degrader.wrap(StateGraph(State).add_node("hang", node).set_entry_point("hang").compile())
    timer = threading.Timer(15, release.set)  # ends the test, as a failure, should the tier not hold
    timer.daemon = True
    timer.start()
    try:
        if both.colour == "sync":
            out = graph.invoke(QUESTION)
        else:

            async def story() -> Any:
                answered = await graph.ainvoke(QUESTION)
                release.set()
                return answered

            out = asyncio.run(story())
        assert out["messages"][-1].response_metadata["degraded"] is True
        assert timer.is_alive()
    finally:
        timer.cancel()
        release.set()


@pytest.mark.row("F3")
def test_interrupts_and_a_foreign_drain_pass(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)

    def ask(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage(interrupt("?"))]}

    builder = StateGraph(State).add_node("ask", ask).add_node("after", lambda state: {})
    builder.set_entry_point("ask").add_edge("ask", "after")
    graph = degrader.wrap(builder.compile(checkpointer=InMemorySaver()))
    config = {"configurable": {"thread_id": "t"}}
    assert both.call(graph, "invoke", QUESTION, config)["__interrupt__"]
    control = RunControl()
    control.request_drain("deploy")
    with pytest.raises(GraphDrained, match="deploy"):
        both.call(graph, "invoke", Command(resume="yes"), config, control=control)
    assert said(both.call(graph, "invoke", None, config)) == "yes"


def test_misuse_is_told_to_the_developer(both: Both, clock: FakeClock) -> None:
    graph = crashing(Degrader(clock=clock), checkpointer=InMemorySaver())
    with pytest.raises(ValueError, match="thread_id"):
        both.call(graph, "invoke", QUESTION)


def test_it_works_as_a_subgraph_and_with_config(both: Both, clock: FakeClock) -> None:
    inner = crashing(Degrader(clock=clock), plain=True).with_config({"tags": ["x"]})
    outer = (
        StateGraph(MessagesState)
        .add_node("agent", inner)
        .set_entry_point("agent")
        .compile(checkpointer=InMemorySaver())
    )
    out = both.call(outer, "invoke", QUESTION, {"configurable": {"thread_id": "t"}})
    assert isinstance(out["messages"][-1], AIMessage)
    assert "hunter2" not in str(out)


def test_a_graph_without_messages_gets_its_own_kind_of_answer(both: Both, clock: FakeClock) -> None:
    from typing import TypedDict

    class Job(TypedDict, total=False):
        order: str
        result: str

    def work(state: Job) -> Job:
        raise RuntimeError("hunter2")

    graph = StateGraph(Job).add_node("work", work).set_entry_point("work").add_edge("work", END).compile()
    wrapped = Degrader(clock=clock).wrap(graph, answer=lambda state: {"result": f"not available for {state['order']}"})
    assert both.call(wrapped, "invoke", {"order": "SO-1"}) == {"order": "SO-1", "result": "not available for SO-1"}


@pytest.mark.case("case-D01")
def test_a_saver_that_dies_does_not_lose_the_answer(both: Both, clock: FakeClock) -> None:
    class Dying(InMemorySaver):
        puts = 0

        def put(self, *args: Any, **kwargs: Any) -> Any:
            self.puts += 1
            if self.puts > 2:
                raise ConnectionError("SSL connection has been closed unexpectedly")
            return super().put(*args, **kwargs)

        async def aput(self, *args: Any, **kwargs: Any) -> Any:
            return self.put(*args, **kwargs)

    model = ScriptedModel.saying(asks(("look", {"order": "SO-1"})), "on its way")
    degrader = Degrader(clock=clock)
    agent = create_agent(model, [look], middleware=[degrader.middleware()], checkpointer=Dying())
    out = both.call(degrader.wrap(agent), "invoke", QUESTION, {"configurable": {"thread_id": "t"}})
    assert "on its way" in said(out) or "shipped" in said(out)
    assert "SSL" not in str(out)


def test_stopping_early_stops_the_run(both: Both, clock: FakeClock) -> None:
    ran: list[str] = []
    builder = StateGraph(State)
    for name in ("one", "two", "three"):
        builder.add_node(name, lambda state, name=name: ran.append(name) or {})
    builder.set_entry_point("one").add_edge("one", "two").add_edge("two", "three")
    graph = Degrader(clock=clock).wrap(builder.compile())
    if both.colour == "sync":
        for _ in graph.stream(QUESTION, stream_mode="updates"):
            break
    else:

        async def story() -> None:
            stream = graph.astream(QUESTION, stream_mode="updates")
            async for _ in stream:
                break
            await stream.aclose()

        both.run(story())
    assert ran[:1] == ["one"]
    assert "three" not in ran


def test_events_go_through_a_wrapped_graph(clock: FakeClock) -> None:
    graph = crashing(Degrader(clock=clock))

    async def names() -> set[str]:
        return {event["event"] async for event in graph.astream_events(QUESTION, version="v2")}

    assert {"on_chain_start", "on_tool_end", "on_chain_end"} <= asyncio.run(names())
