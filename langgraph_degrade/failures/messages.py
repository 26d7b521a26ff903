"""LangChain's messages and results, read without importing LangChain."""

from __future__ import annotations

from typing import Any, Final

from langgraph_degrade.failures import classes, completions, contents, strings
from langgraph_degrade.failures.failure import Failure
from langgraph_degrade.failures.shapes import Body, is_array
from langgraph_degrade.failures.terms import Terms
from langgraph_degrade.failures.turns import Turn, judge_reason, judge_turn
from langgraph_degrade.failures.verdicts import failed

_RESULTS: Final = frozenset({"ChatResult", "LLMResult"})
_GENERATIONS: Final = frozenset({"ChatGeneration", "Generation"})
_CHUNK: Final = frozenset({"AIMessageChunk"})
_TOOL: Final = frozenset({"ToolMessage"})
_MESSAGES: Final = _RESULTS | _GENERATIONS | _TOOL | {"AIMessage"}
_PACKAGE: Final = "langchain"
_REASONS: Final = ("finish_reason", "stop_reason", "finishReason", "stopReason", "done_reason")
_ENDS: Final = frozenset((*_REASONS, "status", "done"))


def is_message(outcome: object) -> bool:
    """Tell whether an object is one of LangChain's messages, generations or results."""
    return classes.is_a(outcome, _PACKAGE, _MESSAGES)


def classify_message(outcome: Any, terms: Terms) -> Failure | None:
    """Tell whether a message, generation or result is a success."""
    if classes.is_a(outcome, _PACKAGE, _RESULTS):
        return _classify_result(outcome, terms)
    if classes.is_a(outcome, _PACKAGE, _TOOL):
        return _classify_tool_message(outcome, terms)
    if not classes.is_a(outcome, _PACKAGE, _GENERATIONS):
        return judge_message(outcome, {}, terms)
    information: Body = outcome.generation_info or {}
    if (message := getattr(outcome, "message", None)) is not None:
        return judge_message(message, information, terms)
    return judge_turn(Turn(_reason(information), visible=bool(outcome.text.strip())), terms)


def _classify_result(result: Any, terms: Terms) -> Failure | None:
    generations = result.generations
    while is_array(generations):
        if not generations:
            return failed("schema", "choices: empty")
        generations = generations[0]
    return classify_message(generations, terms)


def _classify_tool_message(message: Any, terms: Terms) -> Failure | None:
    if message.status != "error":
        return None
    return strings.said(message.text, terms)


def judge_message(message: Any, information: Body, terms: Terms) -> Failure | None:
    """Judge an `AIMessage`. A chunk of a stream that is still running is judged only by what it already tells."""
    metadata = {**information, **message.response_metadata}
    if completions.is_error(error := metadata.get("error")):
        return completions.judge_error(error, terms)
    turn = _turn(message, metadata)
    if classes.is_a(message, _PACKAGE, _CHUNK) and message.chunk_position != "last":
        return judge_reason(turn)
    return judge_turn(turn, terms)


def _turn(message: Any, metadata: Body) -> Turn:
    extras: Body = message.additional_kwargs
    chunks = getattr(message, "tool_call_chunks", None)
    calls = [(chunk["name"], chunk["args"]) for chunk in chunks or ()] or [
        (call["name"], call["args"]) for call in message.tool_calls
    ]
    return Turn(
        reason=_reason(metadata),
        visible=contents.is_visible(message.content)
        or any(extras.get(key) for key in ("audio", "function_call", "parsed")),
        calls=tuple(calls),
        broken_calls=bool(message.invalid_tool_calls),
        refused=bool(extras.get("refusal")) or contents.has_refusal(message.content),
        cut="model_provider" in metadata and _ENDS.isdisjoint(metadata),
    )


def _reason(metadata: Body) -> str | None:
    named = next((metadata[key] for key in _REASONS if isinstance(metadata.get(key), str)), None)
    return named or contents.incomplete_reason(metadata)
