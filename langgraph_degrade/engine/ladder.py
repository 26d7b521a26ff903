"""The ladder: what is done, in which order, when an attempt fails. Written once; both colours run it over their ports.

The order is fixed: an attempt (`attempt.py`) -> a quick retry where allowed -> a read-back for writes -> the rungs,
cheapest first -> hand-off. Every step taken is an event. Nothing here sleeps, starts a thread or imports asyncio.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph_degrade.context import LEVELS, Direction, Event
from langgraph_degrade.engine import ambient
from langgraph_degrade.engine.attempt import as_error, attempt, certainly_not_done, plain, remember
from langgraph_degrade.engine.hooks import read_back, run_hook
from langgraph_degrade.engine.items import item_id
from langgraph_degrade.engine.plan import Outcome
from langgraph_degrade.failures import ANSWERS, Failure

if TYPE_CHECKING:
    from langgraph_degrade.engine.attempt import Attempt
    from langgraph_degrade.engine.errand import Errand
    from langgraph_degrade.engine.plan import Status, Step
    from langgraph_degrade.engine.target import Target

log = logging.getLogger("langgraph_degrade")

QUICK_RETRY = 3.0
"""Only calls whose configured timeout is at most this many seconds are tried again (spec T1)."""
LONGEST_PAUSE = 0.05
"""Seconds; a quick retry waits a random part of this ○, so that callers that failed together don't return together."""
NO_PARAMS = frozenset({"rate_limit", "overloaded", "server_error", "schema", "open", "shed", "auth", "quota"})
"""After these, the same target with simpler arguments would fail the same way (spec D1, B5)."""
PASSES = frozenset({"rate_limit", "overloaded", "server_error", "connection", "open"})
"""What may be over in a moment."""
LONGEST_WAIT = 10.0
"""Seconds of a `Retry-After` somebody is left without any answer for ○."""
SHORT_WAIT = (0.5, 1.5)
"""Seconds between which a wait is drawn where nobody said how long ○."""
STILL_RUNNING = frozenset({"timeout", "deadline", "shed"})
"""After these, where it was sent, the call may still be at work: a read-back that finds nothing proves nothing yet."""
FLAGS = {"stale": "data_stale", "partial": "data_partial", "unknown": "write_unknown", "unavailable": "data_missing"}


async def walk(errand: Errand) -> Outcome:
    """Call what the plan guards; where that fails, take its rungs one by one."""
    plan, call = errand.plan, errand.call
    first = await attempt(errand, plan.target, partial(plan.fn, *call.args, **call.kwargs), is_async=plan.is_async)
    return fresh(errand, first) if first[2] is None else await _Descent(errand).run(first)


def fresh(errand: Errand, got: Attempt) -> Outcome:
    """Hand out a live value: it is remembered, and buries what this call may have left undone earlier."""
    value, reading, _, elapsed = got
    data = plain(value, reading)
    if errand.call.key is not None:
        remember(errand, errand.plan.target, value, data, errand.ground.now() - elapsed)
    if errand.scope.touched:
        bury(errand)
    return Outcome("ok", value, data)


def bury(errand: Errand) -> None:
    """Close the unfinished item of the same thing asked before; now it is done."""
    open_items = errand.scope.context.unfinished if errand.scope.touched else ()
    if open_items:
        target = errand.plan.target
        name = item_id(target.name, target.intent(errand.call))
        if any(item["id"] == name for item in open_items):
            errand.scope.context.finish(name)


