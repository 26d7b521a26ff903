"""The reply as a JSON Schema that servers can hold a model to: `response_format: json_schema`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from langgraph_degrade.failures.shapes import words
from langgraph_degrade.stages.models.numbered.candidates import MOST
from langgraph_degrade.stages.models.numbered.known import Known
from langgraph_degrade.stages.models.numbered.offers import NONE, Offer, offers_of, without_null
from langgraph_degrade.stages.tools.shapes import is_array, is_mapping

_KEPT = words(
    "type enum const pattern format minLength maxLength minimum maximum items minItems maxItems properties required "
    "anyOf oneOf prefixItems"
)
_ESCAPES = {r"\d": "[0-9]", r"\w": "[A-Za-z0-9_]"}
_UNREADABLE = re.compile(r"\(\?(?!:)|\\[^-.+*?()\[\]{}|/^$\\]|\[[^\]]*\[")
"""What grammars made of patterns don't know: look-around, named groups, classes by letter."""


def reply_format(tools: Sequence[Mapping[str, Any]], messages: Sequence[BaseMessage] = ()) -> dict[str, Any]:
    """A `response_format` for exactly one reply of the menu: a number, and arguments that fit the tool of that number.

    Args:
        tools: OpenAI-format dicts, in the order `menu` got them.
        messages: the conversation. Identifiers are then limited to what was said in it, and a tool whose required
            identifier nobody has said yet is not on offer: the model has to ask for it (0).

    Example:
        >>> form = reply_format([{"type": "function", "function": {"name": "now", "description": "Tell the time."}}])
        >>> [option["properties"]["number"] for option in form["json_schema"]["schema"]["anyOf"]]
        [{'const': 0}, {'const': 1}]
    """
    offers = offers_of(tools)
    known = Known.of(offers, messages) if messages else Known({}, numbers=True)
    plain = _object({"tool": {"const": NONE}, "number": {"const": 0}, "text": {"type": "string", "minLength": 1}})
    options = [plain, *(_option(offer, known) for offer in offers if known.is_possible(offer))]
    return {"type": "json_schema", "json_schema": {"name": "menu", "schema": {"anyOf": options}}}


def _option(offer: Offer, known: Known) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for name, part in offer.properties.items():
        found = known.found.get((offer.number, name))
        if not known.may_give(offer, name):
            continue
        is_listed = found is not None and len(found) <= MOST
        arguments[name] = _one_of(found or [], without_null(part)) if is_listed else _plain(without_null(part))
    required = [name for name in arguments if name in offer.required]
    given = _object(arguments, required)
    return _object({"tool": {"const": offer.name}, "number": {"const": offer.number}, "arguments": given})


def _one_of(values: list[Any], part: Mapping[str, Any]) -> dict[str, Any]:
    if part.get("type") == "array":
        return {"type": "array", "minItems": 1, "items": {"enum": values}}
    return {"enum": values}


def _object(properties: Mapping[str, Any], required: Sequence[str] | None = None) -> dict[str, Any]:
    needed = list(properties if required is None else required)
    return {"type": "object", "properties": dict(properties), "required": needed, "additionalProperties": False}


def _plain(part: Any) -> Any:
    """The part of a schema that grammars understand; the whole schema is checked when the reply is read."""
    if is_array(part):
        return [_plain(item) for item in part]
    if not is_mapping(part):
        return part
    kept = {key: _plain(value) for key, value in part.items() if key in _KEPT and key not in ("pattern", "properties")}
    if is_mapping(inner := part.get("properties")):
        kept["properties"] = {name: _plain(value) for name, value in inner.items()}
    if isinstance(pattern := part.get("pattern"), str) and (anchored := _anchored(pattern)):
        kept["pattern"] = anchored
    return kept


def _anchored(pattern: str) -> str | None:
    """The pattern as grammars want it, over the whole text; None where they couldn't read it."""
    for short, long in _ESCAPES.items():
        pattern = pattern.replace(f"[{short}]", long).replace(short, long)
    if _UNREADABLE.search(pattern) or not (pattern.startswith("^") and pattern.endswith("$")):
        return None
    return pattern
