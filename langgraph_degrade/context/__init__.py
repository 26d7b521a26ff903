"""`DegradeContext`: what was degraded in one request, and what it left undone (spec R2, R3)."""

from __future__ import annotations

from langgraph_degrade.context.context import DegradeContext, DegradeState, turn_of
from langgraph_degrade.context.events import DIRECTIONS, LEVELS, STAGES, Direction, Event, Stage, Unfinished
from langgraph_degrade.context.merging import MAX_EVENTS, merge

__all__ = [
    "DIRECTIONS",
    "LEVELS",
    "MAX_EVENTS",
    "STAGES",
    "DegradeContext",
    "DegradeState",
    "Direction",
    "Event",
    "Stage",
    "Unfinished",
    "merge",
    "turn_of",
]
