"""What a real server once answered, kept on tape: llama.cpp with Qwen2.5-Coder-0.5B, through ChatOpenAI in a chain."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import vcr  # type: ignore[import-untyped]  # has no types
import yaml
from langchain_openai import ChatOpenAI

from langgraph_degrade import Degrader, Event, KeywordTemplate, Tier
from tests.models.wire import STREAMS, ask

TAPES = Path(__file__).parent / "cassettes"
ORDER = {
    "type": "function",
    "function": {
        "name": "get_order",
        "description": "Look an order up by its number.",
        "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
    },
}
QUESTION = "Where is my order SO-1001?"


class Taped:
    """A chain of one tier whose server is a tape, and what was recorded of it."""

    def __init__(self, **options: Any) -> None:
        self.events: list[Event] = []
        client = ChatOpenAI(model="local", base_url="http://localhost/v1", api_key="made-up", temperature=0)  # type: ignore[arg-type]
        self.model = Degrader(listeners=[self.events.append]).chat_model([Tier("main", client)], **options)

    @staticmethod
    @contextmanager
    def by(name: str) -> Generator[Any]:
        """Everything that goes out is answered by this tape, or fails."""
        with vcr.use_cassette(str(TAPES / f"{name}.yaml"), record_mode="none") as tape:
            yield tape
            assert tape.all_played


@pytest.mark.row("M1")
@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_an_answer_is_given_out_as_it_came(way: str) -> None:
    taped = Taped()
    with taped.by("plain"):
        answer = ask(taped.model, way, "What is the capital of France? Answer in one word.")
    assert (answer.text, answer.response_metadata["tier"]) == ("Paris", "main")
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["total_tokens"] == 43
    assert taped.events == []


@pytest.mark.row("M5")
@pytest.mark.parametrize("way", STREAMS)
def test_a_stream_is_given_out_whole(way: str) -> None:
    taped = Taped()
    with taped.by("streamed"):
        answer = ask(taped.model, way, "Name three colours, in one short line.")
    assert answer.text == "Red, Blue, Green"
    assert answer.response_metadata["finish_reason"] == "stop"
    assert taped.events == []


@pytest.mark.row("M1")
@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_a_tool_call_is_given_out_with_the_text_beside_it(way: str) -> None:
    taped = Taped()
    with taped.by("tool_call"):
        answer = ask(taped.model.bind_tools([ORDER], tool_choice="required"), way, QUESTION)
    assert [(call["name"], call["args"]) for call in answer.tool_calls] == [("get_order", {"order_id": "SO-1001"})]
    assert answer.text == "```json\n"
    assert taped.events == []


@pytest.mark.row("L1")
@pytest.mark.case("case-T10")
@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_a_call_the_server_left_in_the_text_is_not_shown_and_the_customers_words_choose(way: str) -> None:
    words = KeywordTemplate("get_order", ["order"], {"order_id": re.compile(r"(SO-\d{4})")})
    taped = Taped(keywords=[words])
    with taped.by("call_as_text"):
        answer = ask(taped.model.bind_tools([ORDER]), way, QUESTION)
    assert [(call["name"], call["args"]) for call in answer.tool_calls] == [("get_order", {"order_id": "SO-1001"})]
    assert answer.text == ""
    assert {event.kind for event in taped.events} == {"malformed_call"}
    assert taped.events[-1].source == "keywords"


@pytest.mark.parametrize("path", sorted(TAPES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_tape_holds_neither_secrets_nor_a_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert (
        re.search(r"(?i)authorization|cookie|bearer|127\.0\.0\.1|localhost:|/(home|root|tmp|work|Users)/", text) is None
    )
    for interaction in yaml.safe_load(text)["interactions"]:
        assert interaction["request"]["uri"] == "http://localhost/v1/chat/completions"
        headers = {*interaction["request"]["headers"], *interaction["response"]["headers"]}
        assert {name.lower() for name in headers} <= {"accept", "content-type"}
