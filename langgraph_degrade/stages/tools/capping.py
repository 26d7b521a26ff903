"""Large JSON made small: still JSON, still in its shape, with a mark wherever something was left out."""

from __future__ import annotations

import json
from typing import cast

from langgraph_degrade.stages.tools.cleaning import clean, plain_size
from langgraph_degrade.stages.tools.shapes import is_array, is_object

# Items of a list or an object, characters of a text: ever less, until it fits. ○
_STEPS = ((1000, 8000), (200, 2000), (50, 500), (20, 200), (5, 80), (2, 40))


def capped(value: object, limit: int) -> tuple[object, bool]:
    """Return a plain copy of `value` that takes at most `limit` bytes as JSON in UTF-8, and whether it was cut.

    Raises:
        ToolSchemaError: a cycle, nesting deeper than 100 ○, more than two million values ○.
    """
    bound = plain_size(value)
    if bound is not None and bound <= limit:  # nearly always: one scan and one copy
        return _copied(value), False
    value, _ = clean(value)
    return (_copied(value), False) if _fits(value, limit) else _cut(value, limit)


def _cut(value: object, limit: int) -> tuple[object, bool]:
    for items, characters in _STEPS:
        pruned = _pruned(value, items, characters)
        if _fits(pruned, limit):
            return pruned, True
    return "…", True


def _fits(value: object, limit: int) -> bool:
    """Measure only what may fit: a value takes at least a twentieth of what the bound allows for it."""
    bound = plain_size(value)
    return bound is not None and bound <= 20 * limit and len(json.dumps(value, ensure_ascii=False).encode()) <= limit


def _copied(value: object) -> object:
    kind = type(value)
    if kind is dict:
        return {key: _copied(item) for key, item in cast("dict[str, object]", value).items()}
    return [_copied(item) for item in cast("list[object]", value)] if kind is list else value


def _pruned(value: object, items: int, characters: int) -> object:
    if isinstance(value, str):
        return value if len(value) <= characters else f"{value[:characters]}… {len(value) - characters} more"
    if is_object(value):
        fields = {key: _pruned(value[key], items, characters) for key in list(value)[:items]}
        return fields if len(value) <= items else {**fields, "…": f"{len(value) - items} more"}
    if is_array(value):
        entries = [_pruned(entry, items, characters) for entry in value[:items]]
        return entries if len(value) <= items else [*entries, f"… {len(value) - items} more"]
    return value
