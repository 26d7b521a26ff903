"""The rule-driven stand-in for a model: what it says. One rule set for everybody.

It repeats what its tools say, in the customer's language. A bare value it presents as the latest information, as models
do; a value that comes with a warning, it passes on with the warning.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

from examples.customer_service.reading import Reading, read
from examples.customer_service.rules import Call, Dialogue, lacks_article

SUBJECTS = {
    # Each text for Chinese and for English.
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
    "create_ticket": ("已为您建立{subject}", "{subject} has been opened"),
    "refund_order": ("{subject}已提交", "{subject} has been submitted"),
    "now": ("{subject}已安排发货", "{subject}: this has been arranged"),
    "restock": ("{subject}已登记", "{subject}: this has been registered"),
}
FRESH = ("根据最新信息，", "according to the latest information, ")
NOTHING = ("没有查到{subject}", "I found no record of {subject}")
UNSURE = (
    "{subject}：是否办理成功尚未确认，请先不要重复提交",
    "{subject}: it is not confirmed yet whether this went through",
)
NOT_DONE = ("{subject}：未能办理", "{subject}: this could not be done")
NOT_FOUND_OUT = ("{subject}暂时查不到", "{subject} could not be checked at the moment")
SAID = ("{subject}：{words}", "{subject}: {words}")
OLD = ("{said}（这是{age}前的数据，可能已过时）", "{said} (this is from {age} ago and may be out of date)")
OLD_SOMEHOW = ("{said}（不是实时数据，可能已过时）", "{said} (this is not live and may be out of date)")
NO_ARTICLE = ("没有订单信息，库存暂时查不到", "without the order the stock could not be checked")
NO_REST = ("没有查到剩余部分的发货安排", "I found no arrangement for the remaining ones")
ASK = ("请告诉我订单号和需要办理的事项", "please tell me your order number and what you need")
ROWS = {
    "ticket_id": ("{ticket_id} 已建立，处理中", "{ticket_id} has been opened and is being handled"),
    "refund_id": ("{refund_id} 已提交，{amount} 元", "{refund_id} submitted, {amount} yuan"),
    "now": ("{quantity} 件已安排发货", "{quantity} arranged to ship now"),
    "restock": ("剩余 {quantity} 件预计 {expected_on} 发出", "the remaining {quantity} will ship on {expected_on}"),
}
UNITS = {"s": "秒", "m": "分钟", "h": "小时", "秒": "s", "分": "min", "小": "h"}


def compose(dialogue: Dialogue) -> str:
    """Write the answer to the customer from the tools' texts."""
    wording = _Wording(zh=dialogue.chinese)
    parts = [wording.sentence(call) for call in dialogue.calls]
    if lacks_article(dialogue):
        parts.append(wording.say(NO_ARTICLE))
    stop = "。" if dialogue.chinese else ". "
    told = (part.rstrip("。.! ") for part in parts or [wording.say(ASK)])
    return "".join(part[:1].upper() + part[1:] + stop for part in told).strip()


class _Wording:
    """The same sentences in one of the two languages."""

    def __init__(self, *, zh: bool) -> None:
        self._zh = zh

    def say(self, texts: tuple[str, str], **fields: Any) -> str:
        return texts[not self._zh].format(**fields)

    def sentence(self, call: Call) -> str:
        kind = str(call.args["release"]) if call.tool == "ship_partial" else call.tool
        subject = self.say(SUBJECTS[kind], **call.args)
        reading = read(call.result or "")
        if reading.gist == "value":
            return self._value(kind, subject, reading)
        return self._words(kind, subject, reading) + self._offer(reading)

    def _value(self, kind: str, subject: str, reading: Reading) -> str:
        value = reading.value
        if kind in DONE:
            return self.say(DONE[kind], subject=subject) + self._number(value)
        if value in (None, [], {}):
            return self._dated(self.say(NOTHING, subject=subject), reading)
        if isinstance(value, list):
            return self._dated(
                self.say(SAID, subject=subject, words=self._listed(cast("list[dict[str, Any]]", value))), reading
            )
        said = self.say(FACTS[kind], **{"product": "", "product_en": "", **value})
        return self._dated(said, reading) if reading.old else self.say(FRESH) + said

    def _words(self, kind: str, subject: str, reading: Reading) -> str:
        if reading.gist == "unsure":
            return self.say(UNSURE if kind in DONE else NOT_FOUND_OUT, subject=subject)
        if reading.gist == "done" and kind in DONE:
            return self.say(DONE[kind], subject=subject)
        if reading.gist == "failed":
            return self.say(NOT_DONE if kind in DONE else NOT_FOUND_OUT, subject=subject)
        return self.say(SAID, subject=subject, words=reading.words)

    def _dated(self, said: str, reading: Reading) -> str:
        if not reading.old:
            return said
        return (
            self.say(OLD, said=said, age=self._age(*reading.age)) if reading.age else self.say(OLD_SOMEHOW, said=said)
        )

    def _age(self, number: str, unit: str) -> str:
        """Give an age in the customer's language, whichever the tool spoke."""
        chinese = unit in {"秒", "分钟", "小时"}
        return f"{number} {unit if chinese == self._zh else UNITS[unit[0]]}"

    def _listed(self, rows: list[dict[str, Any]]) -> str:
        told = [self.say(ROWS[row.get("release") or next(key for key in ROWS if key in row)], **row) for row in rows]
        releases = {row.get("release") for row in rows}
        if "now" in releases and "restock" not in releases:
            told.append(self.say(NO_REST))
        return ("；" if self._zh else "; ").join(told)

    def _number(self, value: Any) -> str:
        told = re.findall(r"[TRS]\d{5}", json.dumps(value))
        if isinstance(value, dict) and "expected_on" in value:
            told.append(self.say(("预计 {when} 发出", "expected to ship on {when}"), when=value["expected_on"]))
        return self.say(("（{told}）", " ({told})"), told=("，" if self._zh else ", ").join(told)) if told else ""

    def _offer(self, reading: Reading) -> str:
        return self.say(("。{offer}", ". {offer}"), offer=reading.offer) if reading.offer else ""
