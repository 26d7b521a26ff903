"""`degrader.tool`: a tool that says honestly what came of it."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException, tool
from langgraph.graph import StateGraph
from langgraph.prebuilt import InjectedState
from pydantic import BaseModel, Field

from langgraph_degrade import Degrader, Policy, PolicyError, ToolResult, idempotency_key
from langgraph_degrade.store.sqlite import SqliteStore
from langgraph_degrade.testing import FakeClock, Hang, scripted
from tests.adapters.graphs import State
from tests.agents import asks, call_of
from tests.conftest import Both

SCHEMA = {
    "type": "object",
    "required": ["sku", "left"],
    "properties": {"sku": {"type": "string"}, "left": {"type": "integer"}},
}
CACHE = {"ttl": "60s", "scope": "shared"}


class Fixture:
    """One degrader; tools made from scripts, in the test's colour."""

    def __init__(self, both: Both, clock: FakeClock, policy: dict[str, Any] | None = None, **options: Any) -> None:
        self.both, self.clock = both, clock
        self.events: list[Any] = []
        self.degrader = Degrader(
            Policy.model_validate({"tools": policy or {}}), clock=clock, listeners=[self.events.append], **options
        )

    def tool(self, name: str, *steps: Any, **options: Any) -> BaseTool:
        self.script = scripted(steps, colour=self.both.colour, clock=self.clock)
        script = self.script

        def sync(sku: str, detail: bool = False) -> Any:
            """Look something up."""
            return script(sku, detail)

        async def coro(sku: str, detail: bool = False) -> Any:
            """Look something up."""
            return await script(sku, detail)

        made = {"func": sync} if self.both.colour == "sync" else {"coroutine": coro}
        return self.degrader.tool(StructuredTool.from_function(**made, name=name, description="Look up.", **options))

    def message(self, guarded: BaseTool, id: str = "c1", **args: Any) -> ToolMessage:
        return self.both.call(guarded, "invoke", call_of(guarded, id, **args))


@pytest.mark.row("E1")
def test_a_good_result_is_what_it_was_and_carries_a_typed_one(both: Both, clock: FakeClock) -> None:
    case = Fixture(both, clock, {"get_stock": {"effect": "read", "result_schema": SCHEMA}})
    stock = case.tool("get_stock", {"sku": "A", "left": 7}, {"sku": "A", "left": 7})
    message = case.message(stock, sku="A")
    assert (message.content, message.status) == ('{"sku": "A", "left": 7}', "success")
    assert ToolResult.of(message) == {
        "status": "ok",
        "data": {"sku": "A", "left": 7},
        "fallback_reason": None,
        "age": None,
        "source": None,
        "failure": None,
        "truncated": False,
    }
    assert type(message.artifact) is dict
    assert both.call(stock, "invoke", {"sku": "A"}) == {"sku": "A", "left": 7}
    assert case.events == []


@pytest.mark.row("E3")
def test_the_last_good_value_stands_in_and_says_how_old_it_is(both: Both, clock: FakeClock) -> None:
    case = Fixture(both, clock, {"get_stock": {"effect": "read", "cache": CACHE, "timeout": "4s"}})
    stock = case.tool("get_stock", {"left": 7}, ConnectionResetError(), ConnectionResetError())
    case.message(stock, sku="A")
    clock.advance(42)
    message = case.message(stock, sku="A")
    result = ToolResult.of(message)
    assert result is not None
    assert (result.status, result.data, result.source, result.age) == (
        "stale",
        {"left": 7},
        "last_good",
        pytest.approx(42),
    )
    assert "42 s" in str(message.content)
    clock.advance(30)  # now 72 s: too old to stand in
    gone = ToolResult.of(case.message(stock, sku="A"))
    assert gone is not None
    assert (gone.status, gone.data) == ("unavailable", None)


@pytest.mark.row("E2")
@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ({"sku": "A"}, "left"),
        ({"sku": "A", "left": "7"}, "left"),
        (None, ""),
        ('{"sku": "A", "le', ""),
        ({"sku": "A", "left": math.nan}, "left"),
    ],
)
def test_a_result_that_breaks_its_schema_is_not_passed_on(both: Both, clock: FakeClock, raw: Any, path: str) -> None:
    case = Fixture(both, clock, {"get_stock": {"effect": "read", "result_schema": SCHEMA}})
    result = ToolResult.of(case.message(case.tool("get_stock", raw), sku="A"))
    assert result is not None
    assert result.status == "unavailable"
    assert result.failure["kind"] in ("schema", "empty")
    assert path in result.failure["reason"]
    assert len(case.script.calls) == 1


