"""What the engine asks of a store: claims on writes, and the list of what is unfinished.

A write is claimed *before* it is sent, outside the checkpoint, so that after a lost reply, a crash or a resume
somebody still knows that it may have happened. `Store.claim` gives a claim in one of four states:

    claimed   it is yours: send the write, then settle it as done, failed (certainly not done) or unknown
    done      this very call was answered before: hand out its result, send nothing
    late      the same write was done after all, after whoever asked for it had been told that nobody knows: say so,
              settle it as done and send nothing
    unknown   the same write may have happened: look (read back) and settle; until then send nothing

What is known only grows: claimed -> unknown -> failed -> late -> done. A reply that comes in late beats the timeout, and a
reply beats a read-back that looked too early. A failed claim never stands in anybody's way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol
from uuid import UUID, uuid5

from langgraph_degrade.errors import DegradeError

State = Literal["claimed", "unknown", "failed", "late", "done"]
Settled = Literal["unknown", "failed", "late", "done"]

KEEP = 7 * 86400.0
"""Seconds a row is kept (○): longer than a conversation waits for a human, short enough to stay small."""

_ENCODER = json.JSONEncoder(ensure_ascii=False)
_NAMESPACE = UUID("5f0c9a52-6f0e-5f0b-8f8e-1d3f4b5d7c21")


class StoreUnavailable(DegradeError):
    """Raised when a store can't be read or written (locked, full, corrupt, too new); the cause is its own error."""


@dataclass(frozen=True, slots=True)
class ClaimKey:
    """Which write is meant: who wants it, in which turn, of which target, with which arguments.

    Example:
        >>> first = ClaimKey("thread-1", "turn-1", "tool:refund", '{"amount":1299}', "call-1")
        >>> again = ClaimKey("thread-1", "turn-1", "tool:refund", '{"amount":1299}', "call-2")
        >>> first.intent == again.intent
        True
    """

    thread: str
    turn: str
    target: str
    args: str | None
    """`keys.canonical(args)`; None (no key can be made) never equals another call's arguments."""
    tool_call_id: str | None = None
    """Names this one call: the same id again is a replay, another one may be a second intentional write. Outside
    tools whatever is stable over a resume."""
    tenant: str = ""
    """Where threads of several tenants share one store and may bear the same name."""

    @property
    def intent(self) -> str:
        """Digest of all but the call id; what is stored instead of the arguments, which may be private."""
        parts = [self.tenant, self.thread, self.turn, self.target, self.args]
        text = _ENCODER.encode(parts)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Claim:
    """One write's row, as the store found or made it."""

    id: int
    key: ClaimKey
    ordinal: int
    """1 for the first write of this intent, 2 for an intentional second one in the same turn, …"""
    state: State
    owner: str
    at: float
    """Unix seconds of the claim."""
    result: Any = None
    """The JSON value it was settled with."""

    @property
    def idempotency_key(self) -> str:
        """A UUID to send along: equal for a retry, replay or read-back of one intent, else different."""
        return str(uuid5(_NAMESPACE, f"{self.key.intent}/{self.ordinal}"))


class Store(Protocol):
    """Where claims and unfinished items live. Sync and thread-safe; async code runs it on a worker.

    Every method may raise `StoreUnavailable`, having changed nothing; what then becomes of the call is the engine's
    decision. `now` is Unix time (`Clock.time()`), for rows outlive the process.
    """

    @property
    def durable(self) -> bool:
        """True where rows survive the process: only then may a user be told "we will finish it"."""
        ...

    def claim(self, key: ClaimKey, *, owner: str, now: float, ttl: float = KEEP) -> Claim:
        """Claim a write, or find the claim that stands in its way; atomic over threads and processes.

        `owner` names one life of one process: what anybody else has claimed and not settled is `unknown`, for they
        are dead or elsewhere. The row is forgotten `ttl` seconds later.
        """
        ...

    def settle(self, claim: Claim, state: Settled, result: object = None) -> Claim:
        """Record how the write ended. Returns the claim as it stands now, which may know more than `state`.

        `result` is JSON; where it isn't, it is dropped and the outcome kept. A forgotten row stays forgotten.
        """
        ...

    def add(self, item: Mapping[str, Any], *, now: float) -> None:
        """Note an unfinished item, a JSON dict: `id`, `thread`, `turn`, `target`, `what`, `state`, `queued`, `at`,
        `priority`. The same id in the same thread again replaces it. It is forgotten after `KEEP` seconds.
        """
        ...

    def unfinished(self, thread: str | None = None) -> list[dict[str, Any]]:
        """The open items of one thread (None: of all), oldest first; not those in state `late`."""
        ...

    def recall(self, item_id: str, *, thread: str | None) -> dict[str, Any] | None:
        """One item, open or `late`: a write that came home after whoever asked was told that nobody knows."""
        ...

    def resolve(self, item_id: str, *, thread: str | None) -> None:
        """Take an item off the list: it was done or withdrawn. An unknown id is no error."""
        ...
