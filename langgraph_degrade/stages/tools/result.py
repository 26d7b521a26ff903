"""`ToolResult`: what an application reads about one tool call."""

from __future__ import annotations

from typing import Any, Literal

from langgraph_degrade.failures.failure import Failure

Status = Literal["ok", "stale", "partial", "unavailable", "unknown", "rejected"]


class ToolResult(dict[str, Any]):
    """One call's outcome as a plain JSON dict, with attribute reads."""

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
        """Build one; `data` is made plain and capped at 32 KB."""
        told = failure and {"kind": failure.kind, "status": failure.status,
                            "retry_after": failure.retry_after, "reason": failure.reason}
        return cls(status=status, data=data, fallback_reason=fallback_reason, age=age, source=source,
                   failure=told, truncated=False)

    @classmethod
    def of(cls, message: object) -> ToolResult | None:
        """Return the result that travels with `message`, or None where it carries none."""
        return None

    def plain(self) -> dict[str, Any]:
        """Return a plain dict, as it must stand in `ToolMessage.artifact`."""
        return dict(self)
