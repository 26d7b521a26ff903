"""Waiting in an event loop for what another task or another thread brings about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

Waiter = asyncio.Future[bool]
"""True: it has come; False: the time was over first."""


async def arrival(waiter: Waiter, limit: float | None) -> bool:
    """Wait at most `limit` seconds (None: as long as it takes); True when it came.

    The caller's cancellation comes out unchanged, even where it meets the result in the same moment: `wait_for` eats
    it there (case-M02), and a cancelled turn goes on.
    """
    if limit is None:
        return await waiter
    timer = asyncio.get_running_loop().call_later(limit, settle, waiter, False)
    try:
        return await waiter
    finally:
        timer.cancel()


def settle(waiter: Waiter, arrived: bool = True) -> None:  # noqa: FBT001, FBT002 (a loop's callbacks are positional)
    """Wake whoever awaits `waiter`, if anybody still does."""
    if not waiter.done():
        waiter.set_result(arrived)


def from_thread(waiter: Waiter) -> Callable[[], None]:
    """How another thread settles `waiter`. What it returns raises `RuntimeError` when the loop is closed."""
    loop = asyncio.get_running_loop()

    def wake() -> None:
        loop.call_soon_threadsafe(settle, waiter)

    return wake
