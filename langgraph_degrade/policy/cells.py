"""One cell of the policy: what may be done for one target, in one stage of one scene (spec R1).

`Cell` is what people write, `TargetPolicy` what a target's calls are run by. Numbers are the spec's (row named) or
ours (○). Durations are seconds once read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from langgraph_degrade.failures.failure import Kind
from langgraph_degrade.policy.values import (
    Count,
    Duration,
    Flag,
    Frozen,
    FrozenDict,
    Name,
    PositiveCount,
    PositiveDuration,
    Rate,
    Share,
    duration,
)

Stage = Literal["plan", "select", "execute", "context", "answer", "state"]
Direction = Literal["params", "data", "function", "chain", "model", "handoff"]
Language = Literal["zh", "en"]


class Part(BaseModel):
    """Frozen data with no keys but its own: what every section of a policy is."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=False)


class BreakerRule(Part):
    """When calls to a target stop, and how they come back (spec B2, B4). Each failure kind is counted on its own."""

    kind: Literal["each"] = "each"
    window: PositiveDuration = 60.0
    rate: Share = 0.3
    """Share of one kind among the window's calls that goes with `consecutive`."""
    consecutive: PositiveCount = 3
    errors: PositiveCount = 20
    """More errors of one kind than this open it too, at a share of `error_rate`."""
    error_rate: Share = 0.05
    min_calls: PositiveCount = 10
    open_for: PositiveDuration = 30.0
    ramp: Duration = 30.0
    """From 10 % of the traffic to all of it takes at least this long, after `open_for`."""
    probes: PositiveCount = 3
    """Calls out at once in the first step of the ramp."""


class CachePolicy(Part):
    """How old a value may be, and whose it is (spec E3)."""

    ttl: PositiveDuration
    scope: tuple[Name, ...] | Literal["shared"] | None = None
    """Keys of `configurable` or of the runtime's context; `shared` is for public data; None is per thread."""
    max_entries: PositiveCount = 1024


class ParamsPolicy(Part):
    """What the `params` rung asks for instead: arguments dropped, arguments set."""

    drop: tuple[Name, ...] = ()
    set: Frozen[str, Any] = FrozenDict()


class EnvelopePolicy(Part):
    """Which fields of a `{code, msg, data}` reply mean what. Values compare by type too: `True` is not 1."""

    code: Name = "code"
    success: tuple[Any, ...] = (0, "0", 200, "200", "00000", True, "success", "ok")
    transient: tuple[Any, ...] = ()
    business: tuple[Any, ...] = ()
    data: Name = "data"
    message: Name = "msg"
    nullable: Flag = False
    """Whether `data: null` is an answer (nothing there) rather than a failure."""


def _limit(value: object) -> float | None:
    return None if value is None or value == "none" else _positive(value)


def _positive(value: object) -> float:
    return duration(value)


Limit = Annotated[float | None, BeforeValidator(_limit)]


class QueryTimeouts(Part):
    """Two classes of query, chosen per call (spec T6). None: no limit of its own."""

    basic: Limit = 3.0
    complex: Limit = 10.0
    complex_when: tuple[Name, ...] = ()
    """Arguments that make a call complex when they are truthy."""


def _timeouts(value: object) -> object:
    if value is None or isinstance(value, Mapping | QueryTimeouts):
        return value
    limit = _limit(value)
    return {"basic": limit, "complex": limit}


class Cell(Part):
    """What one layer of the policy says. Only what is written overrides the layers below."""

    effect: Literal["read", "write"] | None = None
    idempotent: Flag = False
    timeout: Annotated[QueryTimeouts | None, BeforeValidator(_timeouts)] = None
    result_schema: Frozen[str, Any] | None = None
    envelope: EnvelopePolicy | None = None
    text_errors: Frozen[str, Kind] = FrozenDict()
    cache: CachePolicy | None = None
    read_through: CachePolicy | None = None
    core: Flag = True
    ladder: tuple[Direction, ...] = ("params", "data", "function")
    params: ParamsPolicy | None = None
    endpoints: tuple[Name, ...] = ()
    offline: Name | None = None
    verify: Name | None = None
    refresh: Name | None = None
    interruptible: Flag = True
    retry_server_errors: Flag = False
    priority: Literal["high", "normal", "low"] = "normal"
    alternative: str | Frozen[Language, str] | None = None
    capacity: Rate | None = None
    max_abandoned: PositiveCount = 32
    breakers: tuple[BreakerRule, ...] = (BreakerRule(),)


class StageCell(Cell):
    """A stage's defaults; `regenerate` counts new drafts of an answer that failed its check (spec A3)."""

    regenerate: Count = 1


class SceneCell(Cell):
    """A scene's defaults, and what differs in single stages of it."""

    stages: Frozen[Stage, StageCell] = FrozenDict()


class Entry(Cell):
    """One tool or one other target, by name."""

    scene: Name | None = None


class TargetPolicy(Cell):
    """One resolved cell: what the engine runs a target's calls by. Attributes only; nothing is computed here."""

    declared: Flag = False
    """The target stands in the policy by name."""
    stage: Stage = "execute"
    scene: str | None = None
    regenerate: Count = 1