@pytest.mark.row("F3")
@pytest.mark.case("case-X05")
def test_a_business_no_reaches_the_model_as_such_and_no_breaker_moves(both: Both, clock: FakeClock) -> None:
    rule = {"consecutive": 2, "min_calls": 2}
    case = Fixture(both, clock, {"get_stock": {"effect": "read", "breakers": [rule]}})
    stock = case.tool("get_stock", *[ValueError("no such product: A")] * 5, {"left": 1})
    for _ in range(5):
        message = case.message(stock, sku="A")
        assert "no such product: A" in str(message.content)
        assert ToolResult.of(message).status == "rejected"  # type: ignore[union-attr]
    assert ToolResult.of(case.message(stock, sku="A")).status == "ok"  # type: ignore[union-attr]
    assert case.events == []


@pytest.mark.row("E4")
@pytest.mark.case("case-W01")
@pytest.mark.parametrize("durable", [False, True])
def test_a_write_of_unknown_outcome_is_not_sent_again_in_its_turn(
    both: Both, clock: FakeClock, durable: bool, tmp_path: Any
) -> None:
    store = {"store": SqliteStore(tmp_path / "claims.db")} if durable else {}
    case = Fixture(both, clock, {"refund": {"effect": "write", "timeout": "3s"}}, **store)
    refund = case.tool("refund", Hang(), "done")
    with case.degrader.scope(thread="t") as scope:
        first = ToolResult.of(case.message(refund, "c1", sku="SO-1"))
        again = case.message(refund, "c2", sku="SO-1")
        assert [item["state"] for item in scope.context.unfinished] == ["unknown"]
    assert (first.status, ToolResult.of(again).status) == ("unknown", "unknown")  # type: ignore[union-attr]
    assert len(case.script.calls) == 1
    assert "not" in str(again.content)
    with case.degrader.scope(thread="t"):  # a later turn: still nobody knows, and nobody looked
        again = case.message(refund, "c3", sku="SO-1")
        assert ToolResult.of(again).status == "unknown"  # type: ignore[union-attr]
    assert len(case.script.calls) == 1
    with case.degrader.scope(thread="t"):  # another order is another wish
        assert ToolResult.of(case.message(refund, "c4", sku="SO-2")).status == "ok"  # type: ignore[union-attr]


@pytest.mark.row("E4")
@pytest.mark.case("case-W01")
def test_an_intentional_second_write_of_the_same_amount_goes_through(both: Both, clock: FakeClock) -> None:
    case = Fixture(both, clock, {"refund": {"effect": "write", "timeout": "3s"}})
    refund = case.tool("refund", "one", "two")
    with case.degrader.scope(thread="t"):
        case.message(refund, "c1", sku="SO-1")
        case.message(refund, "c2", sku="SO-1")
    assert len(case.script.calls) == 2


@pytest.mark.row("E4")
@pytest.mark.case("case-W04")
def test_the_same_call_replayed_after_a_resume_is_not_sent_twice(both: Both, clock: FakeClock, tmp_path: Any) -> None:
    """The effect is there, the checkpoint is not: a new process runs the same tool call again."""
    path = tmp_path / "claims.db"
    for expected_calls in (1, 0):
        case = Fixture(both, clock, {"refund": {"effect": "write", "timeout": "3s"}}, store=SqliteStore(path))
        refund = case.tool("refund", {"refund": "R-1"})
        with case.degrader.scope(thread="t") as scope:
            scope.adopt({}, "turn-1", None)
            result = ToolResult.of(case.message(refund, "c1", sku="SO-1"))
        assert (result.status, result.data) == ("ok", {"refund": "R-1"})  # type: ignore[union-attr]
        assert len(case.script.calls) == expected_calls


