"""One turn of a model, whoever's wire format it came in, and what can be wrong with it though it looks like a success."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from langgraph_degrade.failures.failure import Failure, Kind
from langgraph_degrade.failures.shapes import words
from langgraph_degrade.failures.terms import Terms
from langgraph_degrade.failures.verdicts import failed

_log = logging.getLogger("langgraph_degrade")

_FINE: Final = words(
    """
    stop tool_calls function_call end_turn tool_use stop_sequence pause_turn eos eos_token complete completed normal
    tool_call finished done compaction
    """
)
_TRUNCATED: Final = words("length max_tokens max_output_tokens model_length max_output max_length token_limit")
_WORDS: Final[Mapping[Kind, frozenset[str]]] = {
    "content_filter": words(
        """
        content_filter content_filtered sensitive safety recitation blocklist prohibited_content spii image_safety
        guardrail_intervened error_toxic content_moderation moderation language
        """
    ),
    "refusal": words("refusal refused"),
    "context_overflow": words("model_context_window_exceeded context_length_exceeded context_window_exceeded"),
    "overloaded": words("insufficient_system_resource overloaded"),
    "server_error": words("network_error error failed abort aborted load unload server_error"),
    "malformed_call": words(
        """
        malformed_function_call malformed_tool_use malformed_model_output unexpected_tool_call too_many_tool_calls
        missing_thought_signature
        """
    ),
}
_REASONS: Final[Mapping[str, Kind]] = {word: kind for kind, listed in _WORDS.items() for word in listed}
_LONGEST_REASON = 80
_REPEATED: Final = r"(.+?)\1+"


class Turn(NamedTuple):
    """What a model's answer comes down to."""

    reason: str | None = None
    """Why it ended, in the vendor's word; None where it doesn't say."""
    visible: bool = False
    """There is something to show: text that isn't blank, an image, a file."""
    calls: tuple[tuple[str, Any], ...] = ()
    """Tool calls as (name, arguments): raw text where it is at hand, else what a client made of it."""
    broken_calls: bool = False
    """The client gave up on at least one call."""
    refused: bool = False
    cut: bool = False
    """The stream ended without saying why."""


def judge_turn(turn: Turn, terms: Terms) -> Failure | None:
    """Tell whether a turn is a success; case P16: only known-good reasons are, and nothing empty or half a call."""
    reason = _folded(turn.reason)
    return judge_reason(turn) or _judge_calls(turn, reason) or _judge_end(turn, reason, terms)


def judge_reason(turn: Turn) -> Failure | None:
    """Tell whether a turn says itself that it failed; all there is to ask while its stream is running."""
    reason = _folded(turn.reason)
    if kind := _REASONS.get(reason):
        return failed(kind, f"finish_reason: {reason}")
    return failed("refusal", "refusal") if turn.refused else None


def _judge_calls(turn: Turn, reason: str) -> Failure | None:
    """Refuse half a call, whatever a repairing parser made of it (cases T01, T02, S10)."""
    if turn.broken_calls or not all(map(_is_whole, turn.calls)):
        return failed("malformed_call", f"tool call: broken arguments{_in_brackets(reason)}")
    if turn.calls and reason in _TRUNCATED:
        return failed("malformed_call", f"tool call{_in_brackets(reason)}")
    return None


def _judge_end(turn: Turn, reason: str, terms: Terms) -> Failure | None:
    if reason in _TRUNCATED:
        return failed("schema", f"finish_reason: {reason}")
    if turn.cut and terms.expects_finish:
        return failed("connection", "stream ended early")
    if not turn.visible and not turn.calls and not terms.allow_empty:
        return failed("empty", "no text and no tool call")
    if reason and reason not in _FINE:
        _log.info("unknown finish_reason, taken as a success because there is text: %.40r", reason)
    return None


def _folded(reason: str | None) -> str:
    """Fold the word; adding chunks up makes `stopstop` of a reason that was sent twice."""
    folded = (reason or "").strip().casefold()[:_LONGEST_REASON]
    repeated = re.fullmatch(_REPEATED, folded)
    word = repeated[1] if repeated else folded
    return "" if word in {"null", "none"} else word


def _is_whole(call: tuple[str, Any]) -> bool:
    name, arguments = call
    if not name:
        return False
    if isinstance(arguments, str) and arguments.strip():
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return False
    return arguments is None or isinstance(arguments, Mapping | str)


def _in_brackets(reason: str) -> str:
    return f" ({reason})" if reason in _TRUNCATED else ""
