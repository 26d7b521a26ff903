"""The customer is asked for what is missing."""

from __future__ import annotations

import re
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from langgraph_degrade.stages.selecting import faults, question_for
from langgraph_degrade.texts import Language, text
from tests.selecting import TOOLS, call, said, streamed, tool

pytestmark = pytest.mark.row("L1")


def asked(message: AIMessage, language: Language = "zh", tools: list[dict[str, Any]] = TOOLS) -> str:
    return question_for(faults(message, tools), (), tools, language)


def about(schema: dict[str, Any], language: Language = "zh", name: str = "x") -> str:
    """What the one missing argument is called."""
    question = question_for("f", [name], [tool("f", {name: schema}, name)], language)
    pattern = r"以免弄错：(.*)。$" if language == "zh" else r"than guess: (.*)\.$"
    found = re.search(pattern, question)
    assert found, question
    return found[1]


def test_one_thing_is_asked_for_in_one_sentence() -> None:
    assert asked(said(call("get_order", {}))) == "还需要您补充一项信息，以免弄错：订单号。"
    assert asked(said(call("get_order", {})), "en") == (
        "One thing I still need from you, as I would rather ask than guess: the order number."
    )


def test_several_things_are_asked_for_at_once_and_each_once() -> None:
    message = said(call("refund", {"way": "cash"}), call("get_order", {}, "c2"))
    assert asked(message).splitlines() == [
        "还需要您补充以下信息，以免弄错：",
        "- 订单号",
        "- 金额",
        "- 退款方式（可选：original、balance）",
    ]


def test_nested_arguments_are_asked_for_by_their_own_names() -> None:
    assert asked(said(call("ship", {"address": {}}))) == "还需要您补充一项信息，以免弄错：城市。"
    assert asked(said(call("ship", {"address": {"city": "A"}, "items": [{}]}))) == (
        "还需要您补充一项信息，以免弄错：商品编号。"
    )


def test_of_a_call_that_cannot_be_read_all_that_the_tool_requires_is_asked_for() -> None:
    for message in (streamed(("refund", '{"order_id":"SO-1')), said(given_up=(call("refund", "[1]"),))):
        assert asked(message).splitlines()[1:] == ["- 订单号", "- 金额"]


@pytest.mark.parametrize(
    "message",
    [
        said(call("send_sms", {"phone": "1"})),
        said(call("opening_hours", {}), finish_reason="length"),
        said(call("refund", {"order_id": "A", "amount": 1, "colour": "red"})),
        AIMessage(""),
    ],
)
def test_where_nothing_certain_is_missing_the_question_is_open_never_blank(message: AIMessage) -> None:
    for language in ("zh", "en"):
        assert asked(message, language) == text("ask.open", language)


def test_a_tool_may_be_named_with_what_it_lacks() -> None:
    assert question_for("refund", ["amount"], TOOLS, "zh") == "还需要您补充一项信息，以免弄错：金额。"
    assert question_for("refund", [], TOOLS, "zh").splitlines()[1:] == ["- 订单号", "- 金额"]
    assert question_for("refund", ["no_such"], TOOLS, "zh") == text("ask.open", "zh")
    assert question_for("no_such", ["amount"], TOOLS, "en") == text("ask.open", "en")
    more = question_for(faults(said(call("refund", {"order_id": "A"})), TOOLS), ["way"], TOOLS, "zh")
    assert more.splitlines()[1:] == ["- 金额", "- 退款方式（可选：original、balance）"]


@pytest.mark.parametrize(
    ("schema", "language", "label"),
    [
        ({"description": "收货人姓名（必填，string）"}, "zh", "收货人姓名"),
        ({"description": "收货人姓名，格式：张三"}, "zh", "收货人姓名"),
        ({"description": "The date you want it, e.g. 2025-01-01. ISO 8601."}, "en", "The date you want it"),
        ({"description": "JSON string of the parameter", "title": "Delivery day"}, "en", "Delivery day"),
        ({"description": "Delivery day", "title": "送货日期"}, "zh", "送货日期"),
        ({"description": "Delivery day"}, "zh", "Delivery day"),
        ({"description": "收货人姓名"}, "en", "x"),
        (
            {"description": "One of the ids that stand in the second column of the table the warehouse sends us"},
            "en",
            "x",
        ),
    ],
    ids=str,
)
def test_the_schemas_words_are_used_where_a_customer_can_read_them(schema: Any, language: Language, label: str) -> None:
    assert about(schema, language) == label


@pytest.mark.parametrize(
    ("name", "chinese", "english"),
    [("orderId", "订单号", "the order number"), ("tracking_number", "物流单号", "the tracking number"),
     ("deliveryDay", "delivery day", "delivery day")],
)  # fmt: skip
def test_an_argument_of_which_nothing_is_said_has_a_plain_name(name: str, chinese: str, english: str) -> None:
    assert about({"type": "string", "title": "Order Id"} if name == "orderId" else {}, "zh", name) == chinese
    assert about({}, "en", name) == english


def test_choices_are_offered_at_most_six() -> None:
    few = {"description": "方式", "enum": ["退货", "换货", None]}
    assert about(few) == "方式（可选：退货、换货）"
    many = {"description": "尺码", "enum": list(range(36, 46))}
    assert about(many) == "尺码（例如：36、37、38、39、40、41）"
    assert about({"enum": ["in_store", "at_home"]}, "en", "place") == "place (choose from: in store, at home)"


def test_choices_have_their_own_titles_and_truths_are_yes_and_no() -> None:
    titled = {"description": "方式", "oneOf": [{"const": "R", "title": "退货"}, {"const": "E", "title": "换货"}]}
    assert about(titled) == "方式（可选：退货、换货）"
    assert about({"description": "是否加急", "type": "boolean"}) == "是否加急（可选：是、否）"
    assert about({"description": "Urgent", "enum": [True]}, "en") == "Urgent (choose from: yes)"


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_customer_reads_no_technical_word_and_no_value_of_the_models(language: Language) -> None:
    message = said(call("refund", {"order_id": 13800138000, "amount": "RuntimeError: boom"}), call("ship", {}, "c2"))
    question = asked(message, language)
    assert not re.search(r"tool|argument|param|json|schema|refund|ship|_|工具|参数|Error|13800138000", question)


def test_not_everything_is_asked_for_at_once() -> None:
    names = [f"thing {number}" for number in range(20)]
    question = question_for("f", names, [tool("f", {name: {} for name in names})], "en")
    assert len(question.splitlines()) == 7


def test_a_policy_overrides_what_a_thing_is_called() -> None:
    own = {"en": {"ask.name.order_id": "your booking code"}}
    question = question_for("f", ["order_id"], [tool("f", {"order_id": {"type": "string"}}, "order_id")], "en", own)
    assert question.endswith("than guess: your booking code.")


def test_a_policy_overrides_the_question() -> None:
    wording = {"zh": {"ask.one": "亲，请问{what}是？"}}
    assert question_for("get_order", [], TOOLS, "zh", wording) == "亲，请问订单号是？"
