"""One step from a Python object towards JSON, without ever running its `repr`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, MappingView, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Address
from pathlib import PurePath
from typing import Any, cast
from uuid import UUID

_MAX_ITEMS = 1_000_000
"""○ A `range` may name more items than a machine holds."""


def unfold(value: object) -> object:
    """Return something nearer to JSON than `value`; a mark such as `<Cursor>` where nothing is known about its type.

    Never an object's `repr` or an exception's text (addresses and secrets stand in them), and an iterator is left
    alone: reading it would use it up.
    """
    try:
        for kind, step in _STEPS:
            if isinstance(value, kind):
                return step(value)
        return _by_shape(value)
    except Exception:  # the object's own code ran; whatever it thinks of that is no reason to lose the call
        return type_mark(value)


def type_mark(value: object) -> str:
    """Return `<TypeName>`: all that is said about a value that has no JSON form."""
    return f"<{type(value).__name__[:60]}>"


def key_text(key: object) -> str:
    """Write a key as JSON does: `true`, `null`, `7`; an enum's value; a date in ISO form."""
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, str):
        return str.__str__(key)
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    near = unfold(key)
    return str(near) if isinstance(near, str | int | float) else type_mark(key)


def _by_shape(value: object) -> object:
    """Tell by what an object can do: pydantic models, dataclasses, numpy and pandas values."""
    kind: Any = type(value)  # asked of the type: an instance may be a proxy that answers to every name
    if hasattr(kind, "model_dump"):
        return kind.model_dump(value, mode="json", warnings=False)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(kind, "tolist") and getattr(value, "size", 0) <= _MAX_ITEMS:
        return kind.tolist(value)
    return type_mark(value)


def _number(value: Decimal | Fraction) -> object:
    """A number where a double says exactly the same, else its text: 0.1 stays 0.1, and no cent is lost."""
    if isinstance(value, Decimal) and not value.is_finite():
        return float(value) if not value.is_snan() else math.nan
    near = float(value)
    return near if math.isfinite(near) and type(value)(repr(near)) == value else str(value)


def _items(value: Sequence[object] | MappingView) -> object:
    if len(value) > _MAX_ITEMS:
        return type_mark(value)
    kind: Any = type(value)
    return kind._asdict(value) if hasattr(kind, "_asdict") else list(cast("Sequence[object]", value))


def _text(value: bytes | bytearray | memoryview) -> str:
    try:
        return bytes(value).decode()
    except UnicodeDecodeError:
        return f"<{len(value)} bytes>"


def _enum_value(enum: Enum) -> object:
    return enum.value


def _iso(moment: datetime | date | time) -> str:
    return moment.isoformat()


def _sorted(items: AbstractSet[object]) -> list[object]:
    return sorted(items, key=str)  # a set's own order changes from run to run


_STEPS: tuple[tuple[Any, Callable[[Any], object]], ...] = (
    (Enum, _enum_value),
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    ((datetime, date, time), _iso),
    (timedelta, timedelta.total_seconds),
    ((Decimal, Fraction), _number),
    ((UUID, PurePath, IPv4Address, IPv6Address), str),
    ((bytes, bytearray, memoryview), _text),
    (Mapping, dict),
    (AbstractSet, _sorted),
    ((Sequence, MappingView), _items),
)
