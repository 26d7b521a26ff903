"""The rule-driven stand-in for a model: what it says. One rule set for everybody.

It repeats what its tools say. A bare result it presents as the latest information, as models do; text that comes with
a result, or in its place, it passes on (in the customer's language). "Success, no data" it takes at its word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from examples.customer_service.rules import Call, Dialogue, lacks_article

UNSURE = re.compile(
    r"unknown|not known|not certain|may or may not|cannot (tell|confirm)|不确定|未知|无法确认|不清楚", re.IGNORECASE
)
SUBJECTS = {
    "get_order": ("订单 {order_id} 的信息", "the details of order {order_id}"),
    "get_stock": ("{sku} 的库存", "the stock of {sku}"),
    "get_logistics": ("订单 {order_id} 的物流信息", "the tracking of order {order_id}"),
    "create_ticket": ("订单 {order_id} 的售后工单", "the after-sales ticket for order {order_id}"),
    "find_tickets": ("订单 {order_id} 的售后工单", "the after-sales ticket of order {order_id}"),
    "refund_order": ("订单 {order_id} 的 {amount} 元退款", "the refund of {amount} yuan for order {order_id}"),
    "find_refunds": ("订单 {order_id} 的退款", "the refund of order {order_id}"),
    "find_shipments": ("订单 {order_id} 的分批发货", "the part shipments of order {order_id}"),
    "now": ("订单 {order_id} 先发的 {quantity} 件", "shipping {quantity} of order {order_id} now"),
    "restock": (
        "订单 {order_id} 剩余 {quantity} 件的到货后发货",
        "shipping the remaining {quantity} of order {order_id}",
    ),
}
FACTS = {
    "get_order": (
        "订单 {order_id}（{product} {quantity} 件，共 {amount} 元）的状态是{status_zh}",
        "order {order_id} ({product_en}, {quantity} pcs, {amount} yuan) has the status: {status}",
    ),
    "get_stock": ("{product}（{sku}）库存 {stock} 件", "{product_en} ({sku}): {stock} pieces in stock"),
    "get_logistics": ("订单 {order_id} 的包裹在{city}", "the parcel of order {order_id} is in {city_en}"),
}
DONE = {
    "create_ticket": ("已为您建立{subject}{number}", "{subject} has been opened{number}"),
    "refund_order": ("{subject}已提交{number}", "{subject} has been submitted{number}"),
    "now": ("{subject}已安排发货{number}", "{subject}: this has been arranged{number}"),
    "restock": ("{subject}已登记{number}", "{subject}: this has been registered{number}"),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """A tool's text, read: the value in it, the words around it, and whether those words are a plain "no"."""

    value: Any = None
    note: str = ""
    bare: bool = True


def compose(dialogue: Dialogue) -> str:
    """Write the answer to the customer from the tools' texts."""
    zh = dialogue.chinese
    parts = [_sentence(call, read(call.result or ""), zh=zh) for call in dialogue.calls]
    if lacks_article(dialogue):
        parts.append("没有订单信息，库存暂时无法查询" if zh else "without the order I cannot look up the stock")
    if not parts:
        return "请告诉我订单号和需要办理的事项。" if zh else "Please tell me your order number and what you need."
    stop = "。" if zh else ". "
    return "".join(_capital(part).rstrip("。.! ") + stop for part in parts).strip()


def read(text: str) -> Reading:
    """Find the JSON value in a tool's text, and the words around it."""
    decoder = json.JSONDecoder()
    if text.strip() == "null":
        return Reading()
    for start in (found.start() for found in re.finditer(r"[\[{]", text)):
        try:
            value, end = decoder.raw_decode(text, start)
        except ValueError:
            continue
        return _open(value, f"{text[:start]} {text[end:]}".strip(" \n:："))
    return Reading(note=text.strip(), bare=False)


def _open(value: Any, note: str) -> Reading:
    if not isinstance(value, dict) or "code" not in value:
        return Reading(value, note)
    fields: Mapping[str, Any] = value
    if fields["code"] not in {0, "0", 200}:
        return Reading(note=str(fields.get("msg", "")), bare=False)
    return Reading(fields.get("data"), note)


