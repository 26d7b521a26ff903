"""Writes that would be lost, doubled or left in the dark (spec R1, E4)."""

from __future__ import annotations

from collections.abc import Iterator

from langgraph_degrade.policy.policy import Policy
from langgraph_degrade.policy.rules.remark import Declared, Remark, declared

_FOR_READS = ("cache", "read_through", "params", "endpoints", "offline", "retry_server_errors")


def writes(policy: Policy) -> Iterator[Remark]:
    """What a declared write asks for that no write can have, and what it should have."""
    for one in declared(policy):
        if one.cell.effect == "write":
            yield from _stand_ins(one)
            yield from _outcome(one)


def undecided(policy: Policy) -> Iterator[Remark]:
    """Entries that do not say whether they read or write; settings for reads then do nothing."""
    for one in declared(policy):
        if one.cell.effect is not None:
            continue
        idle = [field for field in _FOR_READS if one.wrote_itself(field)]
        why = "without an effect it counts as a write: no retry, no value from a cache"
        if idle:
            why += f"; {', '.join(idle)} would do nothing"
        fix = "write effect: read or effect: write"
        yield Remark(one.place, "no-effect", why, fix, "warning" if idle else "note")


def _stand_ins(one: Declared) -> Iterator[Remark]:
    if one.wrote("ladder") and "data" in one.cell.ladder:
        why = "no earlier or other value can stand in for a write; this rung is skipped"
        yield Remark(
            one.origin("ladder"), "write-with-data", why, f"write a ladder of its own in {one.name}: [handoff]"
        )
    if one.cell.cache is not None:
        why = "a cached answer would claim that a write was done; it is never used"
        yield Remark(one.origin("cache"), "write-with-cache", why, f"remove it, or write cache: null in {one.name}")


def _outcome(one: Declared) -> Iterator[Remark]:
    if one.cell.verify is None and not one.cell.idempotent:
        why = "after a timeout nobody can tell whether it was done: it stays unknown until a person looks"
        fix = "name a read-back (verify: find_it), or say idempotent: true if doing it twice does no harm"
        yield Remark(one.place, "write-without-verify", why, fix, "note")
    if one.cell.interruptible and not one.wrote("interruptible"):
        why = "if it is async, a timeout cancels it halfway"
        fix = "write interruptible: false to let it finish and catch its late result (true if cancelling is safe)"
        yield Remark(one.place, "write-interruptible", why, fix, "note")
