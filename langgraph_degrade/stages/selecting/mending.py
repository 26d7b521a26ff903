"""Repairs that are certain: another spelling of the same call. Nothing that was cut, and no value, is ever guessed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from langgraph_degrade.stages.selecting.calls import Call, Message, calls_of, identified, is_cut, rewritten
from langgraph_degrade.stages.selecting.offers import (
    ALL,
    Offer,
    Schema,
    Tools,
    admitted,
    branch,
    literals,
    offers,
    properties,
)
from langgraph_degrade.stages.selecting.reading import arguments, parsed, says_nothing
from langgraph_degrade.stages.tools.shapes import is_array, is_object

_PREFIX: Final = re.compile(r"(?:functions?|tools?|default_api)(?:\.|/|::?)")
"""What models put before a tool's name: the namespace their own prompt format lists tools in."""
_ENVELOPES: Final = frozenset({"arguments", "args", "parameters", "params", "input", "kwargs", "__arg1"})
_NULLS: Final = frozenset({"null", "None"})
_EXACT: Final = 2**53 - 1
"""Beyond it a number is an id somebody left the quotes off, and most programs would round it (case T14)."""
_HUGE: Final = 10**64
_DEEPEST = 32
"""Levels of nesting looked into ○."""


def mended(message: Message, tools: Tools) -> Message:
    """The message with the certain repairs, the very same object where there is nothing to repair.

    - a tool's name, where exactly one offered tool differs only by a prefix (`functions.`), case, width or whitespace;
    - arguments that are the text of an object (encoded twice, or wrapped in `{"arguments": …}`), and an argument that
      is the text of an object or list where the schema takes that and no text;
    - no arguments at all, for a tool that needs none;
    - "null" and "None" for null where the schema admits null and doesn't list the word itself;
    - a whole number of more than 2**53 - 1 where the schema takes text and no numbers: the same digits, as text;
    - an id for a call that has none, or shares one with another call of the message.

    A message that was cut is left alone, and so is every call whose text is no whole JSON. A chunk stays a chunk.
    """
    calls = calls_of(message)
    if not calls or is_cut(message):
        return message
    offered = offers(tools)
    to = identified(message, [_mended(call, offered) for call in calls])
    same = all(new is old for new, old in zip(to, calls, strict=True))
    return message if same else rewritten(message, calls, to)


def _mended(call: Call, offered: Mapping[str, Offer]) -> Call:
    args = arguments(call)
    offer = offered.get(call.name) or _meant(call.name, offered)
    if args is None or offer is None or (says_nothing(call) and offer.required and not call.is_valid):
        return call
    changes: dict[str, Any] = {} if offer.name == call.name else {"name": offer.name}
    better = _value(_unwrapped(args, offer), offer.schema, offer.schema)
    if better is not call.args or not call.is_valid:
        changes |= {"args": better, "is_valid": True}
    return call.changed(**changes) if changes else call


def _meant(name: str, offered: Mapping[str, Offer]) -> Offer | None:
    spelling = _spelling(name)
    spellings = {spelling, _PREFIX.sub("", spelling, count=1) if _PREFIX.match(spelling) else spelling}
    found = [offer for known, offer in offered.items() if _spelling(known) in spellings]
    return found[0] if len(found) == 1 else None


def _spelling(name: str) -> str:
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


def _unwrapped(args: dict[str, Any], offer: Offer) -> dict[str, Any]:
    """Take the arguments out of an envelope the tool doesn't know, where they are all the tool's own."""
    declared = properties(offer.schema, offer.schema).keys()
    key, value = next(iter(args.items()), ("", None))
    inner = parsed(value) if isinstance(value, str) else value
    if len(args) != 1 or key not in _ENVELOPES - declared or not is_object(inner):
        return args
    return inner if inner and inner.keys() <= declared else args


def _value(value: Any, schema: object, root: Schema, deep: int = 0) -> Any:
    if deep > _DEEPEST:
        return value
    if is_object(value):
        declared = properties(branch(schema, root, "object"), root)
        inner = {key: _value(part, declared.get(key), root, deep + 1) for key, part in value.items()}
        return value if all(inner[key] is value[key] for key in value) else inner
    if is_array(value):
        rows = branch(schema, root, "array").get("items")
        listed = [_value(part, rows, root, deep + 1) for part in value]
        return value if all(new is old for new, old in zip(listed, value, strict=True)) else listed
    return _text(value, schema, root, deep) if isinstance(value, str) else _number(value, schema, root)


def _text(value: str, schema: object, root: Schema, deep: int) -> Any:
    kinds = admitted(schema, root)
    if (
        value in _NULLS
        and "null" in kinds
        and kinds != ALL
        and value not in [said for said, _ in literals(schema, root)]
    ):
        return None
    if "string" in kinds or (found := parsed(value)) is None:
        return value
    return _value(found, schema, root, deep + 1) if ("object" if is_object(found) else "array") in kinds else value


def _number(value: Any, schema: object, root: Schema) -> Any:
    if type(value) is not int or not _EXACT < abs(value) < _HUGE:
        return value
    kinds = admitted(schema, root)
    return str(value) if "string" in kinds and "integer" not in kinds else value
