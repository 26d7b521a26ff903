"""The rules of claims, as plain functions over rows: every store follows the same ones.

A row's `result` is JSON text as long as it is inside a store, so that nobody can change it through a reference.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from langgraph_degrade.engine.store import Claim, ClaimKey, Settled, State

KNOWN: tuple[State, ...] = ("claimed", "unknown", "failed", "late", "done")
"""What is known of a write, in the order in which it grows."""


def standing(rows: Sequence[Claim], key: ClaimKey, owner: str) -> Claim | None:
    """The earlier claim that answers this one, as `done`, `late` or `unknown`; None where the write may be sent.

    `rows` are the claims of the same intent, oldest first. The same tool call finds its own row: it is being replayed
    (resume, retry of a node), so a row that was never settled is in doubt whoever made it. Another call finds only
    what its maker has not been told: doubts (case-W01), and writes that came home late. Next to a done one, or one under
    way in this process, it is an intentional second one.
    """
    alive = [row for row in rows if row.state != "failed"]
    own = [row for row in alive if key.tool_call_id is not None and row.key.tool_call_id == key.tool_call_id]
    others = [row for row in alive if key.args is not None and _untold(row, owner)]
    for row in reversed(own or others):
        return replace(row, state="unknown") if row.state == "claimed" else row
    return None


def _untold(row: Claim, owner: str) -> bool:
    return row.state in ("unknown", "late") or (row.state == "claimed" and row.owner != owner)


def next_ordinal(rows: Sequence[Claim], key: ClaimKey) -> int:
    """The first number that is free; it makes the idempotency key.

    A failed write gives its number back, so the same intent sent again bears the same key: had the failure been a
    mistake, the target would still see one write. Not so where the arguments can't be compared.
    """
    taken = {row.ordinal for row in rows if row.state != "failed" or key.args is None}
    return next(number for number in range(1, len(taken) + 2) if number not in taken)


def settled(row: Claim, state: Settled, result: str | None) -> Claim:
    """The row after it was told `state`: what is known only grows."""
    if KNOWN.index(state) < KNOWN.index(row.state):
        return row
    return replace(row, state=state, result=row.result if result is None else result)


def still_open(items: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items that somebody has to do something about: not those whose write came home late."""
    return [item for item in items if item.get("state") != "late"]


def packed(result: object) -> str | None:
    """JSON text of a result; None where there is none, or none that is JSON."""
    try:
        return None if result is None else json.dumps(result)
    except (TypeError, ValueError, RecursionError):
        return None


def handed_out(row: Claim) -> Claim:
    """The claim as the engine gets it: its result a value of its own."""
    return row if row.result is None else replace(row, result=json.loads(row.result))
