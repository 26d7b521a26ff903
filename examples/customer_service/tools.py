"""The agent's tools: plain LangChain tools that speak HTTP to the shop. Nothing in here knows about degrading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import httpx
from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, tool

READS = ("get_order", "get_stock", "get_logistics", "find_tickets", "find_refunds", "find_shipments")
WRITES = ("create_ticket", "refund_order", "ship_partial")


class ShopTools:
    """The shop's nine tools over one HTTP client, whose base address is the shop's."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def tools(self) -> list[BaseTool]:
        """Return the tools as an agent takes them."""
        return [tool(getattr(self, name)) for name in (*READS, *WRITES)]

    def get_order(self, order_id: str) -> Any:
        """Look up an order: article, quantity, amount, status. Order ids look like DD1003."""
        return self._get(f"/orders/{order_id}")

    def get_stock(self, sku: str) -> Any:
        """Look up how many pieces of an article are in stock. Article numbers look like P-108."""
        return self._get(f"/stock/{sku}")

    def get_logistics(self, order_id: str) -> Any:
        """Look up where the parcel of an order is right now."""
        return self._get(f"/logistics/{order_id}")

    def find_tickets(self, order_id: str) -> Any:
        """List the after-sales tickets of an order."""
        return self._get("/tickets", order_id=order_id)

    def find_refunds(self, order_id: str) -> Any:
        """List the refunds of an order."""
        return self._get("/refunds", order_id=order_id)

    def find_shipments(self, order_id: str) -> Any:
        """List the part shipments of an order and when they go out."""
        return self._get("/shipments", order_id=order_id)

    def create_ticket(self, order_id: str, issue: str) -> Any:
        """Open an after-sales ticket for an order, `issue` in the customer's words."""
        return self._post("/tickets", order_id=order_id, issue=issue)

    def refund_order(self, order_id: str, amount: int, runtime: ToolRuntime[Any, Any]) -> Any:
        """Refund part of an order's amount, in yuan."""
        return self._post("/refunds", runtime.tool_call_id, order_id=order_id, amount=amount)

    def ship_partial(self, order_id: str, quantity: int, release: Literal["now", "restock"]) -> Any:
        """Ship part of an order `now`, or as soon as the article is back in stock (`restock`)."""
        return self._post("/shipments", order_id=order_id, quantity=quantity, release=release)

    def ticket_exists(self, args: Mapping[str, Any], _: Any) -> bool | None:
        """Tell whether a ticket was opened; None where that cannot be found out."""
        return _found(self.find_tickets(args["order_id"])["data"], issue=args["issue"])

    def refund_exists(self, args: Mapping[str, Any], _: Any) -> bool | None:
        """Tell whether a refund was made; None where that cannot be found out."""
        return _found(self.find_refunds(args["order_id"]), amount=args["amount"])

    def shipment_exists(self, args: Mapping[str, Any], _: Any) -> bool | None:
        """Tell whether a part shipment was arranged; None where that cannot be found out."""
        rows = self.find_shipments(args["order_id"])["data"]
        return _found(rows, quantity=args["quantity"], release=args["release"])

    def _get(self, path: str, **query: str) -> Any:
        return self._client.get(path, params=query).raise_for_status().json()

    def _post(self, path: str, key: str | None = None, **body: Any) -> Any:
        headers = {} if key is None else {"Idempotency-Key": key}
        return self._client.post(path, json=body, headers=headers).raise_for_status().json()


def _found(rows: list[dict[str, Any]] | None, **wanted: Any) -> bool | None:
    return None if rows is None else any(wanted.items() <= row.items() for row in rows)
