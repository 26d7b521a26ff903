"""Many that want one thing at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from langgraph_degrade.engine.patrol import Leases
from tests.engine.acid import PATIENTLY


def holders(leases: Callable[[], AbstractContextManager[Leases]], callers: int) -> list[str]:
    """Have so many callers, each with leases of its own, ask for one target at once; those who got it."""
    together, won = threading.Barrier(callers), list[str]()

    def ask(owner: str) -> None:
        with leases() as own:
            together.wait(PATIENTLY)
            if own.try_hold("model:main", owner, 60.0, 1000.0):
                won.append(owner)

    threads = [threading.Thread(target=ask, args=(str(number),)) for number in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENTLY)
    return won
