"""What an application reads about one tool call."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from langgraph_degrade.failures import Failure
from langgraph_degrade.stages.tools.result import MAX_BYTES, Status, ToolResult

pytestmark = pytest.mark.row("E1")

FAILURE = Failure(
    "rate_limit", retry_after=30.0, status=429, reason="http 429", message="slow down", cause=ValueError("hunter2")
)
STALE = {
    "status": "stale",
    "data": {"stock": 3},
    "fallback_reason": "http 429",
    "age": 42.0,
    "source": "last_good",
    "failure": {"kind": "rate_limit", "status": 429, "retry_after": 30.0, "reason": "http 429"},
    "truncated": False,
}


def stale() -> ToolResult:
    return ToolResult.make(
        "stale", {"stock": 3}, fallback_reason="http 429", age=42.0, source="last_good", failure=FAILURE
    )


def size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())


def test_it_is_a_plain_dict_with_attribute_reads() -> None:
    result = stale()
    assert result == STALE
    for name, value in STALE.items():
        assert getattr(result, name) == value


def test_what_goes_into_a_message_is_no_class_of_ours() -> None:
    plain = stale().plain()
    assert type(plain) is dict
    assert plain == STALE
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_no_exception_and_none_of_its_text_gets_in() -> None:
    assert "hunter2" not in json.dumps(stale())
    assert "hunter2" not in json.dumps(ToolResult.make("unavailable", {"cause": ValueError("hunter2")}))


@pytest.mark.parametrize("status", ["ok", "stale", "partial", "unavailable", "unknown", "rejected"])
def test_a_bare_status_is_a_whole_result(status: Status) -> None:
    result = ToolResult.make(status)
    assert result.status == status
    assert (result.data, result.fallback_reason, result.age, result.source, result.failure) == (None,) * 5
    assert result.truncated is False


# --- messages ---


@pytest.mark.parametrize("place", ["artifact", "additional_kwargs"])
def test_it_is_read_back_from_its_message(place: str) -> None:
    extra: Any = (
        {"artifact": stale().plain()}
        if place == "artifact"
        else {"artifact": [1], "additional_kwargs": {"degrade": STALE}}
    )
    result = ToolResult.of(ToolMessage("3", tool_call_id="1", **extra))
    assert isinstance(result, ToolResult)
    assert result == STALE


@pytest.mark.parametrize(
    "message",
    [
        ToolMessage("3", tool_call_id="1"),
        ToolMessage("down", tool_call_id="1", status="error"),
        ToolMessage("3", tool_call_id="1", artifact={"status": "ok", "data": 3}),
        ToolMessage("3", tool_call_id="1", artifact=[("status", "ok")]),
        ToolMessage("3", tool_call_id="1", additional_kwargs={"degrade": "rubbish"}),
        AIMessage("3", additional_kwargs={"degrade": STALE}),
        None,
        STALE,
    ],
)
def test_where_there_is_none_none_is_made_up(message: Any) -> None:
    assert ToolResult.of(message) is None


CHECKPOINTED = """
import json, sqlite3, sys
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_degrade.failures import Failure
from langgraph_degrade.stages.tools.result import ToolResult

result = ToolResult.make(
    "stale",
    {"stock": 3, "id": 4200001234202501011234567890, "note": "a\\ud83d\\0", "rate": float("nan"), "tags": ("x",), "长": {1}},
    fallback_reason="http 429", age=42.5, source="last_good", failure=Failure("rate_limit", retry_after=3.0, status=429),
)
def answer(state):
    plain = result.plain()
    return {"messages": [
        ToolMessage("3", tool_call_id="1", artifact=plain),
        ToolMessage("3", tool_call_id="2", artifact=["own"], additional_kwargs={"degrade": plain}),
    ]}
builder = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
for saver in (InMemorySaver(), SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False))):
    graph = builder.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "1"}}
    before = graph.invoke({"messages": []}, config)["messages"]
    after = builder.compile(checkpointer=saver).get_state(config).values["messages"]
    for message in (*before, *after):
        found = ToolResult.of(message)
        assert type(found) is ToolResult and found == result, found
        print(found.status, json.dumps(found.data, sort_keys=True))
"""


@pytest.mark.case("case-T14")
@pytest.mark.case("case-X07")
@pytest.mark.case("case-X08")
def test_it_reads_the_same_before_and_after_a_strict_checkpoint() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", CHECKPOINTED],
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr == ""
    line = (
        'stale {"id": "4200001234202501011234567890", "note": "a\\ufffd", "rate": null, "stock": 3, '
        '"tags": ["x"], "\\u957f": [1]}'
    )
    assert run.stdout.splitlines() == [line] * 8


# --- data ---


def test_the_data_is_a_copy() -> None:
    own = {"items": [{"sku": "A"}]}
    result = ToolResult.make("ok", own)
    own["items"][0]["sku"] = "B"
    assert result.data == {"items": [{"sku": "A"}]}


def test_data_that_is_no_json_is_made_json() -> None:
    result = ToolResult.make("ok", {"rate": math.inf, "at": (1, 2), "id": 2**70, "by": {2, 1}})
    assert result.data == {"rate": None, "at": [1, 2], "id": str(2**70), "by": [1, 2]}
    assert result.truncated is False


def test_data_that_cannot_be_told_is_left_out_openly() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert ToolResult.make("ok", loop) == {**ToolResult.make("ok"), "truncated": True}


WIDE = {"rows": [{"id": f"SO-{number}", "text": "订单状态" * 20, "price": number / 7} for number in range(50_000)]}


@pytest.mark.parametrize(
    "data",
    [
        WIDE,
        "日" * 3_400_000,
        {"log": "x" * 10_000_000},
        list(range(2_000_00)),
        {f"key {number}": number for number in range(100_000)},
        {"k" * 100_000: 1},
        [['\n\t\\"' * 9_000]],
        [[[["x" * 90] * 90] * 90]],
    ],
    ids=["rows", "text", "log", "numbers", "map", "long key", "escapes", "nested"],
)
def test_large_data_is_cut_to_32_kilobytes_of_valid_json(data: Any) -> None:
    result = ToolResult.make("ok", data)
    assert result.truncated is True
    assert size(result.data) <= MAX_BYTES
    assert json.loads(json.dumps(result.data)) == result.data
    assert "…" in json.dumps(result.data, ensure_ascii=False)


def test_what_was_cut_keeps_its_shape_and_says_how_much_is_missing() -> None:
    data = cast("dict[str, Any]", ToolResult.make("ok", WIDE).data)
    rows = data["rows"]
    assert rows[0] == WIDE["rows"][0]
    assert rows[-1] == f"… {50_000 - len(rows) + 1} more"
    text = cast("str", ToolResult.make("ok", "x" * 100_000).data)
    kept = text.partition("…")[0]
    assert text == f"{kept}… {100_000 - len(kept)} more"
    table = cast("dict[str, Any]", ToolResult.make("ok", {str(number): "x" * 50 for number in range(5000)}).data)
    assert table["…"] == f"{5000 - len(table) + 1} more"


@pytest.mark.parametrize(
    "data", ["x" * (MAX_BYTES - 2), ["订" * 10_000], [0] * 10_000], ids=["ascii", "chinese", "numbers"]
)
def test_data_that_just_fits_is_whole(data: Any) -> None:
    result = ToolResult.make("ok", data)
    assert result.truncated is False
    assert result.data == data
