"""What is allowed, in which cell (spec R1): frozen data, read from a file or written in code."""

from __future__ import annotations

from langgraph_degrade.policy.cells import (
    BreakerRule,
    CachePolicy,
    Cell,
    Direction,
    EnvelopePolicy,
    ParamsPolicy,
    QueryTimeouts,
    Stage,
    TargetPolicy,
)
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
