"""What no single value shows: settings that contradict each other once the layers are merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from langgraph_degrade.policy.cells import Cell, Entry
from langgraph_degrade.policy.problems import Place

if TYPE_CHECKING:
    from langgraph_degrade.policy.policy import Policy

Contradiction: TypeAlias = tuple[Place, str, str]
"""Where, what is wrong, what would be right."""


def contradictions(policy: Policy) -> Iterator[Contradiction]:
    """Find what could only be obeyed by breaking something else the policy says."""
    yield from _names(policy)
    yield from _stages(policy)
    for place, cell in cells(policy):
        yield from _effects(place, cell, _effect(policy, place, cell))
        yield from _endpoints(place, cell)


def cells(policy: Policy) -> Iterator[tuple[Place, Cell]]:
    """List every cell as it is written, with its place."""
    yield ("defaults",), policy.defaults
    for section in ("stages", "scenes", "tools", "targets"):
        found: Mapping[str, Cell] = getattr(policy, section)
        for name, cell in found.items():
            yield (section, name), cell
    for name, scene in policy.scenes.items():
        for stage, cell in scene.stages.items():
            yield ("scenes", name, "stages", stage), cell


def target_name(place: Place) -> str:
    """Name the target an entry stands for: `tools.x` is `tool:x`, `targets.x` is `x`."""
    return f"tool:{place[1]}" if place[0] == "tools" else str(place[1])


def _effect(policy: Policy, place: Place, cell: Cell) -> str | None:
    return policy.target(target_name(place)).effect if isinstance(cell, Entry) else cell.effect


def _names(policy: Policy) -> Iterator[Contradiction]:
    for name in policy.tools:
        if name.startswith("tool:"):
            yield ("tools", name), "tools stand here without a prefix", f"write {name.removeprefix('tool:')}"
    for name in policy.targets:
        if name.startswith("tool:"):
            yield ("targets", name), "a tool is not declared here", f"move it to tools.{name.removeprefix('tool:')}"


def _stages(policy: Policy) -> Iterator[Contradiction]:
    for place, cell in cells(policy):
        if "regenerate" in cell.model_fields_set and place[-1] != "answer":
            yield (*place, "regenerate"), "only answers are drafted again", "move it to stages.answer"


def _effects(place: Place, cell: Cell, effect: str | None) -> Iterator[Contradiction]:
    if cell.read_through and effect == "write":
        what = "a read-through cache on a write would answer without doing it"
        yield (*place, "read_through"), what, "remove it, or say effect: read"
    if cell.read_through and effect is None and isinstance(cell, Entry):
        what = "a read-through cache needs a read, and undeclared counts as a write"
        yield (*place, "read_through"), what, "add effect: read"
    if cell.verify and effect == "read":
        what = "there is nothing to verify after a read"
        yield (*place, "verify"), what, "remove it, or say effect: write"


def _endpoints(place: Place, cell: Cell) -> Iterator[Contradiction]:
    if isinstance(cell, Entry) and place[-1] in cell.endpoints[1:]:
        what = f"{place[-1]!r} cannot stand in for itself"
        yield (*place, "endpoints"), what, "the first endpoint is the target itself; name others after it"
