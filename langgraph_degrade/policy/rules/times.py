"""Limits that do not fit into each other (spec T1, T2, T3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from langgraph_degrade.policy.consistency import cells
from langgraph_degrade.policy.parts import QueryTimeouts
from langgraph_degrade.policy.policy import Policy
from langgraph_degrade.policy.rules.remark import Declared, Remark, declared

AUTO_SESSION: Final = (30.0, 60.0)
"""Seconds between which `session: auto` settles (spec T3)."""
QUICK: Final = 3.0
"""Longest timeout after which a transient fault is tried again at once (spec T1)."""


def tiers(policy: Policy) -> Iterator[Remark]:
    """Tool ≤ session ≤ user: the outer limit cuts the inner one short."""
    shortest, longest = _session(policy)
    times = policy.timeouts
    if times.tool > longest:
        yield _too_long(("timeouts", "tool"), times.tool, longest)
    if shortest > times.user:
        why = f"a session may take {shortest:g} s, the user's limit of {times.user:g} s cuts it short"
        yield Remark(("timeouts", "user"), "session-over-user", why, "raise user above session (spec: 180 to 300 s)")
    if policy.request.retry_time > longest:
        why = f"{policy.request.retry_time:g} s for failed attempts never fit into a session of {longest:g} s"
        yield Remark(("request", "retry_time"), "retry-time-over-session", why, "lower retry_time or raise session")


def target_timeouts(policy: Policy) -> Iterator[Remark]:
    """No target's own limit outlives the session; an empty one is probably not meant."""
    _, session = _session(policy)
    for place, cell in cells(policy):
        if "timeout" not in cell.model_fields_set:
            continue
        if cell.timeout is None:
            why = "an empty timeout leaves only the session's"
            fix = "write a duration; `none` if a sync call must stay in its caller's thread"
            yield Remark((*place, "timeout"), "timeout-empty", why, fix, "note")
        elif (own := _longest(cell.timeout)) and own > session:
            yield _too_long((*place, "timeout"), own, session)


def attempts(policy: Policy) -> Iterator[Remark]:
    """A target's attempts, one after the other, still fit into the session."""
    _, session = _session(policy)
    for one in declared(policy):
        own = _longest(one.cell.timeout)
        if own is None or own > session:
            continue
        worst, count = _worst_case(one, own)
        if count > 1 and worst > session:
            why = f"{count} attempts of {own:g} s may take {worst:g} s, the session ends after {session:g} s"
            fix = "shorten the timeout, name fewer endpoints, or raise session; else the later rungs are never reached"
            yield Remark(one.origin("timeout"), "attempts-over-session", why, fix)


def _worst_case(one: Declared, timeout: float) -> tuple[float, int]:
    """Seconds and number of attempts; retrying stops after `retry_time`, the attempt then under way does not."""
    cell, request = one.cell, one.policy.request
    if cell.effect != "read":
        return timeout, 1
    quick = 1 if timeout <= QUICK else 0
    simpler = 1 if cell.params is not None and "params" in cell.ladder else 0
    elsewhere = len(cell.endpoints[1:]) if "data" in cell.ladder else 0
    count = 1 + min(request.retries, quick + simpler) + elsewhere
    return min((count - 1) * timeout, request.retry_time) + timeout, count


def _session(policy: Policy) -> tuple[float, float]:
    session = policy.timeouts.session
    return AUTO_SESSION if session == "auto" else (session, session)


def _longest(timeout: QueryTimeouts | None) -> float | None:
    found = [own for own in (timeout.basic, timeout.complex) if own is not None] if timeout else []
    return max(found, default=None)


def _too_long(place: tuple[str | int, ...], own: float, session: float) -> Remark:
    why = f"{own:g} s is longer than a whole session of {session:g} s, which cuts it short"
    return Remark(place, "timeout-over-session", why, "shorten it (spec: tools 2 to 5 s) or raise timeouts.session")