class _Descent:
    """One call's way down the ladder."""

    def __init__(self, errand: Errand) -> None:
        self._errand = errand
        self._plan, self._call, self._scope, self._ground = errand.plan, errand.call, errand.scope, errand.ground
        self._target = errand.plan.target
        self._first = self._failure = self._down = Failure("unknown")
        self._causes: list[Exception] = []
        self._notes: list[str] = []
        self._elapsed = 0.0
        self._attempts = 0
        self._rungs = 0
        self._rejected: Any = None
        self._maybe_done = False
        self._may_run = False
        self._last: Step | None = None
        self._has_waited = False

    async def run(self, first: Attempt) -> Outcome:
        self._first = first[2] or self._first
        self._fail(first, self._target)
        if self._is_no:
            bury(self._errand)
            return self._outcome("rejected")
        outcome = await self._try_again() or await self._look()
        if outcome is not None:
            return outcome
        left = list(self._plan.steps)
        while (step := self._next(left)) is not None:
            is_last_chance = step.is_end or (step.is_makeshift and self._failure.kind != "open")
            outcome = (await self._wait() if is_last_chance else None) or await self._take(step)
            if outcome is not None:
                return outcome
        outcome = await self._wait()
        if outcome is not None:
            return outcome
        return self._hand_off() if self._plan.answers else self._give_up()

    def _next(self, left: list[Step]) -> Step | None:
        choose = self._plan.choose
        if self._is_shown:
            return None
        if choose is not None:
            return choose(left, self._failure, self._call, self._notes)
        return left.pop(0) if left else None

    async def _wait(self) -> Outcome | None:
        """Nothing else is left: once more what was asked last, after its `Retry-After` or a moment (spec T1, T2).

        It stands in for the retries of the model's own SDK, which are off.
        """
        wait = None if self._has_waited or self._is_shown else self._patience()
        if wait is None or not self._scope.take_retry(self._target.stage):
            return None
        self._has_waited = True
        self._record(None, "retried")
        await self._ground.ports.pause(wait)
        self._scope.charge(wait)
        self._notes.append(f"after waiting {wait:.3g} s")
        if self._last is not None:
            return await self._ask(self._last)
        return await self._repeat()

    def _patience(self) -> float | None:
        """Seconds to wait before the last try; None where there is to be none."""
        failure = self._failure
        is_shown = not (self._plan.repeats or failure.unsent or failure.status)  # a stream may have begun
        if not self._plan.waits or is_shown or failure.kind not in PASSES:
            return None
        wait = failure.retry_after
        if wait is None:
            return None if failure.kind == "open" else self._ground.random.uniform(*SHORT_WAIT)
        remaining = self._scope.remaining(self._ground.now())
        return wait if wait <= LONGEST_WAIT and (remaining is None or wait < remaining) else None

    async def _try_again(self) -> Outcome | None:
        """Once, quickly, where that is allowed (spec T1); after `auth` with a fresh token (spec F1)."""
        refresh = self._plan.refresh if self._failure.kind == "auth" else None
        if refresh is None and not self._is_retryable():
            return None
        if not self._scope.take_retry(self._target.stage):
            self._notes.append("no retry left")
            return None
        self._record(None, "retried")
        self._log_retry()
        await (self._pause() if refresh is None else run_hook(self._errand, refresh))
        return await self._repeat()

    async def _repeat(self) -> Outcome | None:
        fn = partial(self._plan.fn, *self._call.args, **self._call.kwargs)
        got = await attempt(self._errand, self._target, fn, is_async=self._plan.is_async)
        return fresh(self._errand, got) if got[2] is None else self._failed(got, self._target)

    def _is_retryable(self) -> bool:
        policy, failure = self._target.policy, self._failure
        if not self._plan.repeats or not (self._target.is_read or policy.idempotent):
            return False
        if self._plan.choose is not None:  # somebody else to ask (case-F10)
            return False
        if failure.kind == "server_error":
            return policy.retry_server_errors
        configured = self._target.configured(self._call, self._scope.query)
        return failure.transient and configured is not None and configured <= QUICK_RETRY

    def _log_retry(self) -> None:
        """Spec T8: attempt number, last error, trace id."""
        trace = ambient.trace_id() or self._scope.id
        told = {"attempt_count": self._attempts, "last_error": self._failure.reason, "trace_id": trace}
        log.info("retry: %s after %s", self._target.name, self._failure.kind, extra=told)

    async def _pause(self) -> None:
        pause = self._ground.random.uniform(0.0, LONGEST_PAUSE)
        await self._ground.ports.pause(pause)
        self._scope.charge(pause)

    async def _look(self) -> Outcome | None:
        """Read back whether a write happened after all (spec E4)."""
        if not self._maybe_done or self._plan.verify is None:
            return None
        seen = await read_back(self._errand)
        if seen is True:
            self._record(None, "verified")
            bury(self._errand)
            return self._outcome("ok", source="verified")
        if seen is False and not self._may_run:
            self._maybe_done = False
        return None

    async def _take(self, step: Step) -> Outcome | None:
        """Take one rung: an outcome, or None to go on to the next."""
        if LEVELS[step.direction] < self._scope.floor(self._target.stage):
            return None
        if step.is_last_good:
            return self._stand_in(step)
        if step.fn is not None:
            return await self._ask(step)
        return self._end(step)

    def _stand_in(self, step: Step) -> Outcome | None:
        key, cache = self._call.key, self._target.cache
        hit = cache.get(key, self._ground.now()) if cache is not None and key is not None else None
        if hit is None:
            self._notes.append("no last good value" if key is not None else "nobody to keep a last good value for")
            return None
        if not self._scope.reach(self._target.stage, step.direction):
            return self._hand_off()
        (value, data), age = hit
        self._record(step.direction, "stale", step.source)
        return self._outcome("stale", value, data, direction=step.direction, source=step.source, age=age)

    async def _ask(self, step: Step) -> Outcome | None:
        """Take a rung that calls: the same target with simpler arguments, an alternative endpoint, a fallback."""
        fn = self._prepared(step)
        if fn is None:
            return None
        if not self._scope.reach(self._target.stage, step.direction):
            return self._hand_off()
        self._rungs += 1
        before = self._failure
        target = step.target or self._target
        got = await attempt(self._errand, target, fn, is_async=step.is_async, is_whole=False)
        value, reading, failure, _ = got
        if failure is None:
            self._record(step.direction, step.status, step.source)
            data = plain(value, reading)
            return self._outcome(step.status, value, data, direction=step.direction, source=step.source)
        outcome = self._failed(got, target)
        self._record(step.direction, "failed", step.source, failure)
        if step.is_makeshift:
            self._failure = before  # whoever it stood in for may still be waited for
        else:
            self._last = step
        return outcome

    def _prepared(self, step: Step) -> Callable[[], Any] | None:
        """Make the call of a rung; None where it is not to be made, or there is nothing simpler to ask for."""
        call, fn, kind = self._call, step.fn, self._failure.kind
        if fn is None or kind == "deadline" or (step.direction == "params" and kind in NO_PARAMS):
            return None
        if self._maybe_done and self._target.policy.effect == "write":
            return None  # sending it elsewhere could do it twice
        if step.rewrite is None:
            return partial(fn, *call.args, **call.kwargs) if call.asked is None else partial(fn, **call.asked)
        simpler = step.rewrite(call.named if call.args else call.kwargs)
        if simpler is None or not self._scope.take_retry(self._target.stage):  # it counts as one (spec T2)
            return None
        return partial(fn, **simpler)

    def _end(self, step: Step) -> Outcome | None:
        """`function` and `chain`: say it is not available; `chain` only skips what is not core."""
        if not self._scope.reach(self._target.stage, step.direction):
            return self._hand_off()
        if step.direction == "chain" and self._target.policy.core:
            self._record(step.direction, "failed")
            return None
        return self._close(step.direction)

    def _hand_off(self) -> Outcome:
        self._scope.hand_off(self._target.stage)
        return self._close("handoff")

    def _close(self, direction: Direction) -> Outcome:
        status = self._lost
        self._record(direction, status)
        self._leave(status)
        return self._outcome(status, direction=direction)

    def _give_up(self) -> Outcome:
        """Nothing is left and nobody answers for it: the caller gets the error."""
        status = self._lost
        self._record(None, "cut" if self._is_shown else "failed")
        if self._target.policy.effect == "write" and status == "unknown":
            self._leave(status)
        return self._outcome(status)

    @property
    def _is_shown(self) -> bool:
        return self._plan.is_shown is not None and self._plan.is_shown(self._call)

    @property
    def _lost(self) -> Status:
        return "unknown" if self._maybe_done else "unavailable"

    @property
    def _is_no(self) -> bool:
        """The target worked and said no; of a write only where nothing before it may have been done."""
        return self._plan.heeds_no and self._failure.kind in ANSWERS and not self._maybe_done

    def _failed(self, got: Attempt, target: Target) -> Outcome | None:
        self._fail(got, target)
        return self._outcome("rejected") if self._is_no else None

    def _fail(self, got: Attempt, target: Target) -> None:
        self._rejected, _, failure, elapsed = got
        failure = self._failure = failure or self._failure
        self._elapsed += elapsed
        self._attempts += not failure.unsent
        self._scope.charge(elapsed)
        self._causes.append(as_error(failure, target.name))
        if target is self._target:
            self._down = failure
        self._maybe_done |= not target.is_read and not certainly_not_done(failure, target)
        self._may_run |= failure.kind in STILL_RUNNING and not failure.unsent

    def _record(
        self, direction: Direction | None, outcome: str, source: str | None = None, failure: Failure | None = None
    ) -> None:
        policy, failure = self._target.policy, failure or self._down
        event = Event(
            id=self._scope.next_id(),
            target=self._target.name,
            source=source,
            stage=policy.stage,
            scene=policy.scene,
            kind=failure.kind,
            reason="; ".join([failure.reason or failure.kind, *self._notes]),
            status=failure.status,
            direction=direction,
            outcome=outcome,
            attempt=max(1, self._attempts),
            at=self._ground.wall(),
            elapsed=round(self._elapsed, 6),
        )
        flag = FLAGS.get(outcome)
        self._scope.record(event, (flag,) if flag else ())

    def _leave(self, status: Status) -> None:
        """Note what the user did not get (spec R2)."""
        if self._plan.leaves_items:
            self._scope.leave(self._target, self._call, is_unknown=status == "unknown", at=self._ground.wall())

    def _outcome(self, status: Status, value: Any = None, data: Any = None, **how: Any) -> Outcome:
        failure = self._first
        if status == "rejected":
            failure, value = self._failure, self._rejected
        return Outcome(status, value, data, failure=failure, causes=self._causes, tried=self._rungs, **how)
