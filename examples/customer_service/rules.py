"""The rule-driven stand-in for a model: which tools to call. It is not a model, and says so in its name.

It reads the dialogue as any chat model would get it and knows nothing else: not which agent asks, not what failed.
Like an obedient, not very bright model it calls each tool once, all that it can at once, and never doubts a result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ORDER_ID, ARTICLE = re.compile(r"DD\d{4}"), re.compile(r"P-\d{3}")
IDS = re.compile(r"DD\d{4}|P-\d{3}|[TRS]\d{5}")
NUMBER = re.compile(r"\d+|一|两|二|三|四|\b(?:one|two|three|four)\b", re.IGNORECASE)
NUMERALS = {"一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "one": 1, "two": 2, "three": 3, "four": 4}
NOW, RESTOCK = r"先发|\bship\b.*\bnow\b", r"再发|back in the warehouse"
TASKS: tuple[tuple[tuple[str, str], ...], ...] = (
    # One line a family; in a family the first pattern that fits wins.
    (
        ("find_shipments", r"剩下.*(什么时候|何时)|when (will|do) the (remaining|rest|other)"),
        ("ship_partial", rf"分批|{NOW}|{RESTOCK}"),
    ),
    (("find_refunds", r"退款.*(了吗|到账|进度)|has the refund|is the refund"), ("refund_order", r"退款|refund")),
    (("find_tickets", r"工单.*(了吗|进度|多少)|ticket number|is the ticket"), ("create_ticket", r"工单|open a ticket")),
    (("get_order", r"状态|详情|\bstatus\b|\bdetails\b"),),
    (("get_logistics", r"物流|到哪|where is|any update|on its way"),),
    (("get_stock", r"库存|有货|还剩多少|in stock|how many"),),
)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call, with the text of its result once there is one."""

    tool: str
    args: Mapping[str, Any]
    result: str | None = None

    @property
    def key(self) -> str:
        """What makes two calls the same call; the same trouble in other words is no second ticket."""
        told = {name: value for name, value in self.args.items() if name != "issue"}
        return self.tool + json.dumps(told, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A chat request, read: what the customer says now, said before, and what the tools have answered since."""

    now: str
    before: tuple[str, ...]
    calls: tuple[Call, ...]

    @classmethod
    def read(cls, messages: Sequence[Mapping[str, Any]]) -> Dialogue:
        """Read the `messages` of a chat completion request."""
        users = [index for index, message in enumerate(messages) if message["role"] == "user"]
        said = tuple(_text(messages[index]) for index in users) or ("",)
        return cls(said[-1], said[:-1], tuple(_calls(messages[users[-1] :] if users else ())))

    @property
    def chinese(self) -> bool:
        """Whether the customer writes Chinese."""
        return any("\u4e00" <= character <= "\u9fff" for character in self.now)


def next_calls(dialogue: Dialogue) -> list[Call]:
    """Return the calls still to be made for what the customer wants; none: it is time to answer."""
    wanted = {call.key: call for tool in _tools(dialogue.now) for call in _wanted(tool, dialogue)}
    made = {call.key for call in dialogue.calls}
    return [call for key, call in wanted.items() if key not in made]


def lacks_article(dialogue: Dialogue) -> bool:
    """Tell whether stock was asked for and the article never became known (its order could not be read)."""
    return "get_stock" in _tools(dialogue.now) and _article(dialogue) is None


def _tools(text: str) -> list[str]:
    found = [
        next((tool for tool, pattern in family if re.search(pattern, text, re.IGNORECASE)), None) for family in TASKS
    ]
    tools = [tool for tool in found if tool]
    return [tool for tool in tools if tool != "get_stock"] if "ship_partial" in tools else tools


def _wanted(tool: str, dialogue: Dialogue) -> Iterator[Call]:
    order = {"order_id": _last(ORDER_ID, dialogue)}
    numbers = [NUMERALS.get(word.lower()) or int(word) for word in NUMBER.findall(IDS.sub("", dialogue.now))]
    if tool == "get_stock":
        article = _article(dialogue)
        yield Call(tool, {"sku": article}) if article else Call("get_order", order)
    elif tool == "ship_partial":
        halves = (("now", NOW, numbers[0]), ("restock", RESTOCK, numbers[-1]))
        asked = [(release, count) for release, words, count in halves if re.search(words, dialogue.now, re.IGNORECASE)]
        yield from (Call(tool, {**order, "quantity": count, "release": release}) for release, count in asked)
    elif tool == "refund_order":
        yield Call(tool, {**order, "amount": numbers[0]})
    elif tool == "create_ticket":
        yield Call(tool, {**order, "issue": dialogue.now})
    else:
        yield Call(tool, order)


def _article(dialogue: Dialogue) -> str | None:
    read = [
        found for call in dialogue.calls if call.tool == "get_order" for found in ARTICLE.findall(call.result or "")
    ]
    if not read and ORDER_ID.search(dialogue.now):
        return None
    return read[0] if read else _last(ARTICLE, dialogue)


def _last(pattern: re.Pattern[str], dialogue: Dialogue) -> str | None:
    for text in (dialogue.now, *reversed(dialogue.before)):
        if found := pattern.findall(text):
            return str(found[-1])
    return None


def _calls(messages: Sequence[Mapping[str, Any]]) -> Iterator[Call]:
    results = {message["tool_call_id"]: _text(message) for message in messages if message["role"] == "tool"}
    for message in messages:
        for call in message.get("tool_calls") or ():
            yield Call(call["function"]["name"], json.loads(call["function"]["arguments"]), results.get(call["id"]))


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)
