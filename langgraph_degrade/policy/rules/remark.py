"""What a rule sees, one declared target, and what it says, one remark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from langgraph_degrade.policy.cells import Cell, Entry, TargetPolicy
from langgraph_degrade.policy.consistency import target_name
from langgraph_degrade.policy.policy import Policy
from langgraph_degrade.policy.problems import Place

Level = Literal["warning", "note"]


@dataclass(frozen=True, slots=True)
class Remark:
    """Something valid that will surprise: where, which rule, why, and what would be better."""

    place: Place
    code: str
    why: str
    fix: str
    level: Level = "warning"


@dataclass(frozen=True, slots=True)
class Declared:
    """One entry with the cell it resolves to, and where each setting of the cell was written."""

    policy: Policy
    place: Place
    entry: Entry
    cell: TargetPolicy
    layers: tuple[tuple[Place, Cell], ...]

    @property
    def name(self) -> str:
        return str(self.place[-1])

    def origin(self, field: str) -> Place:
        """Where a setting was written last; the entry itself for a built-in value."""
        for place, layer in reversed(self.layers):
            if field in layer.model_fields_set:
                return (*place, field)
        return self.place

    def wrote(self, field: str) -> bool:
        """Whether any layer says it, rather than the built-in defaults."""
        return self.origin(field) != self.place

    def wrote_itself(self, field: str) -> bool:
        return field in self.entry.model_fields_set


def declared(policy: Policy) -> Iterator[Declared]:
    """List everything that is declared by name."""
    for section, entries in (("tools", policy.tools), ("targets", policy.targets)):
        for key, entry in entries.items():
            place = (section, key)
            name = target_name(place)
            yield Declared(policy, place, entry, policy.target(name), tuple(policy.layers(name)))
