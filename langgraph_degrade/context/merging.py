"""The `degrade` key of a graph's state: reading it whatever stands there, and merging it (spec R3).

The dict has a part that belongs to the *turn* (events, level, depth, flags, retries) and one that belongs to the
*session* (unfinished items, counters). Merging is idempotent and free of order and grouping: the later turn owns the
turn's part, equal turns take the union of their events; of two versions of an item the later counts, a finished one
(the tombstone) before an open one of the same time; counters are sets of turns. Rubbish, an older or a newer version is
read as far as it makes sense and never raises.

The dict stays under 16 KB, always: everything is kept up to a number, and each entry up to a size. A limit on their sum
would keep more, but what fell out would then hang on the order of merging. What ranks an entry (its time, then its id)
is also what decides between its versions, first of all: so nothing that fell out can come back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langgraph_degrade.context.fitting import GREATEST, Shape, encodable, fitted, plain_json, rank, short

VERSION = 1
LARGEST = 16 * 1024
"""Bytes of the whole dict as JSON in UTF-8 (design section 6); the limits below add up to less."""
MAX_EVENTS = 24
"""Events kept per request ○, oldest first; the rest is counted."""
MAX_UNFINISHED = 16
"""Items kept per thread ○, newest first, finished ones among them: an open one could come back without its tombstone."""
MAX_MARKS = 16
"""Pairs of a degraded target and a turn remembered ○, newest first."""
MAX_FLAGS = 8
MAX_EXTRA = 4
"""Fields of other versions carried along ○."""
LONGEST_NAME = 48
"""Bytes of a target's name in counters, of a flag and of a turn's id ○; longer ones are known by their digest."""
LARGEST_EXTRA = 64
"""Bytes of a field of another version ○."""
EVENT = Shape(largest=296, longest_id=40, gives_way="reason", defaults={"at": 0.0})
ITEM = Shape(
    largest=432,
    longest_id=96,
    gives_way="what",
    defaults={
        "target": "",
        "what": "",
        "state": "not_done",
        "is_read": False,
        "queued": False,
        "turn": "",
        "at": 0.0,
        "done": False,
    },
)
"""Leaves some 200 bytes to `what`, as a tool's name is long."""

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
    state |= {field: reader(stored[field], state[field]) for field, reader in _READERS.items() if field in stored}
    unknown = {field: value for field, value in stored.items() if field not in state}
    state["extra"] = _fewest(_union(state["extra"], _extra(unknown, {})))
    state["count"] = max(state["count"], len(state["events"]))
    return state


def merge(old: object, new: object) -> State:
    """The reducer of the `degrade` key: associative, commutative, idempotent."""
    return join(read(old), read(new))


def join(left: State, right: State) -> State:
    """Merge two states that were read already."""
    if left["turn"] == right["turn"]:
        merged = _join_turn(left, right)
    else:
        merged = dict(max(left, right, key=lambda state: tuple(state["turn"])))
    merged["v"] = max(left["v"], right["v"])
    merged["unfinished"] = _newest(_versions(left["unfinished"], right["unfinished"], latest=True))
    merged["counters"] = _counters([*_marks(left["counters"]), *_marks(right["counters"])])
    merged["extra"] = _fewest(_union(left["extra"], right["extra"]))
    return merged


def _join_turn(left: State, right: State) -> State:
    events = _oldest(_versions(left["events"], right["events"], latest=False))
    return {
        **left,
        "events": events,
        "count": max(left["count"], right["count"], len(events)),
        "level": max(left["level"], right["level"]),
        "depth": max(left["depth"], right["depth"]),
        "retries": max(left["retries"], right["retries"]),
        "flags": sorted({*left["flags"], *right["flags"]})[:MAX_FLAGS],
    }


def _versions(left: Mapping[str, State], right: Mapping[str, State], *, latest: bool) -> dict[str, State]:
    """Both together, and of what stands in both the later version, or the earlier one."""
    choose = max if latest else min
    joined = {**left, **right}
    for name in left.keys() & right.keys():
        joined[name] = choose(left[name], right[name], key=_version)
    return joined