@pytest.mark.row("E4")
@pytest.mark.parametrize(("seen", "status"), [(True, "ok"), (False, "unavailable"), (None, "unknown")])
def test_a_read_back_settles_an_ambiguous_write(both: Both, clock: FakeClock, seen: bool | None, status: str) -> None:
    case = Fixture(both, clock, {"refund": {"effect": "write", "timeout": "3s", "verify": "look"}})
    asked: list[Any] = []
    case.degrader.register(look=lambda args, config: asked.append(dict(args)) or seen)
    result = ToolResult.of(case.message(case.tool("refund", ConnectionResetError()), sku="SO-1"))
    assert result.status == status  # type: ignore[union-attr]
    assert asked == [{"sku": "SO-1", "detail": False}]


@pytest.mark.row("E4")
def test_a_read_back_right_after_a_timeout_can_only_confirm(both: Both, clock: FakeClock) -> None:
    """The call may still be at work: finding nothing yet proves nothing."""
    case = Fixture(both, clock, {"refund": {"effect": "write", "timeout": "3s", "verify": "look"}})
    case.degrader.register(look=lambda args, config: False)
    assert ToolResult.of(case.message(case.tool("refund", Hang()), sku="SO-1")).status == "unknown"  # type: ignore[union-attr]


@pytest.mark.row("E4")
def test_a_late_write_is_reconciled(clock: FakeClock) -> None:
    both = Both("sync", clock)
    case = Fixture(both, clock, {"refund": {"effect": "write", "timeout": "3s"}})
    hang = Hang("R-1")
    refund = case.tool("refund", hang)
    with case.degrader.scope(thread="t") as scope:
        assert ToolResult.of(case.message(refund, sku="SO-1")).status == "unknown"  # type: ignore[union-attr]
        assert len(scope.context.unfinished) == 1
        hang.release()
        deadline = threading.Event()
        for _ in range(500):
            if not scope.context.unfinished:
                break
            deadline.wait(0.01)
        assert scope.context.unfinished == []
        replay = ToolResult.of(case.message(refund, sku="SO-1"))
        assert (replay.status, replay.source) == ("ok", "verified")  # type: ignore[union-attr]


@pytest.mark.row("E4")
def test_a_write_gets_one_idempotency_key_per_intent(both: Both, clock: FakeClock) -> None:
    case = Fixture(both, clock, {"refund": {"effect": "write", "timeout": "3s", "idempotent": True}})
    keys: list[str | None] = []

    def sync(sku: str) -> str:
        """Refund."""
        keys.append(idempotency_key())
        if len(keys) == 1:
            raise ConnectionResetError
        return "ok"

    async def coro(sku: str) -> str:
        """Refund."""
        return sync(sku)

    made = {"func": sync} if both.colour == "sync" else {"coroutine": coro}
    refund = case.degrader.tool(StructuredTool.from_function(**made, name="refund"))
    with case.degrader.scope(thread="t"):
        case.message(refund, "c1", sku="SO-1")
        case.message(refund, "c2", sku="SO-1")
    assert keys[0] is not None
    assert keys[0] == keys[1] != keys[2]
    assert idempotency_key() is None


@pytest.mark.row("E4")
@pytest.mark.case("case-W05")
@pytest.mark.parametrize("policy", [{}, {"pay": {"effect": "write", "timeout": "3s", "cache": CACHE}}])
def test_writes_and_undeclared_tools_get_one_attempt_and_no_cached_answer(
    both: Both, clock: FakeClock, policy: Any
) -> None:
    case = Fixture(both, clock, policy)
    pay = case.tool("pay", "done", ConnectionResetError())
    case.message(pay, sku="A")
    assert ToolResult.of(case.message(pay, "c2", sku="A")).status == "unknown"  # type: ignore[union-attr]
    assert len(case.script.calls) == 2


@pytest.mark.row("E4")
@pytest.mark.case("case-W02")
@pytest.mark.parametrize("status", [429, 503, 401])
def test_a_write_that_was_refused_is_known_not_to_be_done(both: Both, clock: FakeClock, status: int) -> None:
    class Refused(Exception):
        status_code = status

    case = Fixture(both, clock, {"pay": {"effect": "write", "timeout": "3s"}})
    assert ToolResult.of(case.message(case.tool("pay", Refused()), sku="A")).status == "unavailable"  # type: ignore[union-attr]


@pytest.mark.row("D1")
def test_a_tool_that_is_not_core_is_skipped(both: Both, clock: FakeClock) -> None:
    case = Fixture(both, clock, {"get_stock": {"effect": "read", "core": False, "ladder": ["chain"]}})
    case.message(case.tool("get_stock", ConnectionResetError(), ConnectionResetError()), sku="A")
    assert [event.direction for event in case.events if event.direction] == ["chain"]


