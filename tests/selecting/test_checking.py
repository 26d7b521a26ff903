"""What is wrong with a model's tool calls."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, message_chunk_to_message
from langchain_core.tools import tool as make_tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel

from langgraph_degrade.stages.selecting import as_failure, faults
from tests.selecting import ADDRESS, HOURS, ORDER, REFUND, SHIP, TOOLS, call, said, streamed, tool

pytestmark = pytest.mark.row("L1")


class Address(BaseModel):
    city: str


CUT = '{"order_id":"SO-1001","amount":12'


def found(message: AIMessage, tools: list[dict[str, Any]] = TOOLS) -> list[tuple[str, tuple[str, ...]]]:
    return [(fault.what, fault.arguments) for fault in faults(message, tools)]


@pytest.mark.parametrize(
    "made",
    [
        call("get_order", {"order_id": "SO-1001"}),
        call("get_order", {"order_id": "SO-1001", "note": None, "page": 2}),
        call("get_order", {"order_id": "SO-1001", "undeclared": 1}),
        call("refund", {"order_id": "SO-1001", "amount": 12, "way": "balance"}),
        call("ship", {"address": {"city": "杭州"}, "second": None, "items": [{"sku": "A"}]}),
        call("opening_hours", {}),
    ],
    ids=lambda made: f"{made['name']}-{len(made['args'])}",
)
def test_a_right_call_has_no_faults(made: dict[str, Any]) -> None:
    assert faults(said(made), TOOLS) == []
    assert as_failure([]) is None


def test_a_message_without_calls_has_no_faults() -> None:
    assert faults(AIMessage("好的"), TOOLS) == []
    assert faults(AIMessage("好的", response_metadata={"finish_reason": "length"}), TOOLS) == []


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (call("get_order", {}), [("missing", ("order_id",))]),
        (call("get_order", {"order_id": None}), [("missing", ("order_id",))]),
        (call("get_order", {"order_id": 1001}), [("invalid", ("order_id",))]),
        (call("get_order", {"order_id": "A", "page": None}), [("invalid", ("page",))]),
        (call("get_order", {"order_id": "A", "page": "2"}), [("invalid", ("page",))]),
        (call("refund", {}), [("missing", ("order_id", "amount"))]),
        (call("refund", {"order_id": "A", "amount": 0}), [("invalid", ("amount",))]),
        (call("refund", {"order_id": "A", "amount": float("nan")}), [("invalid", ("amount",))]),
        (call("refund", {"order_id": "A", "amount": 1, "way": "cash"}), [("invalid", ("way",))]),
        (call("refund", {"order_id": "A", "amuont": 1}), [("missing", ("amount",)), ("invalid", ("amuont",))]),
        (call("ship", {"address": {}}), [("missing", ("address.city",))]),
        (call("ship", {"address": "杭州"}), [("invalid", ("address",))]),
        (call("ship", {"address": {"city": "A"}, "second": {}}), [("missing", ("second.city",))]),
        (call("ship", {"address": {"city": "A"}, "items": [{"sku": "A"}, {}]}), [("missing", ("items[1].sku",))]),
    ],
    ids=str,
)
def test_every_argument_that_is_missing_or_invalid_is_named(made: dict[str, Any], expected: list[Any]) -> None:
    assert found(said(made)) == expected


def test_an_invented_tool_is_told_with_the_one_that_comes_nearest() -> None:
    [fault] = faults(said(call("get_orders", {"order_id": "A"})), TOOLS)
    assert (fault.what, fault.tool, fault.nearest) == ("invented", "get_orders", "get_order")
    assert fault.offered == ("get_order", "refund", "ship", "opening_hours")
    assert [fault.nearest for fault in faults(said(call("发送短信", {})), TOOLS)] == [None]


def test_where_no_tool_is_offered_every_call_is_invented() -> None:
    assert found(said(call("get_order", {"order_id": "A"})), []) == [("invented", ())]


def test_calls_langchain_gave_up_on_are_judged_too() -> None:
    broken = call("refund", '{"order_id": "A"}{"amount": 1}', "c2")
    assert [(fault.id, fault.what) for fault in faults(said(call("opening_hours", {}), given_up=(broken,)), TOOLS)] == [
        ("c2", "unreadable")
    ]


@pytest.mark.case("case-T04")
@pytest.mark.parametrize("name", ["", "查订单 tool"])
def test_an_illegal_name_is_an_invented_tool(name: str) -> None:
    assert found(said(call(name, {}))) == [("invented", ())]


@pytest.mark.case("case-T01")
def test_a_cut_call_is_judged_by_what_the_model_wrote_not_by_what_a_parser_made_of_it() -> None:
    message = streamed(("refund", CUT), finish_reason="length")
    assert message.tool_calls[0]["args"] == {"order_id": "SO-1001", "amount": 12}
    assert found(message) == [("cut", ())]
    assert found(streamed(("refund", CUT))) == [("cut", ())]
    parts = AIMessageChunk("", tool_call_chunks=[{"name": "refund", "args": CUT, "id": "c1", "index": 0}])
    assert found(parts) == [("cut", ())]


@pytest.mark.case("case-T01")
def test_of_a_message_that_was_cut_no_call_holds_however_whole_it_looks() -> None:
    whole = [call("opening_hours", {}), call("refund", {"order_id": "SO-1001", "amount": 12}, "c2")]
    assert found(said(*whole, finish_reason="length")) == [("cut", ()), ("cut", ())]
    assert found(message_chunk_to_message(streamed(("refund", CUT), finish_reason="length"))) == [("cut", ())]


@pytest.mark.case("case-T02")
def test_a_cut_call_is_found_though_the_reason_was_rewritten() -> None:
    text = '{"title":"物流异常","desc":"客户反馈'
    assert found(said(given_up=(call("refund", text),), finish_reason="tool_calls")) == [("cut", ())]
    raw = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": CUT}}
    kept = {"tool_calls": [raw]}
    guessed = AIMessage("", tool_calls=[call("refund", {"order_id": "SO-1001", "amount": 12})], additional_kwargs=kept)
    assert found(guessed) == [("cut", ())]


@pytest.mark.case("case-T05")
@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("opening_hours", "", []),
        ("get_order", "", [("missing", ("order_id",))]),
        ("get_order", "null", [("missing", ("order_id",))]),
        ("opening_hours", "null", [("unreadable", ())]),
        ("get_order", "[1,2]", [("unreadable", ())]),
        ("get_order", "42", [("unreadable", ())]),
        ("get_order", '"SO-1001"', [("unreadable", ())]),
        ("get_order", '"{\\"order_id\\":\\"A\\"}"', [("unreadable", ())]),
        ("get_order", '{"order_id":"A"}}', [("unreadable", ())]),
        ("refund", '{"order_id":"A","amount":1,"amount":1000}', [("unreadable", ())]),
        ("refund", '{"order_id":"A","amount":NaN}', [("unreadable", ())]),
        ("get_order", '{"order_id":"one\nline"}', []),
        ("get_order", "[" * 100_000, [("cut", ())]),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_arguments_that_are_no_object_are_unreadable(name: str, text: str, expected: list[Any]) -> None:
    assert found(streamed((name, text))) == expected


@pytest.mark.parametrize(
    "text",
    ['{"a": tru', '{"a": "x', '{"a": "x\\', '{"a": {"b": [1, 2]', '{"a"', "{", '"{\\"a\\": 1', '{"a": "}'],
    ids=str,
)
def test_a_text_that_ends_too_early_is_cut(text: str) -> None:
    assert found(said(given_up=(call("get_order", text),))) == [("cut", ())]


@pytest.mark.parametrize(
    "text", ["SO-1001", "order_id=A", "{'order_id': 'A'}", '{"a":1}{"a":1}', "}", "{a: 1}"], ids=str
)
def test_a_text_that_never_was_json_is_not_called_cut(text: str) -> None:
    assert found(said(given_up=(call("get_order", text),))) == [("unreadable", ())]


class TestSchemas:
    def test_one_of_several_ways_lacks_the_shorter(self) -> None:
        either = [{"required": ["order_id"]}, {"required": ["phone", "name"]}]
        find = tool("find", {name: {"type": "string"} for name in ("order_id", "phone", "name")}, anyOf=either)
        assert found(said(call("find", {})), [find]) == [("missing", ("order_id",))]
        assert found(said(call("find", {"phone": "1", "name": "A"})), [find]) == []

    def test_an_argument_that_calls_for_another_lacks_it(self) -> None:
        both = {"amount": {"type": "number"}, "currency": {"type": "string"}}
        pay = tool("pay", both, dependentRequired={"amount": ["currency"]})
        assert found(said(call("pay", {"amount": 1})), [pay]) == [("missing", ("currency",))]

    def test_a_tool_without_a_schema_takes_anything(self) -> None:
        for function in ({"name": "f"}, {"name": "f", "parameters": None}, {"name": "f", "parameters": {}}):
            assert found(said(call("f", {"x": 1})), [{"type": "function", "function": function}]) == []

    def test_flat_declarations_and_a_servers_own_tools_are_taken_as_they_are(self) -> None:
        flat = {"type": "function", **ORDER["function"]}
        assert found(said(call("get_order", {})), [{"type": "web_search"}, flat]) == [("missing", ("order_id",))]

    def test_a_tool_whose_schema_cannot_be_read_is_not_held_to_it(self, caplog: pytest.LogCaptureFixture) -> None:
        strange = tool("f", {"x": {"$ref": "http://127.0.0.1:9/schema"}})
        assert found(said(call("f", {"x": 1})), [strange]) == []
        assert "tool f can't be read" in caplog.text

    def test_a_required_argument_that_has_a_default_is_still_required(self) -> None:
        assert found(said(call("f", {})), [tool("f", {"x": {"default": 1}}, "x")]) == [("missing", ("x",))]

    def test_arguments_nested_without_end_are_invalid(self) -> None:
        deep: dict[str, Any] = {}
        for _ in range(5_000):
            deep = {"x": deep}
        message = said(call("get_order", {}))
        message.tool_calls[0]["args"] = {"order_id": deep}
        assert ("invalid", ("order_id",)) in found(message)

    def test_langchains_own_tools_are_judged_as_they_declare_themselves(self) -> None:
        @make_tool
        def deliver(order_id: str, to: Address | None = None, urgent: bool = False) -> str:
            """Deliver."""
            return order_id

        offered = [convert_to_openai_tool(deliver)]
        assert found(said(call("deliver", {"order_id": "A"})), offered) == []
        assert found(said(call("deliver", {"to": {}})), offered) == [("missing", ("order_id", "to.city"))]

    def test_the_declarations_are_left_as_they_are(self) -> None:
        before = copy.deepcopy(TOOLS)
        faults(said(call("ship", {"address": {}})), TOOLS)
        assert before == TOOLS
        assert ADDRESS in SHIP["function"]["parameters"]["$defs"].values()


class TestFailure:
    def test_the_kind_is_a_malformed_call_and_the_model_was_reached(self) -> None:
        failure = as_failure(faults(said(call("refund", {"order_id": "A"})), TOOLS))
        assert failure is not None
        assert (failure.kind, failure.reason) == ("malformed_call", "tool call: missing amount (refund)")
        assert not failure.unsent
        assert not failure.transient

    def test_it_says_no_value_and_no_name_that_was_made_up(self) -> None:
        private = "13800138000"
        message = said(
            call(f"call_{private}", {}),
            call("refund", {"order_id": "A", "amount": private, f"zhang_{private}": 1}, "c2"),
            call("ship", {"address": {"city": "A"}, "items": [{private: 1}]}, "c3"),
            given_up=(call("get_order", private, "c4"),),
        )
        failure = as_failure(faults(message, TOOLS))
        assert failure is not None
        assert private not in failure.reason
        assert "invalid amount, * (refund)" in failure.reason

    def test_its_reason_stays_short(self) -> None:
        many = tool("f", {f"argument_{n}": {} for n in range(99)}, *(f"argument_{n}" for n in range(99)))
        failure = as_failure(faults(said(call("f", {})), [many]))
        assert failure is not None
        assert len(failure.reason) <= 200


def test_two_calls_with_one_id_are_told_apart_by_their_place() -> None:
    made = faults(said(call("refund", {}), call("get_order", {})), [REFUND, ORDER, HOURS])
    assert [(fault.place, fault.tool, fault.arguments) for fault in made] == [
        (0, "refund", ("order_id", "amount")),
        (1, "get_order", ("order_id",)),
    ]
