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
    reads, destroys, is_idempotent = declared_notes(tool)
    said: dict[str, Any] = {"idempotent": True} if is_idempotent else {}
    if reads or destroys:
        said["effect"] = "read" if reads else "write"
    return said


def declared_notes(tool: BaseTool) -> tuple[bool, bool, bool]:
    """What it says of itself, as far as it matters: (reads, destroys, may be repeated)."""
    notes = _notes(tool)
    return (
        _is_true(notes, "readOnlyHint", "read_only"),
        _is_true(notes, "destructiveHint", "destructive"),
        _is_true(notes, "idempotentHint", "idempotent"),
    )


def _notes(tool: BaseTool) -> Mapping[str, Any]:
    notes: dict[str, Any] = {}
    for source in (tool.metadata, tool.extras):
        if isinstance(source, Mapping):
            inner = source.get("annotations")
            notes |= {**source, **(inner if isinstance(inner, Mapping) else {})}
    return notes


def _is_true(notes: Mapping[str, Any], *names: str) -> bool:
    return any(notes.get(name) is True for name in names)