@pytest.mark.row("E6")
def test_bad_arguments_are_told_and_never_executed(both: Both, clock: FakeClock) -> None:
    case = Fixture(both, clock)
    stock = case.tool("get_stock")
    message = case.message(stock, wrong=1)
    assert (message.status, ToolResult.of(message).failure["kind"]) == ("error", "malformed_call")  # type: ignore[union-attr]
    assert "sku" in str(message.content)
    assert case.script.calls == []


def test_metadata_and_mcp_annotations_declare_a_read(both: Both, clock: FakeClock) -> None:
    case = Fixture(both, clock)
    stock = case.tool("get_stock", ConnectionResetError(), metadata={"annotations": {"readOnlyHint": True}})
    assert ToolResult.of(case.message(stock, sku="A")).status == "unavailable"  # type: ignore[union-attr]


def test_a_guarded_tool_is_still_its_own_class_with_its_own_schema(clock: FakeClock) -> None:
    class Args(BaseModel):
        sku: str = Field(description="the article")

    class Stock(BaseTool):
        name: str = "get_stock"
        description: str = "Stock."
        args_schema: type[BaseModel] = Args
        left: int = 3

        def _run(self, sku: str) -> int:
            return self.left

    guarded = Degrader(clock=clock).tool(Stock())
    assert isinstance(guarded, Stock)
    assert guarded.args == Stock().args
    assert guarded.invoke({"sku": "A"}) == 3
    assert asyncio.run(guarded.ainvoke({"sku": "A"})) == 3


def test_a_plain_function_becomes_a_tool(clock: FakeClock) -> None:
    def get_stock(sku: str) -> int:
        """How many are left."""
        return 3

    assert Degrader(clock=clock).tool(get_stock).invoke({"sku": "A"}) == 3


def test_a_tool_with_an_artifact_keeps_it(both: Both, clock: FakeClock) -> None:
    case = Fixture(both, clock, {"get_stock": {"effect": "read", "timeout": "4s"}})
    stock = case.tool(
        "get_stock", ("7 left", {"left": 7}), ConnectionResetError(), response_format="content_and_artifact"
    )
    message = case.message(stock, sku="A")
    assert (message.content, message.artifact) == ("7 left", {"left": 7})
    assert ToolResult.of(message).status == "ok"  # type: ignore[union-attr]
    assert ToolResult.of(case.message(stock, sku="A")).status == "unavailable"  # type: ignore[union-attr]


def test_a_tools_own_error_words_are_kept(both: Both, clock: FakeClock) -> None:
    case = Fixture(both, clock, {"get_stock": {"effect": "read"}})
    stock = case.tool("get_stock", ToolException("ask for the sku"), handle_tool_error=True)
    message = case.message(stock, sku="A")
    assert (message.content, message.status) == ("ask for the sku", "error")
    assert ToolResult.of(message).status == "rejected"  # type: ignore[union-attr]


