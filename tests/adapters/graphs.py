"""States for hand-built test graphs."""

from __future__ import annotations

from langgraph.graph import MessagesState

from langgraph_degrade import DegradeState


class State(MessagesState, DegradeState):
    """Messages and the `degrade` key."""