def _version(entry: State) -> tuple[float, bool, str]:
    return entry.get("at", 0.0), entry.get("done") is True, rank(entry)


def by_time(named: tuple[str, State]) -> tuple[float, str]:
    name, entry = named
    return entry.get("at", 0.0), name


def _oldest(events: Mapping[str, State]) -> dict[str, State]:
    return dict(sorted(events.items(), key=by_time)[:MAX_EVENTS])


def _newest(items: Mapping[str, State]) -> dict[str, State]:
    return dict(sorted(items.items(), key=by_time)[-MAX_UNFINISHED:])


def _marks(counters: Mapping[str, Iterable[int]]) -> list[tuple[int, str]]:
    return [(turn, target) for target, turns in counters.items() for turn in turns]


def _counters(marks: Iterable[tuple[int, str]]) -> dict[str, list[int]]:
    counters: dict[str, list[int]] = {}
    for turn, target in sorted(set(marks))[-MAX_MARKS:]:
        counters.setdefault(target, []).append(turn)
    return dict(sorted(counters.items()))


def _fewest(extra: Mapping[str, Any]) -> State:
    return dict(sorted(extra.items())[:MAX_EXTRA])


def _union(left: Mapping[str, Any], right: Mapping[str, Any]) -> State:
    joined = {**left, **right}
    for name in left.keys() & right.keys():
        joined[name] = max(left[name], right[name], key=rank)
    return joined


def is_ours(stored: object) -> bool:
    return isinstance(stored, Mapping) and isinstance(stored.get("v"), int) and "turn" in stored


def turn_name(name: str) -> str:
    """How a turn's id stands in the dict."""
    return short(name, LONGEST_NAME)


def _count(value: object, default: int) -> int:
    return int(value) if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= GREATEST else default


def _turn(value: object, default: list[Any]) -> list[Any]:
    if isinstance(value, list | tuple) and len(value) == 2:
        number, name = value
        if _count(number, -1) >= 0 and isinstance(name, str):
            return [_count(number, 0), turn_name(name)]
    return default


def _entries(value: object, shape: Shape) -> dict[str, State]:
    if not isinstance(value, Mapping):
        return {}
    named = {short(key, shape.longest_id): entry for key, entry in value.items() if isinstance(key, str)}
    return {name: fitted(name, entry, shape) for name, entry in named.items() if name and isinstance(entry, Mapping)}


def _events(value: object, _default: object) -> dict[str, State]:
    return _oldest(_entries(value, EVENT))


def _items(value: object, _default: object) -> dict[str, State]:
    return _newest(_entries(value, ITEM))


def _texts(value: object, default: list[str]) -> list[str]:
    if not isinstance(value, list | tuple | set):
        return default
    return sorted({short(text, LONGEST_NAME) for text in value if isinstance(text, str)})[:MAX_FLAGS]


def _sets(value: object, default: dict[str, list[int]]) -> dict[str, list[int]]:
    if not isinstance(value, Mapping):
        return default
    known = {key: turns for key, turns in value.items() if isinstance(key, str) and isinstance(turns, list | tuple)}
    marks = _marks({short(key, LONGEST_NAME): [_count(turn, -1) for turn in turns] for key, turns in known.items()})
    return _counters(mark for mark in marks if mark[0] >= 0)


def _extra(value: object, _default: object) -> State:
    if not isinstance(value, Mapping):
        return {}
    texts = {key: item for key, item in value.items() if isinstance(key, str) and encodable(key) == key}
    sound = {key: plain_json({key: item}, LARGEST_EXTRA) for key, item in texts.items() if key not in _READERS}
    return _fewest({key: item[key] for key, item in sound.items() if item is not None})


_READERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "v": _count,
    "turn": _turn,
    "events": _events,
    "count": _count,
    "level": _count,
    "depth": _count,
    "retries": _count,
    "flags": _texts,
    "unfinished": _items,
    "counters": _sets,
    "extra": _extra,
}
