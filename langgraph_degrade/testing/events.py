"""`assert_events`: what a request went through, compared step by step."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Step = tuple[str, str, str | None]
"""(target, kind, direction) of an event."""


def assert_events(context: Any, expected: Iterable[Step]) -> None:
    """Assert that `context` (a `DegradeContext`, or its events) holds exactly `expected`, in this order.

    Args:
        context: something with `events`, or an iterable of event dicts.
        expected: one `(target, kind, direction)` an event; direction None where the event took no rung.

    Example:
        >>> event = {"target": "tool:get_stock", "kind": "timeout", "direction": "data", "elapsed": 3.0}
        >>> assert_events([event], [("tool:get_stock", "timeout", "data")])
    """
    events: list[Mapping[str, Any]] = list(getattr(context, "events", context))
    found = [_line((event["target"], event["kind"], event.get("direction"))) for event in events]
    wanted = [_line(step) for step in expected]
    if found != wanted:
        reasons = [str(event.get("reason", "")) for event in events]
        raise AssertionError("\n".join(["events differ (- expected, + found):", *_diff(wanted, found, reasons)]))


def _line(step: Step) -> str:
    target, kind, direction = step
    return f"{target}: {kind} -> {direction}"


def _diff(wanted: list[str], found: list[str], reasons: list[str]) -> Iterator[str]:
    for tag, start, end, first, last in difflib.SequenceMatcher(None, wanted, found, autojunk=False).get_opcodes():
        told = [f"{line}   ({reason})" for line, reason in zip(found, reasons, strict=True)][first:last]
        if tag == "equal":
            yield from (f"  {line}" for line in told)
        else:
            yield from (f"- {line}" for line in wanted[start:end])
            yield from (f"+ {line}" for line in told)
