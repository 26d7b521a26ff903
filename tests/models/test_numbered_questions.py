"""The questions a real model is measured with: whatever it says, the right reply is one it may give and we accept."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from langchain_core.messages import AIMessage

from benchmarks.prompt_swap import wilson
from benchmarks.questions import Question, load
from langgraph_degrade.stages.models.numbered import menu, read_reply, reply_format

pytestmark = pytest.mark.row("M2")

SHOP = [(tools, question) for size in (4, 12) for tools, questions in [load("shop", size)] for question in questions]


def _right_reply(question: Question, tools: list[dict[str, Any]]) -> dict[str, Any]:
    if question.tool is None:
        return {"tool": "none", "number": 0, "text": "Hello"}
    names = [tool["function"]["name"] for tool in tools]
    arguments = {name: _one(wanted) for name, wanted in question.arguments.items()}
    return {"tool": question.tool, "number": names.index(question.tool) + 1, "arguments": arguments}


def _one(wanted: Any) -> Any:
    return wanted["any"][0] if isinstance(wanted, dict) else wanted


def test_there_are_questions_enough_in_both_languages():
    _, questions = load("shop", 12)
    assert len(questions) >= 60
    assert min(sum(one.language == language for one in questions) for language in ("zh", "en")) >= 30


@pytest.mark.parametrize(("tools", "question"), SHOP)
def test_the_right_reply_is_one_the_form_allows_and_the_reader_accepts(tools: list[dict[str, Any]], question: Question):
    reply = _right_reply(question, tools)
    form = reply_format(tools, question.messages)
    assert jsonschema_rs.is_valid(form["json_schema"]["schema"], reply)
    read = read_reply(json.dumps(reply, ensure_ascii=False), tools, messages=question.messages)
    assert isinstance(read, AIMessage), read
    if question.tool is not None:
        (call,) = read.tool_calls
        assert call["name"] == question.tool
        assert question.is_right(call["args"])


@pytest.mark.parametrize("size", [4, 12])
def test_the_part_before_the_question_is_the_same_for_every_question_of_a_language(size: int):
    """A server keeps it in its cache: only the question itself costs time."""
    tools, questions = load("shop", size)
    for language in ("zh", "en"):
        heads = {
            tuple(str(one.text) for one in menu(tools, question.messages, language=language)[:-1])
            for question in questions
            if question.language == language
        }
        assert len(heads) == 1


def test_a_confidence_interval_holds_its_rate_and_stays_within_bounds():
    low, high = wilson(40, 42)
    assert 0 <= low < 100 * 40 / 42 < high <= 100
    assert (round(low, 1), round(high, 1)) == (84.2, 98.7)
    assert wilson(0, 0) == (0.0, 100.0)
