"""What a tool says about itself: metadata and MCP annotations stand in where the policy is silent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from langgraph_degrade.policy import Policy


def declared(tool: BaseTool, policy: Policy) -> dict[str, Any]:
    """Overrides for the tool's cell: `readOnlyHint`/`read_only` make it a read, `idempotentHint`/`idempotent` repeatable."""
    name = f"tool:{tool.name}"
    if policy.target(name).effect is not None:
        return {}
    notes = _notes(tool)
    said: dict[str, Any] = {}
    if _is_true(notes, "readOnlyHint", "read_only"):
        said["effect"] = "read"
    elif _is_true(notes, "destructiveHint", "destructive"):
        said["effect"] = "write"
    if _is_true(notes, "idempotentHint", "idempotent"):
        said["idempotent"] = True
    return said


def _notes(tool: BaseTool) -> Mapping[str, Any]:
    notes: dict[str, Any] = {}
    for source in (tool.metadata, tool.extras):
        if isinstance(source, Mapping):
            inner = source.get("annotations")
            notes |= {**source, **(inner if isinstance(inner, Mapping) else {})}
    return notes


def _is_true(notes: Mapping[str, Any], *names: str) -> bool:
    return any(notes.get(name) is True for name in names)
