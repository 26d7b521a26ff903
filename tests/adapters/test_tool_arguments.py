"""What a guarded tool is asked with: the model's arguments, whatever the schema says, apart from the injected ones."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain_core.callbacks import CallbackManagerForToolRun
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, Tool, tool
from langgraph.graph import StateGraph
from langgraph.prebuilt import InjectedState
from langgraph.types import Command
from pydantic import BaseModel, ConfigDict

from langgraph_degrade import Degrader, Policy, ToolResult
from langgraph_degrade.testing import FakeClock
from tests.adapters.graphs import State
from tests.agents import asks, call_of
from tests.conftest import Both

CACHED = {"effect": "read", "timeout": "4s", "cache": {"ttl": "60s", "scope": "shared"}}
THROUGH = {"effect": "read", "timeout": "4s", "read_through": {"ttl": "60s", "scope": "shared"}}
WRITE = {"effect": "write", "timeout": "3s"}


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    tenant: str = ""


FREE_FORM: list[Any] = [
    {"type": "object"},
    {"type": "object", "additionalProperties": True, "properties": {"tenant": {"type": "string"}}},
    {"type": "object", "allOf": [{"properties": {"id": {"type": "string"}}}]},
    Open,
]


def degrader(clock: FakeClock, **tools: Any) -> Degrader:
    return Degrader(Policy.model_validate({"tools": tools}), clock=clock)


def made(both: Both, fn: Any, name: str, **options: Any) -> BaseTool:
    """A tool around `fn`, in the test's colour."""
    part = {"func": fn} if both.colour == "sync" else {"coroutine": both.paint(fn)}
    return StructuredTool(name=name, description="d", **part, **options)


def status_of(message: Any) -> str:
    result = ToolResult.of(message)
    assert result is not None
    return result.status


@pytest.mark.row("K2")
@pytest.mark.parametrize("schema", FREE_FORM, ids=["bare", "additional", "allOf", "model"])
def test_two_calls_of_a_free_form_tool_are_two_calls(both: Both, clock: FakeClock, schema: Any) -> None:
    seen: list[Any] = []

    def get_order(**asked: Any) -> Any:
        if seen:
            raise ConnectionResetError
        seen.append(asked)
        return asked

    guarded = degrader(clock, get_order=CACHED).tool(made(both, get_order, "get_order", args_schema=schema))
    statuses = [status_of(both.call(guarded, "invoke", call_of(guarded, "c", id=order))) for order in "ABA"]
    assert statuses == ["ok", "unavailable", "stale"]


@pytest.mark.row("E4")
def test_two_writes_of_a_free_form_tool_are_two_intents(both: Both, clock: FakeClock) -> None:
    sent: list[Any] = []

    def refund(**asked: Any) -> Any:
        sent.append(asked)
        raise ConnectionResetError

    app = degrader(clock, refund=WRITE)
    guarded = app.tool(made(both, refund, "refund", args_schema={"type": "object"}))
    with app.scope(thread="t") as scope:
        for place, order in enumerate("ABA"):
            both.call(guarded, "invoke", call_of(guarded, f"c{place}", order=order))
        assert {item["what"] for item in scope.context.unfinished} == {'refund(order="A")', 'refund(order="B")'}
    assert sent == [{"order": "A"}, {"order": "B"}]


@pytest.mark.row("K2")
@pytest.mark.parametrize("policy", [CACHED, THROUGH], ids=["last good", "read-through"])
def test_a_result_that_hangs_on_injected_state_is_kept_for_nobody(
    both: Both, clock: FakeClock, policy: dict[str, Any]
) -> None:
    seen: list[int] = []

    def current(state: Annotated[dict[str, Any], InjectedState]) -> str:
        """Which question it is."""
        seen.append(len(state["messages"]))
        if len(seen) > 1:
            raise ConnectionResetError
        return "first"

    node = degrader(clock, current=policy).tool_node([both.paint(current)])
    graph = StateGraph(State).add_node("tools", node).set_entry_point("tools").compile()
    for expected in ("ok", "unavailable"):
        out = both.call(graph, "invoke", {"messages": [HumanMessage("hi"), asks(("current", {}))]})
        assert status_of(out["messages"][-1]) == expected


