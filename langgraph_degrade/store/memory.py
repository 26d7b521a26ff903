"""The default store: this process's memory."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import Any

from langgraph_degrade.engine.store import KEEP, Claim, ClaimKey, Settled
from langgraph_degrade.store.claims import handed_out, next_ordinal, packed, settled, standing, still_open

MOST = 10_000
"""Intents, and unfinished items, remembered at most (○); beyond it the oldest are forgotten."""


@dataclass(slots=True)
class _Intent:
    until: float = 0.0
    rows: list[Claim] = field(default_factory=list[Claim])


@dataclass(frozen=True, slots=True)
class _Item:
    thread: str | None
    text: str
    until: float


class MemoryStore:
    """A `Store` in this process's memory: no write is doubled until the process ends.

    Example:
        >>> store = MemoryStore()
        >>> key = ClaimKey("thread-1", "turn-1", "tool:refund", '{"amount":1299}', "call-1")
        >>> claim = store.claim(key, owner="me", now=0.0)
        >>> claim.state
        'claimed'
        >>> store.settle(claim, "done", {"refund": "R-1"}).state
        'done'
        >>> store.claim(key, owner="me", now=9.0).result
        {'refund': 'R-1'}
    """

    durable = False

    def __init__(self) -> None:
        self._lock = Lock()
        self._ids = count(1)
        self._intents: OrderedDict[str, _Intent] = OrderedDict()
        self._items: OrderedDict[tuple[str | None, str], _Item] = OrderedDict()

    def claim(self, key: ClaimKey, *, owner: str, now: float, ttl: float = KEEP) -> Claim:
        """See `Store.claim`."""
        name = key.intent
        with self._lock:
            intent = self._intents.setdefault(name, _Intent())
            found = standing(intent.rows, key, owner)
            if found is not None:
                return handed_out(found)
            mine = Claim(next(self._ids), key, next_ordinal(intent.rows, key), "claimed", owner, now)
            intent.rows.append(mine)
            intent.until = max(intent.until, now + ttl)
            self._intents.move_to_end(name)
            _prune(self._intents, now)
            return mine

    def settle(self, claim: Claim, state: Settled, result: object = None) -> Claim:
        """See `Store.settle`."""
        text = packed(result)
        with self._lock:
            rows = self._intents.get(claim.key.intent, _Intent()).rows
            for place, row in enumerate(rows):
                if row.id == claim.id:
                    rows[place] = settled(row, state, text)
                    return handed_out(rows[place])
        return handed_out(settled(claim, state, text))

    def add(self, item: Mapping[str, Any], *, now: float) -> None:
        """See `Store.add`."""
        row = _Item(item["thread"], json.dumps(dict(item)), now + KEEP)
        with self._lock:
            self._items[row.thread, item["id"]] = row
            _prune(self._items, now)

    def unfinished(self, thread: str | None = None) -> list[dict[str, Any]]:
        """See `Store.unfinished`."""
        with self._lock:
            items = list(self._items.values())
        return still_open(json.loads(item.text) for item in items if thread is None or item.thread == thread)

    def recall(self, item_id: str, *, thread: str | None) -> dict[str, Any] | None:
        """See `Store.recall`."""
        with self._lock:
            item = self._items.get((thread, item_id))
        return None if item is None else dict(json.loads(item.text))

    def resolve(self, item_id: str, *, thread: str | None) -> None:
        """See `Store.resolve`."""
        with self._lock:
            self._items.pop((thread, item_id), None)

    def close(self) -> None:
        """Nothing to release."""


def _prune(rows: OrderedDict[Any, Any], now: float) -> None:
    while rows and (len(rows) > MOST or next(iter(rows.values())).until < now):
        rows.popitem(last=False)
