"""`DegradeContext`: what was degraded in one request, and what it left undone (spec R2, R3).

In LangGraph state it is a plain JSON dict under the key `degrade`; `merge` is its reducer. The dict has a part that
belongs to the *turn* (events, level, depth, flags, retries) and one that belongs to the *session* (unfinished items,
counters). Merging is idempotent and free of order: the later turn owns the turn's part, equal turns take the union of
their events, unfinished items carry tombstones, counters are sets of turn numbers. Whatever stands under `degrade` that is
not ours (rubbish, an older or a newer version) is read as far as it makes sense and never raises.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from typing_extensions import TypedDict  # as LangGraph's own states, or the classes don't mix

from langgraph_degrade.failures.failure import Kind

VERSION = 1
MAX_EVENTS = 32
"""Events kept per request ○; the rest is counted. Keeps the dict under 16 KB (design section 6)."""
MAX_UNFINISHED = 24
"""Open items kept per thread ○, newest first."""
MAX_TURNS = 32
"""Degraded turns remembered per target ○, newest first."""

Stage = Literal["plan", "select", "execute", "context", "answer", "state"]
Direction = Literal["params", "data", "function", "chain", "model", "handoff"]
DIRECTIONS: tuple[Direction, ...] = ("params", "data", "function", "chain", "model", "handoff")
"""The rungs, cheapest first (spec D1); a rung's level is its place here, counted from 1."""
LEVELS: Mapping[str, int] = {name: level for level, name in enumerate(DIRECTIONS, 1)}

State = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """One step taken: who, why, which rung, how long, which attempt."""

    id: str
    target: str
    stage: Stage
    kind: Kind
    reason: str
    """Short and safe; the classifier's words, never an exception's text."""
    direction: Direction | None = None
    """The rung taken; None for an attempt that was simply made again."""
    outcome: str = ""
    """What the step gave: `retried`, `failed`, or the status of the result (`stale`, `unavailable`, …)."""
    scene: str | None = None
    attempt: int = 1
    at: float = 0.0
    """Unix time in seconds."""
    elapsed: float = 0.0
    """Seconds the failed attempts before this step took."""
    status: int | None = None
    """HTTP status, where there was one."""

    @property
    def level(self) -> int:
        """1 (`params`) to 6 (`handoff`); 0 where no rung was taken."""
        return LEVELS.get(self.direction or "", 0)

    def plain(self) -> dict[str, Any]:
        """This event as JSON, without empty fields, with its level."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "")} | {"level": self.level}


@dataclass(slots=True)
class Unfinished:
    """One thing the user asked for and did not (surely) get."""

    id: str
    target: str
    what: str
    """What was asked, for the user: the tool and its arguments, redacted and capped."""
    state: Literal["not_done", "unknown"] = "not_done"
    is_read: bool = False
    """Only something to look up: nothing was lost by not doing it, and nobody needs to submit it again."""
    queued: bool = False
    """Durably queued: only then may an answer say "we will finish it" (spec A4)."""
    turn: str = ""
    at: float = 0.0
    done: bool = False
    """The tombstone: finished or withdrawn since."""


class DegradeContext:
    """One request's degradations: read it in any later stage, and act on it.

    Live inside a run (one object, shared by parallel branches, exact under threads); `DegradeContext.of(state)` reads
    what is stored in a graph's state.

    Example:
        >>> DegradeContext.of({"messages": []}).level
        0
    """

    def __init__(self, stored: object = None) -> None:
        self._lock = threading.Lock()
        self._state: State = read(stored)
        self._revision = 0
        self.rubbish = stored not in (None, {}) and not _is_ours(stored)
        """What stood under `degrade` was not ours and was replaced by an empty context."""

    @classmethod
    def of(cls, state: object) -> DegradeContext:
        """The context stored in `state`: a graph's state (mapping or object) or a bare `degrade` dict."""
        if isinstance(state, Mapping):
            stored: object = state.get("degrade", state if _is_ours(state) else None)
            messages: object = state.get("messages")
        else:
            stored, messages = getattr(state, "degrade", None), getattr(state, "messages", None)
        context = cls(stored)
        turn = turn_of(messages)
        if turn is not None and context.turn[1]:
            context.begin(turn)  # a healthy turn writes nothing: what stands there may be an earlier one's
        return context

    @property
    def turn(self) -> tuple[int, str]:
        """The turn the request part belongs to: its number in this thread and its id."""
        number, name = self._state["turn"]
        return number, name

    @property
    def events(self) -> list[dict[str, Any]]:
        """The steps taken, in order of time; at most `MAX_EVENTS`, the rest is in `dropped`."""
        with self._lock:
            return sorted(self._state["events"].values(), key=_by_time)

    @property
    def dropped(self) -> int:
        """How many events are counted but no longer held."""
        count: int = self._state["count"]
        return max(0, count - len(self._state["events"]))

    @property
    def level(self) -> int:
        """The highest rung reached, 1 to 6; 0 if nothing was degraded."""
        return int(self._state["level"])

    @property
    def depth(self) -> int:
        """How often the episode escalated (spec R5)."""
        return int(self._state["depth"])

    @property
    def retries(self) -> int:
        """Retries taken from the request's budget."""
        return int(self._state["retries"])

    @property
    def flags(self) -> frozenset[str]:
        """What later stages must respect: `data_stale`, `data_partial`, `write_unknown`, …"""
        return frozenset(self._state["flags"])

    @property
    def data_stale(self) -> bool:
        """Some value of this request is an older one: never call it the latest."""
        return "data_stale" in self._state["flags"]

    @property
    def unfinished(self) -> list[dict[str, Any]]:
        """Open items of this thread, oldest first."""
        with self._lock:
            return sorted((i for i in self._state["unfinished"].values() if not i.get("done")), key=_by_time)

    @property
    def degraded_targets(self) -> dict[str, int]:
        """In how many turns of this session each target failed (spec R4)."""
        return {target: len(turns) for target, turns in self._state["counters"].items()}

    @property
    def revision(self) -> int:
        """Grows with every change: tells a node whether it has something to write to state."""
        return self._revision

    def record(self, event: Event, flags: Iterable[str] = ()) -> None:
        """Add one step."""
        change = {"events": {event.id: event.plain()}, "level": event.level, "flags": sorted(flags)}
        if event.direction is not None:
            change["counters"] = {event.target: [self.turn[0]]}
        with self._lock:
            self._join(change | {"count": self._state["count"] + 1})

    def add_unfinished(self, item: Unfinished) -> None:
        """Note something left undone; the same id again replaces it."""
        with self._lock:
            self._join({"unfinished": {item.id: asdict(item)}})

    def finish(self, item_id: str) -> None:
        """Bury an unfinished item: it was done or withdrawn."""
        with self._lock:
            old = self._state["unfinished"].get(item_id, {"id": item_id})
            self._join({"unfinished": {item_id: {**old, "done": True}}})

    def raise_to(self, level: int, max_depth: int) -> bool:
        """Escalate to `level`; False where that would be one escalation too many (spec R5)."""
        with self._lock:
            if level <= self._state["level"]:
                return True
            if self._state["depth"] >= max_depth:
                return False
            self._state["depth"] += 1
            self._state["level"] = level
            self._revision += 1
            return True

    def count_retry(self, allowed: int) -> bool:
        """Take one retry of `allowed`; False when they are used up. Exact under threads."""
        with self._lock:
            if self._state["retries"] >= allowed:
                return False
            self._state["retries"] += 1
            return True

    def begin(self, turn_id: str) -> None:
        """Say which turn this is; a new one empties the request part and keeps the session's."""
        with self._lock:
            number, known = self._state["turn"]
            if known != turn_id:
                fresh = {**_EMPTY(), "turn": [number + 1, turn_id]}
                kept = {part: self._state[part] for part in ("unfinished", "counters", "extra")}
                self._state = {**fresh, **kept}

    def adopt(self, stored: object, turn_id: str) -> None:
        """Join what a graph's state holds with what this run has already seen."""
        other = DegradeContext(stored)
        other.begin(turn_id)
        with self._lock:
            mine = {**self._state, "turn": other._state["turn"]}
            self._state = merge(other._state, mine)
        self.rubbish = self.rubbish or other.rubbish

    def plain(self) -> State:
        """The whole context as the JSON dict that stands in state."""
        with self._lock:
            return read(self._state)

    def summary(self) -> str:
        """One line a person can read: what failed, which rung, what is open."""
        steps = "; ".join(_line(event) for event in self.events) or "nothing degraded"
        items = "".join(f"; open: {item['what']} ({item['state']})" for item in self.unfinished)
        more = f"; +{self.dropped} more" if self.dropped else ""
        return steps + more + items

    def __repr__(self) -> str:
        return f"DegradeContext(level={self.level}, depth={self.depth}, {self.summary()})"

    def _join(self, change: State) -> None:
        self._state = merge(self._state, {**_EMPTY(), "turn": self._state["turn"], **change})
        self._revision += 1


