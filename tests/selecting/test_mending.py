"""Repairs that are certain, and everything that is not repaired."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, messages_from_dict, messages_to_dict

from langgraph_degrade.stages.selecting import faults, mended
from tests.selecting import HOURS, ORDER, TOOLS, call, said, streamed, tool

pytestmark = pytest.mark.row("L1")

GOOD = {"order_id": "SO-1001"}


def args_of(args: dict[str, Any], *tools: dict[str, Any]) -> dict[str, Any]:
    return mended(said(call(tools[0]["function"]["name"], args)), tools).tool_calls[0]["args"]


def test_where_there_is_nothing_to_mend_the_message_is_the_same_object() -> None:
    for message in (
        AIMessage("好的"),
        said(call("get_order", {**GOOD, "note": "null and void"})),
        said(call("get_orders", GOOD)),
        streamed(("get_order", json.dumps(GOOD))),
    ):
        assert mended(message, TOOLS) is message


@pytest.mark.parametrize(
    "name",
    [
        "functions.get_order", "function.get_order", "tools/get_order", "default_api:get_order", "functions::get_order",
        "Get_Order", "GET_ORDER", " get_order\n", "get_ order", "ｇｅｔ＿ｏｒｄｅｒ", "Functions.Get_Order ",
    ],
)  # fmt: skip
def test_another_spelling_of_one_offered_name_is_that_name(name: str) -> None:
    message = mended(said(call(name, GOOD)), TOOLS)
    assert message.tool_calls == [call("get_order", GOOD)]
    assert faults(message, TOOLS) == []


@pytest.mark.parametrize("name", ["getorder", "get_orders", "order", "get-order", "shop.get_order", "functions.", ""])
def test_a_name_that_only_comes_near_is_left_alone(name: str) -> None:
    message = said(call(name, GOOD))
    assert mended(message, TOOLS) is message


def test_a_name_that_two_tools_could_be_is_left_alone() -> None:
    tools = [tool("Get_Order"), tool("get_order")]
    message = said(call("GET_ORDER", {}))
    assert mended(message, tools) is message
    exact = said(call("get_order", {}))
    assert mended(exact, tools) is exact


@pytest.mark.case("case-T05")
@pytest.mark.parametrize(
    ("name", "text", "args"),
    [
        ("get_order", '"{\\"order_id\\":\\"SO-1001\\"}"', GOOD),
        ("opening_hours", "null", {}),
        ("opening_hours", '""', {}),
        ("get_order", '{"order_id":"SO-1001"}', GOOD),
    ],
)
def test_text_that_is_an_object_becomes_one_and_the_call_can_be_run(name: str, text: str, args: dict[str, Any]) -> None:
    for message in (said(given_up=(call(name, text),)), streamed((name, text))):
        whole = mended(message, TOOLS)
        if name == "opening_hours" and text == '""':
            assert whole is message  # a text is no object, even an empty one
            continue
        assert [(made["name"], made["args"], made["id"]) for made in whole.tool_calls] == [(name, args, "c1")]
        assert whole.invalid_tool_calls == []
        assert faults(whole, TOOLS) == []


@pytest.mark.case("case-T05")
@pytest.mark.parametrize("text", ["", "null", "[1,2]", "42", '"SO-1001"', '{"a":1}{"a":1}', '{"order_id":"SO-1'])
def test_text_that_is_no_whole_object_is_left_alone(text: str) -> None:
    message = said(given_up=(call("get_order", text),))
    assert mended(message, TOOLS) is message


@pytest.mark.case("case-T01")
def test_what_was_cut_is_never_mended() -> None:
    cut = '{"order_id":"SO-1001","amount":12'
    for message in (
        streamed(("Refund", cut)),
        streamed(("Refund", cut), finish_reason="length"),
        said(call("Refund", {"order_id": "null", "amount": 12}), finish_reason="length"),
        said(given_up=(call("Refund", cut),)),
    ):
        assert mended(message, TOOLS) is message
        assert {fault.what for fault in faults(message, TOOLS)} == {"cut"}


@pytest.mark.case("case-T01")
def test_mending_one_call_leaves_another_as_cut_as_it_was() -> None:
    message = mended(streamed(("refund", '{"order_id":"SO-10'), ("Get_Order", json.dumps(GOOD))), TOOLS)
    assert [made["name"] for made in message.tool_calls] == ["refund", "get_order"]
    assert [(fault.tool, fault.what) for fault in faults(message, TOOLS)] == [("refund", "cut")]
    assert message.tool_call_chunks[0]["args"] == '{"order_id":"SO-10'


@pytest.mark.parametrize("word", ["null", "None"])
def test_the_word_for_nothing_is_null_where_null_is_admitted(word: str) -> None:
    assert args_of({**GOOD, "note": word}, ORDER) == {**GOOD, "note": None}
    either = tool("f", {"x": {"type": ["integer", "null"]}, "y": {"enum": ["a", None]}})
    assert args_of({"x": word, "y": word}, either) == {"x": None, "y": None}


@pytest.mark.parametrize("schema", [{"type": "string"}, {}, {"enum": ["null", "None", None]}], ids=str)
def test_the_word_for_nothing_stays_where_it_may_be_a_word(schema: dict[str, Any]) -> None:
    for word in ("null", "None"):
        assert args_of({"x": word}, tool("f", {"x": schema})) == {"x": word}


def test_numbers_and_truths_in_text_are_not_guessed() -> None:
    exact = tool("f", {"n": {"type": "integer"}, "x": {"type": "number"}, "b": {"type": "boolean"}})
    args = {"n": "12", "x": "1.5", "b": "true"}
    assert args_of(args, exact) == args
    assert args_of({"s": 12}, tool("f", {"s": {"type": "string"}})) == {"s": 12}


@pytest.mark.case("case-T14")
def test_a_long_number_where_text_is_asked_for_is_the_same_digits() -> None:
    for digits in (1917043659912705296, 4200001234202501011234567890):
        message = mended(said(call("get_order", {"order_id": digits})), TOOLS)
        assert message.tool_calls[0]["args"] == {"order_id": str(digits)}
        assert faults(message, TOOLS) == []
        number = tool("f", {"n": {"type": ["string", "integer"]}, "m": {}})
        assert args_of({"n": digits, "m": digits}, number) == {"n": digits, "m": digits}


def test_an_argument_that_is_the_text_of_an_object_becomes_one_where_no_text_is_taken() -> None:
    ship = {"address": '{"city": "杭州"}', "second": '{"city": "null"}', "items": '[{"sku": "A"}]'}
    message = mended(said(call("ship", ship)), TOOLS)
    assert message.tool_calls[0]["args"] == {
        "address": {"city": "杭州"},
        "second": {"city": "null"},
        "items": [{"sku": "A"}],
    }
    assert faults(message, TOOLS) == []
    text = {"order_id": '{"a": 1}'}
    assert args_of(text, ORDER) is text or args_of(text, ORDER) == text
    assert args_of({"x": '{"a": 1'}, tool("f", {"x": {"type": "object"}})) == {"x": '{"a": 1'}
    assert args_of({"x": "[1]"}, tool("f", {"x": {"type": "object"}})) == {"x": "[1]"}


@pytest.mark.parametrize("inner", [GOOD, json.dumps(GOOD)], ids=["object", "text"])
def test_an_envelope_the_tool_does_not_know_is_opened(inner: object) -> None:
    assert args_of({"arguments": inner}, ORDER) == GOOD


def test_what_may_be_no_envelope_is_left_alone() -> None:
    own = tool("f", {"input": {"type": "object"}, "x": {}})
    for args in ({"input": {"x": 1}}, {"arguments": {"y": 1}}, {"arguments": {}}, {"arguments": {"x": 1}, "x": 2}):
        assert args_of(args, own) == args


@pytest.mark.case("case-T07")
def test_a_call_without_an_id_or_with_anothers_gets_its_own() -> None:
    message = said(call("get_order", GOOD), call("get_order", {"order_id": "B"}), call("opening_hours", {}, None))
    ids = [made["id"] for made in mended(message, TOOLS).tool_calls]
    assert ids[0] == "c1"
    assert len({*ids}) == 3
    assert all(ids)
    assert ids == [made["id"] for made in mended(message, TOOLS).tool_calls]


def test_a_chunk_stays_a_chunk_that_says_the_same_after_it_is_stored() -> None:
    message = mended(streamed(("functions.get_order", json.dumps(json.dumps(GOOD)))), TOOLS)
    assert isinstance(message, AIMessageChunk)
    [again] = messages_from_dict(messages_to_dict([message]))
    assert isinstance(again, AIMessageChunk)
    assert again.tool_calls == message.tool_calls == [call("get_order", GOOD)]
    assert again.invalid_tool_calls == []


def test_the_copies_of_a_call_say_the_same() -> None:
    raw = {"id": "c1", "type": "function", "function": {"name": "Get_Order", "arguments": '{"order_id":"null"}'}}
    blocks: list[Any] = [
        {"type": "text", "text": "…"},
        {"type": "tool_use", "id": "c1", "name": "Get_Order", "input": {"note": "null"}, "partial_json": "…"},
        {"type": "function_call", "id": "fc_1", "call_id": "c2", "name": "Get_Order", "arguments": '{"note": "null"}'},
    ]
    args = {**GOOD, "note": "null"}
    message = AIMessage(
        blocks,
        tool_calls=[call("Get_Order", args), call("Get_Order", args, "c2")],
        additional_kwargs={"tool_calls": [raw]},
    )
    whole = mended(message, TOOLS)
    right = {**GOOD, "note": None}
    assert whole.content == [
        blocks[0],
        {"type": "tool_use", "id": "c1", "name": "get_order", "input": right},
        {**blocks[2], "name": "get_order", "arguments": json.dumps(right)},
    ]
    function = whole.additional_kwargs["tool_calls"][0]["function"]
    assert function == {"name": "get_order", "arguments": json.dumps(right)}
    assert message.tool_calls[0]["name"] == "Get_Order"
    assert raw["function"]["name"] == "Get_Order"


def test_everything_else_of_the_message_stays() -> None:
    message = AIMessage(
        "我查一下", id="m1", name="shop", tool_calls=[call("Get_Order", GOOD)], response_metadata={"a": 1}
    )
    whole = mended(message, [ORDER, HOURS])
    assert (whole.text, whole.id, whole.name, whole.response_metadata) == ("我查一下", "m1", "shop", {"a": 1})


@pytest.mark.case("case-T07")
def test_calls_that_share_name_and_id_keep_each_its_own_text() -> None:
    pieces = ['"{\\"order_id\\":\\"A\\"}"', '{"a":1}{"a":1}']
    chunks = [{"name": "refund", "args": text, "id": "", "index": index} for index, text in enumerate(pieces)]
    message = mended(AIMessageChunk("", tool_call_chunks=chunks, chunk_position="last"), TOOLS)
    assert [chunk["args"] for chunk in message.tool_call_chunks] == ['{"order_id": "A"}', pieces[1]]
    assert [(fault.what, fault.arguments) for fault in faults(message, TOOLS)] == [
        ("unreadable", ()),
        ("missing", ("amount",)),
    ]
