"""Arguments as a model wrote them: an object, or not; and if not, whether the text merely ends too early."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from langgraph_degrade.stages.selecting.calls import Call
from langgraph_degrade.stages.tools.shapes import is_array, is_object

_NOTHING: Final = frozenset({"", "null"})
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


def read(text: str) -> Any:
    """The JSON value of a text.

    Raises:
        ValueError: not one JSON value, or one that can be read two ways: NaN, or a key that stands twice.
    """
    try:
        # Line breaks inside strings are what models write and LangChain reads.
        return json.loads(text, strict=False, parse_constant=refuse, object_pairs_hook=once)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def arguments(call: Call) -> dict[str, Any] | None:
    """The object a call's arguments are, a doubly encoded one decoded once (case T05); None where there is none."""
    said = call.args if call.written is None else call.written
    if isinstance(said, str) or said is None:
        said = _decoded(said or "")
    if not is_object(said):
        return None
    return call.args if call.is_valid and is_object(call.args) else said


def is_plain(call: Call) -> bool:
    """A call can be run as it stands: in `tool_calls`, its arguments an object."""
    return call.is_valid and is_object(call.args)


def says_nothing(call: Call) -> bool:
    """No arguments were written, or `null`: right for a tool that needs none."""
    said = call.args if call.written is None else call.written
    return said is None or (isinstance(said, str) and said.strip() in _NOTHING)


def ends_early(call: Call) -> bool:
    """The text stops inside a string, an object or a list."""
    said = call.args if call.written is None else call.written
    if not isinstance(said, str):
        return False
    rest = _STRING.sub("", said)
    return '"' in rest or sum(map(rest.count, "{[")) > sum(map(rest.count, "}]"))


def parsed(text: str) -> Any:
    """The object or list a text is, else None."""
    try:
        value = read(text)
    except ValueError:
        return None
    return value if is_object(value) or is_array(value) else None


def _decoded(text: str) -> Any:
    if text.strip() in _NOTHING:
        return {}
    try:
        value = read(text)
        return read(value) if isinstance(value, str) and value.strip() not in _NOTHING else value
    except ValueError:
        return None


def once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys stand once; for `json`'s `object_pairs_hook`. Raises `ValueError` otherwise."""
    listed = list(pairs)
    found = dict(listed)
    if len(found) < len(listed):
        raise ValueError("a key stands twice")
    return found


def refuse(constant: str) -> NoReturn:
    """NaN and its like; for `json`'s `parse_constant`."""
    raise ValueError(f"{constant} is no JSON")
