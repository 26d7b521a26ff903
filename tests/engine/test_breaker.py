"""When calls to a target stop, and who is told (spec B2, B8). How they come back: test_ramp.py, test_leases.py."""

from __future__ import annotations

import gc
import logging
import threading
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import get_args

import pytest
from langgraph.errors import GraphBubbleUp

from langgraph_degrade.engine.breaker import COUNTED, Breaker, Permit
from langgraph_degrade.failures import ANSWERS, BLAMELESS, Kind
from langgraph_degrade.policy import BreakerRule
from tests.engine.acid import COOL_DOWN, PATIENTLY, AcidTable, Ignored, Refused, System
from tests.engine.traffic import Outcome, at_random, feed, run, steadily

ACID = BreakerRule(consecutive=3, min_calls=3, open_for=COOL_DOWN, ramp=COOL_DOWN)
DEFAULT = BreakerRule()


class GuardedByBreaker(System):
    """A call under one breaker, as the engine makes it: every way out of the call is told."""

    PROBES = ACID.probes

    def __init__(self) -> None:
        self.breaker = Breaker(ACID)
        self._now = 0.0

    def call(self, target: Callable[[], object]) -> object:
        permit = self._admission()
        try:
            value = target()
        except (GraphBubbleUp, Ignored):
            self.breaker.release(permit, self._now)
            raise
        except Exception:
            self.breaker.fail(permit, "connection", self._now)
            raise
        except BaseException:
            self.breaker.release(permit, self._now)
            raise
        self.breaker.succeed(permit, self._now)
        return value

    def abandon(self) -> None:
        self._admission()

    def advance(self, seconds: float) -> None:
        self._now += seconds

    def _admission(self) -> Permit:
        permit = self.breaker.acquire(self._now)
        if permit is None:
            raise Refused
        return permit


class TestAcid(AcidTable):
    @pytest.fixture
    def system(self) -> System:
        return GuardedByBreaker()


@pytest.mark.row("B2")
@pytest.mark.parametrize(
    ("outcomes", "state"),
    [
        (".......ttt", "open"),  # three in a row, three of ten
        ("......ttt", "closed"),  # nine calls are no evidence
        ("........ttt", "closed"),  # in a row, but a share of 27 %
        ("t.t.t.t.t.", "closed"),  # half of them, but never in a row
        (".....ttc.ttcttctt", "closed"),  # another kind breaks the run
        (".....tcstcstcstcs", "closed"),  # 70 % failures, no kind three times in a row
        (".......sos", "open"),  # a 503 is a 5xx
        ("." * 100 + ("t" + "." * 9) * 20, "closed"),  # twenty errors
        ("." * 100 + ("t" + "." * 9) * 20 + "t", "open"),  # more than twenty, at 7 %
        ("." * 1000 + ("t" + "." * 30) * 30, "closed"),  # more than twenty, at 2 %
    ],
)
def test_it_opens_on_one_kind_that_fails_in_a_row_and_often_or_many_times(outcomes: str, state: str) -> None:
    breaker = Breaker(DEFAULT)
    feed(breaker, outcomes)
    assert breaker.state(0.0) == state


@pytest.mark.row("B2")
def test_a_busy_hour_with_a_few_mixed_faults_per_mille_never_opens_it() -> None:
    """Document A, 5.1: single timeouts and resets at the peak are traffic, not an outage."""
    chance = Random(51)

    def outcome(_: float) -> Outcome:
        return chance.choice(["timeout", "connection"]) if chance.random() < 0.005 else "ok"

    record = run(Breaker(DEFAULT), at_random(100, 0, 3600, seed=5), outcome, latency=0.05)
    assert len(record.offered) > 350_000
    assert record.changes == []
    assert record.refused == []


@pytest.mark.row("B2")
@pytest.mark.parametrize(("rate", "at_most"), [(0.5, 30.0), (1, 20.0), (10, 3.0), (100, 3.0), (500, 3.0)])
def test_a_real_outage_opens_it_within_seconds_of_traffic(rate: float, at_most: float) -> None:
    record = run(Breaker(DEFAULT), steadily(rate, 0, 120), lambda at: "ok" if at < 70 else "server_error")
    assert 70 <= record.openings()[0] <= 70 + at_most


@pytest.mark.row("B2")
def test_failures_older_than_the_window_are_forgotten() -> None:
    breaker = Breaker(DEFAULT)
    feed(breaker, "ttttttttt", now=0.0)
    feed(breaker, "t", now=61.0)
    assert breaker.state(61.0) == "closed"


