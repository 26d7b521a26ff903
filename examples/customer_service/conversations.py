"""The twelve conversations of the day, and what a right answer to each turn has to hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from examples.customer_service.database import Database


@dataclass(frozen=True, slots=True)
class Fact:
    """Something the customer asks for; the database knows the value. `no_order`: the order does not exist."""

    kind: Literal["order", "stock", "parcel", "no_order"]
    item: str


@dataclass(frozen=True, slots=True)
class Write:
    """Something the customer wants done, and how they say it when they have to say it again.

    `part` tells the two halves of a split shipment apart.
    """

    kind: Literal["ticket", "refund", "shipment"]
    order_id: str
    wording: str
    part: Literal["", "now", "restock"] = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing a customer says, what has happened in the world just before, and what is expected.

    `writes` are wanted in this turn, `asked` were wanted in an earlier one: did it happen?
    """

    text: str
    facts: tuple[Fact, ...] = ()
    writes: tuple[Write, ...] = ()
    asked: tuple[Write, ...] = ()
    before: Callable[[Database], None] | None = None

    @property
    def needs(self) -> frozenset[str]:
        """The dependencies without which this turn cannot be answered."""
        kinds = [fact.kind for fact in self.facts] + [write.kind for write in (*self.writes, *self.asked)]
        return frozenset({"model", *(DEPENDENCY[kind] for kind in kinds)})


DEPENDENCY = {
    "order": "orders",
    "no_order": "orders",
    "stock": "stock",
    "parcel": "logistics",
    "ticket": "aftersales",
    "refund": "aftersales",
    "shipment": "shipping",
}


@dataclass(frozen=True, slots=True)
class Conversation:
    """One customer's conversation.

    A customer who hears that a write failed, or hears nothing, asks for it once more: `again` and the write's wording.
    """

    name: str
    title: str
    customer: str
    again: str
    turns: tuple[Turn, ...]


ZH_AGAIN, EN_AGAIN = "那请重新办理：", "Then please try again: "

WANG_NOW = Write("shipment", "DD1030", "订单 DD1030 先发两个", "now")
WANG_REST = Write("shipment", "DD1030", "订单 DD1030 剩下两个等到货再发", "restock")
REED_REFUND = Write("refund", "DD1041", "refund 50 yuan of order DD1041")
ZHAO_TICKET = Write("ticket", "DD1050", "订单 DD1050 的耳机左边没声音，建一个售后工单")
LIU_REFUND = Write("refund", "DD1070", "订单 DD1070 退款 30 元")
NOVAK_TICKET = Write("ticket", "DD1081", "open a ticket, the kettle of order DD1081 leaks")
MEYER_NOW = Write("shipment", "DD1092", "order DD1092, ship one now", "now")
MEYER_REST = Write(
    "shipment", "DD1092", "order DD1092, ship the other three when they are back in the warehouse", "restock"
)


def _sell(sku: str, pieces: int) -> Callable[[Database], None]:
    return lambda database: database.sell(sku, pieces)


def _move(order_id: str, city: str) -> Callable[[Database], None]:
    return lambda database: database.move(order_id, city)


CONVERSATIONS = (
    Conversation(
        "01",
        "an order, then its parcel",
        "lin",
        ZH_AGAIN,
        (
            Turn("你好，帮我查一下订单 DD1003 的状态", (Fact("order", "DD1003"),)),
            Turn("那物流呢，包裹到哪了？", (Fact("parcel", "DD1003"),)),
        ),
    ),
    Conversation(
        "02",
        "stock, asked twice while others buy",
        "reed",
        EN_AGAIN,
        (
            Turn("Hi, is P-108 in stock?", (Fact("stock", "P-108"),)),
            Turn("I need a lot of P-108. How many are there now?", (Fact("stock", "P-108"),), before=_sell("P-108", 5)),
        ),
    ),
    Conversation(
        "03",
        "three questions in one",
        "chen",
        ZH_AGAIN,
        (
            Turn(
                "订单 DD1012 的详情、物流到哪了、这个商品还有没有库存，一起告诉我",
                (Fact("order", "DD1012"), Fact("parcel", "DD1012"), Fact("stock", "P-103")),
            ),
        ),
    ),
    Conversation(
        "04",
        "a parcel that moves on",
        "meyer",
        EN_AGAIN,
        (
            Turn("Where is the parcel of my order DD1020?", (Fact("parcel", "DD1020"),)),
            Turn("Any update on it?", (Fact("parcel", "DD1020"),), before=_move("DD1020", "武汉")),
        ),
    ),
    Conversation(
        "05",
        "a split shipment",
        "wang",
        ZH_AGAIN,
        (
            Turn(
                "订单 DD1030 请分批发货：先发两个，剩下两个等库存到货再发",
                writes=(WANG_NOW, WANG_REST),
            ),
            Turn("那剩下两个什么时候发？", asked=(WANG_REST,)),
        ),
    ),
    Conversation(
        "06",
        "a refund",
        "reed",
        EN_AGAIN,
        (
            Turn("The price dropped. Please refund 50 yuan of order DD1041 to me.", writes=(REED_REFUND,)),
            Turn("Has the refund for it gone through?", asked=(REED_REFUND,)),
        ),
    ),
    Conversation(
        "07",
        "an after-sales ticket",
        "zhao",
        ZH_AGAIN,
        (
            Turn("订单 DD1050 的耳机左边没声音，帮我建一个售后工单", writes=(ZHAO_TICKET,)),
            Turn("工单建好了吗？", asked=(ZHAO_TICKET,)),
        ),
    ),
    Conversation(
        "08",
        "a wrong number, then two questions",
        "rossi",
        EN_AGAIN,
        (
            Turn("What is the status of order DD9961?", (Fact("no_order", "DD9961"),)),
            Turn(
                "Sorry, I meant DD1061. The status please, and where is it?",
                (Fact("order", "DD1061"), Fact("parcel", "DD1061")),
            ),
        ),
    ),
    Conversation(
        "09",
        "a refund and a question",
        "liu",
        ZH_AGAIN,
        (
            Turn(
                "订单 DD1070 降价了，给我退款 30 元，另外物流到哪了？",
                (Fact("parcel", "DD1070"),),
                writes=(LIU_REFUND,),
            ),
        ),
    ),
    Conversation(
        "10",
        "a leaking kettle",
        "novak",
        EN_AGAIN,
        (
            Turn("The kettle of order DD1081 leaks. Please open a ticket.", writes=(NOVAK_TICKET,)),
            Turn("What is the ticket number?", asked=(NOVAK_TICKET,)),
        ),
    ),
    Conversation(
        "11",
        "the last pieces",
        "sun",
        ZH_AGAIN,
        (
            Turn("P-115 还有货吗？", (Fact("stock", "P-115"),)),
            Turn("P-115 现在还剩多少？", (Fact("stock", "P-115"),), before=_sell("P-115", 3)),
        ),
    ),
    Conversation(
        "12",
        "another split shipment",
        "meyer",
        EN_AGAIN,
        (
            Turn(
                "Order DD1092: please ship one now and the other three when they are back in the warehouse.",
                writes=(MEYER_NOW, MEYER_REST),
            ),
            Turn("When will the remaining three ship?", asked=(MEYER_REST,)),
        ),
    ),
)
NEEDS = tuple(turn.needs for conversation in CONVERSATIONS for turn in conversation.turns)