@pytest.mark.row("E3")
def test_the_tool_calls_own_id_keeps_nothing_out_of_the_cache(both: Both, clock: FakeClock) -> None:
    answers = iter(["fresh"])

    def look(sku: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Look."""
        for answer in answers:
            return answer
        raise ConnectionResetError

    guarded = degrader(clock, look=CACHED).tool(tool(both.paint(look)))
    statuses = [status_of(both.call(guarded, "invoke", call_of(guarded, id, sku="A"))) for id in ("c1", "c2")]
    assert statuses == ["ok", "stale"]


@pytest.mark.row("K2")
def test_one_objects_value_never_answers_for_anothers(both: Both, clock: FakeClock) -> None:
    app = Degrader(Policy.model_validate({"targets": {"stock": CACHED}}), clock=clock)

    class Shop:
        def __init__(self, left: int | None) -> None:
            self.left = left

        @app.guard("stock")
        def stock(self, sku: str) -> int:
            return self._look()

        @app.guard("stock")
        async def astock(self, sku: str) -> int:
            return self._look()

        def _look(self) -> int:
            if self.left is None:
                raise ConnectionResetError
            return self.left

    def ask(shop: Shop) -> int:
        return shop.stock("A") if both.colour == "sync" else both.run(shop.astock("A"))

    assert ask(Shop(7)) == 7
    with pytest.raises(ConnectionResetError):
        ask(Shop(None))


@pytest.mark.row("D2")
@pytest.mark.parametrize("rung", ["endpoints", "offline"])
def test_an_alternative_is_asked_with_the_models_arguments_alone(both: Both, clock: FakeClock, rung: str) -> None:
    asked: list[Any] = []

    def price(sku: str, config: RunnableConfig, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Price."""
        raise ConnectionResetError

    def second(**given: Any) -> Any:
        asked.append(given)
        return {"price": 3}

    app = degrader(clock, price={"effect": "read", rung: ["main", "second"] if rung == "endpoints" else "second"})
    app.register(second=second)
    guarded = app.tool(tool(both.paint(price)))
    message = both.call(guarded, "invoke", call_of(guarded, sku="A"))
    assert asked == [{"sku": "A"}]
    assert '{"price": 3}' in str(message.content)


@pytest.mark.row("D2")
def test_an_alternative_of_a_tool_with_one_unnamed_argument_is_asked_by_place(clock: FakeClock) -> None:
    def price(sku: str) -> str:
        raise ConnectionResetError

    app = degrader(clock, price={"effect": "read", "endpoints": ["main", "second"]})
    app.register(second=lambda sku: f"3 for {sku}")
    guarded = app.tool(Tool("price", price, "Price."))
    assert guarded.invoke("A") == "3 for A"


@pytest.mark.row("D2")
def test_a_plain_value_from_elsewhere_becomes_content_and_artifact(both: Both, clock: FakeClock) -> None:
    def price(sku: str) -> Any:
        raise ConnectionResetError

    app = degrader(clock, price={"effect": "read", "endpoints": ["main", "second"]})
    app.register(second=lambda sku: {"price": 3})
    schema = {"type": "object", "properties": {"sku": {"type": "string"}}}
    guarded = app.tool(made(both, price, "price", args_schema=schema, response_format="content_and_artifact"))
    message = both.call(guarded, "invoke", call_of(guarded, sku="A"))
    assert (message.content, message.artifact) == ('{"price": 3}', {"price": 3})
    assert status_of(message) == "ok"


def test_a_sync_tool_class_gets_its_config_and_run_manager_in_both_colours(both: Both, clock: FakeClock) -> None:
    class Look(BaseTool):
        name: str = "look"
        description: str = "Look."

        def _run(
            self, x: int, config: RunnableConfig, run_manager: CallbackManagerForToolRun | None = None
        ) -> list[Any]:
            return [config["configurable"]["thread_id"], type(run_manager).__name__]

    guarded = degrader(clock).tool(Look())
    got = both.call(guarded, "invoke", {"x": 1}, {"configurable": {"thread_id": "7"}})
    assert got == ["7", "CallbackManagerForToolRun"]


@pytest.mark.row("E3")
@pytest.mark.parametrize("policy", [CACHED, THROUGH], ids=["last good", "read-through"])
@pytest.mark.parametrize("kind", ["message", "command", "list"])
def test_messages_and_commands_answer_only_their_own_call(
    both: Both, clock: FakeClock, kind: str, policy: dict[str, Any]
) -> None:
    calls: list[str] = []

    def look(tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Look."""
        calls.append(tool_call_id)
        if len(calls) > 1:
            raise ConnectionResetError
        message = ToolMessage("v", tool_call_id=tool_call_id, artifact={"mine": 1})
        return {"message": message, "list": [message]}.get(kind, Command(update={"messages": [message]}))

    node = degrader(clock, look=policy).tool_node([both.paint(look)])
    graph = StateGraph(State).add_node("tools", node).set_entry_point("tools").compile()
    answers = []
    for id in ("c1", "c2"):
        call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": id}])
        out = both.call(graph, "invoke", {"messages": [HumanMessage("hi"), call]})
        answers.append(out["messages"][-1])
    assert (answers[0].tool_call_id, answers[0].content, answers[0].artifact) == ("c1", "v", {"mine": 1})
    assert (answers[1].tool_call_id, status_of(answers[1])) == ("c2", "unavailable")
    assert len(calls) == 2


@pytest.mark.row("E1")
def test_a_tools_own_artifact_is_kept_beside_the_typed_result(both: Both, clock: FakeClock) -> None:
    def look(tool_call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
        """Look."""
        return ToolMessage("v", tool_call_id=tool_call_id, artifact={"mine": 1})

    guarded = degrader(clock).tool(tool(both.paint(look)))
    message = both.call(guarded, "invoke", call_of(guarded))
    assert (message.artifact, status_of(message)) == ({"mine": 1}, "ok")


@pytest.mark.row("E1")
def test_with_plain_arguments_a_good_value_is_the_value_wherever_it_came_from(both: Both, clock: FakeClock) -> None:
    def address(id: str) -> dict[str, str]:
        """Address."""
        return {"city": "Kyiv"}

    def price(id: str) -> dict[str, int]:
        """Price."""
        raise ConnectionResetError

    app = degrader(clock, address=THROUGH, price={"effect": "read", "endpoints": ["main", "second"]})
    app.register(second=lambda id: {"price": 3})
    guarded = app.tool(tool(both.paint(address)))
    assert [both.call(guarded, "invoke", {"id": "1"}) for _ in range(2)] == [{"city": "Kyiv"}] * 2
    assert both.call(app.tool(tool(both.paint(price))), "invoke", {"id": "1"}) == {"price": 3}


@pytest.mark.row("E3")
def test_a_stale_pair_keeps_both_halves(both: Both, clock: FakeClock) -> None:
    answers = iter([(10, 250)])

    def price_range(sku: str) -> Any:
        """Range."""
        for answer in answers:
            return answer
        raise ConnectionResetError

    guarded = degrader(clock, price_range=CACHED).tool(tool(both.paint(price_range)))
    both.call(guarded, "invoke", call_of(guarded, "c1", sku="A"))
    message = both.call(guarded, "invoke", call_of(guarded, "c2", sku="A"))
    assert status_of(message) == "stale"
    assert str(message.content).endswith("[10, 250]")


def test_an_async_tool_called_from_sync_code_says_so_to_its_developer(clock: FakeClock) -> None:
    async def look(x: int) -> int:
        """Look."""
        return x

    node = degrader(clock).tool_node([tool(look)])
    graph = StateGraph(State).add_node("tools", node).set_entry_point("tools").compile()
    with pytest.raises(NotImplementedError, match="tool:look has no sync version"):
        graph.invoke({"messages": [HumanMessage("hi"), asks(("look", {"x": 1}))]})


def test_not_implemented_in_a_tools_body_is_a_failure_like_any_other(both: Both, clock: FakeClock) -> None:
    def gift(x: int) -> int:
        """Gift."""
        raise NotImplementedError("gift cards")

    guarded = degrader(clock, gift={"effect": "read"}).tool(tool(both.paint(gift)))
    assert status_of(both.call(guarded, "invoke", call_of(guarded, x=1))) == "unavailable"