def _sentence(call: Call, reading: Reading, *, zh: bool) -> str:
    kind = str(call.args["release"]) if call.tool == "ship_partial" else call.tool
    subject = SUBJECTS[kind][not zh].format(**call.args)
    if not reading.bare:
        return _passed_on(subject, reading.note, write=kind in DONE, zh=zh)
    if kind in DONE:
        said = DONE[kind][not zh].format(subject=subject, number=_number(reading.value, zh=zh))
    elif reading.value in (None, [], {}):
        said = f"没有查到{subject}" if zh else f"I found no record of {subject}"
    elif isinstance(reading.value, list):
        said = f"{subject}：{_listed(reading.value, zh=zh)}" if zh else f"{subject}: {_listed(reading.value, zh=zh)}"
    else:
        fields: dict[str, Any] = {"product": "", "product_en": "", **reading.value}
        said = FACTS[kind][not zh].format(**fields)
        said = said if reading.note else ("根据最新信息，" if zh else "according to the latest information, ") + said
    return f"{said}{'，' if zh else '; '}{_translated(reading.note, zh=zh)}" if reading.note else said


def _passed_on(subject: str, note: str, *, write: bool, zh: bool) -> str:
    if _readable(note, zh=zh):
        return f"{subject}：{note}" if zh else f"{subject}: {note}"
    if UNSURE.search(note):
        return f"{subject}：暂不确定是否办理成功" if zh else f"{subject}: it is not known whether this went through"
    if write:
        return f"{subject}：未能办理成功" if zh else f"{subject}: this could not be completed"
    return f"{subject}暂时无法查询" if zh else f"{subject} is not available at the moment"


def _translated(note: str, *, zh: bool) -> str:
    if _readable(note, zh=zh):
        return note
    age = " ".join(re.findall(r"\d+(?:\.\d+)?\s*(?:s\b|seconds?|minutes?|秒|分钟)", note))
    return f"该数据不是实时的 {age}".strip() if zh else f"this may be out of date {age}".strip()


def _listed(rows: list[dict[str, Any]], *, zh: bool) -> str:
    return ("；" if zh else "; ").join(_row(row, zh=zh) for row in rows) + _no_rest(rows, zh=zh)


def _row(row: dict[str, Any], *, zh: bool) -> str:
    if "ticket_id" in row:
        return (
            f"{row['ticket_id']} 已建立，处理中" if zh else f"{row['ticket_id']} has been opened and is being handled"
        )
    if "refund_id" in row:
        return (
            f"{row['refund_id']} 已提交，{row['amount']} 元"
            if zh
            else f"{row['refund_id']} submitted, {row['amount']} yuan"
        )
    when = row.get("expected_on", "")
    if row["release"] == "now":
        return f"{row['quantity']} 件已安排发货" if zh else f"{row['quantity']} arranged to ship now"
    return (
        f"剩余 {row['quantity']} 件预计 {when} 发出" if zh else f"the remaining {row['quantity']} will ship on {when}"
    )


def _no_rest(rows: list[dict[str, Any]], *, zh: bool) -> str:
    if any("release" in row for row in rows) and not any(row.get("release") == "restock" for row in rows):
        return "；没有查到剩余部分的发货安排" if zh else "; I found no arrangement for the remaining ones"
    return ""


def _number(value: Any, *, zh: bool) -> str:
    numbers = re.findall(r"[TRS]\d{5}", json.dumps(value))
    when = value.get("expected_on") if isinstance(value, dict) else None
    told = [*numbers, *([f"预计 {when} 发出" if zh else f"expected to ship on {when}"] if when else [])]
    return f"（{'，'.join(told)}）" if told and zh else f" ({', '.join(told)})" if told else ""


def _readable(text: str, *, zh: bool) -> bool:
    """Tell whether the customer can read this; shops that sell abroad often say a thing in both languages."""
    return bool(re.search("[\u4e00-\u9fff]" if zh else r"[a-z]{2,} [a-z]{2,}", text))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