def test_injected_arguments_are_not_the_models(clock: FakeClock) -> None:
    seen: dict[str, Any] = {}

    @tool
    def remember(sku: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
        """Remember."""
        seen.update(state)
        return "ok"

    degrader = Degrader(Policy.model_validate({"tools": {"remember": {"effect": "read", "cache": CACHE}}}), clock=clock)
    node = degrader.tool_node([remember])
    graph = StateGraph(State).add_node("tools", node).set_entry_point("tools").compile()
    out = graph.invoke({"messages": [("user", "hi"), asks(("remember", {"sku": "A"}))]})
    assert out["messages"][-1].content == "ok"
    assert "messages" in seen


@pytest.mark.parametrize(
    "raw",
    [
        "x" * 10_000_000,
        b"\xff\xfe\x00bytes",
        {"amount": math.inf},
        {"a": "\ud83d"},
        json.loads("[" * 900 + "]" * 900),
        object(),
        {1: 2},
        {"n": 2**80},
    ],
    ids=["10 MB", "bytes", "infinity", "surrogate", "deep", "object", "int keys", "big int"],
)
def test_odd_results_never_crash_and_artifacts_stay_small_json(both: Both, clock: FakeClock, raw: Any) -> None:
    case = Fixture(both, clock, {"get_stock": {"effect": "read"}})
    message = case.message(case.tool("get_stock", raw), sku="A")
    text = json.dumps(message.artifact, allow_nan=False)
    assert len(text) < 40_000
    assert str(message.content).encode("utf-8") is not None


def test_a_name_the_policy_uses_must_be_registered(clock: FakeClock) -> None:
    policy = Policy.model_validate({"tools": {"pay": {"effect": "write", "verify": "find_payment"}}})

    def pay(sku: str) -> str:
        """Pay."""
        return "ok"

    with pytest.raises(PolicyError, match="find_payment"):
        Degrader(policy, clock=clock).tool(pay)


@pytest.mark.row("E4")
@pytest.mark.case("case-W01")
def test_a_reworded_note_does_not_make_it_another_write(both: Both, clock: FakeClock) -> None:
    """The model plans the same refund again in other words: the arguments named as the intent decide."""
    case = Fixture(both, clock, {"refund": {"effect": "write", "timeout": "3s", "intent": ["sku"]}})
    refund = case.tool("refund", Hang(), "done")
    with case.degrader.scope(thread="t") as scope:
        case.message(refund, "c1", sku="SO-1", detail=False)
        assert ToolResult.of(case.message(refund, "c2", sku="SO-1", detail=True)).status == "unknown"  # type: ignore[union-attr]
        assert len(scope.context.unfinished) == 1
    assert len(case.script.calls) == 1


@pytest.mark.row("E4")
@pytest.mark.case("case-W01")
@pytest.mark.parametrize(("seen", "status", "sent"), [(True, "ok", 1), (False, "ok", 2), (None, "unknown", 1)])
def test_please_try_again_in_a_later_turn_looks_first(
    both: Both, clock: FakeClock, seen: bool | None, status: str, sent: int
) -> None:
    case = Fixture(both, clock, {"refund": {"effect": "write", "timeout": "3s", "verify": "look"}})
    answers = iter([None, seen])
    case.degrader.register(look=lambda args, config: next(answers))
    refund = case.tool("refund", ConnectionResetError(), "done")
    with case.degrader.scope(thread="t"):
        case.message(refund, "c1", sku="SO-1")
    with case.degrader.scope(thread="t") as scope:
        assert ToolResult.of(case.message(refund, "c2", sku="SO-1")).status == status  # type: ignore[union-attr]
        assert bool(scope.context.unfinished) == (status == "unknown")
    assert len(case.script.calls) == sent


@pytest.mark.row("E4")
def test_an_intentional_second_write_in_a_later_turn_goes_through(both: Both, clock: FakeClock) -> None:
    case = Fixture(both, clock, {"refund": {"effect": "write", "timeout": "3s"}})
    refund = case.tool("refund", "one", "two")
    for call_id in ("c1", "c2"):
        with case.degrader.scope(thread="t"):
            assert ToolResult.of(case.message(refund, call_id, sku="SO-1")).status == "ok"  # type: ignore[union-attr]
    assert len(case.script.calls) == 2


@pytest.mark.row("E3")
def test_two_tools_of_one_name_learn_apart(both: Both, clock: FakeClock) -> None:
    """`run` of one server only reads, `run` of another destroys: neither is taken for the other."""
    case = Fixture(both, clock)
    reads = case.tool("run", ConnectionResetError(), metadata={"annotations": {"readOnlyHint": True}})
    assert ToolResult.of(case.message(reads, sku="A")).status == "unavailable"  # type: ignore[union-attr]
    destroys = case.tool("run", ConnectionResetError(), metadata={"annotations": {"destructiveHint": True}})
    assert ToolResult.of(case.message(destroys, sku="A")).status == "unknown"  # type: ignore[union-attr]


@pytest.mark.case("case-X04")
def test_an_undeclared_tools_own_words_reach_the_model(both: Both, clock: FakeClock) -> None:
    case = Fixture(both, clock)
    message = case.message(case.tool("look", ToolException("ask for the sku"), handle_tool_error=True), sku="A")
    assert message.content == "ask for the sku"


@pytest.mark.row("E4")
def test_a_writes_no_in_words_alone_is_not_believed(both: Both, clock: FakeClock) -> None:
    case = Fixture(both, clock, {"refund": {"effect": "write", "timeout": "3s"}})
    message = case.message(case.tool("refund", ToolException("Error executing tool refund: ")), sku="A")
    assert ToolResult.of(message).status == "unknown"  # type: ignore[union-attr]
