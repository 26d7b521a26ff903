"""`ToolResult`: what an application reads about one tool call (spec E1)."""

from __future__ import annotations

from typing import Any, Literal, cast

from langchain_core.messages import ToolMessage

from langgraph_degrade.errors import ToolSchemaError
from langgraph_degrade.failures.failure import Failure
from langgraph_degrade.stages.tools.capping import capped
from langgraph_degrade.stages.tools.shapes import is_mapping

Status = Literal["ok", "stale", "partial", "unavailable", "unknown", "rejected"]

MAX_BYTES = 32 * 1024
"""○ Of `data` as JSON in UTF-8: it stands in every checkpoint of the thread."""

_FIELDS = frozenset({"status", "data", "fallback_reason", "age", "source", "failure", "truncated"})


class ToolResult(dict[str, Any]):
    """One tool call's outcome: a plain JSON dict, the same before and after a checkpoint, with attribute reads.

    Example:
        >>> result = ToolResult.make("stale", {"stock": 3}, age=42.0, source="last_good", fallback_reason="timeout")
        >>> result.status, result.data["stock"], result["age"]
        ('stale', 3, 42.0)
    """

    @classmethod
    def make(
        cls,
        status: Status,
        data: object = None,
        *,
        fallback_reason: str | None = None,
        age: float | None = None,
        source: str | None = None,
        failure: Failure | None = None,
    ) -> ToolResult:
        """Build one. `data` becomes a plain copy of at most 32 KB; of `failure` only what may be shown is kept."""
        kept, truncated = _kept(data)
        return cls(
            status=status,
            data=kept,
            fallback_reason=fallback_reason,
            age=age,
            source=source,
            failure=failure and _told(failure),
            truncated=truncated,
        )

    @classmethod
    def of(cls, message: object) -> ToolResult | None:
        """Return the result that travels with a `ToolMessage`, or None where it carries none.

        None, and no guess: a message with status `error` that is not ours may stand for a tool that is down, for
        arguments it refused, or for a write that went through all the same.
        """
        if not isinstance(message, ToolMessage):
            return None
        for place in (message.artifact, message.additional_kwargs.get("degrade")):
            if is_mapping(place) and place.keys() >= _FIELDS:
                return cls(place)
        return None

    def plain(self) -> dict[str, Any]:
        """Return a plain dict: what must stand in a message, since strict checkpoints know no classes of ours."""
        return dict(self)

    @property
    def status(self) -> Status:
        """`ok` fresh · `stale` an earlier value · `partial` · `unavailable` · `unknown` a write nobody can vouch for ·
        `rejected` the tool worked and said no.
        """
        return cast("Status", self["status"])

    @property
    def data(self) -> Any:
        """What the tool said, as JSON, out of its envelope; None where there is nothing to show."""
        return self["data"]

    @property
    def fallback_reason(self) -> str | None:
        """Why it is not the plain fresh result: `timeout`, `http 503`, …; None where it is."""
        return self["fallback_reason"]  # type: ignore[no-any-return]

    @property
    def age(self) -> float | None:
        """Seconds since a `stale` value was fresh; None for any other."""
        return self["age"]  # type: ignore[no-any-return]

    @property
    def source(self) -> str | None:
        """What stood in for the tool: `last_good`, an endpoint's name, …; None where the tool itself answered."""
        return self["source"]  # type: ignore[no-any-return]

    @property
    def failure(self) -> dict[str, Any] | None:
        """The first failure as `{kind, status, retry_after, reason}`; None where there was none."""
        return self["failure"]  # type: ignore[no-any-return]

    @property
    def truncated(self) -> bool:
        """Whether `data` was cut to 32 KB; where it was, a mark such as `… 950 more` stands in it."""
        return self["truncated"]  # type: ignore[no-any-return]


def _told(failure: Failure) -> dict[str, Any]:
    return {
        "kind": failure.kind,
        "status": failure.status,
        "retry_after": failure.retry_after,
        "reason": failure.reason,
    }


def _kept(data: object) -> tuple[object, bool]:
    try:
        return capped(data, MAX_BYTES)
    except ToolSchemaError:  # a reading would have failed on it; nothing to show is better than no result at all
        return None, True
