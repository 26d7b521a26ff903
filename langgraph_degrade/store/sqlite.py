"""A store for one machine that restarts: one SQLite file, shared by its processes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from langgraph_degrade.engine.store import KEEP, Claim, ClaimKey, Settled


class SqliteStore:
    """A `Store` in an SQLite file of its own: claims survive SIGKILL and power cuts.

    `patience` is how long (seconds) a call waits for a locked file before it raises `StoreUnavailable`.
    """

    durable = True

    def __init__(self, path: str | os.PathLike[str], *, patience: float = 2.0) -> None: ...

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

    def close(self) -> None:
        raise NotImplementedError
