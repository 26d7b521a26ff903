"""What holds for every message."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage

from langgraph_degrade.stages.messages import is_whole
from langgraph_degrade.stages.selecting import as_failure, faults, mended, question_for, told
from tests.selecting import TOOLS

pytestmark = pytest.mark.row("L1")

SCHEMAS = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
NAMES = st.sampled_from([*SCHEMAS, "functions.refund", "Get_Order", "refunds", "", "查订单"]) | st.text(max_size=8)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["A", "null", "None", '{"city":"A"}', "[1]"])
)
VALUES = st.recursive(
    LEAVES | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["city", "sku", "x"]), inner, max_size=2)
    ),
    max_leaves=5,
)
KEYS = st.sampled_from(["order_id", "amount", "way", "note", "page", "address", "second", "items", "arguments", "x"])
RIGHT = st.sampled_from(
    [
        {"order_id": "A"},
        {"order_id": "A", "amount": 1},
        {"address": {"city": "A"}, "items": [{"sku": "B"}]},
        {"address": '{"city": "A"}', "second": "null"},
        {},
    ]
)
ARGS = RIGHT | st.dictionaries(KEYS, VALUES, max_size=4)
TEXTS = (
    ARGS.map(json.dumps)
    | st.tuples(ARGS.map(json.dumps), st.integers(0, 30)).map(lambda cut: cut[0][: cut[1]])
    | ARGS.map(lambda args: json.dumps(json.dumps(args)))
    | st.sampled_from(["", "null", "[1]", "42", '{"a":1}{"a":1}', "x"])
)
IDS = st.none() | st.sampled_from(["", "c1", "c2", "c3"])
REASONS = st.sampled_from(["tool_calls", "stop", "length", None])


@st.composite
def whole(draw: st.DrawFn) -> AIMessage:
    calls = draw(st.lists(st.tuples(NAMES, ARGS, IDS), max_size=3))
    broken = draw(st.lists(st.tuples(st.none() | NAMES, st.none() | TEXTS, IDS), max_size=2))
    return AIMessage(
        draw(st.sampled_from(["", "好的"])),
        tool_calls=[{"name": name, "args": args, "id": id} for name, args, id in calls],
        invalid_tool_calls=[{"name": name, "args": args, "id": id, "error": None} for name, args, id in broken],
        response_metadata={"finish_reason": draw(REASONS)},
    )


@st.composite
def chunks(draw: st.DrawFn) -> AIMessage:
    calls = draw(st.lists(st.tuples(st.none() | NAMES, st.none() | TEXTS, IDS), max_size=3))
    return AIMessageChunk(
        "",
        tool_call_chunks=[
            {"name": name, "args": args, "id": id, "index": index} for index, (name, args, id) in enumerate(calls)
        ],
        response_metadata={"finish_reason": draw(REASONS)},
        chunk_position="last",
    )


MESSAGES = whole() | chunks()


@settings(max_examples=100, deadline=None)
@given(MESSAGES, st.sampled_from(["zh", "en"]))
def test_told_answers_every_call_exactly_once_and_a_strict_provider_takes_it(message: AIMessage, language: Any) -> None:
    conversation = told(faults(message, TOOLS), message, language)
    count = len(message.tool_calls) + len(message.invalid_tool_calls)
    assert len(conversation) == (count + 1 if count else 0)
    if not count:
        return
    kept, *answers = conversation
    assert isinstance(kept, AIMessage)
    assert kept.invalid_tool_calls == []
    ids = [call["id"] for call in kept.tool_calls]
    assert all(ids)
    assert len(set(ids)) == count
    assert ids == [answer.tool_call_id for answer in answers if isinstance(answer, ToolMessage)]
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call["name"]) for call in kept.tool_calls)
    assert all(isinstance(call["args"], dict) for call in kept.tool_calls)
    assert all(str(answer.content).strip() for answer in answers)
    assert is_whole(conversation)


def _validates(message: AIMessage) -> bool:
    if message.invalid_tool_calls or message.response_metadata.get("finish_reason") == "length":
        return not message.tool_calls and not message.invalid_tool_calls
    return all(
        call["name"] in SCHEMAS and jsonschema.Draft202012Validator(SCHEMAS[call["name"]]).is_valid(call["args"])
        for call in message.tool_calls
    )


@settings(max_examples=100, deadline=None)
@given(MESSAGES)
def test_no_faults_means_that_every_call_validates(message: AIMessage) -> None:
    for judged in (message, mended(message, TOOLS)):
        if not faults(judged, TOOLS):
            assert _validates(judged)
            for chunk in getattr(judged, "tool_call_chunks", ()):
                assert isinstance(json.loads(chunk["args"] or "{}"), dict)


@settings(max_examples=100, deadline=None)
@given(whole())
def test_a_fault_means_that_something_does_not_validate(message: AIMessage) -> None:
    finite = "NaN" not in (said := json.dumps([call["args"] for call in message.tool_calls])) and "Infinity" not in said
    if finite and _validates(message):
        assert faults(message, TOOLS) == []


@settings(max_examples=100, deadline=None)
@given(MESSAGES)
def test_mending_ends_at_once_and_never_makes_a_call_or_loses_one(message: AIMessage) -> None:
    better = mended(message, TOOLS)
    assert type(better) is type(message)
    assert mended(better, TOOLS) is better
    assert len(better.tool_calls) + len(better.invalid_tool_calls) == len(message.tool_calls) + len(
        message.invalid_tool_calls
    )
    if not faults(message, TOOLS):
        assert [(call["name"]) for call in better.tool_calls] == [call["name"] for call in message.tool_calls]


@settings(max_examples=100, deadline=None)
@given(MESSAGES, st.sampled_from(["zh", "en"]))
def test_there_is_always_something_to_say(message: AIMessage, language: Any) -> None:
    found = faults(message, TOOLS)
    assert question_for(found, (), TOOLS, language).strip()
    assert (as_failure(found) is None) == (not found)
