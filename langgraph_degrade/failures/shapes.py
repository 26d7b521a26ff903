"""Which JSON shape a value has, in a form the type checkers follow."""

from __future__ import annotations

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


def objects_in(value: object) -> Iterator[Body]:
    """Walk the objects of an array; there are none in anything else."""
    return filter(is_object, value) if is_array(value) else iter(())


def words(text: str) -> frozenset[str]:
    """Make a set of the words of a text: keeps long tables readable."""
    return frozenset(text.split())