@pytest.mark.row("B2")
def test_every_kind_is_counted_an_answer_or_neutral() -> None:
    assert not COUNTED & ANSWERS
    assert not COUNTED & BLAMELESS
    assert set(get_args(Kind)) - COUNTED - ANSWERS - BLAMELESS == {
        "auth", "quota", "context_overflow", "content_filter", "refusal"
    }  # fmt: skip


@pytest.mark.row("B2")
def test_neutral_outcomes_neither_count_nor_end_a_run() -> None:
    breaker = Breaker(DEFAULT)
    feed(breaker, ".......tt")
    for _ in range(100):
        permit = breaker.acquire(0.0)
        assert permit is not None
        breaker.release(permit, 0.0)
    feed(breaker, "t")
    assert breaker.state(0.0) == "open"


@pytest.mark.row("B8")
def test_retry_after_tells_when_asking_may_help() -> None:
    breaker = Breaker(DEFAULT)
    assert breaker.retry_after(0.0) == 0.0
    breaker.open(0.0)
    assert breaker.retry_after(10.0) == 20.0
    assert breaker.state(10.0) == "open"
    assert breaker.retry_after(31.0) == 0.0
    assert breaker.state(31.0) == "half_open"  # before anybody called
    breaker.acquire(31.0)
    assert breaker.retry_after(33.0) == 3.0  # the next slice, on the beat of the open time


@pytest.mark.row("B8")
def test_word_from_outside_opens_for_as_long_as_it_says_and_never_shortens() -> None:
    breaker = Breaker(DEFAULT)
    breaker.open(0.0, 60.0)
    breaker.open(1.0, 5.0)
    assert breaker.retry_after(1.0) == 59.0
    breaker.open(1.0, 120.0)
    assert breaker.retry_after(1.0) == 120.0
    assert breaker.acquire(121.0) is not None
    breaker.open(121.0)
    assert breaker.retry_after(121.0) == 30.0


@pytest.mark.row("B8")
def test_changes_are_told_in_order_once_the_lock_is_free() -> None:
    told: list[tuple[str, str]] = []

    def on_change(old: str, new: str) -> None:
        told.append((old, new))
        elsewhere = threading.Thread(target=breaker.state, args=(1000.0,))  # would hang if a lock were held
        elsewhere.start()
        elsewhere.join(PATIENTLY)
        assert not elsewhere.is_alive()

    breaker = Breaker(BreakerRule(probes=2, ramp=0), on_change=on_change)
    feed(breaker, "tttttttttt", now=0.0)
    for _ in range(100):
        permit = breaker.acquire(1000.0)
        if permit is not None:
            breaker.succeed(permit, 1000.0)
    assert told[0] == ("closed", "open")
    assert all(before[1] == after[0] for before, after in pairwise(told))
    assert told[-1] == ("half_open", "closed")


@pytest.mark.row("B8")
def test_a_listener_that_raises_is_logged_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    def on_change(old: str, new: str) -> None:
        raise KeyError("token=s3cret")

    breaker = Breaker(DEFAULT, on_change=on_change)
    with caplog.at_level(logging.WARNING):
        feed(breaker, "tttttttttt")
    assert breaker.state(0.0) == "open"
    assert "KeyError" in caplog.text
    assert "s3cret" not in caplog.text


@pytest.mark.row("B8")
def test_a_coroutine_collected_in_the_middle_may_give_its_permit_back() -> None:
    """Its `finally` runs in whichever thread allocates next: possibly one that holds this very lock."""
    breaker = Breaker(DEFAULT)
    permit = breaker.acquire(0.0)
    assert permit is not None
    inside: list[bool] = []
    done = threading.Event()

    def collected(phase: str, _: object) -> None:
        if phase == "start":
            inside.append(breaker._lock._is_owned())  # type: ignore[attr-defined]
            breaker.release(permit, 0.0)

    def busy() -> None:
        for _ in range(100):
            feed(breaker, "tttttttttt")
            breaker.close()
        done.set()

    thresholds = gc.get_threshold()
    gc.callbacks.append(collected)
    gc.set_threshold(1)
    try:
        threading.Thread(target=busy, daemon=True).start()
        assert done.wait(PATIENTLY)
        assert any(inside)
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(collected)


@pytest.mark.row("B8")
def test_threads_lose_no_outcome() -> None:
    breaker, together = Breaker(BreakerRule(rate=1.0, errors=10**6)), threading.Barrier(8)

    def work() -> None:
        together.wait(PATIENTLY)
        feed(breaker, "..t" * 500)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENTLY)
    tally = breaker._window.fail("timeout", 0.0)
    assert (tally.calls, tally.errors) == (12_001, 4_001)


@pytest.mark.row("B8")
def test_an_idle_breaker_takes_less_than_four_kilobytes() -> None:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        breakers = [Breaker(DEFAULT) for _ in range(200)]
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (after - before) / len(breakers) < 4096
