"""Graceful degradation for LangGraph and LangChain agents."""

import importlib
import logging
from typing import TYPE_CHECKING, Any

from langgraph_degrade.context import DegradeContext, DegradeState, Event
from langgraph_degrade.degrader import Degrader
from langgraph_degrade.engine.writes import idempotency_key
from langgraph_degrade.errors import (
    BudgetSpent,
    CircuitOpen,
    DeadlineExceeded,
    DegradeError,
    IncompleteStream,
    LadderExhausted,
    Overloaded,
    PolicyError,
    ToolSchemaError,
    UnknownOutcome,
)
from langgraph_degrade.failures import Failure, classify
from langgraph_degrade.policy import Policy
from langgraph_degrade.stages.tools.result import ToolResult

if TYPE_CHECKING:
    from langgraph_degrade.stages.models.tier import Tier
    from langgraph_degrade.stages.selecting import KeywordTemplate

logging.getLogger(__name__).addHandler(logging.NullHandler())  # whoever wants our records asks for them

__all__ = [
    "BudgetSpent",
    "CircuitOpen",
    "DeadlineExceeded",
    "DegradeContext",
    "DegradeError",
    "DegradeState",
    "Degrader",
    "Event",
    "Failure",
    "IncompleteStream",
    "KeywordTemplate",
    "LadderExhausted",
    "Overloaded",
    "Policy",
    "PolicyError",
    "Tier",
    "ToolResult",
    "ToolSchemaError",
    "UnknownOutcome",
    "classify",
    "idempotency_key",
]

_LATE = {"Tier": "langgraph_degrade.stages.models.tier", "KeywordTemplate": "langgraph_degrade.stages.selecting"}
"""What needs LangChain's models, imported when it is asked for."""


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATE[name]), name)
