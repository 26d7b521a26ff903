"""What is allowed, in which cell (spec R1): frozen data, read from a file or written in code."""

from __future__ import annotations

from langgraph_degrade.context import Direction, Stage
from langgraph_degrade.policy.cells import Cell, TargetPolicy
from langgraph_degrade.policy.parts import BreakerRule, CachePolicy, EnvelopePolicy, ParamsPolicy, QueryTimeouts
from langgraph_degrade.policy.policy import (
    HandoffPolicy,
    ModelsPolicy,
    Policy,
    RequestPolicy,
    TimeoutsPolicy,
)

__all__ = [
    "BreakerRule",
    "CachePolicy",
    "Cell",
    "Direction",
    "EnvelopePolicy",
    "HandoffPolicy",
    "ModelsPolicy",
    "ParamsPolicy",
    "Policy",
    "QueryTimeouts",
    "RequestPolicy",
    "Stage",
    "TargetPolicy",
    "TimeoutsPolicy",
]
