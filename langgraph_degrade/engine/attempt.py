"""One attempt: deadline -> admission -> call within its time -> classify -> verdict to the breakers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph_degrade.engine import ambient
from langgraph_degrade.engine.cache import is_empty
from langgraph_degrade.engine.logs import frames
from langgraph_degrade.engine.ports import CallTimedOut, NoWorker, no_coroutine
from langgraph_degrade.engine.verdict import Verdict
from langgraph_degrade.errors import (
    BudgetSpent,
    CircuitOpen,
    DeadlineExceeded,
    DegradeError,
    Overloaded,
    ToolSchemaError,
)
from langgraph_degrade.failures import Failure, classify

if TYPE_CHECKING:
    from langgraph_degrade.engine.errand import Errand
    from langgraph_degrade.engine.plan import Plan, Reading
    from langgraph_degrade.engine.ports import Late
    from langgraph_degrade.engine.target import Target

Attempt = tuple[Any, "Reading | None", Failure | None, float]
"""What one call gave: the value, its reading, why it failed, and seconds. A bare tuple: it is made on every call."""

log = logging.getLogger("langgraph_degrade")

SPEECHLESS = frozenset({int, float, bool})
"""What can't look like a failure."""
NOT_DONE = frozenset({"rate_limit", "auth", "quota", "bad_request", "not_found", "business", "incompatible"})
"""The target said no before doing anything; a write that ended so was certainly not done."""


async def attempt(
    errand: Errand, target: Target, fn: Callable[[], Any], *, is_async: bool, is_whole: bool = True
) -> Attempt:
    """Call `target` once, if it may be called and there is time; every exit gives the permit back or uses it.

    `is_whole`: what comes home late answers the question as it was asked, and may be kept for it.
    """
    ground = errand.ground
    started = ground.now()
    limit, own_thread, is_session = target.limit(errand.call, errand.scope, started)
    if limit is not None and limit <= 0:
        return None, None, Failure("deadline", reason="no time left", unsent=True), 0.0
    permit = target.admit(started, fn)
    if permit.__class__ is Failure:
        return None, None, permit, 0.0
    value = reading = None
    try:
        in_place = own_thread and not is_async  # of no colour and without a limit: no port is needed
        ported = None if in_place else _ported(errand, target, fn, started, limit, is_async=is_async, is_whole=is_whole)
        value = no_coroutine(fn()) if ported is None else await ported
        value, reading, failure = judge(errand, target, value)
    except Exception as error:
        if ambient.is_control_flow(error):
            target.release(permit, started)
            raise
        failure = _why(error, errand, target, is_session=is_session)
    except BaseException:
        errand.call.sent += 1
        target.release(permit, started)
        raise
    errand.call.sent += failure is None or not failure.unsent
    ended = ground.now()
    _tell(errand.plan, target, permit, value, failure, ended)
    return value, reading, failure, ended - started


def _tell(plan: Plan, target: Target, permit: Any, value: Any, failure: Failure | None, now: float) -> None:
    """Give the verdict; of a value that has only begun, leave it to whoever sees the rest."""
    if failure is not None or plan.awaits is None or not plan.awaits(value, Verdict(target, permit)):
        target.tell(permit, failure, now)


def _ported(  # noqa: PLR0913 - everything one attempt knows
    errand: Errand,
    target: Target,
    fn: Callable[[], Any],
    started: float,
    limit: float | None,
    *,
    is_async: bool,
    is_whole: bool,
) -> Coroutine[Any, Any, Any]:
    return errand.ground.ports.call(
        fn,
        is_async=is_async,
        timeout=limit,
        own_thread=False,
        on_late=partial(_came_late, errand, target, started, is_whole),
        blocked=target.held_the_loop,
        bulkhead=target.bulkhead,
    )


def judge(errand: Errand, target: Target, value: Any) -> tuple[Any, Reading | None, Failure | None]:
    """Say whether what came back is a success, or only looks like one (spec F1)."""
    reader = errand.plan.reader
    if reader is None:
        if value.__class__ in SPEECHLESS:
            return value, None, None
        return value, None, classify(value, source=target.source, allow_empty=target.policy.effect == "write")
    reading = reader(value)
    return reading.value, reading, reading.failure


def plain(value: Any, reading: Reading | None) -> Any:
    """The value as plain data, where somebody read it as such."""
    return value if reading is None else reading.data


def remember(errand: Errand, target: Target, value: Any, data: Any, asked_at: float) -> None:
    """Keep a live value as the last good one, as old as its question."""
    key, cache = errand.call.key, target.cache
    if key is not None and cache is not None and is_kept(errand, value):
        cache.put(key, (value, data), asked_at, empty=is_empty(data))


def is_kept(errand: Errand, value: Any) -> bool:
    """The value may answer another call."""
    keeps = errand.plan.keeps
    return keeps is None or keeps(value)


def certainly_not_done(failure: Failure, target: Target) -> bool:
    """Tell of a call that it changed nothing: it was refused by us, by the network, or by the target in so many words.

    What rests on words alone is believed of a tool nobody declared (its words are for the model), not of a write.
    """
    if failure.unsent:
        return True
    if failure.vague and target.policy.effect == "write":
        return False
    return failure.kind in NOT_DONE or failure.status in {429, 503}


def as_error(failure: Failure, target: str) -> Exception:
    """Return the original error where there was one; else the error of this package that says the same."""
    if failure.kind == "deadline":
        return DeadlineExceeded(f"{target}: {failure.reason}", target=target)
    if isinstance(failure.cause, Exception):
        return failure.cause
    if failure.kind in {"schema", "empty"}:
        return ToolSchemaError(f"{target}: {failure.reason}")
    refusal = {"open": CircuitOpen, "shed": Overloaded, "budget": BudgetSpent}.get(failure.kind)
    if refusal is None:
        return DegradeError(f"{target}: {failure.reason or failure.kind}")
    return refusal(f"{target}: {failure.reason}", target=target, retry_after=failure.retry_after)


def _why(error: Exception, errand: Errand, target: Target, *, is_session: bool) -> Failure:
    if isinstance(error, NoWorker):
        return Failure("shed", reason="no worker free", unsent=True, cause=error)
    failure = classify(error, source=target.source) or Failure("unknown", reason=type(error).__name__, cause=error)
    if not isinstance(error, CallTimedOut) or error.is_told:  # told: an inner call's limit, not this one's
        if failure.kind == "unknown":
            log.warning("%s failed: %s\n%s", target.name, type(error).__name__, frames(error))
        return failure
    error.is_told = True
    errand.call.running += 1
    if is_session:  # the request's own time was over, which says nothing about the target (case-B07)
        return Failure("deadline", reason=f"request out of time after {error.seconds:.3g} s", cause=error)
    if error.queued > 0:  # the target never had its time
        return Failure("shed", reason=f"waited {error.queued:.3g} of {error.seconds:.3g} s for a worker", cause=error)
    return replace(failure, reason=f"no answer within {error.seconds:.3g} s")


def _came_late(errand: Errand, target: Target, asked_at: float, is_whole: bool, late: Late) -> None:  # noqa: FBT001 - bound by place
    """Use what an abandoned call brings home: the newest last good value, or the end of a doubt about a write."""
    errand.call.running -= 1
    data = None
    if late.error is None:
        value, reading, failure = judge(errand, target, late.value)
        if failure is None:
            data = plain(value, reading)
            if is_whole:
                remember(errand, target, value, data, asked_at)
    elif isinstance(late.error, Exception):
        failure = classify(late.error, source=target.source)
    else:
        return
    if errand.call.on_late is not None:
        errand.call.on_late(data, failure)
