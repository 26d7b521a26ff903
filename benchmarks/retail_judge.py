"""Whether the promises were kept: every answer is held against a second shop that nothing ever disturbs.

The second shop is told only what the answers themselves admit: writes that are `ok`, and those `unknown` that the log of
the first shop shows to have been carried out. Reads are looked up in it, and at the end both must be the same.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import ToolMessage

from benchmarks.retail_door import Door, Served
from benchmarks.retail_faults import KINDS
from benchmarks.retail_shop import CACHES, OLDEST, Action, Kit, Task, answer, open_shop, record_of, was_done
from langgraph_degrade import ToolResult
from langgraph_degrade.engine.items import item_id
from langgraph_degrade.store import MemoryStore
from langgraph_degrade.texts import TEXTS

PROMISES = {
    "undisturbed": "a call that reached the tool and met no fault answers `ok`, or with the shop's own “no”",
    "reads": "a read is right, openly stale, or openly not available",
    "done": "a write called `ok` was carried out",
    "not done": "a write called not done was not",
    "once": "no write is carried out twice, or sent again once it has been",
    "business": "a `ValueError` reaches the model as the shop's “no”, in its own words, and opens no breaker",
    "cause": "the recorded cause is the injected one",
    "unfinished": "every write left undone or in doubt stands in the list of unfinished items; none known to be done does",
    "database": "the shop is left as one in which exactly that was done which the answers admit",
}
REFUSALS = frozenset({"open", "shed", "budget", "deadline"})
STALE = TEXTS["tool.stale"]["en"].split("{")[0]
EXACT = 1e-6
"""Seconds two readings of the same virtual moment may differ by."""


@dataclass
class Ask:
    """One tool call of the agent, and what it heard."""

    number: int
    task: Task
    action: Action
    is_again: bool = False
    at: float = 0.0
    """When it heard, on the replay's clock."""
    message: ToolMessage | None = None

    @property
    def result(self) -> ToolResult:
        result = ToolResult.of(self.message)
        assert result is not None, f"no typed result: {self}"
        return result

    @property
    def text(self) -> str:
        """What the model reads."""
        return "" if self.message is None else str(self.message.content)

    @property
    def said(self) -> str:
        """For a report."""
        return f"task {self.task.id}, call {self.number}, {self.action.name}: {dict(self.result) | {'data': '…'}}"


@dataclass
class Book:
    """What one day came to."""

    counts: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    broken: dict[str, list[str]] = field(default_factory=lambda: {promise: [] for promise in PROMISES})
    hash: str = ""
    """Of the shop, when the day was over."""

    def require(self, promise: str, case: str, *, is_kept: bool) -> None:
        """Write down a promise that was broken."""
        if not is_kept:
            self.broken[promise].append(case)


