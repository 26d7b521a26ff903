"""The honest last answer: what is known filled in, what is not said so, and a next step. Never an exception's text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from langgraph_degrade.context import DegradeContext
from langgraph_degrade.stages.messages import turn_results
from langgraph_degrade.stages.tools.result import ToolResult
from langgraph_degrade.texts import Language, Overrides, text

LONGEST_FACT = 400
"""Characters of one fact in a closing answer ○."""


def closing(
    key: str, messages: Sequence[BaseMessage], context: DegradeContext, language: Language, overrides: Overrides
) -> str:
    """Word the end of a request that could not be finished: `key` says how it ended (`answer.crash`, …)."""
    lines = [text(key, language, overrides)]
    lines += facts(messages, language, overrides)
    lines += notices(context, language, overrides)
    return "\n".join(lines)


def facts(messages: Sequence[BaseMessage], language: Language, overrides: Overrides) -> Iterator[str]:
    """What the tools of this turn found out, one line each, old values marked as old."""
    for message in turn_results(messages):
        result = ToolResult.of(message)
        if result is None or result.status not in ("ok", "stale", "partial") or result.data in (None, "", [], {}):
            continue
        line = f"- {message.name}: {_flat(result.data)}"[:LONGEST_FACT]
        if result.status == "stale":
            line += f" ({text('answer.stale', language, overrides, age=result.age or 0.0)})"
        yield line


def notices(context: DegradeContext, language: Language, overrides: Overrides) -> Iterator[str]:
    """One notice for every open item (spec A4): "we will finish it" only where it is durably queued."""
    for item in context.unfinished:
        if item.get("turn") != context.turn[1]:
            continue  # its notice was given in its own turn
        key = "answer.unfinished_queued" if item.get("queued") else _notice(item)
        yield f"- {text(key, language, overrides, what=item.get('what', ''))}"


def _notice(item: Mapping[str, Any]) -> str:
    if item.get("is_read"):
        return "answer.not_found_out"
    return "answer.unfinished_unknown" if item.get("state") == "unknown" else "answer.unfinished_resubmit"


def _flat(data: Any) -> str:
    if isinstance(data, Mapping):
        return ", ".join(f"{key}: {_flat(value)}" for key, value in data.items())
    if isinstance(data, list):
        return "; ".join(_flat(item) for item in data[:10])
    return str(data)
