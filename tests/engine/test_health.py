"""From good and bad probes to one verdict: moved in time, back in time, and not by chance (spec M3, M4)."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from random import Random

import pytest

from langgraph_degrade.engine.breaker import Breaker
from langgraph_degrade.engine.health import DEPTH, RECENT, Health, ProbeRule
from langgraph_degrade.engine.target import Target
from langgraph_degrade.failures import Failure
from langgraph_degrade.policy import Policy

pytestmark = pytest.mark.row("M3")

HOUR = 3600.0


def probed(outcomes: Iterable[bool], *, rule: ProbeRule | None = None, health: Health | None = None) -> Health:
    health = health or Health(rule or ProbeRule())
    for good in outcomes:
        health.told(good, 0.2, 0.0)
    return health


def away(rule: ProbeRule | None = None) -> Health:
    return probed([False] * DEPTH, rule=rule)


def changes_in_an_hour(success: float, seed: int) -> int:
    """How often traffic moves, either way, with probes that succeed by chance."""
    health, chance, now, changes = Health(ProbeRule()), Random(seed), 0.0, 0
    while now < HOUR:
        was_well = health.is_well
        health.told(chance.random() < success, 0.2, now)
        changes += was_well != health.is_well
        now += health.pause * chance.uniform(0.9, 1.1)
    return changes


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_a_single_failed_probe_never_switches(share: float):
    rule = ProbeRule(switch_below=share)
    for before in range(50):
        assert probed([True] * before + [False], rule=rule).is_well


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_an_outage_moves_traffic_and_recovery_moves_it_back_in_the_same_number_of_probes(share: float):
    rule = ProbeRule(switch_below=share)
    assert probed([False] * (DEPTH - 1), rule=rule).is_well
    health = away(rule)
    assert not health.is_well
    assert not probed([True] * (DEPTH - 1), health=health).is_well
    assert probed([True], health=health).is_well


def test_the_way_back_is_steeper_than_the_way_out():
    """One bad probe among the good ones costs three more, and traffic never comes back on a bad one."""
    health = probed([True] * 5 + [False], health=away())
    assert not probed([True] * 5, health=health).is_well
    assert probed([True], health=health).is_well


def test_what_is_above_the_share_stays_and_what_is_below_goes():
    assert probed([True, False, True] * 200).is_well
    assert not probed([False, True, False] * 30).is_well


def test_sixty_percent_success_does_not_flap():
    """A window of four probes at the same pace would move traffic a dozen times."""
    changes = [changes_in_an_hour(0.6, seed) for seed in range(300)]
    assert sum(changes) / len(changes) < 1
    assert max(changes) <= 5


def test_ninety_percent_success_never_moves():
    assert sum(changes_in_an_hour(0.9, seed) for seed in range(100)) == 0


def test_forty_percent_success_moves_within_the_hour():
    assert min(changes_in_an_hour(0.4, seed) for seed in range(100)) >= 1


@pytest.mark.row("M4")
def test_a_slow_success_is_a_bad_probe():
    health = Health(ProbeRule(slow=3.0))
    for _ in range(DEPTH):
        health.told(True, 3.1, 0.0)
    assert not health.is_well
    for _ in range(DEPTH):
        health.told(True, 3.0, 0.0)
    assert health.is_well


def test_a_doubted_target_is_probed_ten_times_as_often_until_the_doubt_is_over():
    health = Health(ProbeRule(every=30.0))
    pauses = list[float]()
    for good in [True, False, False, True, *[False] * DEPTH, False, True, False]:
        health.told(good, 0.2, 0.0)
        pauses.append(health.pause)
    #                                                          moved: the dead are left in peace, a sign of life is followed
    assert pauses == [30.0, 3.0, 3.0, 30.0, *[3.0] * (DEPTH - 2), 30.0, 30.0, 30.0, 3.0, 30.0]


def test_a_refusal_says_why_and_when_the_next_probe_is():
    health = Health(ProbeRule(every=30.0))
    assert health.refusal(0.0) is None
    for second in range(DEPTH):
        health.told(False, 0.2, float(second))
    health.told(True, 0.2, 40.0)
    assert health.refusal(41.0) == Failure("open", retry_after=2.0, reason="probes: 1 of 8 well", unsent=True)


def test_a_verdict_nobody_renews_lapses():
    """A prober that died must not keep a target away."""
    health = away()
    assert health.refusal(90.0) is not None
    assert health.refusal(94.0) is None
    assert not health.is_well


def test_it_remembers_no_more_after_ten_thousand_probes_than_after_eight():
    health = probed(number % 7 > 0 for number in range(10_000))
    assert len(health.reason) <= len("probes: 8 of 8 well")
    assert len(health._verdict.recent) == RECENT


def test_threads_may_tell_and_ask_at_once():
    health, together = Health(ProbeRule()), threading.Barrier(8)
    away_seen = list[bool]()

    def tell() -> None:
        together.wait(20)
        for _ in range(500):
            health.told(False, 0.1, 0.0)
            away_seen.append(health.refusal(0.0) is None)

    threads = [threading.Thread(target=tell) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sum(away_seen) < DEPTH
    assert health.reason == "probes: 0 of 8 well"


@pytest.mark.row("S3")
def test_another_process_takes_the_verdict_over_with_its_age():
    note = away().note()
    health = Health(ProbeRule())
    health.adopt(note, age=80.0, now=1000.0)
    assert health.refusal(1010.0) is not None
    assert health.refusal(1020.0) is None
    with pytest.raises((ValueError, TypeError)):
        health.adopt("null", age=0.0, now=1000.0)


@pytest.mark.parametrize(
    "wrong", [{"every": 0.0}, {"slow": -1.0}, {"switch_below": 0.0}, {"switch_below": 1.0}, {"every": float("nan")}]
)
def test_a_rule_that_makes_no_sense_is_refused(wrong: dict[str, float]):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ProbeRule(**wrong)


# In the target


def target(name: str = "tool:get_stock", main: Target | None = None) -> Target:
    return Target(name, Policy().target(name), main=main)


def test_a_target_its_probes_speak_against_admits_nobody_and_asks_no_breaker():
    stock = target()
    stock.health = away()
    for breaker in stock.breakers:
        breaker.open(0.0, 10.0)
    refused = stock.admit(50.0, print)
    assert isinstance(refused, Failure)
    assert (refused.kind, refused.reason, refused.unsent) == ("open", "probes: 0 of 8 well", True)
    assert {breaker.state(50.0) for breaker in stock.breakers} == {"half_open"}
    probed([True] * DEPTH, health=stock.health)
    assert not isinstance(stock.admit(50.0, print), Failure)


def test_an_open_breaker_is_not_closed_by_good_probes():
    stock = target()
    stock.health = probed([True] * 100)
    for breaker in stock.breakers:
        breaker.open(0.0)
    refused = stock.admit(1.0, print)
    assert isinstance(refused, Failure)
    assert refused.reason == "breaker open"


def test_what_the_target_asked_for_outlasts_its_probes():
    stock = target()
    stock.health = probed([True] * 8)
    stock.closed_until = 60.0
    refused = stock.admit(1.0, print)
    assert isinstance(refused, Failure)
    assert refused.reason == "asked to be left alone"


def test_calls_refused_by_probes_still_count_as_offered_to_the_backup():
    main = target()
    backup = target("tool:get_stock/backup", main)
    main.health = away()
    for second in range(100):
        main.admit(second / 10, print)
    admitted = [backup.admit(second / 10, print) for second in range(100)]
    assert sum(not isinstance(permit, Failure) for permit in admitted) > 10


def test_breakers_are_told_nothing_by_health():
    stock = target()
    stock.health = away()
    assert all(isinstance(breaker, Breaker) and breaker.in_a_row == 0 for breaker in stock.breakers)
