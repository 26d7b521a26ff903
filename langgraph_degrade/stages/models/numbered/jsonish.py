"""The JSON objects in a reply, as they stand. Half an object is found, and never completed."""

from __future__ import annotations

import json
from typing import Any

from langgraph_degrade.stages.selecting.reading import once, refuse
from langgraph_degrade.stages.tools.shapes import is_object


def objects_in(text: str) -> tuple[list[dict[str, Any]], str | None]:
    """Return the whole JSON objects of a text, outermost ones only, and what is wrong where one is not whole.

    Prose, code fences and tags around them are passed over, and so is a word in braces; the objects of a list count one
    by one. Behind a broken object nothing is read: what stands in it was meant as a part.
    """
    found: list[dict[str, Any]] = []
    decoder = json.JSONDecoder(object_pairs_hook=once, parse_constant=refuse, strict=False)
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
            found.append(value)
        except (ValueError, RecursionError) as error:
            end = text.find("}", at) + 1
            if not end or not _is_prose(text[at + 1 : end - 1]):
                return found, _wrong(error, text)
        at = text.find("{", end)
    return found, None


def _is_prose(inside: str) -> bool:
    return not {'"', "{", ":"} & set(inside)


def _wrong(error: Exception, text: str) -> str:
    is_cut = isinstance(error, json.JSONDecodeError) and (
        error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
    )
    return "unfinished JSON" if is_cut else "broken JSON"


def argument_object(value: object) -> dict[str, Any] | None:
    """Arguments as an object: text that holds one is read once, nothing at all is an empty one (case T05)."""
    if isinstance(value, str) and value:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if value is None or value == "":
        return {}
    return value if is_object(value) else None
