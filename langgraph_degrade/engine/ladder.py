"""The engine: one attempt, and the ladder of attempts. Written once; both colours run it over their ports.

The order is fixed: deadline -> breaker and quota admission -> call within its timeout -> classify -> verdict to the
breakers -> event -> next rung. Nothing here sleeps, starts a thread or imports asyncio; it awaits `ports` only.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from langgraph_degrade.context import LEVELS, Direction, Event, Unfinished
from langgraph_degrade.engine import ambient
from langgraph_degrade.engine.cache import is_empty
from langgraph_degrade.engine.items import describe, item_id
from langgraph_degrade.engine.plan import Outcome, is_async_callable
from langgraph_degrade.engine.ports import CallTimedOut, NoWorker
from langgraph_degrade.errors import BudgetSpent, CircuitOpen, DeadlineExceeded, DegradeError, Overloaded, ToolSchemaError
from langgraph_degrade.failures import ANSWERS, Failure, classify

if TYPE_CHECKING:
    from random import Random

    from langgraph_degrade.engine.plan import Call, Plan, Reader, Reading, Status, Step
    from langgraph_degrade.engine.ports import Late, Ports
    from langgraph_degrade.engine.scope import Scope
    from langgraph_degrade.engine.target import Target

log = logging.getLogger("langgraph_degrade")

QUICK_RETRY = 3.0
"""Only calls whose configured timeout is at most this many seconds are tried again (spec T1)."""
LONGEST_PAUSE = 0.05
"""Seconds; a quick retry waits a random part of this ○, so that callers that failed together don't return together."""
NO_PARAMS = frozenset({"rate_limit", "overloaded", "server_error", "schema", "open", "shed", "auth", "quota"})
"""After these, the same target with simpler arguments would fail the same way (spec D1, B5)."""
NO_CALLS = frozenset({"deadline"})
"""After these there is no time to ask anybody else; what needs no call may still stand in."""
REFUSED = frozenset({"open", "shed", "budget"})
"""Ours: nobody was called."""
NOT_DONE = frozenset({"rate_limit", "auth", "quota", "bad_request", "not_found", "business", "incompatible", *REFUSED})
"""The target said no before doing anything; a write that ended so was certainly not done."""
STILL_RUNNING = frozenset({"timeout", "deadline"})
"""After these the call may still be at work: a read-back that finds nothing proves nothing yet."""
FLAGS = {"stale": "data_stale", "partial": "data_partial", "unknown": "write_unknown", "unavailable": "data_missing"}


Attempt = tuple[Any, "Reading | None", Failure | None, float]
"""What one call gave: the value, its reading, why it failed, and seconds. A bare tuple: it is made on every call."""


class Ground(NamedTuple):
    """What a walk stands on: how calls are run, and chance."""

    ports: Ports
    random: Random
    now: Callable[[], float]
    wall: Callable[[], float]


async def attempt(
    target: Target, fn: Callable[[], Any], call: Call, scope: Scope, ground: Ground, *, is_async: bool, reader: Reader | None
) -> Attempt:
    """Ask for admission, call once within the time there is, say what it was, tell the breakers."""
    started = ground.now()
    permit = target.admit(started)
    if permit.__class__ is Failure:
        return None, None, permit, 0.0
    limit, own_thread, is_session = target.limit(call, scope, started)
    if limit is not None and limit <= 0:
        target.release(permit, started)
        return None, None, Failure("deadline", reason="no time left", unsent=True), 0.0
    value = reading = None
    try:
        value = await ground.ports.call(
            fn,
            is_async=is_async,
            timeout=limit,
            own_thread=own_thread,
            on_late=None if limit is None else partial(_came_late, target, call, reader, ground),
            blocked=target.held_the_loop,
            bulkhead=target.bulkhead,
        )
        if reader is None:
            failure = classify(value, source=target.source)
        else:
            reading = reader(value)
            value, failure = reading.value, reading.failure
    except Exception as error:
        if ambient.is_control_flow(error):
            target.release(permit, started)
            raise
        failure = _why(error, target, is_session)
    except BaseException:
        target.release(permit, started)
        raise
    ended = ground.now()
    target.tell(permit, failure, ended)
    return value, reading, failure, ended - started