def turn_of(messages: object) -> str | None:
    """Return the id of the message the current turn began with: the same on every worker and after every resume."""
    if isinstance(messages, Sequence):
        for message in reversed(messages):
            if getattr(message, "type", None) == "human":
                name = getattr(message, "id", None)
                return str(name) if name else None
    return None


def _EMPTY() -> State:  # noqa: N802 - reads as the constant it would be if dicts were frozen
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
    state = _EMPTY()
    if not isinstance(stored, Mapping) or not _is_ours(stored):
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


class DegradeState(TypedDict, total=False):
    """Adds the `degrade` key to a graph's state: `class State(MessagesState, DegradeState): ...`."""

    degrade: Annotated[dict[str, Any], merge]


def _join_turn(left: State, right: State) -> State:
    events = _union(left["events"], right["events"])
    if len(events) > MAX_EVENTS:
        events = dict(sorted(events.items(), key=lambda item: _by_time(item[1]))[:MAX_EVENTS])
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


def _by_time(item: Mapping[str, Any]) -> tuple[float, str]:
    return _number(item.get("at")), str(item.get("id", ""))


def _newest_first(item: Mapping[str, Any]) -> tuple[float, str]:
    return -_number(item.get("at")), str(item.get("id", ""))


def _line(event: Mapping[str, Any]) -> str:
    rung = event.get("direction") or event.get("outcome") or "noted"
    return f"{event.get('target')}: {event.get('kind')} -> {rung} ({event.get('reason', '')})"


def _is_ours(stored: object) -> bool:
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
    "extra": lambda value, default: dict(value) if isinstance(value, Mapping) else default,
}
