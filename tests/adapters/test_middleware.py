"""`degrader.middleware()`, `tool_node` and `node` in real graphs: siblings, budgets, interrupts, turns, resumes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, StateGraph
from langgraph.types import Command, interrupt

from langgraph_degrade import DegradeContext, Degrader, Policy, ToolResult
from langgraph_degrade.testing import FakeClock, scripted
from tests.adapters.graphs import State
from tests.agents import ScriptedModel, asks, tool_messages
from tests.conftest import Both

READ = {"effect": "read", "timeout": "3s"}


class Agents:
    """create_agent or a hand-built graph around the same tools."""

    def __init__(self, both: Both, clock: FakeClock, policy: dict[str, Any] | None = None) -> None:
        self.both, self.clock = both, clock
        self.degrader = Degrader(Policy.model_validate(policy or {}), clock=clock)

    def tool(self, name: str, *steps: Any) -> BaseTool:
        script = scripted(steps, colour=self.both.colour, clock=self.clock)

        def sync(part: int = 0) -> Any:
            """Look."""
            return script(part)

        async def coro(part: int = 0) -> Any:
            """Look."""
            return await script(part)

        made = StructuredTool.from_function(
            name=name, description="Look.", **({"func": sync} if self.both.colour == "sync" else {"coroutine": coro})
        )
        made.metadata = {"script": script}
        return made

    def agent(self, tools: list[BaseTool], *words: Any, **options: Any) -> Any:
        return create_agent(ScriptedModel.saying(*words), tools, middleware=[self.degrader.middleware()], **options)

    def invoke(self, graph: Any, state: Any = None, **configurable: Any) -> dict[str, Any]:
        state = {"messages": [HumanMessage("where is my order?")]} if state is None else state
        return self.both.call(graph, "invoke", state, {"configurable": configurable} if configurable else None)


@pytest.mark.row("E6")
@pytest.mark.case("case-X05")
def test_one_failing_tool_leaves_its_siblings_alone(both: Both, clock: FakeClock) -> None:
    agents = Agents(both, clock)
    good, bad = agents.tool("good", "fine"), agents.tool("bad", RuntimeError("password=hunter2"))
    out = agents.invoke(agents.agent([good, bad], asks(("good", {}), ("bad", {})), "done"))
    first, second = tool_messages(out)
    assert (first.content, second.status) == ("fine", "error")
    assert "hunter2" not in json.dumps(out["degrade"]) + str(second.content)
    assert out["messages"][-1].content == "done"


@pytest.mark.row("E6")
def test_an_unknown_tool_and_bad_arguments_carry_typed_results_too(both: Both, clock: FakeClock) -> None:
    agents = Agents(both, clock)
    good = agents.tool("good", "fine")
    out = agents.invoke(agents.agent([good], asks(("invented", {}), ("good", {"part": "not a number"})), "done"))
    assert [ToolResult.of(message).failure["kind"] for message in tool_messages(out)] == ["malformed_call"] * 2  # type: ignore[union-attr]


@pytest.mark.row("R3")
@pytest.mark.row("T2")
@pytest.mark.parametrize("kind", ["create_agent", "tool_node"])
def test_two_hundred_parallel_calls_share_one_budget_exactly(both: Both, clock: FakeClock, kind: str) -> None:
    agents = Agents(both, clock, {"tools": {"look": {**READ, "breakers": []}}})
    look = agents.tool("look", *[ConnectionResetError()] * 203)
    calls = asks(*[("look", {"part": number}) for number in range(200)])
    if kind == "create_agent":
        graph = agents.agent([look], calls, "done")
        state = None
    else:
        graph = (
            StateGraph(State).add_node("tools", agents.degrader.tool_node([look])).set_entry_point("tools").compile()
        )
        state = {"messages": [HumanMessage("hi"), calls]}
    out = agents.invoke(graph, state)
    assert len(look.metadata["script"].calls) == 200 + 3  # type: ignore[index]
    context = DegradeContext.of(out)
    assert context.retries == 3
    assert len(tool_messages(out)) == 200
    assert context.dropped + len(context.events) == 203
    assert len(json.dumps(out["degrade"])) < 16_000


@pytest.mark.row("R3")
def test_nothing_is_written_when_nothing_was_degraded(both: Both, clock: FakeClock) -> None:
    agents = Agents(both, clock)
    out = agents.invoke(agents.agent([agents.tool("good", "fine")], asks(("good", {})), "done"))
    assert out["degrade"] == {}


@pytest.mark.row("R3")
def test_a_graph_without_the_key_works_and_messages_still_tell(both: Both, clock: FakeClock) -> None:
    from langgraph.graph import MessagesState

    agents = Agents(both, clock)
    node = agents.degrader.tool_node([agents.tool("bad", RuntimeError())])
    graph = StateGraph(MessagesState).add_node("tools", node).set_entry_point("tools").compile()
    out = agents.invoke(graph, {"messages": [HumanMessage("hi"), asks(("bad", {}))]})
    assert ToolResult.of(out["messages"][-1]).status == "unknown"  # type: ignore[union-attr]


@pytest.mark.row("F3")
@pytest.mark.parametrize("kind", ["create_agent", "tool_node"])
def test_an_interrupt_inside_a_guarded_tool_pauses_and_resumes(both: Both, clock: FakeClock, kind: str) -> None:
    agents = Agents(both, clock, {"tools": {"refund": {"effect": "write", "timeout": "3s"}}})
    done: list[str] = []

    def sync(order: str) -> str:
        """Refund."""
        answer = interrupt({"order": order})
        done.append(answer)
        return f"refunded: {answer}"

    async def coro(order: str) -> str:
        """Refund."""
        return sync(order)

    refund = StructuredTool.from_function(
        name="refund", **({"func": sync} if both.colour == "sync" else {"coroutine": coro})
    )
    if kind == "create_agent":
        graph = agents.agent([refund], asks(("refund", {"order": "SO-1"})), "done", checkpointer=InMemorySaver())
        state: Any = None
    else:
        node = agents.degrader.tool_node([refund])
        graph = StateGraph(State).add_node("tools", node).set_entry_point("tools").compile(checkpointer=InMemorySaver())
        state = {"messages": [HumanMessage("hi"), asks(("refund", {"order": "SO-1"}))]}
    paused = agents.invoke(graph, state, thread_id="t")
    assert paused["__interrupt__"][0].value == {"order": "SO-1"}
    assert done == []
    out = agents.invoke(graph, Command(resume="approved"), thread_id="t")
    assert done == ["approved"]
    assert tool_messages(out)[-1].content == "refunded: approved"
    assert DegradeContext.of(out).events == []


@pytest.mark.row("F3")
def test_an_interrupt_inside_a_guarded_node_pauses_and_resumes(both: Both, clock: FakeClock) -> None:
    agents = Agents(both, clock)

    def sync(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage(f"said {interrupt('?')}")]}

    async def coro(state: State) -> dict[str, Any]:
        return sync(state)

    node = agents.degrader.node(sync if both.colour == "sync" else coro, stage="plan", fallbacks=[lambda state: {}])
    graph = StateGraph(State).add_node("ask", node).set_entry_point("ask").compile(checkpointer=InMemorySaver())
    assert agents.invoke(graph, thread_id="t")["__interrupt__"]
    assert agents.invoke(graph, Command(resume="yes"), thread_id="t")["messages"][-1].content == "said yes"


@pytest.mark.row("R4")
def test_a_new_turn_starts_afresh_and_keeps_what_is_unfinished(both: Both, clock: FakeClock) -> None:
    agents = Agents(both, clock, {"tools": {"ship": {"effect": "write", "timeout": "3s", "verify": "look"}}})
    seen = iter([None, False])  # first nobody can tell, later it is known not to have been done
    agents.degrader.register(look=lambda args, config: next(seen))
    ship = agents.tool("ship", ConnectionResetError(), "shipped")
    words = [asks(("ship", {"part": 2})), "not sure", "hello", asks(("ship", {"part": 2}), start=7), "done"]
    graph = agents.agent([ship], *words, checkpointer=InMemorySaver())
    first = DegradeContext.of(agents.invoke(graph, thread_id="t"))
    assert (first.level, [item["state"] for item in first.unfinished]) == (3, ["unknown"])
    agents.invoke(graph, {"messages": [HumanMessage("and the rest?")]}, thread_id="t")
    third = agents.invoke(graph, {"messages": [HumanMessage("then ship the rest")]}, thread_id="t")
    context = DegradeContext.of(third)
    assert tool_messages(third)[-1].content == "shipped"
    assert context.unfinished == []  # done now: the item is buried


@pytest.mark.row("R3")
@pytest.mark.parametrize(
    "rubbish",
    [
        "rubbish",
        7,
        ["x"],
        {"level": "L1", "reasons": ["x"]},
        {"v": 99, "turn": [1, "t"], "new": {"a": 1}},
        {"v": 1, "turn": "x", "events": 3},
    ],
)
def test_rubbish_under_the_key_is_no_crash(both: Both, clock: FakeClock, rubbish: Any) -> None:
    agents = Agents(both, clock)
    graph = agents.agent([agents.tool("bad", RuntimeError())], asks(("bad", {})), "done")
    out = agents.invoke(graph, {"messages": [HumanMessage("hi")], "degrade": rubbish})
    assert out["messages"][-1].content == "done"
    assert "tool:bad" in [event["target"] for event in DegradeContext.of(out).events]


@pytest.mark.row("E1")
def test_results_read_the_same_before_and_after_a_strict_checkpoint(
    clock: FakeClock, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")
    agents = Agents(
        Both("sync", clock), clock, {"tools": {"look": {**READ, "cache": {"ttl": "60s", "scope": "shared"}}}}
    )
    look = agents.tool("look", {"left": 1}, TimeoutError(), TimeoutError())
    with SqliteSaver.from_conn_string(str(tmp_path / "state.db")) as saver:
        graph = agents.agent([look], asks(("look", {})), asks(("look", {}), start=2), "done", checkpointer=saver)
        out = agents.invoke(graph, thread_id="t")
        stored = graph.get_state({"configurable": {"thread_id": "t"}}).values
    before = [ToolResult.of(message) for message in tool_messages(out)]
    after = [ToolResult.of(message) for message in tool_messages(stored)]
    assert before == after
    assert [result.status for result in after] == ["ok", "stale"]  # type: ignore[union-attr]
    assert DegradeContext.of(stored).data_stale


@pytest.mark.row("E6")
@pytest.mark.case("case-T08")
@pytest.mark.case("case-T11")
def test_unanswered_tool_calls_are_mended_before_the_model_sees_them(both: Both, clock: FakeClock) -> None:
    agents = Agents(both, clock)
    model = ScriptedModel.saying("done")
    graph = create_agent(model, [], middleware=[agents.degrader.middleware()])
    history = [
        HumanMessage("one"),
        asks(("look", {}), start=1),
        HumanMessage("[LOOP DETECTED] stop"),
        ToolMessage("r", tool_call_id="c1"),
        asks(("look", {}), start=9),
        HumanMessage("two"),
    ]
    agents.invoke(graph, {"messages": history})
    kinds = [(message.type, getattr(message, "tool_call_id", None)) for message in model.asked[0]]
    assert kinds == [
        ("human", None),
        ("ai", None),
        ("tool", "c1"),
        ("human", None),
        ("ai", None),
        ("tool", "c9"),
        ("human", None),
    ]
    assert model.asked[0][2].content == "r"
    assert model.asked[0][5].status == "error"


@pytest.mark.case("case-F11")
@pytest.mark.row("A3")
@pytest.mark.parametrize("fault", [TimeoutError("t"), RuntimeError("api key sk-123"), AIMessage("  ")])
def test_a_model_without_an_answer_gives_an_honest_one(both: Both, clock: FakeClock, fault: Any) -> None:
    agents = Agents(both, clock)
    graph = agents.agent([agents.tool("look", {"status": "shipped"})], asks(("look", {})), fault)
    out = agents.invoke(graph)
    last = out["messages"][-1]
    assert "shipped" in str(last.content)
    assert "sk-123" not in str(out)
    assert last.response_metadata["degraded"] is True
    assert DegradeContext.of(out).events[-1]["target"].startswith("model:")


def test_a_model_whose_breaker_was_asked_for_first_is_still_a_model(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    degrader.breaker("model:ScriptedModel")
    agent = create_agent(ScriptedModel.saying("Hello."), [], middleware=[degrader.middleware()])
    both.call(agent, "invoke", {"messages": [("user", "Hi")]})
    target = degrader._engine.targets()["model:ScriptedModel"]
    assert target.is_read
    assert target.source == "model"


def test_a_node_takes_its_fallbacks_and_says_so(both: Both, clock: FakeClock) -> None:
    agents = Agents(both, clock)
    broken = scripted([json.JSONDecodeError("no json", "", 0)], colour=both.colour)
    simple = scripted([{"messages": [AIMessage("simple plan")]}], colour=both.colour)

    def plan(state: State) -> Any:
        return broken(state)

    async def plan_async(state: State) -> Any:
        return await broken(state)

    def simple_plan(state: State) -> Any:
        return simple(state)

    async def simple_plan_async(state: State) -> Any:
        return await simple(state)

    sync = both.colour == "sync"
    node = agents.degrader.node(
        plan if sync else plan_async, stage="plan", name="plan", fallbacks=[simple_plan if sync else simple_plan_async]
    )
    out = agents.invoke(StateGraph(State).add_node("plan", node).set_entry_point("plan").compile())
    assert out["messages"][-1].content == "simple plan"
    event = DegradeContext.of(out).events[0]
    assert (event["stage"], event["target"], event["kind"], event["direction"]) == (
        "plan",
        "node:plan",
        "schema",
        "data",
    )


def test_a_node_with_nothing_left_leaves_the_state_and_an_answer_node_answers(both: Both, clock: FakeClock) -> None:
    agents = Agents(both, clock)

    def broken(state: State) -> Any:
        raise RuntimeError("secret")

    async def broken_async(state: State) -> Any:
        raise RuntimeError("secret")

    fn = broken if both.colour == "sync" else broken_async
    builder = StateGraph(State)
    builder.add_node("plan", agents.degrader.node(fn, stage="plan", name="plan"))
    builder.add_node("answer", agents.degrader.node(fn, stage="answer", name="answer"))
    builder.set_entry_point("plan")
    builder.add_edge("plan", "answer")
    builder.add_edge("answer", END)
    out = agents.invoke(builder.compile())
    assert out["messages"][-1].response_metadata["degraded"] is True
    assert "secret" not in str(out)
    assert [event["target"] for event in DegradeContext.of(out).events] == ["node:plan", "node:answer"]


@pytest.mark.row("R3")
def test_scopes_end_with_their_runs(both: Both, clock: FakeClock) -> None:
    import gc

    agents = Agents(both, clock)
    for _ in range(20):
        agents.invoke(agents.agent([agents.tool("bad", RuntimeError)], asks(("bad", {})), "done"))
    gc.collect()
    assert len(agents.degrader._engine.scopes) == 0


@pytest.mark.row("K2")
@pytest.mark.case("case-K01")
def test_one_users_cached_value_never_answers_another(both: Both, clock: FakeClock) -> None:
    policy = {"tools": {"mine": {**READ, "timeout": "4s", "cache": {"ttl": "60s", "scope": ["user_id"]}}}}
    agents = Agents(both, clock, policy)
    mine = agents.tool("mine", {"balance": 1}, *[ConnectionResetError()] * 3)
    statuses = []
    for user in ({"user_id": 0}, {"user_id": 1}, {}, {"user_id": 0}):
        out = agents.invoke(agents.agent([mine], asks(("mine", {})), "done"), thread_id="t", **user)
        statuses.append(ToolResult.of(tool_messages(out)[0]).status)  # type: ignore[union-attr]
    assert statuses == ["ok", "unavailable", "unavailable", "stale"]


def test_a_cancelled_run_is_cancelled(clock: FakeClock) -> None:
    degrader = Degrader()
    started = asyncio.Event()

    @tool
    async def hang() -> str:
        """Hang."""
        started.set()
        await asyncio.Event().wait()
        return "never"

    agent = create_agent(ScriptedModel.saying(asks(("hang", {})), "done"), [hang], middleware=[degrader.middleware()])

    async def story() -> None:
        run = asyncio.create_task(agent.ainvoke({"messages": [HumanMessage("hi")]}))
        reached = asyncio.create_task(started.wait())
        await asyncio.wait({run, reached}, return_when=asyncio.FIRST_COMPLETED)
        assert reached.done(), run.exception()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(story())


@pytest.mark.row("R4")
def test_a_healthy_turn_shows_nothing_of_the_one_before(both: Both, clock: FakeClock) -> None:
    agents = Agents(both, clock, {"tools": {"look": {**READ, "timeout": "4s"}}})
    look = agents.tool("look", ConnectionResetError())
    graph = agents.agent([look], asks(("look", {})), "not available", "hello", checkpointer=InMemorySaver())
    assert DegradeContext.of(agents.invoke(graph, thread_id="t")).level == 3
    second = DegradeContext.of(agents.invoke(graph, {"messages": [HumanMessage("hello")]}, thread_id="t"))
    assert (second.level, second.events, len(second.unfinished)) == (0, [], 1)


@pytest.mark.row("A4")
def test_a_closing_tells_each_open_item_once_and_a_read_not_as_a_lost_write(both: Both, clock: FakeClock) -> None:
    agents = Agents(both, clock, {"tools": {"look": {**READ, "timeout": "4s"}}})
    look = agents.tool("look", ConnectionResetError())
    graph = agents.agent([look], asks(("look", {})), RuntimeError(), checkpointer=InMemorySaver())
    first = str(agents.invoke(graph, thread_id="t")["messages"][-1].content)
    assert "look" in first
    assert "submit" not in first
    second = agents.agent([look], RuntimeError(), checkpointer=graph.checkpointer)
    assert "look" not in str(
        agents.invoke(second, {"messages": [HumanMessage("and now?")]}, thread_id="t")["messages"][-1].content
    )
