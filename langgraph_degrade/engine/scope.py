"""`Scope`: the live side of one request: its deadline, its budget, its episode (spec R3, R5, T2, T3).

A request inside a graph is found by the run's control object, which model hooks, parallel tools and subagents share;
outside a graph by a context variable set by `degrader.scope()` and by guarded calls.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from functools import partial
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from langgraph_degrade.context import LEVELS, DegradeContext, Direction, Event, Stage, Unfinished
from langgraph_degrade.engine import ambient
from langgraph_degrade.engine.items import describe, item_id

if TYPE_CHECKING:
    from langgraph_degrade.engine.plan import Call
    from langgraph_degrade.engine.target import Target
    from langgraph_degrade.policy import RequestPolicy

ACTIVE: ContextVar[Scope | None] = ContextVar("langgraph_degrade_scope", default=None)

ONLY_OURS = 2
"""References to a run's control object when nobody but its `_Run`, and who counts, has one."""

QueryClass = Literal["basic", "complex"]


class Scope:
    """One request. Cheap to make: what a healthy request never needs is made on first use."""

    # Defaults stand on the class: most requests change none of them, and making a scope is on every call's path.
    thread: str | None = None
    identity: Mapping[str, Any] = MappingProxyType({})
    """Whose request it is, outside a graph: stands in for `config["configurable"]`."""
    find_language: Callable[[], Literal["zh", "en"]] | None = None
    """Finds out which language to speak; called only where something has to be said."""
    query: QueryClass = "basic"
    _id: str | None = None
    _context: DegradeContext | None = None
    _stored: object = None
    _calls: dict[tuple[str, int, str, str | None], int] | None = None
    _turn: str | None = None
    _is_given = False
    _is_told = False
    _floors: dict[Stage, int] | None = None
    _spent = 0.0
    _number = 0

    def __init__(self, owner: Scopes, budget: RequestPolicy, started: float, deadline: float | None) -> None:
        self.owner = owner
        self._lock = owner.lock
        self.budget = budget
        self.started = started
        self.deadline = deadline
        """When the session tier ends, on the monotonic clock; None where nothing limits it."""

    @property
    def id(self) -> str:
        """Names this request: in events, logs and, where no message does, its turn."""
        if self._id is None:
            self._id = self.owner.new_id()
        return self._id

    @property
    def context(self) -> DegradeContext:
        """The request's degradations, live."""
        if self._context is None:
            with self._lock:
                if self._context is None:
                    context = DegradeContext(self._stored)
                    context.begin(self._turn or self.id)
                    self._context = context
        return self._context

    @property
    def touched(self) -> bool:
        """Something was recorded, or stored degradations were taken over."""
        return self._context is not None

    @property
    def degraded(self) -> bool:
        """The request's episode is open: some rung was taken."""
        return self._context is not None and self._context.level > 0

    def remaining(self, now: float) -> float | None:
        """Seconds until the session tier ends; None where nothing limits it."""
        return None if self.deadline is None else self.deadline - now

    def take_retry(self, stage: Stage) -> bool:
        """One more attempt, if the budget has one and `stage` has not joined another's episode (spec T2, R5)."""
        if self._spent >= self.budget.retry_time or self.floor(stage) > 0:
            return False
        return self.context.count_retry(self.budget.retries)

    def charge(self, seconds: float) -> None:
        """Time a failed attempt or a wait took."""
        with self._lock:
            self._spent += max(0.0, seconds)

    def floor(self, stage: Stage) -> int:
        """The rung a failure in `stage` starts at: the one other stages have reached, 0 where none has failed.

        Siblings within one stage are parts of one question and find their own cheapest rungs: a call that could be
        answered with a stale value is not made worse off by its neighbour.
        """
        floors = self._floors
        if not floors:
            return 0
        return max((level for other, level in floors.items() if other != stage), default=0)

    def reach(self, stage: Stage, direction: Direction) -> bool:
        """Take a rung; False where the episode has escalated often enough (then: hand-off)."""
        level = LEVELS[direction]
        if not self.context.raise_to(level, self.budget.max_depth):
            return False
        with self._lock:
            floors = self._floors = self._floors or {}
            floors[stage] = max(level, floors.get(stage, 0))
        return True

    def hand_off(self, stage: Stage) -> None:
        """Take the last rung: no count of escalations stands in its way."""
        self.context.raise_to(LEVELS["handoff"], max_depth=self.budget.max_depth + len(LEVELS))
        self.reach(stage, "handoff")

    def leave(self, target: Target, call: Call, *, is_unknown: bool, at: float) -> None:
        """Note something the user asked for and did not, or not surely, get (spec R2)."""
        self.context.add_unfinished(
            Unfinished(
                id=item_id(target.name, target.intent(call)),
                target=target.name,
                what=describe(target.name, call.named),
                state="unknown" if is_unknown else "not_done",
                is_read=target.is_read,
                turn=self.context.turn[1],
                at=at,
            )
        )

    @property
    def revision(self) -> int:
        """Grows whenever something is recorded."""
        return 0 if self._context is None else self._context.revision

    def record(self, event: Event, flags: Iterable[str] = ()) -> None:
        """Write an event down and tell the listeners."""
        self.context.record(event, flags)
        self.owner.notify(event)

    def next_id(self) -> str:
        """An id for an event, unique over threads, workers and resumes."""
        with self._lock:
            self._number += 1
            return f"{self.id}.{self._number}"

    def turn_of_write(self, *, is_tool_call: bool) -> str:
        """The turn a write is claimed under: the same after a resume, by whatever worker.

        A model's tool call belongs to the turn its question began. Who can't see the question (other code, a plain
        `ToolNode`) has its graph task, which is what comes back on a resume.
        """
        if not self._is_told and not (is_tool_call and self._is_given):
            here = ambient.runtime()
            info = here.execution_info if here is not None else None
            if info is not None and info.task_id:
                return f"task:{info.task_id}"
        return self.context.turn[1]

    @property
    def is_met(self) -> bool:
        """Its turn is known, and where its language is to be found: the graph's state has no more to say."""
        return self._is_given and self.find_language is not None

    def belong_to(self, turn: str) -> None:
        """Say which turn this is; for code outside a graph."""
        self._turn, self._is_given, self._is_told = turn, True, True

    def call_id(self, target: str, args: str | None) -> str | None:
        """An id for a write no model named: the graph task it is made in and its number there, stable over a resume."""
        here = ambient.runtime()
        info = here.execution_info if here is not None else None
        if info is None:
            return None
        place = (info.task_id, info.node_attempt, target, args)
        with self._lock:
            counts = self._calls = self._calls or {}
            counts[place] = counts.get(place, 0) + 1
            return f"{info.task_id}/{counts[place]}"

    def adopt(self, state: object, turn: str | None, thread: str | None) -> None:
        """Take over what the graph's state says of this turn; harmless when repeated, nearly free when healthy.

        The first graph that is seen decides which turn it is: agents within it ask questions of their own, but their
        work is this turn's.
        """
        self.thread = self.thread or thread
        if self._is_given:
            return
        stored = state.get("degrade") if isinstance(state, (dict, Mapping)) else getattr(state, "degrade", None)
        if turn is None and not stored:
            return
        self._is_given = turn is not None
        self._turn = turn or self._turn
        if self._context is not None:
            self._context.adopt(stored, self._turn or self.id)
        else:
            self._stored = stored
        if stored and self.context.rubbish:
            self.record(
                Event(
                    self.next_id(),
                    "state:degrade",
                    "state",
                    "schema",
                    "not a degrade context; replaced",
                    outcome="replaced",
                )
            )


