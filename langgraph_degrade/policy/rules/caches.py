"""Caches that might answer one customer with another's data (spec E3)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from langgraph_degrade.policy.consistency import cells
from langgraph_degrade.policy.policy import Policy
from langgraph_degrade.policy.rules.remark import Remark, declared

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PERSONAL: Final = frozenset(
    [
        "account",
        "accounts",
        "balance",
        "basket",
        "booking",
        "bookings",
        "cart",
        "claim",
        "contact",
        "customer",
        "customers",
        "email",
        "history",
        "invoice",
        "invoices",
        "me",
        "member",
        "members",
        "my",
        "order",
        "orders",
        "payment",
        "payments",
        "phone",
        "profile",
        "purchase",
        "purchases",
        "refund",
        "refunds",
        "subscription",
        "ticket",
        "tickets",
        "user",
        "users",
        "wallet",
    ]
)
_PERSONAL_ZH: Final = ("订单", "用户", "客户", "会员", "账户", "余额", "退款", "工单", "发票", "购物车", "我的")


def scopes(policy: Policy) -> Iterator[Remark]:
    """A cache says whose its values are."""
    for place, cell in cells(policy):
        for field in ("cache", "read_through"):
            cache = getattr(cell, field)
            if cache is not None and cache.scope is None and cell.effect != "write":
                why = "without a scope its values stay within one thread, and without a thread there are none"
                fix = "write scope: [user_id], or scope: shared if the data is public"
                yield Remark((*place, field), "cache-without-scope", why, fix, "note")


def shared(policy: Policy) -> Iterator[Remark]:
    """What is shared by everybody does not sound like somebody's."""
    for one in declared(policy):
        for field in ("cache", "read_through"):
            cache = getattr(one.cell, field)
            word = _personal(one.name)
            if cache is not None and cache.scope == "shared" and word:
                why = f"{word!r} sounds like one customer's data, and everybody is answered from this cache"
                fix = "write scope: [user_id], unless the data is public"
                yield Remark(one.origin(field), "shared-personal", why, fix)


def _personal(name: str) -> str | None:
    words = [word.lower() for word in _WORD.findall(name)]
    found = [word for word in words if word in _PERSONAL] + [word for word in _PERSONAL_ZH if word in name]
    return found[0] if found else None