async def walk(plan: Plan, call: Call, scope: Scope, ground: Ground) -> Outcome:
    """Call what `plan` guards; where that fails, take its rungs one by one, cheapest first."""
    fn = partial(plan.fn, *call.args, **call.kwargs)
    first = await attempt(plan.target, fn, call, scope, ground, is_async=plan.is_async, reader=plan.reader)
    if first[2] is None:
        return fresh(plan, call, scope, first, ground)
    return await _Descent(plan, call, scope, ground).run(first)


def fresh(plan: Plan, call: Call, scope: Scope, got: Attempt, ground: Ground) -> Outcome:
    """A live value: remember it, and bury what this call may have left undone earlier."""
    value, reading, _, _ = got
    data = value if reading is None else reading.data
    if call.key is not None and plan.target.cache is not None:
        plan.target.cache.put(call.key, (value, data), ground.now(), empty=is_empty(data))
    if scope.touched:
        bury(plan, call, scope)
    return Outcome("ok", value, data)


def bury(plan: Plan, call: Call, scope: Scope) -> None:
    """The same thing may have been asked for before and left undone; now it is done."""
    open_items = scope.context.unfinished if scope.touched else ()
    if open_items:
        name = item_id(plan.target.name, call.named)
        if any(item["id"] == name for item in open_items):
            scope.context.finish(name)


