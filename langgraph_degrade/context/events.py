"""The words of a degradation: stages, rungs, one step taken, one thing left undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from langgraph_degrade.failures.failure import Failure, Kind

Stage = Literal["plan", "select", "execute", "context", "answer", "state"]
STAGES: tuple[Stage, ...] = get_args(Stage)
Direction = Literal["params", "data", "function", "chain", "model", "handoff"]
DIRECTIONS: tuple[Direction, ...] = ("params", "data", "function", "chain", "model", "handoff")
"""The rungs, cheapest first (spec D1); a rung's level is its place here, counted from 1."""
LEVELS: Mapping[str, int] = {name: level for level, name in enumerate(DIRECTIONS, 1)}


@dataclass(frozen=True, slots=True)
class Event:
    """One step taken: who, why, which rung, how long, which attempt."""

    id: str
    target: str
    stage: Stage
    kind: Kind
    reason: str
    """Short and safe; the classifier's words, never an exception's text."""
    direction: Direction | None = None
    """The rung taken; None for an attempt that was simply made again."""
    outcome: str = ""
    """What the step gave: `retried`, `failed`, or the status of the result (`stale`, `unavailable`, …)."""
    source: str | None = None
    """Which alternative a rung asked, or took its value from: an endpoint, a fallback's name, `last_good`."""
    scene: str | None = None
    attempt: int = 1
    at: float = 0.0
    """Unix time in seconds."""
    elapsed: float = 0.0
    """Seconds the failed attempts before this step took."""
    status: int | None = None
    """HTTP status, where there was one."""

    @classmethod
    def of(cls, failure: Failure, **what: Any) -> Event:
        """An event whose cause is this failure: its kind, its words, its status."""
        return cls(kind=failure.kind, reason=failure.reason or failure.kind, status=failure.status, **what)

    @property
    def level(self) -> int:
        """1 (`params`) to 6 (`handoff`); 0 where no rung was taken."""
        return LEVELS.get(self.direction or "", 0)

    def plain(self) -> dict[str, Any]:
        """This event as JSON, without empty fields, with its level."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "")} | {"level": self.level}


@dataclass(slots=True)
class Unfinished:
    """One thing the user asked for and did not (surely) get."""

    id: str
    target: str
    what: str
    """What was asked, for the user: the tool and its arguments, redacted and capped."""
    state: Literal["not_done", "unknown"] = "not_done"
    is_read: bool = False
    """Only something to look up: nothing was lost by not doing it, and nobody needs to submit it again."""
    queued: bool = False
    """Durably queued: only then may an answer say "we will finish it" (spec A4)."""
    turn: str = ""
    at: float = 0.0
    done: bool = False
    """The tombstone: finished or withdrawn since."""
