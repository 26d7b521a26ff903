"""What a model is told about a tool call that is not simply `ok`: short, plain, and nothing but what is known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from langgraph_degrade.texts import text

if TYPE_CHECKING:
    from langgraph_degrade.engine.plan import Outcome
    from langgraph_degrade.policy import TargetPolicy
    from langgraph_degrade.texts import Language, Overrides


def told(
    outcome: Outcome, policy: TargetPolicy, language: Language, overrides: Overrides, *, is_pair: bool = False
) -> str:
    """The text of the tool message; with `is_pair` the value is `(content, artifact)`."""
    note = text(_key(outcome, policy), language, overrides, **_fields(outcome, policy, language))
    value = outcome.data if isinstance(outcome.value, bytes | bytearray) else outcome.value
    if is_pair and isinstance(value, tuple):
        value = value[0]
    if outcome.has_value and value is not None:
        return f"{note}\n{as_text(value)}"
    return note


def as_text(value: Any) -> str:
    """A tool's value as LangChain would write it into the message."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)


def _key(outcome: Outcome, policy: TargetPolicy) -> str:
    status = outcome.status
    if status == "ok":
        return "tool.verified_done" if outcome.source == "verified" else "repaired.done"
    if status == "unknown":
        return "tool.already_unknown" if outcome.source == "already_sent" else "tool.unknown_write"
    if status == "rejected":
        is_call = outcome.failure is not None and outcome.failure.kind == "malformed_call"
        return "tool.malformed" if is_call else "tool.rejected"
    if status in ("stale", "partial"):
        return f"tool.{status}"
    if outcome.direction in ("chain", "handoff"):
        return "tool.skipped" if outcome.direction == "chain" else "tool.handoff"
    return "tool.unavailable" if policy.effect == "read" else "tool.not_done"


def _fields(outcome: Outcome, policy: TargetPolicy, language: Language) -> dict[str, Any]:
    alternative = policy.alternative
    if isinstance(alternative, Mapping):
        alternative = alternative.get(language) or next(iter(alternative.values()), "")
    failure = outcome.failure
    return {
        "alternative": alternative or "",
        "age": outcome.age or 0.0,
        "reason": (failure.reason or failure.kind) if failure else "",
        "message": (failure.message if failure else "") or (failure.reason if failure else ""),
    }
