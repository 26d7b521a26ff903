"""The default store: this process's memory."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from threading import Lock
from typing import Any

from langgraph_degrade.engine.store import (
    KEEP,
    LEARNS,
    Claim,
    ClaimKey,
    Settled,
    dump_result,
    next_ordinal,
    standing,
)

MOST = 10_000
"""Claims, and items, at most (○); beyond it the oldest are forgotten."""


class MemoryStore:
    """A `Store` in this process's memory: protects against doubled writes until the process ends."""

    durable = False

    def __init__(self) -> None:
        self._lock = Lock()
        self._ids = count(1)
        self._claims: OrderedDict[int, tuple[Claim, float]] = OrderedDict()
        self._by_intent: dict[str, list[int]] = {}
        self._items: OrderedDict[str, tuple[str | None, str | None]] = OrderedDict()

    def claim(self, key: ClaimKey, *, owner: str, now: float, ttl: float = KEEP) -> Claim:
        raise NotImplementedError

    def settle(self, claim: Claim, state: Settled, result: object = None) -> Claim:
        raise NotImplementedError

    def add(self, item: Mapping[str, Any], *, now: float) -> None:
        raise NotImplementedError

    def unfinished(self, thread: str | None = None) -> list[dict[str, Any]]:
        raise NotImplementedError

    def resolve(self, item_id: str) -> None:
        raise NotImplementedError