class _Descent:
    """One call's way down the ladder."""

    __slots__ = (
        "_attempts",
        "_call",
        "_causes",
        "_elapsed",
        "_failure",
        "_first",
        "_ground",
        "_maybe_done",
        "_notes",
        "_plan",
        "_rejected",
        "_rungs",
        "_scope",
    )

    def __init__(self, plan: Plan, call: Call, scope: Scope, ground: Ground) -> None:
        self._plan, self._call, self._scope, self._ground = plan, call, scope, ground
        self._first = self._failure = Failure("unknown")
        self._causes: list[Exception] = []
        self._notes: list[str] = []
        self._elapsed = 0.0
        self._attempts = 0
        self._rungs = 0
        self._rejected: Any = None
        self._maybe_done = False

    async def run(self, first: Attempt) -> Outcome:
        self._first = first[2] or self._first
        self._fail(first, self._plan.target)
        if self._failure.kind in ANSWERS:
            return self._outcome("rejected")
        outcome = await self._try_again() or await self._look()
        if outcome is not None:
            return outcome
        for step in self._plan.steps:
            outcome = await self._take(step)
            if outcome is not None:
                return outcome
        return self._hand_off() if self._plan.answers else self._give_up()

    async def _try_again(self) -> Outcome | None:
        """Once, quickly, where that is allowed (spec T1); after `auth` with a fresh token (spec F1)."""
        refresh = self._plan.refresh if self._failure.kind == "auth" else None
        if refresh is None and not self._is_retryable():
            return None
        if not self._scope.take_retry(self._plan.target.stage):
            self._notes.append("retry budget spent")
            return None
        self._record(None, "retried")
        log.info(
            "retry: %s after %s", self._plan.target.name, self._failure.kind,
            extra={"attempt_count": self._attempts, "last_error": self._failure.reason, "trace_id": ambient.trace_id() or self._scope.id},
        )
        if refresh is not None:
            await self._side_call(refresh)
        else:
            pause = self._ground.random.uniform(0.0, LONGEST_PAUSE)
            await self._ground.ports.pause(pause)
            self._scope.charge(pause)
        fn = partial(self._plan.fn, *self._call.args, **self._call.kwargs)
        return await self._call_and_judge(self._plan.target, fn, self._plan.is_async, "ok", None, None)

    def _is_retryable(self) -> bool:
        target, failure = self._plan.target, self._failure
        if failure.kind == "server_error":
            allowed = target.policy.retry_server_errors
        else:
            configured = target.configured(self._call, self._scope.query)
            allowed = failure.transient and configured is not None and configured <= QUICK_RETRY
        return allowed and (target.is_read or target.policy.idempotent)

    async def _look(self) -> Outcome | None:
        """Read back whether a write happened after all (spec E4)."""
        if not self._maybe_done or self._plan.verify is None:
            return None
        seen = await read_back(self._plan, self._call, self._scope, self._ground)
        if seen is True:
            self._record(None, "verified")
            return self._outcome("ok", source="verified")
        if seen is False and self._failure.kind not in STILL_RUNNING:
            self._maybe_done = False
        return None

    async def _take(self, step: Step) -> Outcome | None:
        """One rung: an outcome, or None to go on to the next."""
        if LEVELS[step.direction] < self._scope.floor(self._plan.target.stage):
            return None
        if step.direction == "params" and self._failure.kind in NO_PARAMS:
            return None
        if step.is_last_good:
            return self._stand_in(step)
        if step.fn is not None:
            return await self._ask(step)
        return self._end(step)

    def _stand_in(self, step: Step) -> Outcome | None:
        cache = self._plan.target.cache
        hit = cache.get(self._call.key, self._ground.now()) if cache is not None and self._call.key is not None else None
        if hit is None:
            self._notes.append("no last good value")
            return None
        if not self._scope.reach(self._plan.target.stage, step.direction):
            return self._hand_off()
        (value, data), age = hit
        self._record(step.direction, "stale")
        return self._outcome("stale", value, data, direction=step.direction, source=step.source, age=age)

    async def _ask(self, step: Step) -> Outcome | None:
        """A rung that calls: the same target with simpler arguments, an alternative endpoint, a fallback."""
        if self._failure.kind in NO_CALLS:
            return None
        fn = self._prepared(step)
        if fn is None or (step.direction == "params" and not self._scope.take_retry(self._plan.target.stage)):
            return None
        if not self._scope.reach(self._plan.target.stage, step.direction):
            return self._hand_off()
        target = step.target or self._plan.target
        return await self._call_and_judge(target, fn, step.is_async, step.status, step.direction, step.source)

    def _prepared(self, step: Step) -> Callable[[], Any] | None:
        """The call a rung makes; None where there is nothing simpler to ask for."""
        call, fn = self._call, step.fn
        if fn is None:
            return None
        if step.rewrite is None:
            return partial(fn, *call.args, **call.kwargs)
        simpler = step.rewrite(call.named if call.args else call.kwargs)
        return None if simpler is None else partial(fn, **simpler)

    async def _call_and_judge(
        self, target: Target, fn: Callable[[], Any], is_async: bool, status: Status, direction: Direction | None, source: str | None
    ) -> Outcome | None:
        self._rungs += direction is not None
        got = await attempt(target, fn, self._call, self._scope, self._ground, is_async=is_async, reader=self._plan.reader)
        why, spent = self._failure, self._elapsed
        value, reading, failure, _ = got
        if failure is None:
            if direction is None:
                return fresh(self._plan, self._call, self._scope, got, self._ground)
            self._record(direction, status)
            data = value if reading is None else reading.data
            return self._outcome(status, value, data, direction=direction, source=source)
        self._fail(got, target)
        if direction is not None:
            self._record(direction, "failed", why, spent)
        return self._outcome("rejected") if failure.kind in ANSWERS else None

    def _end(self, step: Step) -> Outcome | None:
        """`function` and `chain`: say it is not available; `chain` only skips what is not core."""
        if not self._scope.reach(self._plan.target.stage, step.direction):
            return self._hand_off()
        if step.direction == "chain" and self._plan.target.policy.core:
            self._record(step.direction, "failed")
            return None
        return self._close(step.direction)

    def _hand_off(self) -> Outcome:
        self._scope.context.raise_to(LEVELS["handoff"], max_depth=LEVELS["handoff"] + self._scope.max_depth)
        return self._close("handoff")

    def _close(self, direction: Direction) -> Outcome:
        status: Status = "unknown" if self._maybe_done else "unavailable"
        self._record(direction, status)
        self._leave(status)
        return self._outcome(status, direction=direction)

    def _give_up(self) -> Outcome:
        """Nothing left and nobody to answer for: the caller gets the error."""
        self._record(None, "failed")
        status: Status = "unknown" if self._maybe_done else "unavailable"
        if self._maybe_done and self._plan.target.policy.effect == "write":
            self._leave(status)
        return self._outcome(status)

    def _fail(self, got: Attempt, target: Target) -> None:
        self._rejected, _, failure, elapsed = got
        failure = self._failure = failure or self._failure
        self._elapsed += elapsed
        self._attempts += not failure.unsent
        self._scope.charge(elapsed)
        self._causes.append(as_error(failure, target.name))
        if not target.is_read and not certainly_not_done(failure):
            self._maybe_done = True

    def _record(self, direction: Direction | None, outcome: str, failure: Failure | None = None, elapsed: float | None = None) -> None:
        failure = failure or self._failure
        policy = self._plan.target.policy
        event = Event(
            id=self._scope.next_id(), target=self._plan.target.name, stage=policy.stage, scene=policy.scene,
            kind=failure.kind, reason="; ".join([failure.reason or failure.kind, *self._notes]), status=failure.status,
            direction=direction, outcome=outcome, attempt=max(1, self._attempts), at=self._ground.wall(),
            elapsed=round(self._elapsed if elapsed is None else elapsed, 6),
        )
        flag = FLAGS.get(outcome)
        self._scope.record(event, (flag,) if flag else ())

    def _leave(self, status: Status) -> None:
        if not self._plan.leaves_items:
            return
        item = Unfinished(
            id=item_id(self._plan.target.name, self._call.named), target=self._plan.target.name,
            what=describe(self._plan.target.name, self._call.named), state="unknown" if status == "unknown" else "not_done",
            turn=self._scope.context.turn[1], at=self._ground.wall(),
        )
        self._scope.context.add_unfinished(item)

    def _outcome(self, status: Status, value: Any = None, data: Any = None, **how: Any) -> Outcome:
        failure = self._first
        if status == "rejected":
            failure, value = self._failure, self._rejected
        return Outcome(status, value, data, failure=failure, causes=self._causes, tried=self._rungs, **how)

    async def _side_call(self, fn: Callable[[], Any]) -> None:
        await side_call(fn, self._plan, self._call, self._scope, self._ground)


