"""Ladders with rungs that lead nowhere, means that no rung uses, and a last rung without a floor (spec D1, H1)."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from langgraph_degrade.policy.policy import Policy
from langgraph_degrade.policy.rules.remark import Declared, Remark, declared

_MEANS = {"params": ("params",), "data": ("cache", "endpoints", "offline")}


def ladders(policy: Policy) -> Iterator[Remark]:
    """Every rung written out has something to stand on, and every means a rung that uses it."""
    for one in declared(policy):
        if one.cell.effect == "read":
            yield from _rungs(one)
            yield from _means(one)
        if one.wrote_itself("ladder") and "chain" in one.cell.ladder and one.cell.core:
            why = "the chain rung skips only what is not core, and it is core"
            yield Remark((*one.place, "ladder"), "rung-without-means", why, "add core: false, or remove chain", "note")


def _rungs(one: Declared) -> Iterator[Remark]:
    for rung, fields in _MEANS.items():
        if one.wrote_itself("ladder") and rung in one.cell.ladder and not any(_given(one, field) for field in fields):
            why = f"the {rung} rung has nothing to try"
            fix = f"add {' or '.join(fields)}, or remove {rung}"
            yield Remark((*one.place, "ladder"), "rung-without-means", why, fix, "note")


def _means(one: Declared) -> Iterator[Remark]:
    for rung, fields in _MEANS.items():
        for field in fields:
            if rung not in one.cell.ladder and one.wrote_itself(field) and _given(one, field):
                why = f"its ladder has no {rung} rung, so this is never used"
                yield Remark((*one.place, field), "means-without-rung", why, f"add {rung} to the ladder, or remove it")


def _given(one: Declared, field: str) -> bool:
    value = getattr(one.cell, field)
    return bool(value[1:]) if field == "endpoints" else value is not None  # the first endpoint is the target itself


def scenes(policy: Policy) -> Iterator[Remark]:
    """A scene an entry names is spelled like the one that is described."""
    for one in declared(policy):
        scene = one.entry.scene
        near = difflib.get_close_matches(scene or "", policy.scenes, n=1, cutoff=0.8)
        if scene and scene not in policy.scenes and near:
            why = f"nothing is said about a scene {scene!r}"
            yield Remark((*one.place, "scene"), "unknown-scene", why, f"did you mean {near[0]!r}?")


def handoff(policy: Policy) -> Iterator[Remark]:
    """The last rung of every ladder leaves a ticket somewhere."""
    if policy.handoff.sink is None:
        why = "every ladder ends with a person, and nowhere is named to leave the ticket"
        fix = "write handoff: {sink: NAME}; in this version it only names the place: the hand-over is worded, no ticket is left"
        yield Remark(("handoff",), "no-handoff-sink", why, fix)
