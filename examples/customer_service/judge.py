"""Judges what the customers were told, against the shop's database and nothing else.

A turn is *answered* (all of it, right), *partial* (says openly which part is missing, old or uncertain; nothing false),
*failed* (no answer, an error's text, "system busy", a part passed over in silence) or *wrong* (stale shown as fresh, a
false value, a write claimed and not done or the other way round, an invented number). A conversation is as good as its
worst turn; a write that happened twice makes it wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from examples.customer_service.catalogue import HUBS
from examples.customer_service.conversations import Conversation, Fact, Turn, Write
from examples.customer_service.database import Database
from examples.customer_service.hearing import (
    ERROR_TEXT,
    IDS,
    Claim,
    Told,
    hear_absence,
    hear_answer,
    hear_claim,
    hear_value,
)

Outcome = Literal["answered", "partial", "failed", "wrong"]
OUTCOMES: tuple[Outcome, ...] = ("answered", "partial", "failed", "wrong")  # the later the worse

FACTS: Mapping[Told, Outcome] = {
    "right": "answered",
    "right_but_old": "partial",
    "old": "partial",
    "missing": "partial",
    "silent": "failed",
    "stale_as_fresh": "wrong",
    "false": "wrong",
}
WRITES: Mapping[tuple[bool, Claim], Outcome] = {
    (True, "done"): "answered",
    (True, "unknown"): "partial",
    (True, "not_done"): "wrong",
    (True, "missing"): "wrong",
    (True, "silent"): "failed",
    (False, "done"): "wrong",
    (False, "unknown"): "partial",
    (False, "not_done"): "partial",
    (False, "missing"): "partial",
    (False, "silent"): "failed",
}
ASKED: Mapping[tuple[bool, Claim], Outcome] = {
    **WRITES,
    (True, "missing"): "partial",  # it cannot be looked up just now: true
    (False, "not_done"): "answered",  # it was not done: true, and what was asked
}
STATUS_WORDS = {
    "paid": "待发货|已付款|paid|not (?:yet )?shipped",
    "shipped": "已发货|已发出|运输中|(?<!not )(?<!not yet )shipped|on its way",
    "delivered": "已签收|已送达|delivered",
}
TOPICS = {
    "order": r"订单|order|状态|status",
    "no_order": r"订单|order",
    "stock": r"库存|有货|stock|pieces",
    "parcel": r"物流|包裹|快递|logistics|parcel|tracking|deliver",
    "ticket": r"工单|售后|ticket",
    "refund": r"退款|refund",
    "now": r"先发|第一批|\bnow\b|first",
    "restock": r"剩|到货|第二批|remaining|restock|\brest\b|other (?:two|three)",
    "shipment": r"发货|ship",
}
TABLES = {"ticket": "tickets", "refund": "refunds", "shipment": "shipments"}
NUMBERS = {
    "T": ("tickets", "ticket_id", 70000),
    "R": ("refunds", "refund_id", 80000),
    "S": ("shipments", "shipment_id", 90000),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one reply did, part by part, and what it said about each write."""

    outcome: Outcome
    findings: tuple[tuple[Outcome, str], ...] = ()
    claims: Mapping[Write, Claim] = field(default_factory=dict[Write, Claim])

    def to_repeat(self, turn: Turn) -> tuple[Write, ...]:
        """Return what a customer asks for once more: told that it failed, or not told anything."""
        return tuple(write for write in turn.writes if self.claims[write] in {"not_done", "missing", "silent"})


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a conversation ended: its outcome, and writes lost (not done, customer not told) or done twice."""

    outcome: Outcome
    lost: tuple[Write, ...]
    double: int


def judge_turn(turn: Turn, reply: str, database: Database) -> Verdict:
    """Judge one reply (empty: the agent crashed or said nothing) right after it was given."""
    if not reply.strip() or ERROR_TEXT.search(reply):
        why = "the text of an error" if reply.strip() else "no answer at all"
        return Verdict("failed", (("failed", why),), dict.fromkeys((*turn.writes, *turn.asked), "silent"))
    found: list[tuple[Outcome, str]] = [("wrong", f"invented number {number}") for number in _invented(reply, database)]
    for fact in turn.facts:
        told = _told(fact, reply, database)
        found.append((FACTS[told], f"{fact.kind} of {fact.item}: {told}"))
    claims: dict[Write, Claim] = {write: hear_claim(reply, _topics(write)) for write in turn.writes}
    claims |= {write: hear_answer(reply, _topics(write)) for write in turn.asked}
    for write, claim in claims.items():
        table = ASKED if write in turn.asked else WRITES
        done = count(write, database) > 0
        found.append((table[done, claim], f"{_label(write)}: {'done' if done else 'not done'}, said {claim}"))
    return Verdict(worst(outcome for outcome, _ in found), tuple(found), claims)


def settle(conversation: Conversation, verdicts: Sequence[Verdict], database: Database) -> Settlement:
    """Judge a whole conversation once it is over."""
    wanted = [write for turn in conversation.turns for write in turn.writes]
    lost = tuple(write for write in wanted if not count(write, database) and not _was_told(write, verdicts))
    double = sum(max(0, count(write, database) - 1) for write in wanted)
    outcome = worst(verdict.outcome for verdict in verdicts)
    return Settlement("wrong" if double else outcome, lost, double)


def count(write: Write, database: Database) -> int:
    """Count how often a write happened, in the shop's own tables."""
    query = f"SELECT COUNT(*) AS n FROM {TABLES[write.kind]} WHERE order_id = ?"  # noqa: S608 - a constant
    if write.part:
        return int(database.rows(f"{query} AND release = ?", write.order_id, write.part)[0]["n"])
    return int(database.rows(query, write.order_id)[0]["n"])


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the worst of some outcomes; `answered` if there are none."""
    return max(["answered", *outcomes], key=OUTCOMES.index)


def _was_told(write: Write, verdicts: Sequence[Verdict]) -> bool:
    said = [claim for verdict in verdicts if (claim := verdict.claims.get(write, "silent")) != "silent"]
    return bool(said) and said[-1] != "done"


def _topics(write: Write) -> list[re.Pattern[str]]:
    patterns = [TOPICS[write.kind]]
    if write.part:
        other = TOPICS["restock" if write.part == "now" else "now"]
        patterns = [TOPICS[write.part], rf"^(?!.*(?:{other})).*(?:{TOPICS[write.kind]})"]
    return [re.compile(pattern, re.IGNORECASE) for pattern in patterns]


def _told(fact: Fact, reply: str, database: Database) -> Told:
    topic = re.compile(TOPICS[fact.kind], re.IGNORECASE)
    if fact.kind == "no_order":
        return hear_absence(reply, topic)
    olds = [row["old"] for row in database.rows("SELECT old FROM history WHERE item = ?", fact.item)]
    now, others = _values(fact, database)
    former = re.compile("|".join(map(_value, olds)), re.IGNORECASE) if olds else None
    return hear_value(reply, topic, now, others, former)


def _values(fact: Fact, database: Database) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what says the true value, and what says another one."""
    if fact.kind == "stock":
        stock = database.rows("SELECT stock FROM products WHERE sku = ?", fact.item)[0]["stock"]
        return re.compile(_value(str(stock))), re.compile(r"\d+\s*(?:件|个|pieces|pcs|units|left|in stock)")
    row = database.rows("SELECT status, city FROM orders WHERE order_id = ?", fact.item)[0]
    if fact.kind == "parcel":
        elsewhere = [_value(city) for city in HUBS if city != row["city"]]
        return re.compile(_value(row["city"]), re.IGNORECASE), re.compile("|".join(elsewhere), re.IGNORECASE)
    other = [words for status, words in STATUS_WORDS.items() if status != row["status"]]
    return re.compile(STATUS_WORDS[row["status"]], re.IGNORECASE), re.compile("|".join(other), re.IGNORECASE)


def _value(value: str) -> str:
    """Return a pattern for a number, or for a city in either language."""
    return rf"(?<![\d.-]){value}(?![\d.])" if value.isdigit() else f"{value}|{HUBS[value]}"


def _invented(reply: str, database: Database) -> list[str]:
    return [number for number in IDS.findall(reply) if number[0] in NUMBERS and not _exists(number, database)]


def _exists(number: str, database: Database) -> bool:
    table, column, offset = NUMBERS[number[0]]
    query = f"SELECT 1 FROM {table} WHERE {column} = ?"  # noqa: S608 - constants
    return bool(database.rows(query, int(number[1:]) - offset))


def _label(write: Write) -> str:
    return f"{write.kind} {write.part}".strip() + f" of {write.order_id}"
