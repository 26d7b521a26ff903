"""For the tests of whoever degrades gracefully, ours included: time that jumps, targets that fail as told.

Example:
    >>> from langgraph_degrade.testing import Delay, FakeClock, Hang, run_virtual, scripted
    >>> clock = FakeClock()
    >>> stock = scripted([Delay(3.0, 17), TimeoutError(), Hang()], clock=clock, colour="async")
    >>> run_virtual(stock("sku-1"), clock), clock.monotonic()
    (17, 3.0)
"""

from __future__ import annotations

from langgraph_degrade.testing.clock import FakeClock, Stuck
from langgraph_degrade.testing.events import assert_events
from langgraph_degrade.testing.loop import VirtualLoop, run_virtual
from langgraph_degrade.testing.targets import Called, Delay, Hang, Scripted, ScriptEnded, scripted

__all__ = [
    "Called",
    "Delay",
    "FakeClock",
    "Hang",
    "ScriptEnded",
    "Scripted",
    "Stuck",
    "VirtualLoop",
    "assert_events",
    "run_virtual",
    "scripted",
]
