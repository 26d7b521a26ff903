"""`classify`: one question to every outcome a call can have."""

from __future__ import annotations

from typing import Any

from langgraph_degrade.failures import answers, classes, completions, envelopes, messages, statuses, streams, strings
from langgraph_degrade.failures.exceptions import classify_exception
from langgraph_degrade.failures.failure import Failure
from langgraph_degrade.failures.shapes import Body, is_json, is_object
from langgraph_degrade.failures.terms import Envelope, Source, Terms
from langgraph_degrade.failures.verdicts import failed

_SDK_ANSWERS = frozenset({"BaseModel"})
_MCP_RESULTS = frozenset({"CallToolResult"})
_PLAIN = frozenset((bool, int, float, list, tuple, set, frozenset))


def classify(
    outcome: object,
    *,
    source: Source = "tool",
    envelope: Envelope | None = None,
    allow_empty: bool = False,
    expects_finish: bool = True,
    now: float | None = None,
) -> Failure | None:
    """Name what went wrong, or answer None: the outcome is what was asked for (spec F1–F3).

    Args:
        outcome: An exception, or what a call returned: an HTTP response, a message, a mapping, text, bytes, anything.
        source: Who answered. A plain `ValueError` from a tool is a "no" (`business`), from a model a bad answer.
        envelope: How the target wraps its replies (`policy.EnvelopePolicy`); common envelopes are recognised without.
        allow_empty: Emptiness is legitimate here: the last turn after a tool has delivered, a write acknowledged with
            `data: null`.
        expects_finish: False for a model host whose streams end without a finish reason.
        now: Unix time for absolute waits; read from the answer's `Date`, or the system clock, where not given.

    Returns:
        A failure, always for an exception other than LangGraph's control flow (interrupts, parent commands), which
        passes untouched. `transient` is true for `timeout` and `connection` only (spec T1).

    Example:
        >>> classify({"code": 0, "msg": "ok", "data": []}) is None
        True
        >>> classify({"errcode": 45009, "errmsg": "api freq out of limit"}).kind
        'rate_limit'
    """
    terms = Terms(source, envelope, allow_empty, expects_finish, now)
    if isinstance(outcome, BaseException):
        return classify_exception(outcome, terms)
    if isinstance(outcome, str):
        return strings.classify_text(outcome, terms)
    if is_object(outcome):
        return _classify_mapping(outcome, terms)
    return _classify_object(outcome, terms)


def _classify_mapping(body: Body, terms: Terms) -> Failure | None:
    if terms.source == "model":
        return completions.classify_completion(body, terms)
    return envelopes.classify_mapping(body, terms)


def _classify_object(outcome: object, terms: Terms) -> Failure | None:
    if outcome is None:
        return failed("empty", "no answer") if terms.source == "model" and not terms.allow_empty else None
    if type(outcome) in _PLAIN:
        return None
    if messages.is_message(outcome):
        return messages.classify_message(outcome, terms)
    if isinstance(outcome, bytes | bytearray):
        return _classify_content(answers.decoded(outcome), terms)
    if (answer := answers.of_response(outcome)) is not None:
        return _classify_answer(answer, terms)
    return _classify_mapping(dumped, terms) if (dumped := _dumped(outcome)) else None


def _classify_answer(answer: answers.Answer, terms: Terms) -> Failure | None:
    if statuses.is_failure(answer.status or 0):
        return answers.judge_answer(answer, terms)
    if isinstance(answer.body, str) and "json" in answer.headers.get("content-type", "") and not is_json(answer.body):
        return strings.classify_markup(answer.body, terms) or failed("schema", "not json")
    return _classify_content(answer.body, terms)


def _classify_content(content: object, terms: Terms) -> Failure | None:
    """Judge a decoded body; bytes that are no text are a tool's business, but no model's answer."""
    if is_object(content):
        return _classify_mapping(content, terms)
    if isinstance(content, str):
        if terms.source == "model" and streams.is_stream(content):
            return streams.classify_stream(content, terms)
        return strings.classify_text(content, terms)
    return failed("schema", "not decodable") if isinstance(content, bytes) and terms.source == "model" else None


def _dumped(outcome: Any) -> Body | None:
    """Turn an SDK's own answer object (OpenAI, Anthropic, an MCP tool result) into the JSON it came from."""
    if not (classes.is_a(outcome, "openai", _SDK_ANSWERS) or classes.is_a(outcome, "mcp", _MCP_RESULTS)):
        return None
    dumped: Body = outcome.model_dump(mode="json", warnings=False)
    return dumped
