"""`DegradeContext`: what was degraded in one request, and what it left undone (spec R2)."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

from typing_extensions import TypedDict  # as LangGraph's own states, or the classes don't mix

from langgraph_degrade.context.events import Event, Unfinished
from langgraph_degrade.context.fitting import short
from langgraph_degrade.context.merging import EVENT, ITEM, State, by_time, empty, is_ours, join, merge, read, turn_name


class DegradeContext:
    """One request's degradations: read it in any later stage, and act on it.

    Live inside a run (one object, shared by parallel branches, exact under threads); `DegradeContext.of(state)` reads
    what is stored in a graph's state.

    Example:
        >>> DegradeContext.of({"messages": []}).level
        0
    """

    def __init__(self, stored: object = None) -> None:
        self._lock = (
            threading.RLock()
        )  # re-entrant: a run that ends is collected, and told of, in the midst of anything
        self._state: State = read(stored)
        self._revision = 0
        self.rubbish = not (stored is None or is_ours(stored) or (isinstance(stored, Mapping) and not stored))
        """What stood under `degrade` was not ours and was replaced by an empty context."""

    @classmethod
    def of(cls, state: object) -> DegradeContext:
        """The context stored in `state`: a graph's state (mapping or object) or a bare `degrade` dict."""
        if isinstance(state, Mapping):
            stored: object = state.get("degrade", state if is_ours(state) else None)
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
            return [EVENT.whole(*named) for named in sorted(self._state["events"].items(), key=by_time)]

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
            items = sorted(self._state["unfinished"].items(), key=by_time)
            return [ITEM.whole(*named) for named in items if not named[1].get("done")]

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
        change: State = {"events": {event.id: event.plain()}, "level": event.level, "flags": sorted(flags)}
        if event.direction is not None:
            change["counters"] = {event.target: [self.turn[0]]}
        with self._lock:
            self._join(change | {"count": self._state["count"] + 1})

    def add_unfinished(self, item: Unfinished) -> None:
        """Note something left undone; the same id again replaces it."""
        with self._lock:
            change: State = asdict(item)
            old = self._state["unfinished"].get(short(item.id, ITEM.longest_id))
            if old is not None and old.get("at", 0.0) >= item.at:  # clocks differ; what is noted now is the later one
                change["at"] = math.nextafter(old.get("at", 0.0), math.inf)
            self._join({"unfinished": {item.id: change}})

    def finish(self, item_id: str) -> None:
        """Bury an unfinished item: it was done or withdrawn. One that isn't known needs no burial."""
        with self._lock:
            old = self._state["unfinished"].get(short(item_id, ITEM.longest_id))
            if old is not None:
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
        turn_id = turn_name(turn_id)
        with self._lock:
            number, known = self._state["turn"]
            if known != turn_id:
                fresh = {**empty(), "turn": [number + 1, turn_id]}
                kept = {part: self._state[part] for part in ("unfinished", "counters", "extra")}
                self._state = {**fresh, **kept}

    def adopt(self, stored: object, turn_id: str) -> None:
        """Join what a graph's state holds with what this run has already seen."""
        other = DegradeContext(stored)
        other.begin(turn_id)
        with self._lock:
            mine = {**self._state, "turn": other._state["turn"]}
            self._state = join(other._state, mine)
        self.rubbish = self.rubbish or other.rubbish

    def plain(self) -> State:
        """The whole context as the JSON dict that stands in state."""
        with self._lock:
            text = json.dumps(self._state)
        copy: State = json.loads(text)  # it was read before: a copy is enough, and this is the quickest deep one
        return copy

    def summary(self) -> str:
        """One line a person can read: what failed, which rung, what is open."""
        steps = "; ".join(_line(event) for event in self.events) or "nothing degraded"
        items = "".join(f"; open: {item['what']} ({item['state']})" for item in self.unfinished)
        more = f"; +{self.dropped} more" if self.dropped else ""
        return steps + more + items

    def __repr__(self) -> str:
        return f"DegradeContext(level={self.level}, depth={self.depth}, {self.summary()})"

    def _join(self, change: State) -> None:
        self._state = join(self._state, read({**empty(), "turn": self._state["turn"], **change}))
        self._revision += 1


class DegradeState(TypedDict, total=False):
    """Adds the `degrade` key to a graph's state: `class State(MessagesState, DegradeState): ...`."""

    degrade: Annotated[dict[str, Any], merge]


def turn_of(messages: object) -> str | None:
    """Return the id of the message the current turn began with: the same on every worker and after every resume."""
    if isinstance(messages, (list, Sequence)):
        for message in reversed(messages):
            if getattr(message, "type", None) == "human":
                name = getattr(message, "id", None)
                return str(name) if name else None
    return None


def _line(event: Mapping[str, Any]) -> str:
    rung = event.get("direction") or event.get("outcome") or "noted"
    return f"{event.get('target')}: {event.get('kind')} -> {rung} ({event.get('reason', '')})"
