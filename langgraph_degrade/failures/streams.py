"""Server-sent events read as text: errors inside an open stream, and streams that just end (cases S04, S05, S07, S08)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from langgraph_degrade.failures import completions, contents
from langgraph_degrade.failures.failure import Failure
from langgraph_degrade.failures.shapes import Body, is_object, objects_in
from langgraph_degrade.failures.terms import Terms
from langgraph_degrade.failures.turns import Turn, judge_turn

_PREFIXES: Final = ("data:", "event:", "id:", "retry:", ":")
_DONE: Final = "[DONE]"
_LAST_EVENTS: Final = frozenset(("message_stop", "response.completed", "response.incomplete", "response.failed"))


@dataclass(slots=True)
class _Sum:
    """What the events of a stream add up to."""

    reason: str | None = None
    visible: bool = False
    ended: bool = False
    calls: dict[object, list[str]] = field(default_factory=dict[object, list[str]])

    def turn(self) -> Turn:
        calls = tuple((name, arguments) for name, arguments in self.calls.values())
        return Turn(self.reason, visible=self.visible, calls=calls, cut=not self.ended and not self.reason)


def is_stream(text: str) -> bool:
    """Tell whether a text is a body of server-sent events."""
    return text.lstrip("\ufeff\r\n").startswith(_PREFIXES) and ("data:" in text)


def classify_stream(text: str, terms: Terms) -> Failure | None:
    """Tell whether a whole stream is a success. One with `[DONE]` and no reason is: some hosts never send one."""
    total = _Sum()
    for event in _events(text):
        if event == _DONE:
            total.ended = True
        elif is_object(event):
            if failure := _error(event, terms):
                return failure
            _add(total, event)
    return judge_turn(total.turn(), terms)


def _events(text: str) -> Iterator[object]:
    for line in text.splitlines():
        if not line.startswith("data:"):
            continue
        data = line.removeprefix("data:").strip()
        try:
            yield _DONE if data == _DONE else json.loads(data)
        except ValueError:
            continue  # the last line of a cut stream


def _error(event: Body, terms: Terms) -> Failure | None:
    response = event.get("response")
    inner = response.get("error") if is_object(response) else None
    error = event.get("error") or inner
    return completions.judge_error(error, terms) if completions.is_error(error) else None


def _add(total: _Sum, event: Body) -> None:
    kind = event.get("type")
    total.ended = total.ended or kind in _LAST_EVENTS
    for choice in _choices(event):
        delta = choice.get("delta", choice.get("content", choice.get("message", {})))
        reason = choice.get("finish_reason", choice.get("finishReason", choice.get("stop_reason")))
        total.reason = reason if isinstance(reason, str) and reason != "null" else total.reason
        if is_object(delta):
            _add_delta(total, delta, choice.get("index"))


def _choices(event: Body) -> Iterator[Body]:
    """Bring every vendor's event to the shape of a choice: an object with a `delta` and perhaps a reason."""
    for key in ("choices", "candidates"):
        yield from objects_in(event.get(key))
    if is_object(block := event.get("content_block")):
        yield {"delta": block, "index": event.get("index")}
    if is_object(delta := event.get("delta")):
        yield {**delta, "delta": delta, "index": event.get("index")}
    elif isinstance(delta, str):
        yield {"delta": {"content": delta}}


def _add_delta(total: _Sum, delta: Body, index: object) -> None:
    content = [delta[key] for key in ("content", "text", "parts") if delta.get(key)]
    total.visible = total.visible or any(map(contents.is_visible, content))
    if delta.get("type") == "tool_use":
        total.calls[index] = [str(delta.get("name", "")), ""]
    if isinstance(partial := delta.get("partial_json"), str):
        total.calls.setdefault(index, ["", ""])[1] += partial
    for call in objects_in(delta.get("tool_calls")):
        function: Body = call.get("function") or {}
        summed = total.calls.setdefault(call.get("index"), ["", ""])
        summed[0] += function.get("name") or ""
        summed[1] += function.get("arguments") or ""
