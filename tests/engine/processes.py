"""Processes that guard the same target."""

from __future__ import annotations

from langgraph_degrade.engine.breaker import Breaker
from langgraph_degrade.engine.pybreaker_face import PybreakerFace
from langgraph_degrade.policy import BreakerRule
from langgraph_degrade.testing import FakeClock


class Worker:
    """One process of several: a breaker and its face, with a clock of its own."""

    def __init__(self, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.breaker = Breaker(BreakerRule())
        self.face = PybreakerFace("tool:get_stock", self.breaker, self.clock)
        self.breaker.on_change = self.face.changed

    def fail(self, count: int = 10) -> None:
        for _ in range(count):
            permit = self.breaker.acquire(self.clock.monotonic())
            assert permit is not None
            self.breaker.fail(permit, "timeout", self.clock.monotonic())

    def succeed_until(self, state: str) -> None:
        while self.face.current_state != state:
            self.clock.advance(1.0)
            if (permit := self.breaker.acquire(self.clock.monotonic())) is not None:
                self.breaker.succeed(permit, self.clock.monotonic())
