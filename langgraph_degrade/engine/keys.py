"""Keys: what makes two calls the same call, and whose value it is.

Arguments become canonical typed JSON: `1`, `1.0`, `True` and `"1"` differ at any depth, the order of a mapping's
keys doesn't matter, a missing key is not None. Values that are no JSON carry their class. What has no lasting
identity (NaN, an object, a secret) gives no key at all: better no cache than somebody else's value.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from enum import Enum
from functools import singledispatch
from typing import Any, Literal, cast
from uuid import UUID

from pydantic import BaseModel

LONGEST = 1024
"""Characters of a key's text (○); beyond that its SHA-256 stands for it, so that keys stay small."""

_SCALARS = frozenset({str, int, float, bool, type(None)})
_IDENTITIES = (str, int, bytes, UUID)
_INTERNAL = "__pregel_"

_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, sort_keys=True, separators=(",", ":")
)


def canonical(args: Mapping[str, object]) -> str | None:
    """Canonical text of a call's arguments, defaults already filled in; None where they have none.

    The text is valid UTF-8 whatever is in it, and starts with `{`, or `sha256:` beyond `LONGEST` characters.

    Example:
        >>> canonical({"sku": "A-1", "limit": 1})
        '{"limit":1,"sku":"A-1"}'
        >>> canonical({"limit": float("nan")}) is None
        True
    """
    try:
        text = _ENCODER.encode(_mapping(args))
    except Exception:  # NaN, an object, nesting without end, a value that can't even be read
        return None
    if not text.isascii():
        # A lone surrogate becomes its JSON escape; a character beyond the BMP stays itself, so they can't meet.
        text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST else "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def scope_key(
    scope: tuple[str, ...] | Literal["shared"] | None,
    *,
    configurable: Mapping[str, object],
    context: object,
    thread_id: object,
) -> tuple[str, ...] | None:
    """Whose value it is; None where that can't be told, and then nothing may be cached.

    Each name of `scope` is looked up in `config["configurable"]` and in `runtime.context` (a mapping or an object);
    where both know it they must agree. Only None counts as missing: `0` and `""` are identities. Strings, ints,
    bytes, UUIDs and enum members are identities, by type and value: `1` and `"1"` are two users. Nothing else is.

    Example:
        >>> scope_key(("user_id",), configurable={"user_id": 7}, context=None, thread_id=None)
        ('{"user_id":7}',)
    """
    if scope == "shared":
        return ()
    if scope is None:
        return _identity("thread_id", thread_id)
    parts: tuple[str, ...] = ()
    for name in scope:
        part = _identity(name, _look_up(name, configurable, context))
        if part is None:
            return None
        parts += part
    return parts


def _look_up(name: str, configurable: Mapping[str, object], context: object) -> object:
    if name.startswith(_INTERNAL):
        return None
    given = configurable.get(name)
    if isinstance(context, Mapping):
        other = cast("Mapping[str, object]", context).get(name)
    else:
        other = getattr(context, name, None)
    if given is None or other is None:
        return other if given is None else given
    return given if _identity(name, given) == _identity(name, other) else None


def _identity(name: str, value: object) -> tuple[str] | None:
    if type(value) not in _IDENTITIES and not isinstance(value, Enum):
        return None
    text = canonical({name: value})
    return None if text is None else (text,)


def _typed(value: object) -> Any:
    """The value as plain JSON; whatever isn't is a mapping with one `$class` key, which no other mapping has."""
    if type(value) in _SCALARS:
        return value
    encode: Callable[[Any], Any] = _PLAIN.get(type(value), _tagged)
    return encode(value)


def _items(value: Iterable[Any]) -> list[Any]:
    return [_typed(item) for item in value]


def _mapping(value: Mapping[Any, Any]) -> Any:
    if all(type(key) is str for key in value):
        return {"$" + key if key.startswith("$") else key: _typed(item) for key, item in value.items()}
    return {"$items": sorted(([_typed(key), _typed(item)] for key, item in value.items()), key=_ENCODER.encode)}


def _tagged(value: object) -> Any:
    return {f"${type(value).__module__}.{type(value).__qualname__}": _content(value)}


_PLAIN: Mapping[type, Callable[[Any], Any]] = {list: _items, dict: _mapping}


@singledispatch
def _content(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _typed(getattr(value, field.name)) for field in dataclasses.fields(value)}
    raise TypeError("no lasting identity")


@_content.register
def _(value: Enum) -> Any:
    return _typed(value.value)


_content.register(Mapping, _mapping)
_content.register(tuple, _items)
_content.register(list, _items)


@_content.register(AbstractSet)
def _(value: Any) -> Any:
    return sorted(_items(value), key=_ENCODER.encode)


@_content.register(bytes)
@_content.register(bytearray)
def _(value: Any) -> str:
    return bytes(value).hex()


@_content.register(dt.date)
@_content.register(dt.time)
def _(value: Any) -> str:
    return str(value.isoformat())


@_content.register(dt.timedelta)
@_content.register(UUID)
def _(value: object) -> str:
    return str(value)


@_content.register
def _(value: Decimal) -> str:
    if not value.is_finite():
        raise ValueError("equal to nothing")
    return str(value)


@_content.register
def _(value: BaseModel) -> Any:
    fields = {name: value.__dict__[name] for name in type(value).model_fields}
    return _mapping({**fields, **(value.__pydantic_extra__ or {})})
