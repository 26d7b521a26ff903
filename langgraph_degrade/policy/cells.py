"""One cell of the policy: what may be done for one target, in one stage of one scene (spec R1).

`Cell` is what people write, `TargetPolicy` what a target's calls are run by. Numbers are the spec's (row named) or
ours (○); durations are seconds, rates are calls per second once read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BeforeValidator

from langgraph_degrade.context import Direction, Stage
from langgraph_degrade.failures.failure import BLAMELESS, Kind
from langgraph_degrade.policy.parts import (
    BreakerRule,
    CachePolicy,
    EnvelopePolicy,
    ParamsPolicy,
    Part,
    QueryTimeouts,
    limit,
    limits,
)
from langgraph_degrade.policy.schemas import ResultSchema
from langgraph_degrade.policy.values import (
    Count,
    Flag,
    Frozen,
    FrozenDict,
    Name,
    Names,
    PositiveCount,
    Rate,
    distinct,
    guess,
    is_mapping,
    shown,
    wrong,
)
from langgraph_degrade.texts import Language


def _timeouts(value: object) -> object:
    return value if value is None or isinstance(value, QueryTimeouts) or is_mapping(value) else limits(limit(value))


def _patterns(kinds: Mapping[str, Kind]) -> Mapping[str, Kind]:
    for pattern, kind in kinds.items():
        try:
            re.compile(pattern)
        except re.error as error:
            raise wrong(f"not a regular expression ({error})", "escape it, or correct it", at=(pattern,)) from None
        if kind in BLAMELESS:
            raise wrong(f"{kind!r} is never what a tool says", "choose what went wrong there", at=(pattern,))
    return kinds


def _rungs(value: tuple[Direction, ...]) -> tuple[Direction, ...]:
    if "handoff" in value[:-1]:
        raise wrong("nothing comes after handoff", "put it last, or leave it out: it always follows")
    return value


def _wording(value: object) -> object:
    if value is None or (isinstance(value, str) and value):
        return value
    if not is_mapping(value) or not value:
        raise wrong(f"{shown(value)} is not text", "write the sentence, or one for each language: {zh: …, en: …}")
    for language, sentence in value.items():
        if language not in get_args(Language):
            raise wrong(f"no texts in {shown(language)}", guess(language, get_args(Language)), at=(str(language),))
        if not isinstance(sentence, str) or not sentence:
            raise wrong(f"{shown(sentence)} is not text", "write the sentence", at=(str(language),))
    return value


class Cell(Part):
    """What one layer of the policy says. Only what is written overrides the layers below."""

    effect: Literal["read", "write"] | None = None
    """None counts as a write: no retry, no cache."""
    idempotent: Flag = False
    """Doing it twice is doing it once."""
    timeout: Annotated[QueryTimeouts | None, BeforeValidator(_timeouts)] = None
    """None: session time only. `none`: no limit at all, a sync call stays in the caller's own thread."""
    result_schema: ResultSchema = None
    """A path, a JSON Schema or, in code, a Python type; always a mapping once read."""
    envelope: EnvelopePolicy | None = None
    text_errors: Annotated[Frozen[str, Kind], AfterValidator(_patterns)] = FrozenDict()
    """Regular expression → what a text result that matches it really is."""
    cache: CachePolicy | None = None
    """Last good value: stands in for a failed call, marked stale."""
    read_through: CachePolicy | None = None
    """An ordinary cache, asked before the call (addresses: 24 h). For reads only."""
    core: Flag = True
    """False: the `chain` rung may skip it."""
    ladder: Annotated[tuple[Direction, ...], AfterValidator(distinct), AfterValidator(_rungs)] = (
        "params",
        "data",
        "function",
    )
    """Rungs in the order they are tried (spec D1); `handoff` always follows."""
    params: ParamsPolicy | None = None
    endpoints: Names = ()
    """Alternatives by name, the main one first (spec D2)."""
    offline: Name | None = None
    """Name of the callable that computes an answer without the target."""
    verify: Name | None = None
    """Name of a callable `(args, config) -> True | False | None`: was the write done? (spec E4)"""
    intent: tuple[Name, ...] = ()
    """Arguments that make two calls of a write the same wish, whatever else differs (a reworded note, say); all, if
    none is named."""
    refresh: Name | None = None
    """Name of the hook called once when the target says `auth` (spec F1)."""
    probe: Name | None = None
    """Name of a callable that makes one small request of the target, past every guard (spec M3)."""
    interruptible: Flag = True
    """False: a late call is left to finish, its result is caught (spec T5)."""
    retry_server_errors: Flag = False
    """One retry after a 5xx too (spec T1)."""
    priority: Literal["high", "normal", "low"] = "normal"
    alternative: Annotated[str | Frozen[Language, str] | None, BeforeValidator(_wording)] = None
    """What the customer can do instead; one sentence, or one for each language."""
    capacity: Rate | None = None
    """What the target bears, in calls per second; ramps and quotas stay below it (spec B4, S1)."""
    max_abandoned: PositiveCount = 32
    """Threads its sync calls may hold at once, those left to themselves included: more queue within their own time ○.

    Of async calls only those left to themselves count. With as many hanging, the target is refused at once."""
    breakers: tuple[BreakerRule, ...] = (BreakerRule(),)


class StageCell(Cell):
    """A stage's defaults."""

    regenerate: Count = 1
    """New drafts of an answer that failed its check (spec A3); `answer` only."""


class SceneCell(Cell):
    """A scene's defaults, and what differs in single stages of it."""

    stages: Frozen[Stage, StageCell] = FrozenDict()


class Entry(Cell):
    """One tool or one other target, by name."""

    scene: Name | None = None
    """The scene it belongs to, where the request names none."""


class TargetPolicy(Cell):
    """One resolved cell: what the engine runs a target's calls by. Attributes only; nothing is computed here."""

    declared: Flag = False
    """The target stands in the policy by name."""
    stage: Stage = "execute"
    scene: str | None = None
    regenerate: Count = 1