class Judge:
    """Keeps the second shop and the book."""

    def __init__(self, door: Door, store: MemoryStore) -> None:
        self.book = Book()
        self._door = door
        self._store = store
        self._twin: Kit = open_shop()
        self._done: Counter[tuple[str, str]] = Counter()
        self._last: dict[tuple[str, str], Ask] = {}
        self._truths: dict[str, list[tuple[float, Any]]] = {}

    def hear(self, ask: Ask, *, opened: bool) -> None:
        """Judge one answer, once everything late that it set off has happened. `opened`: it opened a breaker."""
        attempts = self._door.attempts(ask.number)
        self._count(ask, attempts, opened=opened)
        self._remember(ask, attempts)
        self._judge_undisturbed(ask, attempts, opened=opened)
        self._judge_cause(ask, attempts)
        if ask.action.is_read:
            self._judge_read(ask)
        else:
            self._judge_write(ask, attempts)

    def close(self) -> Book:
        """Look through what is left: the list of unfinished items, and both shops."""
        for (task, item), ask in self._last.items():
            is_listed = item in {entry["id"] for entry in self._store.unfinished(f"task-{task}")}
            if ask.result.status != "rejected":
                is_kept = is_listed == self._is_unfinished(ask)
                self.book.require("unfinished", f"listed: {is_listed}, {ask.said}", is_kept=is_kept)
        self.book.hash = self._door.shop.get_db_hash()
        self.book.require("database", "the two shops differ", is_kept=self.book.hash == self._twin.get_db_hash())
        return self.book

    def _count(self, ask: Ask, attempts: list[Served], *, opened: bool) -> None:
        result, counts = ask.result, self.book.counts
        counts["calls"] += 1
        counts["asked again"] += ask.is_again
        counts["attempts"] += len(attempts)
        counts["breakers opened"] += opened
        self.book.faults.update(served.fault for served in attempts if served.fault)
        self.book.statuses[result.status] += 1
        if result.status == "ok" and result.source:
            counts[f"ok, {result.source}"] += 1
        cause = (result.failure or {}).get("kind")
        if cause in REFUSALS and not attempts:
            counts[f"refused: {cause}"] += 1

    def _judge_undisturbed(self, ask: Ask, attempts: list[Served], *, opened: bool) -> None:
        clear = next((served for served in attempts if served.fault is None), None)
        if clear is None:
            return
        result = ask.result
        if not isinstance(clear.value, ValueError):
            self.book.require("undisturbed", ask.said, is_kept=result.status == "ok" and result.source is None)
            return
        self.book.counts["business errors"] += 1
        kind = (result.failure or {}).get("kind")
        is_no = result.status == "rejected" and kind == "business" and str(clear.value) in ask.text
        is_moved = opened and all(served.fault is None for served in attempts)
        self.book.require("business", ask.said, is_kept=is_no and not is_moved)

    def _judge_cause(self, ask: Ask, attempts: list[Served]) -> None:
        """The first attempt is what the user's wait began with."""
        result = ask.result
        if result.status in ("ok", "rejected") or not attempts or attempts[0].fault is None:
            return
        kind = (result.failure or {}).get("kind")
        fault = attempts[0].fault
        self.book.require("cause", f"{fault} became {kind}: {ask.said}", is_kept=kind in KINDS[fault])

    def _judge_read(self, ask: Ask) -> None:
        truth, result, text = answer(self._twin, ask.action), ask.result, ask.text
        if result.status == "ok":
            is_right = not isinstance(truth, ValueError) and result.data == record_of(truth) and text == str(truth)
        elif result.status == "stale":
            is_right = text.startswith(STALE) and self._was_true(ask)
        elif result.status == "rejected":
            is_right = isinstance(truth, ValueError) and str(truth) in text
        else:
            is_right = result.status == "unavailable" and result.data is None and str(truth) not in text
        self.book.require("reads", ask.said, is_kept=is_right)

    def _was_true(self, ask: Ask) -> bool:
        """A stale value is one this customer's application got; its age runs from the moment it was asked for."""
        age, data = ask.result.age, ask.result.data
        if age is None or not 0 <= age <= OLDEST:
            return False
        moment = ask.at - age
        known = self._truths.get(_owner(ask), ())
        return any(abs(moment - asked_at) <= EXACT and was == data for asked_at, was in known)

    def _judge_write(self, ask: Ask, attempts: list[Served]) -> None:
        executed = sum(served.was_executed for served in attempts)
        status, key = ask.result.status, (ask.task.id, item_id(f"tool:{ask.action.name}", ask.action.arguments))
        self._last[key] = ask
        self.book.require("once", ask.said, is_kept=executed <= 1 and not (self._done[key] and attempts))
        self._done[key] += executed
        if status == "ok":
            self._judge_done(ask, executed, is_known=self._done[key] > executed)
        elif status == "rejected":
            heard = answer(self._twin, ask.action)
            self.book.require("business", ask.said, is_kept=isinstance(heard, ValueError) and str(heard) in ask.text)
        elif status == "unavailable":
            self.book.require("not done", ask.said, is_kept=not executed)
        elif executed:
            answer(self._twin, ask.action)
        self.book.counts["in doubt, carried out"] += status == "unknown" and executed > 0

    def _judge_done(self, ask: Ask, executed: int, *, is_known: bool) -> None:
        if executed:
            done = answer(self._twin, ask.action)
            self.book.require("done", ask.said, is_kept=bool(ask.result.source) or ask.result.data == record_of(done))
            return
        # Known from an earlier call of the same, or found done by a look.
        is_right = bool(ask.result.source) and (is_known or was_done(self._twin, ask.action) is True)
        self.book.require("done", ask.said, is_kept=is_right)
        self.book.counts["ok, done before"] += 1

    def _is_unfinished(self, ask: Ask) -> bool:
        """By the last word on it; what came home late is known to be done."""
        came_home = any(served.came_home for served in self._door.attempts(ask.number))
        return ask.result.status in ("unavailable", "unknown") and not came_home

    def _remember(self, ask: Ask, attempts: list[Served]) -> None:
        """What the shop said, and when it was asked: an answer that came late was asked for long before."""
        known = self._truths.setdefault(_owner(ask), [])
        for served in attempts:
            if ask.action.name in CACHES and served.was_executed:
                known.append((served.at, served.data))


def _owner(ask: Ask) -> str:
    """Whose values may stand in, by the policy."""
    scope = CACHES.get(ask.action.name, {}).get("scope")
    whose = "everybody" if scope == "shared" else ask.task.user if scope else f"thread {ask.task.id}"
    return f"{whose}: {ask.action}"
