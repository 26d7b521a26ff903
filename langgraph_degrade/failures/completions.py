"""Model answers in the vendors' own JSON: chat completions, Responses, Anthropic, Gemini, Bedrock, DashScope, Ollama."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeGuard

from langgraph_degrade.failures import reports, signs
from langgraph_degrade.failures.failure import Failure
from langgraph_degrade.failures.shapes import Body, is_array, is_object, objects_in, words
from langgraph_degrade.failures.terms import Terms
from langgraph_degrade.failures.turns import Turn, judge_turn
from langgraph_degrade.failures.verdicts import Evidence, failed, judge

_THOUGHTS: Final = words(
    """
    reasoning thinking redacted_thinking refusal tool_use tool_call function_call
    functionCall toolUse reasoningContent thought
    """
)
"""Blocks of content nobody gets to see; calls and refusals are looked at on their own."""
_SHAPES: Final = words("choices candidates promptFeedback stop_reason output message")


def classify_completion(body: Body, terms: Terms) -> Failure | None:
    """Tell whether a model's JSON answer is a success; None also for a shape nobody knows."""
    error = body.get("error")
    if is_error(error):
        return judge_error(error, terms)
    if blocked := _blocked(body):
        return failed("content_filter", f"prompt blocked: {blocked}")
    if is_object(output := body.get("output")) and not _SHAPES.isdisjoint(output):
        return classify_completion(_unwrapped(body), terms)
    choices = next((body[key] for key in ("choices", "candidates") if key in body), ...)
    if choices is not ...:
        return _classify_choices(choices, terms)
    turn = _whole_turn(body)
    return judge_turn(turn, terms) if turn else None


def is_error(value: object) -> TypeGuard[Body | str]:
    """Tell a filled-in `error` field of a model's answer."""
    return (isinstance(value, str) or is_object(value)) and signs.is_something(value)


def judge_error(error: Body | str, terms: Terms) -> Failure:
    """Judge the `error` of a model's answer; without a code it is a bad answer."""
    return judge(Evidence(reports.read({"error": error}), default="schema"), terms)


def is_visible(content: object) -> bool:
    """Tell whether content holds anything to show: text that isn't blank, or a block that isn't text or thought."""
    if isinstance(content, str):
        return bool(content.strip().strip("\u200b\ufeff").strip())
    return is_array(content) and any(map(_is_visible_block, content))


def has_refusal(content: object) -> bool:
    """Tell whether content holds a refusal block."""
    return any(block.get("type") == "refusal" for block in objects_in(content))


def incomplete_reason(body: Body) -> str | None:
    """Read why a Responses answer stopped early; its `status` where that says failed."""
    details = body.get("incomplete_details")
    if is_object(details) and isinstance(reason := details.get("reason"), str):
        return reason
    status = body.get("status")
    return status if isinstance(status, str) else None


def _is_visible_block(block: object) -> bool:
    if not is_object(block):
        return is_visible(block)
    if "text" in block:
        return block.get("thought") is not True and is_visible(block["text"])
    return block.get("type") not in _THOUGHTS and _THOUGHTS.isdisjoint(block)


def _blocked(body: Body) -> str:
    feedback = body.get("promptFeedback")
    reason = feedback.get("blockReason") if is_object(feedback) else None
    return reason if isinstance(reason, str) and reason.isidentifier() else ""


def _unwrapped(body: Body) -> Body:
    """Open DashScope's and Bedrock's `output`."""
    inner: dict[str, Any] = {**body["output"]}
    reason = body.get("stopReason")
    return inner if reason is None else {**inner, "stop_reason": reason}


def _classify_choices(choices: object, terms: Terms) -> Failure | None:
    choice = choices[0] if is_array(choices) and choices else None
    if not is_object(choice):
        return failed("schema", "choices: empty" if choices in (None, []) else "choices: unusable")
    if is_error(error := choice.get("error")):
        return judge_error(error, terms)
    message = choice.get("message", choice.get("content", choice.get("delta", choice)))
    if not is_object(message):
        return failed("schema", "choices: no message")
    reason = choice.get("finish_reason", choice.get("finishReason"))
    return judge_turn(message_turn(message, reason), terms)


def _whole_turn(body: Body) -> Turn | None:
    """Read the shapes in which the body is the message."""
    if body.get("object") == "response" or is_array(body.get("output")):
        return _responses_turn(body)
    message = body.get("message")
    if is_object(message):
        return message_turn(message, body.get("done_reason", body.get("stop_reason")))
    return message_turn(body, body["stop_reason"]) if "stop_reason" in body else None


def message_turn(message: Body, reason: object) -> Turn:
    """Read one message of any vendor: `content` or `parts`, `tool_calls`, or calls among the blocks."""
    content = next((message[key] for key in ("content", "parts", "text") if key in message), None)
    return Turn(
        reason=reason if isinstance(reason, str) else None,
        visible=is_visible(content) or bool(message.get("audio")),
        calls=tuple(_calls(message, content)),
        refused=bool(message.get("refusal")) or has_refusal(content),
    )


def _responses_turn(body: Body) -> Turn:
    items = list(objects_in(body.get("output")))
    content = [block for item in items if item.get("type") == "message" for block in objects_in(item.get("content"))]
    calls = [
        (str(item.get("name", "")), item.get("arguments")) for item in items if item.get("type") == "function_call"
    ]
    return Turn(incomplete_reason(body), visible=is_visible(content), calls=tuple(calls), refused=has_refusal(content))


def _calls(message: Body, content: object) -> Iterator[tuple[str, Any]]:
    for call in objects_in(message.get("tool_calls")):
        function = call.get("function")
        details = function if is_object(function) else call
        yield str(details.get("name") or ""), details.get("arguments")
    for block in objects_in(content):
        call = block if block.get("type") == "tool_use" else block.get("functionCall", block.get("toolUse"))
        if is_object(call):
            yield str(call.get("name") or ""), call.get("args", call.get("input"))
