"""Waiting for a slot of a `Bulkhead`, in both colours. It counts against the call's own time (case-M05)."""

from __future__ import annotations

import asyncio
from _thread import allocate_lock
from typing import NoReturn

from langgraph_degrade.engine.bulkhead import Bulkhead, NoWorker
from langgraph_degrade.engine.clock import Clock
from langgraph_degrade.engine.waiting import arrival, from_thread


def enter_blocking(bulkhead: Bulkhead, limit: float, clock: Clock) -> float:
    """Take a slot, blocking the thread at most `limit` seconds; returns the seconds it took, or raises `NoWorker`."""
    if bulkhead.enter():
        return 0.0
    started = clock.monotonic()
    baton = allocate_lock()
    baton.acquire()
    bulkhead.queue(baton.release)
    try:
        arrived = clock.wait(baton, limit)
    except BaseException:  # Ctrl-C while waiting
        bulkhead.withdraw(baton.release)
        raise
    if not arrived:
        bulkhead.withdraw(baton.release)
        _refuse()
    return min(clock.monotonic() - started, limit)


async def enter(bulkhead: Bulkhead, limit: float | None, clock: Clock) -> float:
    """Take a slot, suspending the task; otherwise as `enter_blocking`."""
    if bulkhead.enter():
        return 0.0
    started = clock.monotonic()
    waiter = asyncio.get_running_loop().create_future()
    wake = from_thread(waiter)
    bulkhead.queue(wake)
    try:
        arrived = await arrival(waiter, limit)
    except BaseException:  # the caller is cancelled
        bulkhead.withdraw(wake)
        raise
    if not arrived:
        bulkhead.withdraw(wake)
        _refuse()
    waited = clock.monotonic() - started
    return waited if limit is None else min(waited, limit)


def _refuse() -> NoReturn:
    raise NoWorker("every worker this target may have is busy, and none became free in time")
