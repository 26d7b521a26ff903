"""A probe's place is lent: to whom, how long, and whose word counts afterwards (spec B4)."""

from __future__ import annotations

import threading

import pytest

from langgraph_degrade.engine.breaker import LEASE, Breaker, Permit
from langgraph_degrade.policy import BreakerRule
from tests.engine.acid import PATIENTLY
from tests.engine.traffic import Outcome, feed, opened, run, steadily, tell

pytestmark = pytest.mark.row("B4")

DEFAULT = BreakerRule()


@pytest.mark.case("case-B04")
def test_a_hundred_threads_at_the_end_of_the_cool_down_get_the_probes_places() -> None:
    breaker, together = opened(), threading.Barrier(100)
    permits: list[Permit | None] = []

    def ask() -> None:
        together.wait(PATIENTLY)
        permits.append(breaker.acquire(30.0))

    threads = [threading.Thread(target=ask) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENTLY)
    granted = [permit for permit in permits if permit is not None]
    assert len(granted) == DEFAULT.probes
    assert breaker.acquire(31.0) is None  # while the probes take their second
    for permit in granted:
        breaker.fail(permit, "timeout", 31.0)
    assert breaker.retry_after(31.0) == 30.0


@pytest.mark.case("case-B02")
def test_probes_that_tell_nothing_are_bounded() -> None:
    breaker = opened(BreakerRule(probes=1))
    asked = 0
    while asked < 50 and (permit := breaker.acquire(30.0)) is not None:
        breaker.release(permit, 30.0)
        asked += 1
    assert 3 < asked < 10
    assert breaker.retry_after(30.0) == 30.0
    assert breaker.acquire(60.0) is not None


def test_a_verdict_between_shows_that_probes_do_tell_something() -> None:
    breaker = opened(BreakerRule(probes=1))
    told: list[tuple[float, Outcome]] = [*[(30.0, "neutral")] * 4, (30.0, "ok"), *[(37.0, "neutral")] * 4]
    for now, result in told:
        permit = breaker.acquire(now)
        assert permit is not None
        tell(breaker, permit, result, now)
    assert breaker.state(37.0) == "half_open"


def test_neutral_calls_take_their_part_of_a_later_steps_share() -> None:
    record = run(opened(), steadily(100, 0, 60), lambda at: "ok" if at < 36 else "neutral")
    assert record.share(37, 60) == pytest.approx(0.25, abs=0.02)


def test_silent_probes_are_bounded_too() -> None:
    breaker, hits = opened(), 0
    for second in range(30, 30 + 600):
        hits += breaker.acquire(float(second)) is not None
    assert hits <= (600 / LEASE + 1) * DEFAULT.probes
    assert hits > 600 / LEASE


@pytest.mark.parametrize("result", ["ok", "timeout", "neutral"])
def test_what_comes_after_the_lease_is_nobodys(result: Outcome) -> None:
    breaker = opened(BreakerRule(probes=1))
    lost = breaker.acquire(30.0)
    assert lost is not None
    assert breaker.acquire(30.0 + LEASE - 0.1) is None
    successor = breaker.acquire(30.0 + LEASE)
    assert successor is not None
    tell(breaker, lost, result, 31.0 + LEASE)
    assert breaker.state(31.0 + LEASE) == "half_open"
    assert breaker.acquire(31.0 + LEASE) is None  # the successor still holds the place


@pytest.mark.parametrize("result", ["ok", "timeout"])
def test_not_even_when_nobody_asked_meanwhile(result: Outcome) -> None:
    breaker = opened(BreakerRule(probes=1, ramp=0))
    for _ in range(3):
        lost = breaker.acquire(30.0)
        assert lost is not None
        tell(breaker, lost, result, 30.0 + LEASE)
        assert breaker.state(30.0 + LEASE) == "half_open"


def test_a_lease_is_at_least_as_long_as_the_open_time() -> None:
    breaker = opened(BreakerRule(probes=1, open_for=90))
    assert breaker.acquire(90.0) is not None
    assert breaker.acquire(90.0 + 89.0) is None
    assert breaker.acquire(90.0 + 90.0) is not None


def test_a_lease_is_given_back_once() -> None:
    breaker = opened(BreakerRule(probes=2))
    first, second = breaker.acquire(30.0), breaker.acquire(30.0)
    assert first is not None
    assert second is not None
    for _ in range(20):
        breaker.release(first, 30.0)
    assert breaker.state(30.0) == "half_open"
    assert [breaker.acquire(30.0) is not None for _ in range(5)] == [True, False, False, False, False]


def test_a_slow_target_may_be_given_longer_leases() -> None:
    breaker = opened(lease=600.0)
    permit = breaker.acquire(30.0)
    assert permit is not None
    breaker.fail(permit, "timeout", 400.0)
    assert breaker.state(400.0) == "open"


@pytest.mark.case("case-B05")
def test_a_success_of_an_older_generation_closes_nothing() -> None:
    breaker = Breaker(DEFAULT)
    slow = breaker.acquire(0.0)
    assert slow is not None
    feed(breaker, "tttttttttt")
    breaker.succeed(slow, 1.0)
    assert breaker.state(1.0) == "open"
    assert breaker.acquire(30.0) is not None
    breaker.succeed(slow, 30.0)
    breaker.fail(slow, "timeout", 30.0)
    assert breaker.state(30.0) == "half_open"


def test_a_probe_of_the_last_half_open_period_is_nobodys_in_this_one() -> None:
    breaker = opened()
    old, failing = breaker.acquire(30.0), breaker.acquire(30.0)
    assert old is not None
    assert failing is not None
    breaker.fail(failing, "timeout", 30.0)
    assert breaker.acquire(60.0) is not None
    breaker.fail(old, "timeout", 60.0)
    assert breaker.state(60.0) == "half_open"


def test_a_failure_before_the_break_is_no_reason_for_the_next_one() -> None:
    breaker = Breaker(DEFAULT)
    feed(breaker, "tttttttttt")
    breaker.close()
    feed(breaker, "...ttt")
    assert breaker.state(0.0) == "closed"


def test_late_failures_of_an_older_generation_open_nothing() -> None:
    breaker = Breaker(DEFAULT)
    slow = [breaker.acquire(0.0) for _ in range(50)]
    breaker.open(1.0)
    breaker.close()
    for permit in slow:
        assert permit is not None
        breaker.fail(permit, "timeout", 2.0)
    assert breaker.state(2.0) == "closed"


@pytest.mark.case("case-B13")
@pytest.mark.parametrize("jump", [-120.0, -3.2e7])
def test_a_clock_that_jumps_back_costs_one_open_time_at_most(jump: float) -> None:
    breaker = opened()
    assert breaker.acquire(15.0) is None
    assert breaker.acquire(15.0 + jump) is None
    assert breaker.retry_after(15.0 + jump) <= 30.0
    held = [breaker.acquire(45.0 + jump) for _ in range(3)]  # half-open; and back again with probes out
    assert None not in held
    assert breaker.acquire(45.0 + 2 * jump) is None
    assert breaker.acquire(45.0 + 2 * jump + LEASE) is not None


@pytest.mark.case("case-B14")
def test_each_attempt_of_a_retry_loop_asks_anew() -> None:
    breaker = opened(BreakerRule(probes=1))
    hits = 0
    for _ in range(3):
        permit = breaker.acquire(30.0)
        if permit is not None:
            hits += 1
            breaker.fail(permit, "connection", 30.0)
    assert hits == 1