async def side_call(fn: Callable[[], Any], plan: Plan, call: Call, scope: Scope, ground: Ground) -> Any:
    """Run a hook (`refresh`, `verify`) within the target's own time; its failure is logged and gives None."""
    now = ground.now()
    limit, own_thread, _ = plan.target.limit(call, scope, now)
    try:
        return await ground.ports.call(
            fn, is_async=is_async_callable(fn), timeout=limit, own_thread=own_thread
        )
    except Exception as error:
        if ambient.is_control_flow(error):
            raise
        log.warning("hook of %s failed: %s", plan.target.name, type(error).__name__)
        return None


async def read_back(plan: Plan, call: Call, scope: Scope, ground: Ground) -> bool | None:
    """Ask the declared `verify` whether this write happened: True, False, or None (can't tell)."""
    if plan.verify is None:
        return None
    seen = await side_call(partial(plan.verify, dict(call.named), ambient.config()), plan, call, scope, ground)
    return seen if isinstance(seen, bool) else None


def certainly_not_done(failure: Failure) -> bool:
    """The write was refused before anything could have happened: by us, by the network, or in so many words."""
    return failure.unsent or failure.kind in NOT_DONE or failure.status in (429, 503)


def as_error(failure: Failure, target: str) -> Exception:
    """The original error where there was one; else the error of this package that says the same."""
    if failure.kind == "deadline":
        return DeadlineExceeded(f"{target}: {failure.reason}", target=target)
    if isinstance(failure.cause, Exception):
        return failure.cause
    if failure.kind in ("schema", "empty"):
        return ToolSchemaError(f"{target}: {failure.reason}")
    refusal = {"open": CircuitOpen, "shed": Overloaded, "budget": BudgetSpent}.get(failure.kind)
    if refusal is None:
        return DegradeError(f"{target}: {failure.reason or failure.kind}")
    return refusal(f"{target}: {failure.reason}", target=target, retry_after=failure.retry_after)


def _why(error: Exception, target: Target, is_session: bool) -> Failure:
    if isinstance(error, NoWorker):
        return Failure("shed", reason="no worker free", unsent=True, cause=error)
    failure = classify(error, source=target.source) or Failure("unknown", reason=type(error).__name__, cause=error)
    if isinstance(error, CallTimedOut):
        if is_session:  # the request's own time was over, which says nothing about the target (case-B07)
            return Failure("deadline", reason=f"request out of time after {error.seconds:.3g} s", cause=error)
        return replace(failure, reason=f"no answer within {error.seconds:.3g} s")
    return failure


def _came_late(target: Target, call: Call, reader: Reader | None, ground: Ground, late: Late) -> None:
    """An abandoned call came home: what it brought is the newest last good value, or settles a write."""
    if isinstance(late.error, Exception):
        failure = classify(late.error, source=target.source)
    elif late.error is not None:
        return
    else:
        reading = reader(late.value) if reader is not None else None
        value = late.value if reading is None else reading.value
        failure = classify(value, source=target.source) if reading is None else reading.failure
        if failure is None and call.key is not None and target.cache is not None:
            data = value if reading is None else reading.data
            target.cache.put(call.key, (value, data), ground.now(), empty=is_empty(data))
    if call.on_late is not None:
        call.on_late(late, failure)
