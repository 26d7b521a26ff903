"""Replies to the numbered menu: tolerant of how they are wrapped, never of what they say (spec M2, L1, M5)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_degrade.failures import Failure
from langgraph_degrade.stages.models.numbered import read_reply

pytestmark = pytest.mark.row("M2")


def _tool(name: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


TOOLS = [
    _tool("get_order", {"id": {"type": "string"}}, ["id"]),
    _tool(
        "refund", {"order_id": {"type": "string"}, "amount": {"type": "integer", "minimum": 1}}, ["order_id", "amount"]
    ),
    _tool("ping", {}, []),
]
GOOD = '{"tool": "get_order", "number": 1, "arguments": {"id": "A7"}}'


def _read(text: str, **rest: Any) -> AIMessage:
    reply = read_reply(text, TOOLS, **rest)
    assert isinstance(reply, AIMessage), reply
    return reply


def _refused(text: str, **rest: Any) -> Failure:
    reply = read_reply(text, TOOLS, **rest)
    assert isinstance(reply, Failure), reply
    return reply


def _called(text: str, **rest: Any) -> tuple[str, dict[str, Any]]:
    (call,) = _read(text, **rest).tool_calls
    return call["name"], call["args"]


@pytest.mark.case("case-T10")
@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Sure, here it is: {GOOD} Anything else?",
        f"好的：{GOOD}。请稍等",
        f"<tool_call>{GOOD}</tool_call>",
        f"Using {{this}}: {GOOD}",
        f"{GOOD}\n{GOOD}",
        '[{"name":"get_order","arguments":{"id":"A7"}}]',
        '{"tool_name":"get_order","tool_input":{"id":"A7"}}',
        '{"number": "1", "arguments": {"id": "A7"}}',
        '{"number": "get_order", "arguments": {"id": "A7"}}',
        '{"编号": 1, "参数": {"id": "A7"}}',
        '{"number": 1, "id": "A7"}',
        '{"number": 1, "arguments": "{\\"id\\": \\"A7\\"}"}',
    ],
)
def test_however_it_is_wrapped_a_whole_reply_is_a_call(text: str):
    assert _called(text) == ("get_order", {"id": "A7"})


@pytest.mark.parametrize("answer", ["Good morning!", "您好！请提供订单号。"])
def test_number_0_is_an_answer_in_plain_words(answer: str):
    reply = _read(json.dumps({"tool": "none", "number": 0, "text": answer}, ensure_ascii=False))
    assert (reply.text, reply.tool_calls) == (answer, [])


@pytest.mark.row("M5")
@pytest.mark.case("case-T01")
@pytest.mark.parametrize("end", range(1, len('{"number": 2, "arguments": {"order_id": "SO-1001", "amount": 1299}}')))
def test_a_cut_reply_is_never_a_call(end: int):
    text = '{"number": 2, "arguments": {"order_id": "SO-1001", "amount": 1299}}'[:end]
    assert _refused(text).kind == "malformed_call"


@pytest.mark.row("M5")
@pytest.mark.case("case-T01")
def test_a_reply_that_ended_for_its_length_is_no_call_though_it_is_json():
    failure = _refused(GOOD, finish_reason="length")
    assert (failure.kind, "length" in failure.reason) == ("malformed_call", True)
    assert _refused("The answer is", finish_reason="length").kind == "schema"


@pytest.mark.case("case-T10")
def test_a_lost_brace_is_not_put_back():
    assert _refused('<tool_call>{"name":"get_order","arguments":{"id":"A"}').kind == "malformed_call"


def test_what_stands_inside_a_broken_object_is_not_a_reply():
    assert _refused(f'{{"note": oops, "then": {GOOD}}}').kind == "malformed_call"
    assert _refused(f"{{note: {GOOD}}}").kind == "malformed_call"


@pytest.mark.row("L1")
@pytest.mark.case("case-T04")
@pytest.mark.parametrize(
    "choice",
    ['"number": 4', '"number": -1', '"number": 1.5', '"number": true', '"tool": "drop_table"', '"tool": ""', '"number": "１２"',
     '"tool": "get_order", "number": 3', '"other": 1'],
)  # fmt: skip
def test_an_invented_tool_is_never_called(choice: str):
    assert _refused(f'{{{choice}, "arguments": {{"id": "A7"}}}}').kind == "malformed_call"


@pytest.mark.row("L1")
@pytest.mark.parametrize(
    "arguments",
    ['{"order_id": "A7"}', '{"order_id": "A7", "amount": 0}', '{"order_id": "A7", "amount": "many"}', '{"order_id": "A7", "amount": 5, "now": 1}',
     '{"order_id": "A7", "amount": NaN}', '{"order_id": "A7", "order_id": "A8", "amount": 5}', '{"order_id": null, "amount": 5}'],
)  # fmt: skip
def test_missing_or_invalid_arguments_are_a_failure(arguments: str):
    assert _refused(f'{{"number": 2, "arguments": {arguments}}}').kind == "malformed_call"


@pytest.mark.case("case-T05")
@pytest.mark.parametrize("arguments", ['""', "null", '"null"', "{}"])
def test_no_arguments_are_enough_where_none_are_required(arguments: str):
    assert _called(f'{{"number": 3, "arguments": {arguments}}}') == ("ping", {})
    assert _refused(f'{{"number": 1, "arguments": {arguments}}}').kind == "malformed_call"


@pytest.mark.case("case-T05")
@pytest.mark.parametrize("arguments", ["[1, 2]", "42", '"42"', '"[1, 2]"', '"not json"'])
def test_arguments_that_are_no_object_are_a_failure(arguments: str):
    assert _refused(f'{{"number": 3, "arguments": {arguments}}}').kind == "malformed_call"


@pytest.mark.case("case-T14")
def test_a_long_numeric_id_is_a_text_to_the_last_digit():
    number = 4200001234202501011234567890
    assert _called(f'{{"number": 1, "arguments": {{"id": {number}}}}}') == ("get_order", {"id": str(number)})


@pytest.mark.case("case-T07")
def test_every_call_has_an_id_of_its_own():
    assert len({_read(GOOD).tool_calls[0]["id"] for _ in range(3)}) == 3


def test_two_different_calls_in_one_reply_are_refused():
    assert _refused(GOOD + GOOD.replace("A7", "A8")).kind == "malformed_call"


@pytest.mark.parametrize("text", ["I will look it up.", "我来查一下", "[1, 2]"])
def test_a_reply_without_json_is_a_schema_failure(text: str):
    assert _refused(text).kind == "schema"


@pytest.mark.parametrize("text", ["", "  \n", '{"number": 0, "text": " "}', '{"number": 0}'])
def test_a_reply_that_says_nothing_is_empty(text: str):
    assert _refused(text).kind == "empty"


@pytest.mark.row("L1")
@pytest.mark.parametrize(
    ("said", "given", "is_right"),
    [
        ("refund 5 yuan of A7", "A7", True),
        ("退 a7 的 5 元", "A7", True),
        ("退Ａ７的五块钱", "A7", True),
        ("refund 5 yuan of A 7", "A7", True),
        ("refund 5 yuan of A71", "A7", False),
        ("refund 5 yuan of my order", "A7", False),
        ("refund A7", "A7", False),
    ],
)
def test_an_id_or_a_number_nobody_said_is_invented(said: str, given: str, is_right: bool):
    messages: list[BaseMessage] = [HumanMessage(said)]
    text = json.dumps({"number": 2, "arguments": {"order_id": given, "amount": 5}})
    assert isinstance(read_reply(text, TOOLS, messages=messages), AIMessage) is is_right


def test_an_id_is_known_from_a_result_but_not_from_the_models_own_words():
    own: list[BaseMessage] = [HumanMessage("my order"), AIMessage("A7?"), HumanMessage("yes")]
    assert _refused(GOOD, messages=own).kind == "malformed_call"
    assert _called(GOOD, messages=[*own, ToolMessage("orders: A7", tool_call_id="c1")]) == ("get_order", {"id": "A7"})


def test_a_reason_repeats_nothing_a_customer_said():
    failure = _refused('{"number": 2, "arguments": {"order_id": "SECRET-1", "amount": -5, "SECRET-2": 1}}')
    assert "SECRET" not in failure.reason


@given(st.text(max_size=200))
def test_no_reply_whatever_raises_or_calls_what_is_not_on_offer(text: str):
    reply = read_reply(text, TOOLS)
    assert isinstance(reply, Failure) or {call["name"] for call in reply.tool_calls} <= {"get_order", "refund", "ping"}


@given(st.text(alphabet='{}[]":,0123 aegtlonumbr_\\', max_size=120))
def test_nor_does_anything_that_looks_like_json(text: str):
    assert isinstance(read_reply(text, TOOLS), AIMessage | Failure)


@pytest.mark.parametrize("text", ["{" * 100_000, '{"a":' * 100_000, "{x} " * 50_000])
def test_a_looping_model_is_read_in_no_time(text: str):
    assert isinstance(read_reply(text, TOOLS), Failure)
