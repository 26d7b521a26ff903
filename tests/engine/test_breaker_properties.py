"""No sequence of events wedges a breaker, or keeps a place longer than its lease (spec B4)."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from langgraph_degrade.engine.breaker import COUNTED, LEASE, Breaker, Permit
from langgraph_degrade.engine.ramp import Lease
from langgraph_degrade.policy import BreakerRule
from tests.engine.traffic import Outcome, run, steadily, tell

RULES = st.builds(
    BreakerRule,
    rate=st.sampled_from([0.1, 0.3, 0.5, 1.0]),
    consecutive=st.integers(1, 5),
    errors=st.integers(1, 30),
    min_calls=st.integers(1, 12),
    open_for=st.sampled_from([0.3, 30.0, 90.0]),
    ramp=st.sampled_from([0.0, 0.3, 30.0]),
    probes=st.integers(1, 5),
)
OUTCOMES: st.SearchStrategy[Outcome] = st.sampled_from(["ok", "ok", "ok", "neutral", *sorted(COUNTED)])


class AnyLife(RuleBasedStateMachine):
    """A breaker whatever comes; permits are told in any order, twice, or never."""

    @initialize(rule=RULES, capacity=st.none() | st.sampled_from([0.5, 3.0, 100.0]))
    def begin(self, rule: BreakerRule, capacity: float | None) -> None:
        self.rule = rule
        self.changes: list[tuple[str, str]] = []
        self.breaker = Breaker(rule, capacity=capacity, on_change=lambda *change: self.changes.append(change))
        self.now = 0.0
        self.permits: list[Permit] = []
        self.generation = 0

    @rule(number=st.integers(1, 20))
    def ask(self, number: int) -> None:
        for _ in range(number):
            permit = self.breaker.acquire(self.now)
            if permit is not None:
                self.permits.append(permit)

    @rule(data=st.data(), outcome=OUTCOMES, again=st.booleans())
    @precondition(lambda self: self.permits)
    def tell_one(self, data: st.DataObject, outcome: Outcome, *, again: bool) -> None:
        place = data.draw(st.integers(0, len(self.permits) - 1))
        permit = self.permits[place] if again else self.permits.pop(place)
        tell(self.breaker, permit, outcome, self.now)

    @rule(outcome=OUTCOMES)
    def tell_all(self, outcome: Outcome) -> None:
        while self.permits:
            tell(self.breaker, self.permits.pop(), outcome, self.now)

    @rule()
    def lose_all(self) -> None:
        self.permits.clear()

    @rule(seconds=st.sampled_from([0.0, 0.01, 0.1, 1.0, 6.0, 29.9, 30.0, 60.0, 3600.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(seconds=st.sampled_from([1e-6, 1.0, 3600.0]))
    def the_clock_steps_back(self, seconds: float) -> None:
        self.now -= seconds

    @rule(seconds=st.none() | st.sampled_from([0.0, 5.0, 120.0]))
    def open_from_outside(self, seconds: float | None) -> None:
        self.breaker.open(self.now, seconds)

    @rule()
    def close_from_outside(self) -> None:
        self.breaker.close()

    @invariant()
    def generations_only_grow(self) -> None:
        """Among the permits at hand too: they are kept in the order of their granting."""
        granted = [permit for permit in self.permits if not isinstance(permit, Lease)]
        assert granted == sorted(granted)
        assert self.breaker._generation >= max([self.generation, *granted])
        self.generation = self.breaker._generation

    @invariant()
    def changes_make_a_chain(self) -> None:
        states = ["closed", *(new for _, new in self.changes)]
        assert [old for old, _ in self.changes] == states[:-1]
        assert self.breaker._state == states[-1]

    @invariant()
    def waiting_as_told_is_finite(self) -> None:
        assert 0 <= self.breaker.retry_after(self.now) <= max(120.0, self.rule.open_for, self.rule.ramp / 5) + 1e-6

    def teardown(self) -> None:
        """Whatever was lost, a place is free after a lease; and with healthy calls it closes and refuses nobody."""
        if not hasattr(self, "breaker"):
            return
        self.now += max(120.0, LEASE, self.rule.open_for)
        assert self._gets_through(self.now) or self._gets_through(self.now + max(LEASE, self.rule.open_for))
        record = run(self.breaker, steadily(0.4, self.now + 1, self.now + 300), lambda _: "ok", latency=0.1)
        assert self.breaker.state(self.now + 300) == "closed"
        assert record.count(record.refused, self.now + 250, self.now + 300) == 0

    def _gets_through(self, now: float) -> bool:
        permit = self.breaker.acquire(now)
        if permit is not None:
            self.breaker.succeed(permit, now)
        return permit is not None


AnyLife.TestCase.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)


@pytest.mark.row("B4")
class TestAnyLife(AnyLife.TestCase):
    pass
