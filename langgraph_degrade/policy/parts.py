"""The parts a cell is made of: breaker rules, caches, the params rung, reply envelopes, query classes.

Numbers are the spec's (row named) or ours (○); durations are seconds once read.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from langgraph_degrade.policy.values import (
    Duration,
    Flag,
    FrozenDict,
    JsonMapping,
    Name,
    Names,
    PositiveCount,
    PositiveDuration,
    Share,
    distinct,
    is_list,
    plain_json,
    positive_duration,
    shown,
    wrong,
)


class Part(BaseModel):
    """Frozen data with no keys but its own: what every section of a policy is."""

    # Deferred: half of this package's import time would go into validators that most processes use once, or never.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class BreakerRule(Part):
    """When calls to a target stop, and how they come back (spec B2, B4)."""

    kind: Literal["each"] = "each"
    """Each failure kind is counted on its own; kinds are never added up."""
    window: PositiveDuration = 60.0
    rate: Share = 0.3
    """Opens when one kind comes `consecutive` times in a row and has this share of the window's calls."""
    consecutive: PositiveCount = 3
    errors: PositiveCount = 20
    """Opens, too, when one kind comes more often than this, at a share of `error_rate` or more."""
    error_rate: Share = 0.05
    min_calls: PositiveCount = 10
    """Below this many calls in the window nothing opens ○."""
    open_for: PositiveDuration = 30.0
    ramp: Duration = 30.0
    """The way back from 10 % of the traffic to all of it takes at least this long, after `open_for`."""
    probes: PositiveCount = 3
    """Calls out at once in the first step of the ramp."""


def _scope(value: object) -> object:
    if value is None or value == "shared":
        return value
    if isinstance(value, str):
        raise wrong(f"{shown(value)} is not a list", f"write [{value}], or shared for public data")
    if not is_list(value) or not value or not all(isinstance(key, str) and key for key in value):
        raise wrong(f"{shown(value)} names no owner", "name keys, such as [user_id], or write shared for public data")
    if "shared" in value:
        raise wrong("shared is not a key", "write scope: shared, without brackets")
    return distinct(tuple(value))


class CachePolicy(Part):
    """How old a value may be, and whose it is (spec E3)."""

    ttl: PositiveDuration
    """Oldest value that may stand in; an expired one is never served."""
    scope: Annotated[tuple[str, ...] | Literal["shared"] | None, BeforeValidator(_scope)] = None
    """Keys of `config["configurable"]` or `runtime.context`. None: per thread. `shared`: public data only."""
    max_entries: PositiveCount = 1024


class ParamsPolicy(Part):
    """What the `params` rung asks instead: arguments dropped, arguments set (spec D1)."""

    drop: Names = ()
    set: JsonMapping = FrozenDict()


Codes = Annotated[tuple[Any, ...], BeforeValidator(plain_json)]


class EnvelopePolicy(Part):
    """Which fields of a `{code, msg, data}` reply mean what (spec F1). Codes are compared by type too: true is not 1."""

    code: Name = "code"
    success: Codes = (0, "0", 200, "200", "00000", True, "success", "ok")
    transient: Codes = ()
    business: Codes = ()
    data: Name = "data"
    message: Name = "msg"
    nullable: Flag = False
    """Whether `data: null` is an answer (there is none) rather than a failure."""

    @model_validator(mode="after")
    def _one_meaning_a_code(self) -> Self:
        seen: dict[str, str] = {}
        for meaning in ("success", "transient", "business"):
            for code in getattr(self, meaning):
                other = seen.setdefault(repr(code), meaning)
                if other != meaning:
                    raise wrong(f"{code!r} is under {other} already", "keep it under one of them", at=(meaning,))
        return self


def limit(value: object) -> float | None:
    """Read a limit in seconds; `none` is none at all."""
    return None if value is None or value == "none" else positive_duration(value)


class QueryTimeouts(Part):
    """Limits of two classes of query, chosen per call (spec T6). None: no limit, and the caller's own thread."""

    basic: Annotated[float | None, BeforeValidator(limit)] = 3.0
    complex: Annotated[float | None, BeforeValidator(limit)] = 10.0
    complex_when: Names = ()
    """Arguments that make a call a complex one when they are truthy."""

    @model_validator(mode="after")
    def _complex_is_longer(self) -> Self:
        if self.complex is not None and (self.basic is None or self.basic > self.complex):
            what = f"complex queries get {self.complex:g} s, less than basic ones"
            raise wrong(what, "give complex the longer limit, or write one limit for both: timeout: 3s")
        return self


def limits(seconds: float | None) -> QueryTimeouts:
    """Give both classes of query the same limit."""
    return QueryTimeouts(basic=seconds, complex=seconds)