class Scopes:
    """The live requests of one Degrader."""

    def __init__(
        self,
        make: Callable[[], Scope],
        notify: Callable[[Event], None],
        end: Callable[[Scope], None],
        chance: Random,
    ) -> None:
        self._make = make
        self.notify = notify
        self._end = end
        self._chance = chance
        self._runs: dict[int, _Run] = {}
        self.lock = threading.RLock()
        """One for all scopes: it is held for an addition or two, and a lock each would be most of a scope's cost."""

    def find(self) -> Scope | None:
        """The scope this code runs in, made on first sight of a graph run; None outside of everything."""
        scope = ACTIVE.get()
        if scope is not None and scope.owner is self:
            return scope
        here = ambient.runtime()
        control = here.control if here is not None else None
        if here is None or control is None:
            return None
        known = self._runs.get(id(control))
        if known is not None and known.end is not None:
            return known.scope
        return self._begin(control, here.stream_writer)

    def new_id(self) -> str:
        """An id no other request has."""
        return format(self._chance.getrandbits(48), "012x")

    def new(self) -> Scope:
        """A fresh request, with the session tier as its deadline."""
        return self._make()

    def end(self, scope: Scope) -> None:
        """Close a request: one structured log record if it was degraded."""
        self._end(scope)

    def __len__(self) -> int:
        return len(self._runs)

    def _begin(self, control: object, writer: object) -> Scope:
        # The control object can't be weakly referenced; the run's own stream writer dies with the run.
        with self.lock:
            known = self._runs.get(id(control))
            if known is None:
                self._sweep()
                known = self._runs[id(control)] = _Run(control, self._make())
            if known.end is None and not ambient.is_nested():
                known.end = weakref.ref(writer, partial(self._finish, id(control)))
        return known.scope

    def _sweep(self) -> None:
        """End the runs that were only seen from inside a subgraph, whose writer says nothing about them."""
        for key, run in [*self._runs.items()]:
            if run.end is None and sys.getrefcount(run.control) <= ONLY_OURS:
                self._finish(key)

    def _finish(self, key: int, _: object = None) -> None:
        known = self._runs.pop(key, None)
        if known is not None:
            self._end(known.scope)


class _Run:
    """A graph run whose scope is live."""

    __slots__ = ("control", "end", "scope")

    def __init__(self, control: object, scope: Scope) -> None:
        self.control = control
        self.scope = scope
        self.end: weakref.ref[object] | None = None
        """Tells of the run's end; None as long as only a part of it was seen."""
