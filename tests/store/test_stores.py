"""What every store promises: a write is sent once per intent as far as anybody can know, and nothing undone is lost."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from langgraph_degrade.engine.keys import canonical
from langgraph_degrade.engine.store import KEEP, Claim, ClaimKey, Store
from langgraph_degrade.store import MemoryStore, SqliteStore
from langgraph_degrade.store import memory as memory_store

pytestmark = pytest.mark.row("E4")

REFUND = ClaimKey(
    thread="thread-1",
    turn="turn-1",
    target="tool:create_refund",
    args=canonical({"order": "SO-1001", "amount": 1299}),
    tool_call_id="call-1",
)
AGAIN = replace(REFUND, tool_call_id="call-2")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: MemoryStore | SqliteStore = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "s.db")
    yield made
    made.close()


def claim(store: Store, key: ClaimKey = REFUND, *, owner: str = "me", now: float = 0.0, ttl: float = KEEP) -> Claim:
    return store.claim(key, owner=owner, now=now, ttl=ttl)


def test_the_first_claim_may_be_sent(store: Store):
    mine = claim(store, now=7.0)
    assert (mine.state, mine.owner, mine.at, mine.ordinal, mine.key) == ("claimed", "me", 7.0, 1, REFUND)


@pytest.mark.case("case-W01")
def test_the_same_write_after_an_unknown_outcome_is_not_sent_again(store: Store):
    """The reply was lost; the model plans the same refund as a new tool call."""
    first = store.settle(claim(store), "unknown")
    second = claim(store, AGAIN, now=32.0)
    assert second.state == "unknown"
    assert second.id == first.id
    assert second.idempotency_key == first.idempotency_key


@pytest.mark.case("case-W01")
def test_an_intentional_second_write_in_the_same_turn_is_sent(store: Store):
    first = store.settle(claim(store), "done", {"refund": "R-1"})
    second = claim(store, AGAIN)
    assert second.state == "claimed"
    assert second.idempotency_key != first.idempotency_key


@pytest.mark.case("case-W01")
def test_the_same_write_in_a_later_turn_is_sent(store: Store):
    store.settle(claim(store), "unknown")
    later = claim(store, replace(AGAIN, turn="turn-2"))
    assert later.state == "claimed"


@pytest.mark.case("case-W01")
def test_two_equal_calls_of_one_message_are_two_writes(store: Store):
    first, second = claim(store), claim(store, AGAIN)
    assert (first.state, second.state) == ("claimed", "claimed")
    assert first.idempotency_key != second.idempotency_key


@pytest.mark.parametrize(
    "other",
    [
        replace(REFUND, thread="thread-2"),
        replace(REFUND, turn="turn-2"),
        replace(REFUND, target="tool:charge"),
        replace(REFUND, args=canonical({"order": "SO-1001", "amount": 1299.0})),
        replace(REFUND, args=None),
        replace(REFUND, tenant="tenant-2"),
        replace(REFUND, thread="thread-1turn-1", turn=""),
    ],
)
def test_another_thread_turn_target_or_tenant_is_another_write(store: Store, other: ClaimKey):
    first = store.settle(claim(store), "unknown")
    second = claim(store, other)
    assert second.state == "claimed"
    assert second.idempotency_key != first.idempotency_key


def test_a_replayed_call_gets_its_result_and_sends_nothing(store: Store):
    first = store.settle(claim(store), "done", {"refund": "R-1"})
    replayed = claim(store, owner="another life")
    assert replayed == first
    assert replayed.result == {"refund": "R-1"}


@pytest.mark.case("case-W04")
@pytest.mark.parametrize("key", [REFUND, AGAIN], ids=["the same call", "a new call"])
def test_a_claim_of_a_dead_process_is_unknown(store: Store, key: ClaimKey):
    dead = claim(store, owner="dead")
    found = claim(store, key, owner="me")
    assert (found.state, found.id) == ("unknown", dead.id)


def test_a_replay_of_a_call_that_never_said_how_it_ended_is_unknown(store: Store):
    claim(store)
    assert claim(store).state == "unknown"


@pytest.mark.case("case-W04")
def test_after_a_read_back_that_found_it_done_the_call_is_answered(store: Store):
    claim(store, owner="dead")
    store.settle(claim(store), "done", {"refund": "R-1"})
    assert (claim(store).state, claim(store).result) == ("done", {"refund": "R-1"})


@pytest.mark.case("case-W04")
@pytest.mark.parametrize("key", [REFUND, AGAIN], ids=["the same call", "a new call"])
def test_after_a_read_back_that_found_nothing_it_is_sent_under_the_same_idempotency_key(store: Store, key: ClaimKey):
    """Should the read-back have looked too early, the target still sees one write."""
    first = claim(store, owner="dead")
    store.settle(claim(store), "failed")
    second = claim(store, key)
    assert second.state == "claimed"
    assert second.id != first.id
    assert second.idempotency_key == first.idempotency_key


@pytest.mark.case("case-W02")
def test_a_write_that_never_left_may_be_sent_again(store: Store):
    store.settle(claim(store), "failed")
    assert claim(store).state == "claimed"
    assert claim(store, AGAIN).state == "claimed"


def test_a_failed_write_gives_back_its_own_number_only(store: Store):
    first, second = claim(store), claim(store, AGAIN)
    store.settle(second, "done")
    store.settle(first, "failed")
    third = claim(store, replace(REFUND, tool_call_id="call-3"))
    fourth = claim(store, replace(REFUND, tool_call_id="call-4"))
    assert [row.ordinal for row in (first, second, third, fourth)] == [1, 2, 1, 3]


def test_arguments_without_a_key_are_never_the_same_write(store: Store):
    blank = replace(REFUND, args=None)
    first = store.settle(claim(store, blank), "failed")
    second = store.settle(claim(store, replace(blank, tool_call_id="call-2")), "unknown")
    third = claim(store, replace(blank, tool_call_id=None))
    assert [row.state for row in (second, third)] == ["unknown", "claimed"]
    assert len({row.idempotency_key for row in (first, second, third)}) == 3
    assert claim(store, replace(blank, tool_call_id="call-2")).state == "unknown"


def test_without_a_call_id_nothing_is_a_replay(store: Store):
    bare = replace(REFUND, tool_call_id=None)
    store.settle(claim(store, bare), "done")
    assert claim(store, bare).state == "claimed"
    assert claim(store, bare, owner="another life").state == "unknown"


def test_an_idempotency_key_is_a_uuid_and_gives_nothing_away(store: Store):
    key = claim(store).idempotency_key
    assert str(uuid.UUID(key)) == key
    assert claim(store).idempotency_key == key


@pytest.mark.parametrize(
    ("told", "stands"),
    [
        (["unknown", "done"], "done"),
        (["done", "unknown"], "done"),
        (["unknown", "failed"], "failed"),
        (["failed", "unknown"], "failed"),
        (["failed", "done"], "done"),
        (["done", "failed"], "done"),
    ],
)
def test_what_is_known_of_a_write_only_grows(store: Store, told: list[Any], stands: str):
    """A late reply beats the timeout that gave the write up, and a read-back that came too early."""
    mine = claim(store)
    for state in told:
        last = store.settle(mine, state)
    assert last.state == stands


def test_a_second_verdict_does_not_lose_the_result(store: Store):
    mine = claim(store)
    store.settle(mine, "done", {"refund": "R-1"})
    assert store.settle(mine, "done").result == {"refund": "R-1"}


@pytest.mark.case("case-K07")
def test_nobody_can_change_a_kept_result(store: Store):
    result = {"items": ["a"]}
    store.settle(claim(store), "done", result)
    result["items"].append("x")
    claim(store).result["items"].append("y")
    assert claim(store).result == {"items": ["a"]}


@pytest.mark.parametrize("result", [object(), {"a": {1}}, {"a": float("nan")}], ids=["object", "set", "nan"])
def test_an_outcome_is_kept_even_where_its_result_is_no_json(store: Store, result: object):
    assert store.settle(claim(store), "done", result).state == "done"
    assert claim(store).state == "done"


@pytest.mark.parametrize("text", ["\ud83d", "\x00", "😀", "x" * 10_000, ""])
def test_any_text_may_name_a_call_or_an_item(store: Store, text: str):
    key = ClaimKey(thread=text, turn=text, target=text, args=text, tool_call_id=text, tenant=text)
    store.settle(claim(store, key), "done", {text: text})
    assert (claim(store, key).state, claim(store, key).result) == ("done", {text: text})
    store.add({"id": text, "thread": text, "what": text}, now=0.0)
    assert store.unfinished(text) == [{"id": text, "thread": text, "what": text}]
    store.resolve(text, thread=text)
    assert store.unfinished(text) == []


def test_a_claim_is_forgotten_after_its_ttl(store: Store):
    store.settle(claim(store, ttl=10.0), "done")
    assert claim(store, now=10.0).state == "done"
    claim(store, replace(REFUND, turn="turn-2"), now=10.1)
    assert claim(store, now=10.1).state == "claimed"


def test_settling_a_forgotten_claim_brings_nothing_back(store: Store):
    old = claim(store, ttl=10.0)
    claim(store, replace(REFUND, turn="turn-2"), now=10.1)
    assert store.settle(old, "done", {"refund": "R-1"}).state == "done"
    assert claim(store, now=10.1).state == "claimed"


def test_a_claim_made_in_another_store_settles_nothing_here(store: Store):
    """Where memory stood in for a store that failed, and that store is back."""
    mine = claim(store)
    foreign = MemoryStore().claim(replace(REFUND, turn="turn-2"), owner="me", now=0.0)
    assert foreign.id == mine.id
    store.settle(foreign, "done")
    assert claim(store).state == "unknown"


def item(name: str, thread: str | None = "thread-1", **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "thread": thread,
        "turn": "turn-1",
        "target": "tool:create_refund",
        "what": f'create_refund(order="{name}", note="退款")',
        "state": "unknown",
        "queued": False,
        "at": 1.0,
        "priority": "high",
        **more,
    }


@pytest.mark.row("R2")
def test_unfinished_items_come_back_as_they_went_in_oldest_first(store: Store):
    for name in ("b", "a"):
        store.add(item(name), now=1.0)
    store.add(item("c", thread="thread-2"), now=1.0)
    store.add(item("d", thread=None), now=1.0)
    assert store.unfinished("thread-1") == [item("b"), item("a")]
    assert store.unfinished() == [item("b"), item("a"), item("c", thread="thread-2"), item("d", thread=None)]


@pytest.mark.row("R2")
def test_a_resolved_item_is_gone_in_its_own_thread_only(store: Store):
    store.add(item("a"), now=1.0)
    store.add(item("a", thread="thread-2"), now=1.0)
    store.add(item("a", thread=None), now=1.0)
    store.resolve("a", thread="thread-1")
    store.resolve("never", thread="thread-1")
    assert store.unfinished("thread-1") == []
    assert store.unfinished("thread-2") == [item("a", thread="thread-2")]
    store.resolve("a", thread=None)
    assert store.unfinished() == [item("a", thread="thread-2")]


@pytest.mark.row("R2")
def test_the_same_item_again_replaces_it(store: Store):
    store.add(item("a"), now=1.0)
    store.add(item("a", queued=True), now=2.0)
    assert store.unfinished("thread-1") == [item("a", queued=True)]


@pytest.mark.case("case-K07")
def test_nobody_can_change_a_kept_item(store: Store):
    mine = item("a", facts=["x"])
    store.add(mine, now=1.0)
    mine["facts"].append("y")
    store.unfinished()[0]["facts"].append("z")
    assert store.unfinished() == [item("a", facts=["x"])]


def test_old_items_are_forgotten(store: Store):
    store.add(item("a"), now=0.0)
    store.add(item("b"), now=KEEP)
    assert [kept["id"] for kept in store.unfinished()] == ["a", "b"]
    store.add(item("c"), now=KEEP + 1.0)
    assert [kept["id"] for kept in store.unfinished()] == ["b", "c"]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory_store, "MOST", 3)
    store = MemoryStore()
    for number in range(5):
        claim(store, replace(REFUND, turn=str(number)))
        store.add(item(str(number)), now=0.0)
    assert [kept["id"] for kept in store.unfinished()] == ["2", "3", "4"]
    assert claim(store, replace(REFUND, turn="4")).state == "unknown"
    assert claim(store, replace(REFUND, turn="0")).state == "claimed"


@pytest.mark.case("case-W01")
def test_of_many_threads_with_one_call_exactly_one_sends(store: Store):
    states = hammer(lambda number: claim(store).state, 16)
    assert states == Counter(claimed=1, unknown=15)


@pytest.mark.case("case-W01")
def test_of_many_workers_that_find_a_write_in_doubt_none_sends(store: Store):
    store.settle(claim(store), "unknown")
    states = hammer(lambda number: claim(store, replace(REFUND, tool_call_id=f"call-{number + 2}")).state, 16)
    assert states == Counter(unknown=16)


def test_parallel_intentional_writes_get_a_key_each(store: Store):
    keys = hammer(lambda number: claim(store, replace(REFUND, tool_call_id=f"call-{number}")).idempotency_key, 16)
    assert len(keys) == 16


def hammer(work: Callable[[int], str], count: int) -> Counter[str]:
    answers: list[str] = []
    start = threading.Barrier(count)

    def run(number: int) -> None:
        start.wait()
        answers.append(work(number))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Counter(answers)


class Backend(RuleBasedStateMachine):
    """A back end, an engine that keeps the rules, and every accident there is: what may never happen is a double.

    One intent, two processes. A call may be done and lose its reply, fail, crash before or after the effect; the read
    back tells the truth. A done write that was *reported* may be followed by an intentional second one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()
        self.life = 0
        self.calls = 0
        self.effects: Counter[str] = Counter()
        self.doubt: Claim | None = None

    def key(self, number: int) -> ClaimKey:
        return replace(REFUND, tool_call_id=f"call-{number}")

    @rule(done=st.booleans(), ends=st.sampled_from(["reply", "lost", "crash"]), replay=st.booleans())
    def call(self, done: bool, ends: str, replay: bool) -> None:
        self.calls += not replay
        mine = self.store.claim(self.key(self.calls), owner=str(self.life), now=0.0)
        if mine.state == "unknown":
            self.doubt = mine
        elif mine.state == "claimed":
            self.effects[mine.idempotency_key] += done
            self.end(mine, done, ends)

    def end(self, mine: Claim, done: bool, ends: str) -> None:
        if ends == "reply":
            self.store.settle(mine, "done" if done else "failed")
        elif ends == "lost":
            self.store.settle(mine, "unknown")
        else:
            self.life += 1

    @rule()
    def read_back(self) -> None:
        if self.doubt is not None:
            done = self.effects[self.doubt.idempotency_key] > 0
            self.store.settle(self.doubt, "done" if done else "failed")
            self.doubt = None

    @invariant()
    def no_key_was_ever_used_twice(self) -> None:
        assert all(count <= 1 for count in self.effects.values())

    @invariant()
    def at_most_one_write_is_in_doubt(self) -> None:
        rows = [row for intent in self.store._intents.values() for row in intent.rows]
        assert sum(row.state in ("unknown", "claimed") for row in rows) <= 1


@pytest.mark.case("case-W01")
@pytest.mark.case("case-W04")
def test_no_sequence_of_accidents_sends_a_write_twice():
    run_state_machine_as_test(Backend, settings=settings(max_examples=60, stateful_step_count=15, deadline=None))
