"""Breakers that never open, or stay in the way too long (spec B2, B4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from langgraph_degrade.policy.consistency import cells
from langgraph_degrade.policy.parts import BreakerRule
from langgraph_degrade.policy.policy import Policy
from langgraph_degrade.policy.rules.remark import Declared, Remark, declared

BACK_TO_NORMAL: Final = 60.0
"""Seconds after a fault's end within which a target is normal again (spec B4)."""


def volume(policy: Policy) -> Iterator[Remark]:
    """At the stated volume a breaker can open at all."""
    for one in declared(policy):
        if one.cell.capacity is None:
            continue
        for index, rule in enumerate(one.cell.breakers):
            calls = one.cell.capacity * rule.window
            if why := _out_of_reach(rule, calls):
                fix = "lengthen window, or lower min_calls, consecutive or errors"
                yield Remark(_place(one, index), "breaker-never-trips", why, fix)


def _out_of_reach(rule: BreakerRule, calls: float) -> str:
    seen = f"a window of {rule.window:g} s sees at most {calls:g} calls at the stated capacity"
    if calls < rule.min_calls:
        return f"{seen}, fewer than min_calls ({rule.min_calls})"
    if calls < rule.consecutive and calls <= rule.errors:
        return f"{seen}, too few for consecutive ({rule.consecutive}) and for errors ({rule.errors})"
    return ""


def _place(one: Declared, index: int) -> tuple[str | int, ...]:
    return (*one.origin("breakers"), index) if one.wrote("breakers") else one.origin("capacity")


def recovery(policy: Policy) -> Iterator[Remark]:
    """A target is back to normal within a minute of the fault's end; one without a breaker never rests."""
    for place, cell in cells(policy):
        if "breakers" in cell.model_fields_set and not cell.breakers:
            why = "without a breaker every request waits for a target that is known to be down"
            yield Remark((*place, "breakers"), "no-breaker", why, "leave breakers out for the default one", "note")
        for index, rule in enumerate(cell.breakers):
            if rule.open_for + rule.ramp > BACK_TO_NORMAL:
                why = (
                    f"open_for and ramp make {rule.open_for + rule.ramp:g} s after the fault's end, more than a minute"
                )
                yield Remark((*place, "breakers", index), "slow-recovery", why, "lower open_for or ramp")
