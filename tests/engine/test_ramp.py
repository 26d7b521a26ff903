"""A target that was down gets its traffic back step by step, and never at once (spec B4)."""

from __future__ import annotations

from bisect import bisect_left
from itertools import count, pairwise
from random import Random

import pytest

from langgraph_degrade.policy import BreakerRule
from tests.engine.traffic import Outcome, Record, at_random, opened, run, steadily

pytestmark = pytest.mark.row("B4")

DEFAULT = BreakerRule()


def comes_back(rate: float, *, end: float, latency: float, jitter: int | None = None, until: float = 140) -> Record:
    """An outage seen by a breaker that opened at 0, over at `end`."""
    arrivals = steadily(rate, 0.37, until) if jitter is None else at_random(rate, 0.0, until, seed=jitter)
    return run(opened(), arrivals, lambda at: "ok" if at >= end else "timeout", latency=latency)


@pytest.mark.parametrize(
    ("rate", "end"),
    [*((rate, end) for rate in (0.1, 0.3, 0.7, 1.3, 3, 10, 100) for end in (29.0, 31.0, 43.0, 58.0)), (1000, 31.0)],
)
def test_nothing_is_refused_a_minute_after_the_fault_whatever_the_traffic(rate: float, end: float) -> None:
    record = comes_back(rate, end=end, latency=0.2)
    assert max(record.refused) <= end + 60
    assert record.count(record.offered, end + 60, 140) > 0


def test_a_quiet_target_closes_too_without_waiting_for_many_calls() -> None:
    record = comes_back(0.1, end=29.0, latency=0.2)
    assert record.changes[-1][1] == "closed"
    assert record.changes[-1][0] < 29 + 75
    assert record.count(record.refused, 30.0, 140) == 0


@pytest.mark.parametrize("rate", [0.1, 10])
def test_a_rate_that_stays_where_it_must_not_be_opens_it_again(rate: float) -> None:
    """Not good enough to go on, and not for ever on trial: three of ten calls fail, in a later step."""
    numbers = count()

    def outcome(at: float) -> Outcome:
        if at < 65:
            return "ok"
        return "timeout" if next(numbers) % 10 in {2, 5, 9} else "ok"

    record = run(opened(BreakerRule(open_for=60)), steadily(rate, 0, 600), outcome)
    assert [state for _, state in record.changes][:2] == ["half_open", "open"]


@pytest.mark.parametrize(
    ("rate", "seed", "end"),
    [*((rate, seed, 40.0) for rate in (0.5, 1, 10, 100) for seed in range(3)), (0.7, 5, 33.5), (0.9, 3, 32.1)],
)
def test_nor_is_it_with_slow_calls_that_come_in_bunches(rate: float, seed: int, end: float) -> None:
    """Steps that end late must not add up: the ramp keeps the beat of the open time's end."""
    assert max(comes_back(rate, end=end, latency=3.0, jitter=seed).refused) <= end + 60


def test_traffic_comes_back_from_ten_per_cent_step_by_step() -> None:
    record = comes_back(100, end=20.0, latency=0.05)
    half_open, closed = (at for at, _ in record.changes)
    assert half_open == pytest.approx(30, abs=0.02)
    assert [state for _, state in record.changes] == ["half_open", "closed"]
    shares = [record.share(half_open + 6 * step, half_open + 6 * (step + 1)) for step in range(5)]
    assert shares == [pytest.approx(share, abs=0.02) for share in (0.1, 0.25, 0.5, 0.75, 1.0)]
    assert closed == pytest.approx(half_open + 24, abs=0.1)


@pytest.mark.parametrize(("rate", "latency"), [(0.1, 0.0), (1, 3.0), (100, 0.0), (100, 3.0), (300, 0.5)])
@pytest.mark.parametrize("rule", [DEFAULT, BreakerRule(probes=1), BreakerRule(probes=5, rate=0.9)])
def test_a_dead_target_is_hit_by_its_probes_only(rate: float, latency: float, rule: BreakerRule) -> None:
    record = run(opened(rule), at_random(rate, 0, 130, seed=1), lambda _: "timeout", latency=latency)
    moments = [0.0, *record.openings(), float("inf")]
    hits = [record.count(record.admitted, *period) for period in pairwise(moments)]
    assert max(hits) <= rule.probes
    assert len(record.openings()) <= 130 / 30


