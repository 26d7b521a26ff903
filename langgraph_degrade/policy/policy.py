"""`Policy`: everything that is allowed, as frozen data, and how its layers merge into one cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from langgraph_degrade.policy.cells import (
    Cell,
    Entry,
    Language,
    Part,
    QueryTimeouts,
    SceneCell,
    Stage,
    StageCell,
    TargetPolicy,
)
from langgraph_degrade.policy.values import (
    Count,
    Duration,
    Frozen,
    FrozenDict,
    Name,
    PositiveCount,
    PositiveDuration,
    Share,
    positive_duration,
)


class RequestPolicy(Part):
    """One budget for the whole request (spec T2, R5)."""

    retries: Count = 3
    retry_time: Duration = 8.0
    """Seconds spent on failed attempts and waiting before there are no more attempts; not a hard end."""
    max_depth: PositiveCount = 3
    """Escalations before a hand-off ticket."""


def _session(value: object) -> object:
    return value if value == "auto" else positive_duration(value)


class TimeoutsPolicy(Part):
    """The three tiers of spec T3."""

    tool: PositiveDuration = 3.0
    session: Annotated[float | Literal["auto"], BeforeValidator(_session)] = "auto"
    """`auto`: mean tool-chain time × 1.5, between 30 and 60 s."""
    user: PositiveDuration = 240.0


class ProbePolicy(Part):
    """How tiers are looked after (spec M3)."""

    every: PositiveDuration = 30.0
    switch_below: Share = 0.5


class ModelsPolicy(Part):
    """What holds for all model tiers."""

    probe: ProbePolicy = ProbePolicy()


class HandoffPolicy(Part):
    """Where the last rung leaves its tickets (spec H1)."""

    sink: Name | None = None


class Policy(Part):
    """What is allowed, in which cell (spec R1)."""

    request: RequestPolicy = RequestPolicy()
    timeouts: TimeoutsPolicy = TimeoutsPolicy()
    defaults: Cell = Cell()
    stages: Frozen[Stage, StageCell] = FrozenDict()
    scenes: Frozen[str, SceneCell] = FrozenDict()
    tools: Frozen[str, Entry] = FrozenDict()
    targets: Frozen[str, Entry] = FrozenDict()
    models: ModelsPolicy = ModelsPolicy()
    language: Literal["auto", "zh", "en"] = "auto"
    texts: Frozen[Language, Frozen[str, str]] = FrozenDict()
    handoff: HandoffPolicy = HandoffPolicy()

    def target(self, name: str, *, stage: Stage = "execute", scene: str | None = None) -> TargetPolicy:
        """Resolve the cell `name` is run by: built-in ← defaults ← stage ← scene ← the scene's stage ← its own entry."""
        entry = self._entry(name)
        scene = scene or (entry.scene if entry else None)
        values: dict[str, Any] = {}
        for layer in self._layers(entry, stage, scene):
            values |= {field: getattr(layer, field) for field in layer.model_fields_set}
        if entry and name.startswith("tool:"):
            tool = self.timeouts.tool
            values.setdefault("timeout", QueryTimeouts(basic=tool, complex=tool))
        values.pop("stages", None)
        return TargetPolicy.model_construct(
            **values | {"declared": entry is not None, "stage": stage, "scene": scene}
        )

    def _entry(self, name: str) -> Entry | None:
        if name.startswith("tool:"):
            return self.tools.get(name.removeprefix("tool:"))
        return self.targets.get(name) or self.targets.get(name.partition(":")[2])

    def _layers(self, entry: Entry | None, stage: Stage, scene: str | None) -> Iterator[Cell]:
        yield self.defaults
        if stage in self.stages:
            yield self.stages[stage]
        if scene is not None and scene in self.scenes:
            yield self.scenes[scene]
            if stage in self.scenes[scene].stages:
                yield self.scenes[scene].stages[stage]
        if entry is not None:
            yield entry
