"""The shape of a run's `values`: a mapping, a model where the state is one, or one channel's value alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel


def plain(data: Any, keys: str | Sequence[str]) -> dict[str, Any]:
    """Read `data`, shown under the output `keys`, as values by channel."""
    if isinstance(keys, str):
        return {keys: data}
    if isinstance(data, Mapping | BaseModel):
        return dict(data)
    return {name: getattr(data, name) for name in _names(type(data))}


def shaped(state: Mapping[str, Any], keys: str | Sequence[str], like: Any) -> Any:
    """Put `state` into the shape that `like` has: the values seen before, or None where there were none."""
    if isinstance(keys, str):
        return state.get(keys)
    names = _names(type(like))
    if not names:
        return dict(state)
    return type(like)(**{name: state[name] for name in names if name in state})


def _names(kind: type) -> Sequence[str]:
    if issubclass(kind, BaseModel):
        return list(kind.model_fields)
    return [field.name for field in fields(kind)] if is_dataclass(kind) else ()
