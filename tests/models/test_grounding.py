"""A tier that only words may say nothing of its own (spec M1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_degrade.stages.models.grounding import stray

FACTS = "- get_order: order: SO-1001, status: packed, total: 1299.00, city: 武汉, note: 已打包"
QUESTION = "Where is my order SO-1001? 我的订单到哪了？"


@pytest.mark.row("M1")
@pytest.mark.parametrize(
    "sentence",
    [
        "Hello! Your order SO-1001 is packed.",
        "Thank you for contacting us. The status of order SO-1001: packed, total 1,299.",
        "您好，您的订单 SO-1001 已打包，在武汉。",
        "ＳＯ－１００１ is packed",
        "",
    ],
)
def test_what_the_facts_say_may_be_said(sentence: str) -> None:
    assert stray(sentence, FACTS, QUESTION) is None


@pytest.mark.row("M1")
@pytest.mark.parametrize(
    ("sentence", "made_up"),
    [
        ("Your order SO-1002 is packed.", "1002"),
        ("Your order is not packed.", "not"),
        ("Your order was refunded.", "refunded"),
        ("We will send it, the total is 1299.", "will"),
        ("The total is 1299.50.", "1299.50"),
        ("您的订单没有打包。", "没"),
        ("您的订单已退款。", "退"),
        ("您的订单 SO-１００３", "1003"),
        ("Your order ships in two days.", "ships"),
        ("It isn't packed.", "isn't"),
    ],
)
def test_what_they_do_not_say_is_found(sentence: str, made_up: str) -> None:
    assert stray(sentence, FACTS, QUESTION) == made_up


@given(st.text(max_size=80), st.text(max_size=80))
def test_a_text_holds_itself_and_nothing_foreign_crashes_it(text: str, other: str) -> None:
    assert stray(text, text) is None
    found = stray(text, other)
    assert found is None or found
