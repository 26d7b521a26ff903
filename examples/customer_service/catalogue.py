"""The shop's made-up data: products, customers and a few hundred orders, the same on every machine."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

PRODUCTS = (
    # Chinese name, English name, price in fen
    ("蓝牙耳机", "Bluetooth earphones", 39900),
    ("电热水壶", "electric kettle", 15900),
    ("空气炸锅", "air fryer", 45900),
    ("机械键盘", "mechanical keyboard", 52900),
    ("保温杯", "vacuum flask", 12900),
    ("登山背包", "hiking backpack", 28900),
    ("扫地机器人", "robot vacuum", 189900),
    ("台灯", "desk lamp", 9900),
    ("加湿器", "humidifier", 17900),
    ("瑜伽垫", "yoga mat", 8900),
    ("咖啡机", "coffee machine", 99900),
    ("雨伞", "umbrella", 6900),
    ("充电宝", "power bank", 13900),
    ("电动牙刷", "electric toothbrush", 24900),
    ("羽绒被", "down duvet", 68900),
    ("儿童手表", "children's watch", 35900),
)
HUBS = {
    "上海": "Shanghai",
    "杭州": "Hangzhou",
    "广州": "Guangzhou",
    "成都": "Chengdu",
    "武汉": "Wuhan",
    "南京": "Nanjing",
    "北京": "Beijing",
    "深圳": "Shenzhen",
}
NAMES = (
    "林晓",
    "陈波",
    "王雪",
    "Anna Meyer",
    "John Reed",
    "赵敏",
    "刘洋",
    "Maria Rossi",
    "孙悦",
    "周涛",
    "Peter Novak",
    "何琳",
)
STATUS = {"paid": "已付款，待发货", "shipped": "已发货", "delivered": "已签收"}
FIRST_ORDER, ORDERS = 1001, 320
DATA_SEED = 20240618  # the data never changes; a day's seed decides the weather only


@dataclass(frozen=True, slots=True)
class Order:
    """One order as the shop keeps it; `city` is where the parcel is, empty while nothing was sent."""

    order_id: str
    customer: str
    sku: str
    quantity: int
    status: str
    city: str


def sku(index: int) -> str:
    """Return the article number of the product at `index`: `P-101` is the first."""
    return f"P-{101 + index}"


def stock(rng: random.Random) -> Iterator[tuple[str, int]]:
    """Yield every article number with a number of pieces that no other has, so that no answer is right by chance."""
    counts = rng.sample(range(14, 98), len(PRODUCTS))
    for index, count in enumerate(counts):
        yield sku(index), count


def orders(rng: random.Random) -> Iterator[Order]:
    """Yield the shop's orders; those the twelve customers ask about are laid down in `STORY`."""
    for number in range(FIRST_ORDER, FIRST_ORDER + ORDERS):
        status = rng.choice(tuple(STATUS))
        name, article, quantity = rng.choice(NAMES), sku(rng.randrange(len(PRODUCTS))), rng.randint(1, 4)
        city = "" if status == "paid" else rng.choice(tuple(HUBS))
        order_id = f"DD{number}"
        yield STORY.get(order_id) or Order(order_id, name, article, quantity, status, city)


_LAID_DOWN = (
    Order("DD1003", "林晓", "P-105", 2, "shipped", "武汉"),
    Order("DD1012", "陈波", "P-103", 1, "shipped", "南京"),
    Order("DD1020", "Anna Meyer", "P-111", 1, "shipped", "成都"),
    Order("DD1030", "王雪", "P-106", 4, "paid", ""),
    Order("DD1041", "John Reed", "P-101", 1, "delivered", "广州"),
    Order("DD1050", "赵敏", "P-101", 1, "delivered", "北京"),
    Order("DD1061", "Maria Rossi", "P-104", 3, "shipped", "杭州"),
    Order("DD1070", "刘洋", "P-109", 2, "shipped", "深圳"),
    Order("DD1081", "Peter Novak", "P-102", 1, "delivered", "上海"),
    Order("DD1092", "Anna Meyer", "P-113", 4, "paid", ""),
)
STORY = {order.order_id: order for order in _LAID_DOWN}
