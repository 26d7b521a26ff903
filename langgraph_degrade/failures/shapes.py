"""Which JSON shape a value has, in a form the type checkers follow."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

Body = Mapping[str, Any]

_OBJECT = (dict, Mapping)
"""`dict` first: asking an ABC costs."""


def is_object(value: object) -> TypeGuard[Body]:
    """Tell a JSON object."""
    return isinstance(value, _OBJECT)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Tell a JSON array."""
    return isinstance(value, list)


def is_json(text: str) -> bool:
    """Tell whether a text is one JSON value."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def attribute(holder: object, name: str) -> object:
    """Read an attribute that may be a property with opinions: httpx raises from `.request`, urllib3 reads in `.data`."""
    try:
        return getattr(holder, name, None)
    except Exception:
        return None


def objects_in(value: object) -> Iterator[Body]:
    """Walk the objects of an array; there are none in anything else."""
    return filter(is_object, value) if is_array(value) else iter(())


def words(text: str) -> frozenset[str]:
    """Make a set of the words of a text: keeps long tables readable."""
    return frozenset(text.split())
