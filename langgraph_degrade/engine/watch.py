"""`Watch`: one target's probe, and what its answers say of the target."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from langgraph_degrade.engine.breaker import COUNTED
from langgraph_degrade.engine.bulkhead import Bulkhead
from langgraph_degrade.engine.health import Health, ProbeRule
from langgraph_degrade.failures import ANSWERS, Failure, classify

if TYPE_CHECKING:
    from langgraph_degrade.engine.target import Target

log = logging.getLogger("langgraph_degrade")

GIVEN_UP = 10
"""Intervals after which a probe that still hangs says nothing more about its target ○: another one is sent."""
MOST_HUNG = 4
"""Probes of one target that may hang at once ○; while they do, no more is learnt, and its verdict lapses."""
BAD = COUNTED | {"auth", "quota"}
"""Kinds that make a probe a bad one: what a breaker counts, and what users' requests would meet as well."""


class NotAProbe(TypeError):
    """Raised for a probe that must be written otherwise: that says nothing about its target."""


@dataclass(slots=True, eq=False)
class Watch:
    """One target's probe, in one run."""

    target: Target
    probe: Callable[[], Any]
    rule: ProbeRule
    is_async: bool
    bulkhead: Bulkhead = field(default_factory=partial(Bulkhead, MOST_HUNG))
    """One request is out at a time; beside it, those that were given up and hang."""
    health: Health = field(init=False)
    due: float = field(init=False, default=math.inf)
    is_busy: bool = field(init=False, default=False)
    hung_since: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.health = Health(self.rule)

    @property
    def name(self) -> str:
        return self.target.name

    def rest(self, until: float) -> None:
        """End one look; the next one is due at `until`."""
        self.due = self.health.next_at = until
        self.is_busy = False

    def still_hangs(self, now: float) -> bool:
        """Whether the last probe has not ended, and not for so long that it says nothing more."""
        if not self.bulkhead.abandoned:
            self.hung_since = None
        return self.hung_since is not None and now - self.hung_since <= GIVEN_UP * self.rule.every

    def hangs(self, now: float) -> None:
        """Note that a probe was given up; one that ends after all is no longer counted by its bulkhead."""
        self.hung_since = now
        if self.bulkhead.abandoned == MOST_HUNG:
            log.warning("the probe of %s hangs for ever: give it a timeout of its own", self.name)


def only_sync(probe: Callable[[], Any]) -> Any:
    """Call a sync probe; one that gives a coroutine is a mistake of ours, not of its target."""
    value = probe()
    if value.__class__ is CoroutineType:
        value.close()
        raise NotAProbe("a probe taken for sync gave a coroutine: declare it with `async def`")
    return value


def speaks_of(failure: Failure | None) -> bool | None:
    """What a probe says of its target: well (a "no" is an answer), not well, or nothing (refused content, our own doing)."""
    if failure is None or failure.kind in ANSWERS:
        return True
    return False if failure.kind in BAD else None


def failure_in(value: Any, target: Target) -> Failure | None:
    """What is wrong with a value: `False` is a bad probe's, None is fine, and an answer cut at one token was asked for."""
    if value is False:
        return Failure("unknown", reason="False")
    failure = classify(value, source=target.source, allow_empty=True)
    is_cut = failure is not None and failure.kind == "schema" and failure.reason.startswith("finish_reason: ")
    return None if is_cut else failure
