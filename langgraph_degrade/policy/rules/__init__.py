"""What is valid and will surprise all the same: one function a rule, each from a policy to remarks."""

from __future__ import annotations

from langgraph_degrade.policy.rules import breakers, caches, reserved, rungs, times, writes
from langgraph_degrade.policy.rules.remark import Level, Remark

RULES = (
    times.tiers,
    times.target_timeouts,
    times.attempts,
    writes.writes,
    writes.undecided,
    caches.scopes,
    caches.shared,
    rungs.ladders,
    rungs.scenes,
    rungs.handoff,
    reserved.reserved,
    breakers.volume,
    breakers.recovery,
)

__all__ = ["RULES", "Level", "Remark"]
