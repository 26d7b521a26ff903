"""A degraded path takes its part of a storm, and a quiet deployment is never refused (spec S1, D2)."""

from __future__ import annotations

import threading
from bisect import bisect_left

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_degrade.engine.quota import Pace, Quota

pytestmark = [pytest.mark.row("S1"), pytest.mark.row("D2")]


def storm(quota: Quota, rate: float, seconds: float) -> list[float]:
    """Every call is offered to the main path, fails there and asks for the degraded one; when it got through."""
    admitted = []
    for number in range(int(rate * seconds)):
        now = number / rate
        quota.offered(now)
        if quota.admit(now):
            admitted.append(now)
    return admitted


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_a_storm_gets_its_share_of_what_is_offered(share: float) -> None:
    admitted = storm(Quota(share), 1000, 60)
    assert len(admitted) <= share * 60_000 + 10
    for second in range(15, 60):  # once a window is full
        taken = bisect_left(admitted, second) - bisect_left(admitted, second - 10)
        assert taken == pytest.approx(share * 10_000, rel=0.1)


def test_at_no_moment_is_more_admitted_than_the_share_or_the_floor() -> None:
    quota, admitted = Quota(), 0
    for number in range(1, 5001):
        quota.offered(now=0.0)
        admitted += quota.admit(now=0.0)
        assert admitted <= max(10, number / 2)
    assert admitted == 2500


@pytest.mark.parametrize("rate", [0.01, 0.1, 1.0])
def test_a_quiet_deployment_is_never_refused(rate: float) -> None:
    assert len(storm(Quota(), rate, 1000)) == 1000 * rate


def test_ten_degraded_calls_at_once_are_a_quiet_deployment() -> None:
    quota = Quota()
    assert [quota.admit(now=5.0) for _ in range(11)] == [True] * 10 + [False]


def test_what_was_offered_long_ago_counts_no_more() -> None:
    quota = Quota()
    storm(quota, 1000, 10)
    assert sum(quota.admit(now=30.0) for _ in range(100)) == 10


def test_refused_calls_use_nothing_up() -> None:
    quota = Quota()
    assert sum(quota.admit(now=1.0) for _ in range(1000)) == 10
    for _ in range(40):
        quota.offered(now=1.0)
    assert sum(quota.admit(now=1.0) for _ in range(1000)) == 10


@pytest.mark.parametrize("capacity", [0.5, 2.5, 7.0, 100.0])
def test_a_declared_capacity_stands_in_for_the_share(capacity: float) -> None:
    admitted = storm(Quota(capacity=capacity), 1000, 60)
    assert 0.85 * capacity * 60 <= len(admitted) <= capacity * 60 + 1


@given(
    per_second=st.floats(0.2, 50),
    gaps=st.lists(st.floats(0, 0.2) | st.just(0.0) | st.floats(0, 10), min_size=1, max_size=300),
)
def test_no_second_ever_sees_more_than_the_pace(per_second: float, gaps: list[float]) -> None:
    pace, now, begun = Pace(per_second), 0.0, list[float]()
    for gap in gaps:
        now += gap
        if pace.take(now):
            begun.append(now)
    most = -(-per_second // 1)
    span = most / per_second
    for first, at in enumerate(begun):
        assert bisect_left(begun, at + span - 1e-6) - first <= most


@pytest.mark.case("case-B13")
def test_a_clock_that_jumps_back_does_not_lock_the_path() -> None:
    quota = Quota()
    storm(quota, 100, 60)
    admitted = [quota.admit(now=-120.0 + second) for second in range(60)]
    assert sum(admitted[20:]) == 40


def test_threads_share_one_quota_exactly() -> None:
    quota, together, admitted = Quota(), threading.Barrier(8), []

    def ask() -> None:
        together.wait()
        for _ in range(250):
            quota.offered(now=1.0)
        together.wait()
        admitted.append(sum(quota.admit(now=1.0) for _ in range(500)))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(admitted) == 1000
