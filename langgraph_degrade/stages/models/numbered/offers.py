"""The bound tools as numbered offers. The numbers are their places, from 1; 0 is an answer in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_degrade.stages.tools.shapes import is_array, is_mapping

NONE = "none"
"""What stands in a reply for a tool's name where it calls none."""
_DEEPEST = 12
"""○ Steps through `$ref`s and alternatives; what goes deeper may be anything."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One tool as the menu shows it."""

    number: int
    name: str
    description: str
    schema: Mapping[str, Any]
    """JSON Schema of the arguments, every local `$ref` put in place."""

    @property
    def properties(self) -> Mapping[str, Mapping[str, Any]]:
        """The parameters by name."""
        found = self.schema.get("properties")
        return {name: part if is_mapping(part) else {} for name, part in found.items()} if is_mapping(found) else {}

    @property
    def required(self) -> Sequence[str]:
        """Names of the parameters a call cannot do without."""
        return [str(name) for name in self.schema.get("required") or ()]


def offers_of(tools: Sequence[Mapping[str, Any]]) -> list[Offer]:
    """Number the tools, OpenAI-format dicts, in the order they are bound."""
    return [_offer(number, tool) for number, tool in enumerate(tools, start=1)]


def without_null(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of `X | None` the X."""
    branches = part.get("anyOf") or part.get("oneOf")
    if not is_array(branches):
        return part
    real = [branch for branch in branches if is_mapping(branch) and branch.get("type") != "null"]
    return {**real[0], **{key: part[key] for key in ("description",) if key in part}} if len(real) == 1 else part


def _offer(number: int, tool: Mapping[str, Any]) -> Offer:
    function: Mapping[str, Any] = tool.get("function", tool)
    schema: Mapping[str, Any] = function.get("parameters") or {"type": "object", "properties": {}}
    whole = _inlined(schema, schema, 0)
    description = " ".join(str(function.get("description") or "").split())
    return Offer(number, str(function["name"]), description, whole)


def _inlined(part: Any, root: Mapping[str, Any], depth: int) -> Any:
    if depth > _DEEPEST:
        return {}
    if is_array(part):
        return [_inlined(item, root, depth + 1) for item in part]
    if not is_mapping(part):
        return part
    reference = part.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        beside = {key: value for key, value in part.items() if key != "$ref"}
        return _inlined({**_found(root, reference), **beside}, root, depth + 1)
    return {key: _inlined(value, root, depth + 1) for key, value in part.items() if key not in ("$defs", "definitions")}


def _found(root: Mapping[str, Any], reference: str) -> Mapping[str, Any]:
    place: Any = root
    for step in reference.removeprefix("#/").split("/"):
        place = place.get(step.replace("~1", "/").replace("~0", "~")) if is_mapping(place) else None
    return place if is_mapping(place) else {}
