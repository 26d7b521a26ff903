"""A tier that only words may say nothing of its own (spec M1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_degrade.stages.models.grounding import stray

RECORD = {
    "order_id": "SO-1001", "status": "packed", "amount": 1299.0, "pieces": 2, "city": "武汉", "note": "已打包",
    "remark": "do not bend", "eta": None,
}  # fmt: skip


@pytest.mark.row("M1")
@pytest.mark.parametrize(
    "sentence",
    [
        "Hello! Your order SO-1001 is packed.",
        "Thank you for contacting us. The status of order SO-1001: packed, amount 1,299.",
        "您好，SO-1001 已打包，在武汉。",
        "ＳＯ－１００１ is packed",
        "",
    ],
)
def test_what_the_record_says_may_be_said(sentence: str) -> None:
    assert stray(sentence, RECORD) is None


@pytest.mark.row("M1")
@pytest.mark.parametrize(
    ("sentence", "made_up"),
    [
        ("Your order SO-1002 is packed.", "1002"),
        ("Your order is not packed.", "not"),
        ("Your order is refunded.", "refunded"),
        ("We will send it.", "will"),
        ("The amount is 1299.50.", "1299.50"),
        ("The amount is 2.", "2"),
        ("pieces: 2, amount of 2", "2"),
        ("您的没有打包。", "没"),
        ("已退款。", "退"),
        ("SO-１００３ is packed", "1003"),
        ("SO-1001 ships in two days.", "ships"),
        ("It isn't packed.", "isn't"),
        ("Yes.", "yes"),
        ("The answer is 2.", "2"),
        ("It is 1,299.", "1,299"),
    ],
)
def test_what_it_does_not_say_is_found(sentence: str, made_up: str) -> None:
    assert stray(sentence, RECORD) == made_up


@given(st.text(max_size=80), st.text(max_size=80))
def test_nothing_foreign_crashes_it(text: str, other: str) -> None:
    found = stray(text, {other: text, "b": other})
    assert found is None or found
