"""Slots of a target: never more taken than there are, never one lost."""

from __future__ import annotations

import threading

import pytest

from langgraph_degrade.engine.bulkhead import Bulkhead, NoWorker

pytestmark = pytest.mark.row("E5")


def test_no_more_slots_than_the_limit():
    bulkhead = Bulkhead(2)
    assert [bulkhead.enter() for _ in range(3)] == [True, True, False]


def test_while_as_many_hang_as_there_are_slots_nobody_enters():
    bulkhead = Bulkhead(1)
    bulkhead.abandon()
    with pytest.raises(NoWorker, match="1 abandoned"):
        bulkhead.enter()
    bulkhead.forget()
    assert bulkhead.enter()


def test_a_slot_goes_to_the_first_in_the_queue():
    bulkhead, woken = Bulkhead(1), list[str]()
    assert bulkhead.enter()
    for name in ("first", "second"):
        bulkhead.queue(lambda name=name: woken.append(name))
    bulkhead.leave()
    assert (woken, bulkhead.running) == (["first"], 1)
    bulkhead.leave()
    assert (woken, bulkhead.running) == (["first", "second"], 1)
    bulkhead.leave()
    assert bulkhead.running == 0


def test_who_queues_for_a_slot_that_has_become_free_has_it_at_once():
    bulkhead, woken = Bulkhead(1), list[str]()
    bulkhead.queue(lambda: woken.append("free"))
    assert (woken, bulkhead.running) == (["free"], 1)


def test_who_has_left_the_queue_is_passed_over():
    bulkhead, woken = Bulkhead(1), list[str]()
    gone, waiting = (lambda: woken.append("gone")), (lambda: woken.append("waiting"))
    assert bulkhead.enter()
    bulkhead.queue(gone)
    bulkhead.queue(waiting)
    bulkhead.withdraw(gone)
    bulkhead.leave()
    assert woken == ["waiting"]


def test_a_slot_handed_to_a_closed_loop_goes_on_to_the_next():
    def closed() -> None:
        raise RuntimeError("Event loop is closed")

    bulkhead, woken = Bulkhead(1), list[str]()
    assert bulkhead.enter()
    bulkhead.queue(closed)
    bulkhead.queue(lambda: woken.append("next"))
    bulkhead.leave()
    assert (woken, bulkhead.running) == (["next"], 1)


def test_slots_are_exact_under_threads():
    bulkhead, most, now = Bulkhead(3), list[int](), list[None]()

    def traffic() -> None:
        for _ in range(200):
            granted = threading.Lock()
            granted.acquire()
            if not bulkhead.enter():
                bulkhead.queue(granted.release)
                assert granted.acquire(timeout=5.0)
            now.append(None)
            most.append(len(now))
            now.pop()
            bulkhead.leave()

    threads = [threading.Thread(target=traffic) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10.0)
    assert (len(most), max(most) <= 3, bulkhead.running) == (1600, True, 0)
