"""Wrong calls as they come over a real wire, through a real client, and go back over it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI

from langgraph_degrade.stages.selecting import faults, mended, told
from tests.selecting import TOOLS
from tests.servers.clients import CHATS, ask
from tests.servers.faults import FaultServer, Reply, json_reply, sse

pytestmark = pytest.mark.row("L1")


def reply(way: str, name: str, arguments: str, reason: str) -> Reply:
    made: dict[str, Any] = {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}
    if "stream" not in way:
        message = {"role": "assistant", "content": None, "tool_calls": [made]}
        return json_reply({"choices": [{"index": 0, "finish_reason": reason, "message": message}], "model": "m"})
    half = len(arguments) // 2
    head = {**made, "index": 0, "function": {"name": name, "arguments": arguments[:half]}}
    rest = {"index": 0, "function": {"arguments": arguments[half:]}}
    return sse(
        [
            *({"choices": [{"index": 0, "delta": {"tool_calls": [part]}}]} for part in (head, rest)),
            {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        ]
    )


@pytest.mark.parametrize("way", CHATS)
@pytest.mark.parametrize(
    ("name", "arguments", "reason", "what"),
    [
        pytest.param(
            "refund",
            '{"order_id":"SO-1001","amount":12',
            "length",
            "cut",
            marks=pytest.mark.case("case-T01"),
            id="length",
        ),
        pytest.param(
            "refund",
            '{"order_id":"SO-10',
            "tool_calls",
            "cut",
            marks=pytest.mark.case("case-T02"),
            id="reason rewritten",
        ),
        pytest.param("", "{}}", "tool_calls", "invented", marks=pytest.mark.case("case-T04"), id="no name"),
        pytest.param(
            "refund", '{"a":1}{"a":1}', "tool_calls", "unreadable", marks=pytest.mark.case("case-T04"), id="extra data"
        ),
        pytest.param("refund", "null", "tool_calls", "missing", marks=pytest.mark.case("case-T05"), id="null"),
    ],
)
def test_a_wrong_call_is_the_same_fault_in_every_way_of_asking_and_can_be_sent_back(
    server: FaultServer, model: ChatOpenAI, way: str, name: str, arguments: str, reason: str, what: str
) -> None:
    server.script(reply(way, name, arguments, reason))
    message = mended(ask(model, way), TOOLS)
    found = faults(message, TOOLS)
    assert {fault.what for fault in found} == {what}
    server.script(reply("invoke", "opening_hours", "{}", "tool_calls"))
    model.invoke([HumanMessage("退款"), *told(found, message, "zh")])
    _, sent, answer = server.requests[0].json()["messages"]
    assert [made["id"] for made in sent["tool_calls"]] == [answer["tool_call_id"]] == ["c1"]
    assert sent["tool_calls"][0]["function"] == {"name": name or "unknown_tool", "arguments": "{}"}


@pytest.mark.case("case-T05")
@pytest.mark.parametrize(
    ("name", "arguments", "args"),
    [
        ("get_order", '"{\\"order_id\\":\\"A\\"}"', {"order_id": "A"}),
        ("opening_hours", "null", {}),
        ("opening_hours", "", {}),
    ],
)
def test_a_streamed_call_that_says_it_another_way_is_run(
    server: FaultServer, model: ChatOpenAI, name: str, arguments: str, args: dict[str, Any]
) -> None:
    server.script(reply("stream", name, arguments, "tool_calls"))
    message = mended(ask(model, "stream"), TOOLS)
    assert faults(message, TOOLS) == []
    assert [made["args"] for made in message.tool_calls] == [args]
