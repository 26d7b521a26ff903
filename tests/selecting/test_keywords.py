"""A tool call without a model, from a customer's own words."""

from __future__ import annotations

import re

import pytest

from langgraph_degrade.stages.selecting import KeywordTemplate, faults, from_keywords
from langgraph_degrade.stages.selecting.keywords import LONGEST
from tests.selecting import TOOLS

pytestmark = pytest.mark.row("L1")

NUMBER = re.compile(r"\b(SO-[0-9]{4})\b", re.ASCII | re.IGNORECASE)
ORDER = KeywordTemplate("get_order", ["订单", "物流", "到哪", "order", "track my order"], {"order_id": NUMBER})
HOURS = KeywordTemplate("opening_hours", ["营业时间", "几点开门", "opening hours", "open"])
REFUND = KeywordTemplate(
    "refund",
    ["退款", "退钱", "refund"],
    {"order_id": NUMBER, "amount": 1, "way": re.compile("(余额|原路)")},
    optional=["way"],
)
TEMPLATES = [ORDER, HOURS, REFUND]


def found(question: str, *templates: KeywordTemplate) -> tuple[str, dict[str, object]] | None:
    message = from_keywords(question, templates or TEMPLATES)
    return message and (message.tool_calls[0]["name"], message.tool_calls[0]["args"])


@pytest.mark.parametrize(
    ("question", "tool", "args"),
    [
        ("我的订单SO-1001到哪了？", "get_order", {"order_id": "SO-1001"}),
        ("Where is my order so-1001?", "get_order", {"order_id": "so-1001"}),
        ("订单 ＳＯ－１００１ 的物流", "get_order", {"order_id": "SO-1001"}),
        ("ＯＲＤＥＲ SO-1001", "get_order", {"order_id": "SO-1001"}),
        ("Track my\n order: SO-1001", "get_order", {"order_id": "SO-1001"}),
        ("查order进度 SO-1001，SO-1001 谢谢", "get_order", {"order_id": "SO-1001"}),
        ("周末几点开门", "opening_hours", {}),
        ("我要退款，SO-1001，退到余额", "refund", {"order_id": "SO-1001", "amount": 1, "way": "余额"}),
        ("refund SO-1001", "refund", {"order_id": "SO-1001", "amount": 1}),
    ],
)
def test_keywords_find_the_tool_and_patterns_its_arguments(question: str, tool: str, args: dict[str, object]) -> None:
    assert found(question) == (tool, args)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("", "nothing is asked"),
        ("你好 SO-1001", "no keyword"),
        ("border SO-1001 reordered", "not a word of its own"),
        ("我的订单到哪了？", "the number is missing"),
        ("订单 SO-1001 和 SO-1002 到哪了", "two numbers"),
        ("订单 SO-1001 退款", "two tools with one keyword each"),
        ("退款 SO-1001，余额还是原路？", "two ways"),
        ("订单的物流到哪了，或者退款 SO-10012", "the best template lacks its argument; the next is no substitute"),
    ],
)
def test_where_it_is_not_beyond_doubt_there_is_no_call(question: str, why: str) -> None:
    assert found(question) is None, why


def test_more_keywords_win() -> None:
    assert found("订单的物流，顺便问退款 SO-1001") == ("get_order", {"order_id": "SO-1001"})


def test_a_keyword_listed_twice_counts_once() -> None:
    assert found("退款 order", KeywordTemplate("a", ["退款", "退款"]), KeywordTemplate("b", ["order"])) is None


def test_a_text_that_is_too_long_is_not_searched() -> None:
    start = "订单 SO-1001 "
    assert found(start + "。" * (LONGEST - len(start))) is not None
    assert found(start + "。" * LONGEST) is None
    assert found(start + "\ufdfa" * (LONGEST - len(start))) is None  # eighteen characters each, in half width


def test_a_pattern_also_sees_the_text_as_it_was_typed() -> None:
    template = KeywordTemplate("f", ["订单"], {"x": re.compile("：(\\w+)")})
    assert found("订单：Ａ１", template) == ("f", {"x": "A1"})


def test_every_call_has_an_id_of_its_own_and_is_held_against_the_schema_like_any_other() -> None:
    first, second = (from_keywords("订单 SO-1001", TEMPLATES) for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.tool_calls[0]["id"] != second.tool_calls[0]["id"]
    assert faults(first, TOOLS) == []


@pytest.mark.parametrize("pattern", ["SO-[0-9]+", "(SO)-([0-9]+)"])
def test_a_pattern_without_exactly_one_group_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="exactly one group"):
        KeywordTemplate("f", ["订单"], {"x": re.compile(pattern)})


@pytest.mark.parametrize("keywords", [[], ["", " "], "订单"])
def test_a_template_without_keywords_is_refused(keywords: list[str]) -> None:
    with pytest.raises(ValueError, match="at least one word"):
        KeywordTemplate("f", keywords)
