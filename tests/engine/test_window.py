"""The window counts the last seconds and nothing else."""

from __future__ import annotations

from itertools import accumulate
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_degrade.engine.window import BUCKETS, WHOLE, RollingCount, Tally, Window

pytestmark = pytest.mark.row("B2")

SECONDS = 60.0
STEPS = st.lists(st.floats(0, 2 * SECONDS) | st.floats(0, 0.1), min_size=1, max_size=200)


@given(start=st.floats(-1e6, 1e6), steps=STEPS)
def test_a_rolling_count_equals_counting_the_slots_anew(start: float, steps: list[float]) -> None:
    count, width, slots = RollingCount(SECONDS), SECONDS / BUCKETS, []
    for now in accumulate(steps, initial=start):
        count.add(now)
        slots.append(floor(now / width))
        assert count.total(now) == sum(slot > slots[-1] - BUCKETS for slot in slots)


@given(steps=STEPS)
def test_it_forgets_between_nine_tenths_and_all_of_its_span(steps: list[float]) -> None:
    count, times = RollingCount(SECONDS), list(accumulate(steps))
    for number, now in enumerate(times, start=1):
        count.add(now)
        seen = times[:number]
        surely = sum(at > now - WHOLE * SECONDS + 1e-6 for at in seen)
        at_most = sum(at > now - SECONDS - 1e-6 for at in seen)
        assert surely <= count.total(now) <= at_most


@pytest.mark.case("case-B13")
@given(times=st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=100))
def test_a_clock_that_jumps_loses_and_invents_nothing_for_long(times: list[float]) -> None:
    count = RollingCount(SECONDS)
    for number, now in enumerate(times, start=1):
        before = count.total(now)
        count.add(now)
        assert 0 <= before <= count.total(now) == before + 1 <= number
    assert count.total(times[-1] + 2 * SECONDS) == 0


def test_a_busy_window_takes_no_more_room_than_an_idle_one() -> None:
    count = RollingCount(SECONDS)
    for number in range(100_000):
        count.add(number / 1000)
    assert count.total(100.0) == pytest.approx(60_000, rel=0.1)
    assert len(count._ring) == BUCKETS


def test_kinds_are_never_added_up() -> None:
    window = Window(SECONDS)
    for _ in range(6):
        window.succeed(1.0)
    window.fail("timeout", 1.0)
    window.fail("timeout", 1.0)
    assert window.fail("connection", 1.0) == Tally(calls=9, errors=1, in_a_row=1)
    assert window.fail("timeout", 1.0) == Tally(calls=10, errors=3, in_a_row=1)


def test_a_success_ends_a_run_but_not_the_share() -> None:
    window = Window(SECONDS)
    assert [window.fail("timeout", 0.0).in_a_row for _ in range(3)] == [1, 2, 3]
    window.succeed(0.0)
    assert window.fail("timeout", 0.0) == Tally(calls=5, errors=4, in_a_row=1)


def test_a_share_is_of_the_same_span_for_calls_and_errors() -> None:
    window = Window(SECONDS)
    for second in range(600):
        tally = window.fail("timeout", second + 0.5)
        assert tally.errors == tally.calls <= SECONDS