def test_a_target_that_dies_under_load_again_is_left_alone_again() -> None:
    """Flapping is bounded: good as a probe, dead under load, round and round."""
    recent: list[float] = []

    def outcome(at: float) -> Outcome:
        recent.append(at)
        return "ok" if len(recent) - bisect_left(recent, at - 1.0) <= 30 else "overloaded"

    record = run(opened(), steadily(100, 0, 300), outcome, latency=0.05)
    assert 3 <= len(record.openings()) <= 300 / 30
    assert len(record.admitted) < 0.25 * len(record.offered)


def test_one_failure_among_many_does_not_close_the_gate() -> None:
    record = run(opened(), steadily(100, 0, 100), lambda at: "timeout" if 31 < at % 40 < 31.3 else "ok", latency=0.01)
    assert [state for _, state in record.changes] == ["half_open", "closed"]


def test_a_failing_rate_in_a_later_step_opens_it_again() -> None:
    record = run(opened(), steadily(100, 0, 60), lambda at: "ok" if at < 44 else "timeout")
    assert 44 < record.openings()[0] < 46


def test_a_mixture_of_failures_that_would_not_open_it_does_not_keep_it_open() -> None:
    chance = Random(4)

    def outcome(at: float) -> Outcome:
        return chance.choice(["timeout", "connection", "schema", "empty"]) if chance.random() < 0.15 else "ok"

    record = run(opened(), steadily(100, 0, 55), lambda at: outcome(at) if at > 31 else "ok")
    assert [state for _, state in record.changes] == ["half_open", "closed"]


def test_a_target_that_fails_in_ever_other_ways_does_not_come_back() -> None:
    kinds: list[Outcome] = ["timeout", "connection", "schema", "empty", "unknown"]
    chance = Random(4)
    rule = BreakerRule(probes=5, rate=0.5)
    record = run(opened(rule), steadily(100, 0, 200), lambda _: chance.choice(kinds))
    assert {state for _, state in record.changes} == {"half_open", "open"}


def test_time_alone_closes_nothing() -> None:
    breaker = opened()
    permit = breaker.acquire(30.0)
    assert permit is not None
    breaker.succeed(permit, 30.1)
    assert breaker.state(3600.0) == "half_open"
    assert [breaker.acquire(3600.0) is not None for _ in range(50)].count(True) == DEFAULT.probes


@pytest.mark.parametrize("capacity", [5.0, 50.0, 100.0])
def test_coming_back_never_exceeds_the_declared_capacity(capacity: float) -> None:
    record = run(opened(capacity=capacity), steadily(200, 0, 120), lambda _: "ok", latency=0.05)
    for number, at in enumerate(record.admitted):
        assert bisect_left(record.admitted, at + 1) - number <= capacity
    assert record.share(60, 120) > 0.8 * capacity / 200


def test_it_closes_once_the_traffic_fits_the_capacity() -> None:
    def arrivals() -> list[float]:
        return [*steadily(200, 0, 100), *steadily(60, 100, 140)]

    record = run(opened(capacity=100.0), iter(arrivals()), lambda _: "ok", latency=0.05)
    assert [state for _, state in record.changes] == ["half_open", "closed"]
    assert 100 < record.changes[-1][0] < 113


def test_traffic_that_fits_the_capacity_is_whole_again_in_the_last_step() -> None:
    record = run(opened(capacity=150.0), at_random(60, 0, 80, seed=3), lambda _: "ok", latency=0.05)
    assert max(record.refused) <= 30 + 24.1
    assert record.changes[-1][1] == "closed"


def test_without_a_ramp_it_closes_on_results_alone() -> None:
    breaker = opened(BreakerRule(ramp=0))
    record = run(breaker, steadily(10, 0, 60), lambda _: "ok")
    assert record.changes[-1][1] == "closed"
    assert record.changes[-1][0] < 33
