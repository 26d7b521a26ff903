"""What the engine asks of a store: claims on writes, and the list of what is unfinished.

A write is claimed *before* it is sent, outside the checkpoint, so that after a lost reply, a crash or a resume
somebody still knows that it may have happened. What a claim says:

| state     | who reads it                                                                                   |
|-----------|------------------------------------------------------------------------------------------------|
| `claimed` | the claim is yours: send the write, then `settle` it                                           |
| `done`    | this very call was answered before: hand out `result`, send nothing                            |
| `failed`  | this very call is known not to have happened                                                   |
| `unknown` | it may have happened: look (read back), then `settle`; send nothing before                     |

A settled claim only learns: `claimed` → `unknown` → `failed` → `done`. A reply that comes in late beats a timeout,
and a reply beats a read-back that looked too early.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol
from uuid import UUID, uuid5

from langgraph_degrade.errors import DegradeError

State = Literal["claimed", "unknown", "failed", "done"]
Settled = Literal["unknown", "failed", "done"]
LEARNS: tuple[State, ...] = ("claimed", "unknown", "failed", "done")
"""The order in which a claim's state may change; never backwards."""

KEEP = 7 * 86400.0
"""Seconds a row is kept (○): longer than a conversation waits for a human, short enough to stay small."""

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
        text = json.dumps(parts, ensure_ascii=False)
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


def standing(rows: Sequence[Claim], key: ClaimKey, owner: str) -> Claim | None:
    """The earlier claim that answers this one; None where the write is a new one and may be sent.

    `rows` are the claims of the same intent, oldest first. A `claimed` row that this call did not make just now
    belongs to an owner who is dead, elsewhere, or an earlier attempt that never said how it ended: `unknown`.
    """
    replayed = [row for row in rows if key.tool_call_id is not None and row.key.tool_call_id == key.tool_call_id]
    if not replayed and key.args is not None:
        replayed = [row for row in rows if _doubtful(row, owner)]
    if not replayed:
        return None
    row = replayed[-1]
    return replace(row, state="unknown") if row.state == "claimed" else row


def _doubtful(row: Claim, owner: str) -> bool:
    return row.state == "unknown" or (row.state == "claimed" and row.owner != owner)


def next_ordinal(rows: Sequence[Claim], key: ClaimKey) -> int:
    """The first number that is free.

    A failed write gives its number back, so the same intent sent again bears the same idempotency key: should the
    failure have been a mistake, the target still sees one write. Not so where the arguments can't be compared.
    """
    taken = {row.ordinal for row in rows if row.state != "failed" or key.args is None}
    return next(number for number in range(1, len(taken) + 2) if number not in taken)


def dump_result(result: object) -> str | None:
    """JSON text of a write's result; None where it has none: the outcome is worth keeping without it."""
    try:
        return json.dumps(result)
    except (TypeError, ValueError, RecursionError):
        return None


class Store(Protocol):
    """Where claims and unfinished items live. Sync and thread-safe; async code runs it on a worker.

    Every method may raise `StoreUnavailable`, having changed nothing; what then becomes of the call is the
    engine's decision. `now` is Unix time (`Clock.time()`): rows outlive the process.
    """

    @property
    def durable(self) -> bool:
        """True where rows survive the process: only then may a user be told "we will finish it"."""
        ...

    def claim(self, key: ClaimKey, *, owner: str, now: float, ttl: float = KEEP) -> Claim:
        """Claim a write atomically, or find the claim that stands in its way; see the table above.

        `owner` names one life of one process: a `claimed` row of anybody else counts as `unknown`. The row is
        forgotten `ttl` seconds later.
        """
        ...

    def settle(self, claim: Claim, state: Settled, result: object = None) -> Claim:
        """Record how the write ended; the claim as it stands now, which may know more (see `LEARNS`).

        `result` is JSON; what isn't is dropped and the outcome kept. A row that was forgotten stays so.
        """
        ...

    def add(self, item: Mapping[str, Any], *, now: float) -> None:
        """Note an unfinished item: a JSON dict with `id`, `thread`, `turn`, `target`, `what`, `state`, `queued`,
        `at` and `priority`. The same id again replaces it, unless it was resolved.
        """
        ...

    def unfinished(self, thread: str | None = None) -> list[dict[str, Any]]:
        """The open items of one thread, or of all; oldest first."""
        ...

    def resolve(self, item_id: str) -> None:
        """Close an item for good: adding it again (a replay) doesn't reopen it. An unknown id is no error."""
        ...
