"""Which JSON shape a value has, in a form the type checkers follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Tell a JSON object (its keys are texts once `clean` has seen it)."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Tell a JSON array."""
    return isinstance(value, list)


def is_bytes(value: object) -> TypeGuard[bytes]:
    """Tell raw bytes, of whatever buffer."""
    return isinstance(value, bytes | bytearray | memoryview)


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Tell a part of a schema that holds parts."""
    return isinstance(value, Mapping)
