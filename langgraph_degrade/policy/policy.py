"""`Policy`: everything that is allowed, as frozen data, and how its layers merge into one cell (spec R1)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, ValidationInfo, model_validator

from langgraph_degrade import texts
from langgraph_degrade.context import Stage
from langgraph_degrade.policy.cells import Cell, Entry, SceneCell, StageCell, TargetPolicy
from langgraph_degrade.policy.consistency import contradictions
from langgraph_degrade.policy.loading import parse
from langgraph_degrade.policy.parts import Part, limits
from langgraph_degrade.policy.problems import Lines, Place, Refused, explain, policy_error, problem
from langgraph_degrade.policy.schemas import Source
from langgraph_degrade.policy.values import (
    Count,
    Duration,
    Frozen,
    FrozenDict,
    Name,
    PositiveCount,
    PositiveDuration,
    Share,
    Written,
    guess,
    positive_duration,
    wrong,
)
from langgraph_degrade.texts import Language

_UNDECLARED = ("effect", "idempotent", "cache", "read_through")
"""What only a tool's own entry (or its metadata) may say: one line in `defaults` must not repeat somebody's refund."""
_READ_ONLY = frozenset({"cache", "read_through", "params", "endpoints", "offline"})
"""Whoever writes one of these about a target of his own says that it is read."""


class RequestPolicy(Part):
    """One budget for the whole request, shared by every layer (spec T2, R5)."""

    retries: Count = 3
    """Second attempts of any kind, the `params` rung included."""
    retry_time: Duration = 8.0
    """Seconds spent on failed attempts and waiting before there are no more attempts; not a hard end."""
    max_depth: PositiveCount = 3
    """Escalations before a hand-off ticket."""


def _session(value: object) -> object:
    return value if value == "auto" else positive_duration(value)


class TimeoutsPolicy(Part):
    """The three tiers of spec T3. An inner limit never outlives an outer one."""

    tool: PositiveDuration = 3.0
    """For declared tools that give no timeout of their own."""
    session: Annotated[float | Literal["auto"], BeforeValidator(_session)] = "auto"
    """`auto`: mean tool-chain time × 1.5, between 30 and 60 s."""
    user: PositiveDuration = 240.0


class ProbePolicy(Part):
    """How often models, and tools that declare a probe, are probed while `with degrader:` holds; and the success rate
    below which traffic moves (spec M3).
    """

    every: PositiveDuration = 30.0
    switch_below: Share = 0.5

    @model_validator(mode="after")
    def _leaves_a_way_back(self) -> Self:
        if self.switch_below >= 1:
            raise wrong("with switch_below 1 nothing is ever good enough to come back", "write a share, such as 0.5")
        return self


class ModelsPolicy(Part):
    """What holds for all model tiers."""

    probe: ProbePolicy = ProbePolicy()


class HandoffPolicy(Part):
    """What the last rung needs (spec H1)."""

    sink: Name | None = None
    """Where tickets go, by the name it is registered under; None: the fixed text is all there is."""


def _known_texts(wording: Mapping[Language, Mapping[str, str]]) -> Mapping[Language, Mapping[str, str]]:
    for language, templates in wording.items():
        for key, template in templates.items():
            if key not in texts.KEYS:
                near = [known for known in texts.KEYS if known.partition(".")[0] == key.partition(".")[0]]
                raise wrong(f"no sentence is called {key!r}", guess(key, near or texts.KEYS), at=(language, key))
            if unknown := sorted(texts.unknown_fields(key, template)):
                example = texts.TEXTS[key][language]
                raise wrong(f"{{{unknown[0]}}} is never filled in", f"compare {example!r}", at=(language, key))
    return wording


class Policy(Part):
    """What is allowed, in which cell: stage × scene, tool by tool. Frozen, comparable, and valid once it exists.

    Raises `PolicyError` naming every problem: file, line (YAML) or path, what is wrong and what would be right.

    Example:
        >>> policy = Policy.model_validate({"tools": {"get_stock": {"effect": "read", "cache": {"ttl": "30s"}}}})
        >>> policy.target("tool:get_stock").cache.ttl
        30.0
    """

    request: RequestPolicy = RequestPolicy()
    timeouts: TimeoutsPolicy = TimeoutsPolicy()
    defaults: Cell = Field(default_factory=Cell)
    stages: Frozen[Stage, Annotated[StageCell, Written]] = FrozenDict()
    scenes: Frozen[Name, Annotated[SceneCell, Written]] = FrozenDict()
    """Business scenarios. A scene's `effect` holds for its tools too, unless they say otherwise."""
    tools: Frozen[Name, Annotated[Entry, Written]] = FrozenDict()
    targets: Frozen[Name, Annotated[Entry, Written]] = FrozenDict()
    """Anything else by name: what is given to `guard()`, nodes, savers."""
    models: ModelsPolicy = ModelsPolicy()
    language: Literal["auto", "zh", "en"] = "auto"
    texts: Annotated[Frozen[Language, Frozen[str, str]], AfterValidator(_known_texts)] = FrozenDict()
    """Own wording: language → key of the sentence → template."""
    handoff: HandoffPolicy = HandoffPolicy()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a YAML, JSON or TOML file; paths inside it start from its own directory."""
        return load(path)[0]

    @model_validator(mode="wrap")
    @classmethod
    def _located(cls, data: object, handler: Callable[[object], Policy], info: ValidationInfo) -> Policy:
        source = Source.of(info)
        if isinstance(data, dict):  # an empty section of a file says nothing
            data = {key: value for key, value in cast("dict[str, object]", data).items() if value is not None}
        try:
            policy = handler(data)
        except ValidationError as error:
            found = explain(error, cls, source.lines)
        else:
            found = [problem(place, what, fix, source.lines) for place, what, fix in contradictions(policy)]
            if not found:
                return policy
        raise policy_error(source.name, found)

    def target(self, name: str, *, stage: Stage = "execute", scene: str | None = None) -> TargetPolicy:
        """Resolve the cell that calls to `name` are run by.

        Layers, weakest first: built-in, `defaults`, the stage, the scene, the scene's stage, the target's own entry.
        Only what a layer writes overrides the ones before it, and whole: a `cache` or `timeout` mapping is not mixed
        with another layer's, so a scope or a limit always stands beside what it belongs to.

        Args:
            name: `tool:NAME` is looked up in `tools`; anything else in `targets`, with and without its prefix.
            stage: Where the call is made.
            scene: What the request is about; without it, the scene the entry names.
        """
        values: dict[str, Any] = {}
        for _, layer in self.layers(name, stage=stage, scene=scene):
            values |= {field: getattr(layer, field) for field in layer.model_fields_set}
        entry = self.entry(name)
        if name.startswith("tool:"):
            values = self._as_tool(values, is_declared=entry is not None)
        elif values.get("effect") is None and entry is not None and entry.model_fields_set & _READ_ONLY:
            values["effect"] = "read"  # nobody keeps the last good value of a write
        if values.get("effect") != "read":
            values.pop("read_through", None)  # a cache that answers instead of a write would lose it
        for field in ("stages", "scene"):
            values.pop(field, None)
        scene = scene or (entry.scene if entry else None)
        return TargetPolicy.model_construct(declared=entry is not None, stage=stage, scene=scene, **values)

    def _as_tool(self, values: dict[str, Any], *, is_declared: bool) -> dict[str, Any]:
        if is_declared:
            return {"timeout": limits(self.timeouts.tool)} | values
        return {field: value for field, value in values.items() if field not in _UNDECLARED}

    def layers(self, name: str, *, stage: Stage = "execute", scene: str | None = None) -> Iterator[tuple[Place, Cell]]:
        """List the layers of one cell, weakest first, each with its place in the policy."""
        entry = self.entry(name)
        scene = scene or (entry.scene if entry else None)
        yield ("defaults",), self.defaults
        if stage in self.stages:
            yield ("stages", stage), self.stages[stage]
        if scene is not None and (found := self.scenes.get(scene)):
            yield ("scenes", scene), found
            if stage in found.stages:
                yield ("scenes", scene, "stages", stage), found.stages[stage]
        if entry is not None:
            yield self._place(name), entry

    def entry(self, name: str) -> Entry | None:
        """Find a target's own entry; None where it is not declared."""
        section, key = self._place(name)
        return (self.tools if section == "tools" else self.targets).get(key)

    def _place(self, name: str) -> tuple[str, str]:
        if name.startswith("tool:"):
            return ("tools", name.removeprefix("tool:"))
        return ("targets", name if name in self.targets else name.partition(":")[2])


def load(path: str | os.PathLike[str]) -> tuple[Policy, Lines]:
    """Read a policy file, with the line of everything in it (empty for JSON and TOML)."""
    file = Path(path)
    try:
        data, lines = parse(file)
    except Refused as refused:
        raise policy_error(str(file), [refused.problem]) from None
    source = Source(name=str(file), directory=file.parent, lines=lines)
    return Policy.model_validate({} if data is None else data, context=source), lines
