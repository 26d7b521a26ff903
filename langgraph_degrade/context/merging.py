"""The `degrade` key of a graph's state: reading it whatever stands there, and merging it (spec R3).

The dict has a part that belongs to the *turn* (events, level, depth, flags, retries) and one that belongs to the
*session* (unfinished items, counters). Merging is idempotent and free of order: the later turn owns the turn's part,
equal turns take the union of their events, unfinished items carry tombstones, counters are sets of turn numbers.
Rubbish, an older or a newer version is read as far as it makes sense and never raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

VERSION = 1
MAX_EVENTS = 32
"""Events kept per request ○; the rest is counted. Keeps the dict under 16 KB (design section 6)."""
MAX_UNFINISHED = 24
"""Open items kept per thread ○, newest first."""
MAX_TURNS = 32
"""Degraded turns remembered per target ○, newest first."""

State = dict[str, Any]


def empty() -> State:
    return {
        "v": VERSION,
        "turn": [0, ""],
        "events": {},
        "count": 0,
        "level": 0,
        "depth": 0,
        "retries": 0,
        "flags": [],
        "unfinished": {},
        "counters": {},
        "extra": {},
    }


def read(stored: object) -> State:
    """`stored` as a sound state dict: fields that make no sense fall back to empty, unknown ones are carried along."""
    state = empty()
    if not isinstance(stored, Mapping) or not is_ours(stored):
        return state
    for field, value in stored.items():
        if field in state:
            state[field] = _READERS[field](value, state[field])
        elif isinstance(field, str):
            state["extra"] = {**state["extra"], field: value}
    return state


def merge(old: object, new: object) -> State:
    """The reducer of the `degrade` key: associative, commutative, idempotent."""
    left, right = read(old), read(new)
    if left["turn"] == right["turn"]:
        merged = _join_turn(left, right)
    else:
        merged = dict(max(left, right, key=lambda state: tuple(state["turn"])))
    merged["v"] = max(left["v"], right["v"])
    merged["unfinished"] = _join_items(left["unfinished"], right["unfinished"])
    merged["counters"] = _join_counters(left["counters"], right["counters"])
    merged["extra"] = _union(left["extra"], right["extra"])
    return merged


def _join_turn(left: State, right: State) -> State:
    events = _union(left["events"], right["events"])
    if len(events) > MAX_EVENTS:
        events = dict(sorted(events.items(), key=lambda item: by_time(item[1]))[:MAX_EVENTS])
    return {
        **left,
        "events": events,
        "count": max(left["count"], right["count"], len(events)),
        "level": max(left["level"], right["level"]),
        "depth": max(left["depth"], right["depth"]),
        "retries": max(left["retries"], right["retries"]),
        "flags": sorted({*left["flags"], *right["flags"]}),
    }


def _join_items(left: Mapping[str, State], right: Mapping[str, State]) -> dict[str, State]:
    joined = _union(left, right)
    for name in left.keys() & right.keys():
        joined[name] = max(
            left[name], right[name], key=lambda item: (bool(item.get("done")), repr(sorted(item.items())))
        )
    live = sorted(joined.items(), key=lambda item: (bool(item[1].get("done")), *_newest_first(item[1])))
    return dict(sorted(live[:MAX_UNFINISHED]))


def _join_counters(left: Mapping[str, list[int]], right: Mapping[str, list[int]]) -> dict[str, list[int]]:
    names = sorted(left.keys() | right.keys())
    return {name: sorted({*left.get(name, ()), *right.get(name, ())})[-MAX_TURNS:] for name in names}


def _union(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    joined = {**left, **right}
    for name in left.keys() & right.keys():
        joined[name] = max(left[name], right[name], key=repr)
    return joined


def by_time(item: Mapping[str, Any]) -> tuple[float, str]:
    return _number(item.get("at")), str(item.get("id", ""))


def _newest_first(item: Mapping[str, Any]) -> tuple[float, str]:
    return -_number(item.get("at")), str(item.get("id", ""))


def is_ours(stored: object) -> bool:
    return isinstance(stored, Mapping) and isinstance(stored.get("v"), int) and "turn" in stored


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and value == value else 0.0  # noqa: PLR0124 - NaN


def _count(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def _turn(value: object, default: list[Any]) -> list[Any]:
    if isinstance(value, list | tuple) and len(value) == 2:
        number, name = value
        if isinstance(number, int) and isinstance(name, str):
            return [number, name]
    return default


def _items(value: object, default: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return default
    return {str(key): dict(item) for key, item in value.items() if isinstance(item, Mapping)}


def _texts(value: object, default: list[str]) -> list[str]:
    return (
        sorted({text for text in value if isinstance(text, str)}) if isinstance(value, list | tuple | set) else default
    )


def _sets(value: object, default: dict[str, list[int]]) -> dict[str, list[int]]:
    if not isinstance(value, Mapping):
        return default
    return {
        str(k): sorted({n for n in turns if isinstance(n, int)})
        for k, turns in value.items()
        if isinstance(turns, list)
    }


def _extra(value: object, default: State) -> State:
    return {str(key): item for key, item in value.items()} if isinstance(value, Mapping) else default


_READERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "v": _count,
    "turn": _turn,
    "events": _items,
    "count": _count,
    "level": _count,
    "depth": _count,
    "retries": _count,
    "flags": _texts,
    "unfinished": _items,
    "counters": _sets,
    "extra": _extra,
}
