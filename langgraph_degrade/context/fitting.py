"""Entries of the `degrade` dict made sound: flat, finite, plain JSON, and none larger than its share of the whole.

Every function here gives the same for what it gave before: reading what was read changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Entry = dict[str, Any]
GREATEST = 10**12
"""Numbers beyond it are nobody's count, time or status: they are dropped."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What entries of one kind look like."""

    largest: int
    """Bytes of one entry as JSON in UTF-8, its id (the key it stands under) included."""
    longest_id: int
    """Bytes of its id; a longer one is known by its digest."""
    gives_way: str
    """The text that is cut first."""
    defaults: Mapping[str, Any]
    """What readers rely on; not stored."""

    def whole(self, name: str, entry: Entry) -> Entry:
        """An entry as it is read: under its id, with what was left out."""
        return {**self.defaults, **entry, "id": name}


def fitted(name: str, entry: Mapping[Any, Any], shape: Shape) -> Entry:
    """`entry` with finite scalars only, its texts cut until it is small enough, the least said last."""
    sound = _sound(entry, shape.defaults)
    for field in (shape.gives_way, *_by_length(sound)):
        surplus = size({name: sound}) - shape.largest
        if surplus <= 0:
            return sound
        text = sound.pop(field, "")
        if isinstance(text, str) and (rest := cut(text, surplus)):
            sound[field] = rest
    if size({name: sound}) <= shape.largest:
        return sound
    return {field: value for field, value in sound.items() if field in ("at", "done")}


def _sound(entry: Mapping[Any, Any], defaults: Mapping[str, Any]) -> Entry:
    """Without what is nothing, not plain, of another type than its default, or its default."""
    sound: Entry = {}
    for field, given in entry.items():
        if not isinstance(field, str) or field == "id" or encodable(field) != field:
            continue
        value, default = scalar(given), defaults.get(field)
        if isinstance(default, float) and type(value) is int:
            value = float(value)
        if value not in (None, "", default) and (default is None or type(value) is type(default)):
            sound[field] = value
    return sound


def scalar(value: object) -> str | int | float | None:
    """A text that can be encoded, a finite number of a sensible size, a truth value; None for everything else."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -GREATEST <= value <= GREATEST else None
    return float(value) if isinstance(value, float) and abs(value) <= GREATEST else None  # false for NaN


def encodable(text: str) -> str:
    """`text` without lone surrogates, which no checkpoint can hold."""
    return text.encode("utf-8", "replace").decode()


def short(name: str, longest: int) -> str:
    """`name`, or its digest where it has more than `longest` bytes; names that differ stay different."""
    name = encodable(name)
    return name if size(name) <= longest + 2 else hashlib.sha256(name.encode()).hexdigest()[:32]


def cut(text: str, surplus: int) -> str:
    """`text` shorter by at least `surplus` bytes of UTF-8, ending in `…`; empty where nothing is left."""
    whole = text.encode()
    kept = whole[: max(0, len(whole) - surplus - len("…".encode()))].decode("utf-8", "ignore")
    return f"{kept}…" if kept else ""


def plain_json(value: object, longest: int) -> Any:
    """A copy of `value` as JSON gives it back; None where it is none, or has more than `longest` bytes."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)
        return json.loads(text) if len(text.encode()) <= longest else None
    except (TypeError, ValueError, RecursionError):
        return None


def size(value: object) -> int:
    """Bytes of `value` as JSON in UTF-8."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def rank(value: object) -> str:
    """An order of JSON values that does not hang on the order of keys."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _by_length(entry: Entry) -> list[str]:
    """The texts, longest first."""
    texts = {field: len(value) for field, value in entry.items() if isinstance(value, str)}
    return sorted(texts, key=lambda field: (-texts[field], field))
