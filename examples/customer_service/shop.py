"""The shop's HTTP service: orders, stock, logistics, after-sales and shipping.

Some routes answer in the `{code, msg, data}` style (with HTTP 200 even for a "no"), some as plain REST, as in any shop
that grew. Writes honour `Idempotency-Key`: the second request with a key gets the first one's reply and does nothing.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from examples.customer_service.catalogue import HUBS, STATUS
from examples.customer_service.database import Database
from examples.customer_service.server import Reply, Request

RESTOCK = "2025-11-20"  # when the next delivery comes, for every article
CARRIER = "飞燕快递 Swallow Express"


class Shop:
    """Answers the shop's routes from its database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._once_lock = threading.Lock()
        self._routes: dict[tuple[str, str], tuple[str, Callable[[Request], Reply]]] = {
            ("GET", "orders"): ("orders", self._order),
            ("GET", "stock"): ("stock", self._stock),
            ("GET", "logistics"): ("logistics", self._parcel),
            ("POST", "tickets"): ("aftersales", self._open_ticket),
            ("GET", "tickets"): ("aftersales", self._tickets),
            ("POST", "refunds"): ("aftersales", self._refund),
            ("GET", "refunds"): ("aftersales", self._refunds),
            ("POST", "shipments"): ("shipping", self._ship),
            ("GET", "shipments"): ("shipping", self._shipments),
        }

    def name(self, request: Request) -> str:
        """Say which dependency the request goes to."""
        return self._route(request)[0]

    def asked(self, request: Request) -> str:
        """Say what is asked: two writes at once are told apart by what they write."""
        return " ".join([request.method, request.path, *(str(value) for value in (request.body or {}).values())])

    def handle(self, request: Request) -> Reply:
        """Answer the request, once per idempotency key."""
        key = request.headers.get("idempotency-key")
        entry = (request.method, request.path, key, request.visit)
        self._database.insert("INSERT INTO requests VALUES (?, ?, ?, ?)", *entry)
        handler = self._route(request)[1]
        return handler(request) if key is None else self._once(key, handler, request)

    def empty(self, request: Request) -> Reply:
        """Answer like a gateway whose back end is gone: success, and no data."""
        enveloped = request.path.split("/")[1] in {"orders", "stock", "tickets", "shipments"}
        return Reply({"code": 0, "msg": "ok", "data": None} if enveloped else None)

    def _route(self, request: Request) -> tuple[str, Callable[[Request], Reply]]:
        return self._routes.get((request.method, request.path.split("/")[1]), ("orders", _not_found))

    def _once(self, key: str, handler: Callable[[Request], Reply], request: Request) -> Reply:
        with self._once_lock:
            for row in self._database.rows("SELECT reply FROM replies WHERE idempotency_key = ?", key):
                return Reply(json.loads(row["reply"]))
            reply = handler(request)
            self._database.insert("INSERT INTO replies VALUES (?, ?)", key, json.dumps(reply.body))
            return reply

    def _order(self, request: Request) -> Reply:
        query = "SELECT * FROM orders JOIN products USING (sku) WHERE order_id = ?"
        for row in self._database.rows(query, _item(request)):
            order = {key: row[key] for key in ("order_id", "customer", "sku", "quantity", "status")}
            amount = f"{row['price'] * row['quantity'] / 100:.2f}"
            names = {"product": row["name_zh"], "product_en": row["name_en"]}
            return _ok({**order, **names, "amount": amount, "status_zh": STATUS[row["status"]]})
        return Reply({"code": 40401, "msg": f"订单 {_item(request)} 不存在 (no such order)", "data": None})

    def _stock(self, request: Request) -> Reply:
        for row in self._database.rows("SELECT * FROM products WHERE sku = ?", _item(request)):
            names = {"product": row["name_zh"], "product_en": row["name_en"]}
            return _ok({"sku": row["sku"], **names, "price": f"{row['price'] / 100:.2f}", "stock": row["stock"]})
        return Reply({"code": 40402, "msg": f"商品 {_item(request)} 不存在 (no such article)", "data": None})

    def _parcel(self, request: Request) -> Reply:
        for row in self._database.rows("SELECT * FROM orders WHERE order_id = ? AND city != ''", _item(request)):
            place = {"city": row["city"], "city_en": HUBS[row["city"]]}
            return Reply({"order_id": row["order_id"], "carrier": CARRIER, **place})
        return Reply({"detail": f"no parcel for order {_item(request)}"}, 404)

    def _open_ticket(self, request: Request) -> Reply:
        values = (request.body["order_id"], request.body["issue"], request.visit)
        number = self._database.insert("INSERT INTO tickets VALUES (NULL, ?, ?, ?)", *values)
        return _ok({"ticket_id": f"T{70000 + number}", "order_id": request.body["order_id"], "state": "open"})

    def _tickets(self, request: Request) -> Reply:
        rows = self._database.rows("SELECT * FROM tickets WHERE order_id = ?", request.query.get("order_id"))
        return _ok(
            [{"ticket_id": f"T{70000 + row['ticket_id']}", "issue": row["issue"], "state": "open"} for row in rows]
        )

    def _refund(self, request: Request) -> Reply:
        body = request.body
        values = (body["order_id"], body["amount"], request.visit)
        number = self._database.insert("INSERT INTO refunds VALUES (NULL, ?, ?, ?)", *values)
        return Reply({"refund_id": f"R{80000 + number}", "order_id": body["order_id"], "amount": body["amount"]})

    def _refunds(self, request: Request) -> Reply:
        rows = self._database.rows("SELECT * FROM refunds WHERE order_id = ?", request.query.get("order_id"))
        return Reply([{"refund_id": f"R{80000 + row['refund_id']}", "amount": row["amount"]} for row in rows])

    def _ship(self, request: Request) -> Reply:
        body = request.body
        values = (body["order_id"], body["quantity"], body["release"], request.visit)
        number = self._database.insert("INSERT INTO shipments VALUES (NULL, ?, ?, ?, ?)", *values)
        return _ok({"order_id": body["order_id"], **_shipment(number, body["quantity"], body["release"])})

    def _shipments(self, request: Request) -> Reply:
        rows = self._database.rows("SELECT * FROM shipments WHERE order_id = ?", request.query.get("order_id"))
        return _ok([_shipment(row["shipment_id"], row["quantity"], row["release"]) for row in rows])


def _shipment(number: int, quantity: int, release: str) -> dict[str, Any]:
    dates = {"expected_on": RESTOCK} if release == "restock" else {}
    return {"shipment_id": f"S{90000 + number}", "quantity": quantity, "release": release, **dates}


def _item(request: Request) -> str:
    return request.path.split("/")[2]


def _ok(data: Any) -> Reply:
    return Reply({"code": 0, "msg": "ok", "data": data})


def _not_found(request: Request) -> Reply:
    return Reply({"detail": f"no such route: {request.path}"}, 404)
