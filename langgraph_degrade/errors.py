"""The errors of this package.

    DegradeError (RuntimeError)
    ├── PolicyError          a policy that says something impossible: file, place, what would be right .problems
    ├── CircuitOpen          refused: the target is known to be down          .target .retry_after
    ├── BudgetSpent          refused: the request has no attempts left        .target
    ├── DeadlineExceeded     the request's time is over                       .target
    ├── Overloaded           refused: quota or load; ask again later          .target .retry_after
    ├── ToolSchemaError      a result that breaks its schema                  .path
    ├── UnknownOutcome       a write of which nobody knows whether it happened .target
    ├── IncompleteStream     a stream that ended before it was whole
    ├── StoreUnavailable     a store that can't be read or written (engine.store)
    └── LadderExhausted      every rung failed; an ExceptionGroup of every cause

The root is a `RuntimeError` because LangGraph's default retry policy runs plain `Exception`s again: a whole
ladder would be walked three times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class DegradeError(RuntimeError):
    """Root of every error this package raises."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a policy: where (`tools.get_stock.cache.ttl`), what, and what would be right."""

    place: str
    what: str
    fix: str
    line: int | None = None
    """Counted from 1; None where the source has no lines (code) or none to name (JSON, TOML)."""


class PolicyError(DegradeError):
    """Raised when a policy is wrong; the text names the file, the place and what would be right, for every problem."""

    def __init__(self, message: str, *, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class _Refused(DegradeError):
    def __init__(self, message: str, *, target: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.target = target
        self.retry_after = retry_after


class CircuitOpen(_Refused):
    """Raised when a target is known to be down and nothing stands in for it."""


class BudgetSpent(_Refused):
    """Raised when the request has no attempts left."""


class DeadlineExceeded(_Refused):
    """Raised when the request's time was over before the call could answer."""


class Overloaded(_Refused):
    """Raised when a quota, a bulkhead or the load of the machine refuses the call."""


class ToolSchemaError(DegradeError):
    """Raised when a result breaks its schema; `path` is the JSON path of the first fault, outermost first."""

    def __init__(self, message: str, *, path: str = "$") -> None:
        super().__init__(message)
        self.path = path


class UnknownOutcome(DegradeError):
    """Raised when a write may or may not have happened. Do not repeat it; look first."""

    def __init__(self, message: str, *, target: str = "") -> None:
        super().__init__(message)
        self.target = target


class IncompleteStream(DegradeError):
    """Raised when a stream ended before it was whole."""


class LadderExhausted(ExceptionGroup[Exception], DegradeError):
    """Raised when every rung failed. Its `exceptions` are all the causes, in order."""

    def derive(self, excs: Sequence[Exception], /) -> LadderExhausted:  # type: ignore[override]
        return LadderExhausted(self.message, excs)
