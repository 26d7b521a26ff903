"""What the shop keeps, in SQLite; also read by the judge, who trusts nothing else."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from examples.customer_service import catalogue

SCHEMA = """
CREATE TABLE products (sku TEXT PRIMARY KEY, name_zh TEXT, name_en TEXT, price INTEGER, stock INTEGER);
CREATE TABLE orders (order_id TEXT PRIMARY KEY, customer TEXT, sku TEXT, quantity INTEGER, status TEXT, city TEXT);
CREATE TABLE tickets (ticket_id INTEGER PRIMARY KEY, order_id TEXT, issue TEXT, visit TEXT);
CREATE TABLE refunds (refund_id INTEGER PRIMARY KEY, order_id TEXT, amount INTEGER, visit TEXT);
CREATE TABLE shipments (shipment_id INTEGER PRIMARY KEY, order_id TEXT, quantity INTEGER, release TEXT, visit TEXT);
CREATE TABLE replies (idempotency_key TEXT PRIMARY KEY, reply TEXT);
CREATE TABLE requests (method TEXT, path TEXT, idempotency_key TEXT, visit TEXT);
CREATE TABLE history (kind TEXT, item TEXT, old TEXT);
"""


class Database:
    """One shop's database file. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        self._connection.executescript(f"PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; {SCHEMA}")
        self._fill(random.Random(catalogue.DATA_SEED))

    def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """Run one statement and return its rows as dictionaries."""
        with self._lock:
            return [dict(row) for row in self._connection.execute(query, values)]

    def insert(self, query: str, *values: Any) -> int:
        """Insert one row and return its number."""
        with self._lock:
            return self._connection.execute(query, values).lastrowid or 0

    def close(self) -> None:
        """Close the file; the shop is shut."""
        with self._lock:
            self._connection.close()

    def sell(self, sku: str, pieces: int) -> None:
        """Let somebody else buy: the stock a customer was told a moment ago is old now."""
        self._remember("stock", sku, self.rows("SELECT stock AS now FROM products WHERE sku = ?", sku))
        self.rows("UPDATE products SET stock = stock - ? WHERE sku = ?", pieces, sku)

    def move(self, order_id: str, city: str) -> None:
        """Let a parcel travel: where it was a moment ago is old now."""
        self._remember("parcel", order_id, self.rows("SELECT city AS now FROM orders WHERE order_id = ?", order_id))
        self.rows("UPDATE orders SET city = ? WHERE order_id = ?", city, order_id)

    def _remember(self, kind: str, item: str, rows: Sequence[dict[str, Any]]) -> None:
        for row in rows:
            self.insert("INSERT INTO history VALUES (?, ?, ?)", kind, item, str(row["now"]))

    def _fill(self, rng: random.Random) -> None:
        for (sku, count), (chinese, english, price) in zip(catalogue.stock(rng), catalogue.PRODUCTS, strict=True):
            self.insert("INSERT INTO products VALUES (?, ?, ?, ?, ?)", sku, chinese, english, price, count)
        for order in catalogue.orders(rng):
            values = (order.order_id, order.customer, order.sku, order.quantity, order.status, order.city)
            self.insert("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", *values)
