"""Graceful degradation for LangGraph and LangChain agents."""

import logging

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
    "LadderExhausted",
    "Overloaded",
    "Policy",
    "PolicyError",
    "ToolResult",
    "ToolSchemaError",
    "UnknownOutcome",
    "classify",
    "idempotency_key",
]
