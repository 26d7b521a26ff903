"""What a model's message holds, in any vendor's blocks: something to show, a refusal, calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from langgraph_degrade.failures.shapes import Body, is_array, is_object, objects_in, words
from langgraph_degrade.failures.turns import Turn

_THOUGHTS: Final = words(
    """
    reasoning thinking redacted_thinking refusal tool_use tool_call function_call
    functionCall toolUse reasoningContent thought
    """
)
"""Blocks nobody gets to see; calls and refusals are looked at on their own."""


def is_visible(content: object) -> bool:
    """Tell whether content holds anything to show: text that isn't blank, or a block that isn't text or thought."""
    if isinstance(content, str):
        return bool(content.strip().strip("\u200b\ufeff").strip())
    return is_array(content) and any(map(_is_visible_block, content))


def has_refusal(content: object) -> bool:
    """Tell whether content holds a refusal block."""
    return any(block.get("type") == "refusal" for block in objects_in(content))


def message_turn(message: Body, reason: object) -> Turn:
    """Read one message of any vendor: `content` or `parts`, `tool_calls`, or calls among the blocks."""
    content = next((message[key] for key in ("content", "parts", "text") if key in message), None)
    return Turn(
        reason=reason if isinstance(reason, str) else None,
        visible=is_visible(content) or bool(message.get("audio")),
        calls=tuple(_calls(message, content)),
        refused=bool(message.get("refusal")) or has_refusal(content),
    )


def responses_turn(body: Body) -> Turn:
    """Read an answer of OpenAI's Responses API, whose `output` is a list of items."""
    items = list(objects_in(body.get("output")))
    content = [block for item in items if item.get("type") == "message" for block in objects_in(item.get("content"))]
    calls = [
        (str(item.get("name", "")), item.get("arguments")) for item in items if item.get("type") == "function_call"
    ]
    return Turn(incomplete_reason(body), visible=is_visible(content), calls=tuple(calls), refused=has_refusal(content))


def incomplete_reason(body: Body) -> str | None:
    """Read why a Responses answer stopped early, else its status."""
    details = body.get("incomplete_details")
    if is_object(details) and isinstance(reason := details.get("reason"), str):
        return reason
    status = body.get("status")
    return status if isinstance(status, str) else None


def _is_visible_block(block: object) -> bool:
    if not is_object(block):
        return isinstance(block, str) and is_visible(block)
    if "text" in block:
        return block.get("thought") is not True and is_visible(block["text"])
    return block.get("type") not in _THOUGHTS and _THOUGHTS.isdisjoint(block)


def _calls(message: Body, content: object) -> Iterator[tuple[str, Any]]:
    for call in objects_in(message.get("tool_calls")):
        function = call.get("function")
        details = function if is_object(function) else call
        yield str(details.get("name") or ""), details.get("arguments")
    for block in objects_in(content):
        call = block if block.get("type") == "tool_use" else block.get("functionCall", block.get("toolUse"))
        if is_object(call):
            yield str(call.get("name") or ""), call.get("args", call.get("input"))
