"""Deep copies for the caches: fast on plain data, of a known size, and no crash on what can't be copied."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

_SMALL = frozenset({type(None), bool, int, float, complex})
_ATOMS = _SMALL | {str, bytes}


class Copy(NamedTuple):
    value: Any


def copied(value: object, room: int | None = None) -> Copy | None:
    """A deep copy; None where there can be none: generators, locks, endless nesting, more than `room` bytes."""
    try:
        if room is not None and _room_left(value, room) < 0:
            return None
        return Copy(_copy(value))
    except Exception:  # whatever a foreign `__deepcopy__` raises
        return None


def _copy(value: object) -> Any:
    """As `deepcopy`, several times faster on plain data."""
    copier: Callable[[Any], Any] = _COPIERS.get(type(value), copy.deepcopy)
    return copier(value)


def _copy_dict(value: dict[Any, Any]) -> dict[Any, Any]:
    return {key: item if type(item) in _ATOMS else _copy(item) for key, item in value.items()}


def _copy_list(value: list[Any]) -> list[Any]:
    return [item if type(item) in _ATOMS else _copy(item) for item in value]


def _copy_tuple(value: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_copy_list(list(value)))


_COPIERS: Mapping[type, Callable[[Any], Any]] = {dict: _copy_dict, list: _copy_list, tuple: _copy_tuple}


def _room_left(value: object, room: int) -> int:
    """`room` less the bytes (about) of all that hangs on `value`; stops counting below zero."""
    size, parts = _MEASURES.get(type(value), _measure_object)(value)
    room -= size
    for part in parts:
        if room < 0:
            break
        if type(part) is str:
            room -= 50 + len(part)
        elif type(part) not in _SMALL:
            room = _room_left(part, room)
    return room


def _measure_dict(value: dict[Any, Any]) -> tuple[int, Iterable[Any]]:
    return 64 + sum([len(key) + 100 if type(key) is str else 150 for key in value]), value.values()


def _measure_list(value: Collection[Any]) -> tuple[int, Iterable[Any]]:
    return 64 + 8 * len(value), value


def _measure_object(value: Any) -> tuple[int, Iterable[Any]]:
    return sys.getsizeof(value), getattr(value, "__dict__", _NOTHING).values()


_NOTHING: Mapping[str, Any] = {}
_MEASURES: Mapping[type, Callable[[Any], tuple[int, Iterable[Any]]]] = {
    dict: _measure_dict,
    list: _measure_list,
    tuple: _measure_list,
    set: _measure_list,
    frozenset: _measure_list,
}
