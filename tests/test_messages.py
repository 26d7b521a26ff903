"""Reading a conversation: its language, and tool calls nobody answered."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_degrade.stages.messages import language_of


@pytest.mark.parametrize(
    ("questions", "language"),
    [
        (["我的订单到哪里了？", "DD1003"], "zh"),
        (["我的订单到哪里了？", "ok"], "zh"),
        (["我的订单到哪里了？", "Please answer in English"], "en"),
        (["Where is my order?", "DD1003"], "en"),
        (["Where is my order?", "好的"], "zh"),
        (["ok"], "en"),
        ([], "en"),
    ],
)
def test_an_order_number_has_no_language_of_its_own(questions: list[str], language: str) -> None:
    messages = [message for text in questions for message in (HumanMessage(text), AIMessage("…"))]
    assert language_of(messages) == language
