"""The two caches: what is handed out is a copy, is as old as it says, and nobody waits for a caller who is gone."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from langgraph_degrade.engine.cache import EMPTY_TTL, LARGEST, LEASE, Hit, LastGood, Lead, ReadThrough
from langgraph_degrade.engine.keys import canonical, scope_key
from langgraph_degrade.engine.ports import complete
from langgraph_degrade.policy import CachePolicy

pytestmark = pytest.mark.row("E3")

TTL = 30.0


def last_good(**policy: Any) -> LastGood:
    return LastGood(CachePolicy(**{"ttl": TTL, **policy}))


def read_through(**policy: Any) -> ReadThrough:
    return ReadThrough(CachePolicy(**{"ttl": TTL, **policy}))


def test_a_value_stands_in_until_its_ttl_and_tells_its_age():
    cache = last_good()
    cache.put("a", {"stock": 3}, 100.0)
    assert cache.get("a", 112.0) == Hit({"stock": 3}, 12.0)
    assert cache.get("a", 100.0 + TTL) == Hit({"stock": 3}, TTL)


def test_an_expired_value_is_never_served_and_is_dropped():
    cache = last_good()
    cache.put("a", 1, 0.0)
    assert cache.get("a", TTL + 0.001) is None
    assert len(cache) == 0
    assert cache.get("a", 1.0) is None


def test_none_is_a_value():
    cache = last_good()
    cache.put("a", None, 0.0)
    assert cache.get("a", 1.0) == Hit(None, 1.0)


@dataclass
class Order:
    items: list[str]


@pytest.mark.case("case-K07")
@pytest.mark.parametrize(
    ("make", "spoil"),
    [
        (lambda: {"items": ["a"]}, lambda value: value["items"].append("x")),
        (lambda: [{"a": 1}], lambda value: value[0].clear()),
        (lambda: ({"a": [1]},), lambda value: value[0]["a"].append(2)),
        (lambda: {"a": {1, 2}}, lambda value: value["a"].add(3)),
        (lambda: Order(["a"]), lambda value: value.items.append("x")),
        (lambda: {"order": Order(["a"])}, lambda value: value["order"].items.append("x")),
        (lambda: AIMessage("a", tool_calls=[]), lambda value: value.tool_calls.append("x")),
        (lambda: bytearray(b"a"), lambda value: value.append(1)),
    ],
)
def test_nobody_can_change_what_is_kept(make: Callable[[], Any], spoil: Callable[[Any], None]):
    cache, value = last_good(), make()
    cache.put("a", value, 0.0)
    spoil(value)
    first = cache.get("a", 1.0)
    assert first is not None
    assert first.value == make()
    spoil(first.value)
    assert cache.get("a", 1.0) == Hit(make(), 1.0)


def test_a_copy_is_of_the_same_types():
    value = {"a": (1, [2.0, True]), 3: {"b": None}, "c": b"x", "d": frozenset({1})}
    cache = last_good()
    cache.put("a", value, 0.0)
    hit = cache.get("a", 0.0)
    assert hit is not None
    assert repr(hit.value) == repr(value)


class Poison:
    def __deepcopy__(self, memo: object) -> object:
        raise LookupError("detached")


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    "value",
    [threading.Lock(), (number for number in range(3)), {"a": [threading.Lock()]}, Poison(), ENDLESS],
    ids=["lock", "generator", "nested lock", "raises", "endless"],
)
def test_what_cannot_be_copied_is_not_kept_and_nobody_crashes(value: object):
    cache = last_good()
    assert cache.put("a", value, 0.0) is False
    assert cache.get("a", 0.0) is None


@pytest.mark.parametrize(
    "value",
    [
        "x" * (LARGEST + 1),
        b"x" * (LARGEST + 1),
        ["x" * 1000] * 1000,
        list(range(LARGEST)),
        {str(number): number for number in range(20_000)},
        {"x" * (LARGEST + 1): 1},
        Order(["x" * (LARGEST + 1)]),
        AIMessage("x" * (LARGEST + 1)),
    ],
    ids=["text", "bytes", "many texts", "many numbers", "many keys", "a long key", "an object", "a message"],
)
def test_a_value_too_large_is_not_kept(value: object):
    assert last_good().put("a", value, 0.0) is False


def test_a_value_of_ordinary_size_is_kept():
    value = {"items": [{"sku": f"A-{number}", "name": "商品" * 20} for number in range(1000)]}
    assert last_good().put("a", value, 0.0) is True


def test_a_failed_put_leaves_the_last_good_value():
    cache = last_good()
    cache.put("a", 1, 0.0)
    cache.put("a", threading.Lock(), 1.0)
    assert cache.get("a", 2.0) == Hit(1, 2.0)


def test_the_least_recently_used_go_first():
    cache = last_good(max_entries=2)
    cache.put("a", 1, 0.0)
    cache.put("b", 2, 0.0)
    cache.get("a", 1.0)
    cache.put("c", 3, 1.0)
    assert [cache.get(key, 1.0) is not None for key in "abc"] == [True, False, True]
    assert len(cache) == 2


def test_a_late_result_never_replaces_a_newer_one():
    cache = last_good()
    cache.put("a", "new", 10.0)
    assert cache.put("a", "late", 5.0) is False
    assert cache.get("a", 10.0) == Hit("new", 0.0)


@pytest.mark.case("case-K04")
@pytest.mark.parametrize("empty", [[], {}, "", (), None])
def test_an_empty_value_is_kept_for_a_short_time_only(empty: object):
    cache = last_good()
    cache.put("a", empty, 0.0)
    assert cache.get("a", EMPTY_TTL) == Hit(empty, EMPTY_TTL)
    assert cache.get("a", EMPTY_TTL + 0.001) is None


@pytest.mark.case("case-K04")
def test_an_empty_value_never_lives_longer_than_the_policy_says():
    cache = last_good(ttl=1.0)
    cache.put("a", [], 0.0)
    assert cache.get("a", 1.5) is None


@pytest.mark.parametrize("value", [0, False, 0.0])
def test_zero_and_false_are_not_empty(value: object):
    cache = last_good()
    cache.put("a", value, 0.0)
    assert cache.get("a", TTL) is not None


def test_an_empty_value_inside_a_full_one_can_be_pointed_out():
    cache = last_good()
    cache.put("a", {"code": 0, "data": []}, 0.0, empty=True)
    assert cache.get("a", EMPTY_TTL + 0.001) is None


def test_an_empty_answer_is_newer_than_the_full_one_it_replaces():
    """When it goes nothing stands in: the older value is known to be wrong by then."""
    cache = last_good()
    cache.put("a", ["order"], 0.0)
    cache.put("a", [], 1.0)
    assert cache.get("a", 2.0) == Hit([], 1.0)
    assert cache.get("a", 7.0) is None


@pytest.mark.case("case-K01")
def test_one_users_value_never_stands_in_for_anothers():
    cache, args = last_good(), canonical({"question": "我的订单到哪了"})
    keys = {
        user: (scope_key(("user_id",), configurable={"user_id": user}, context=None, thread_id="t"), args)
        for user in (1, "1", 0, "")
    }
    cache.put(keys[1], "on its way", 0.0)
    assert [user for user, key in keys.items() if cache.get(key, 1.0)] == [1]


def test_threads_share_a_cache_and_it_stays_bounded():
    cache, wrong = last_good(max_entries=8), Counter[str]()

    def work(number: int) -> None:
        for turn in range(300):
            key = (number + turn) % 16
            cache.put(key, {"key": key, "items": [key]}, float(turn))
            hit = cache.get(key, float(turn))
            if hit is not None and hit.value != {"key": key, "items": [key]}:
                wrong["value"] += 1
            if len(cache) > 8:
                wrong["size"] += 1

    run_threads(work, 8)
    assert wrong == Counter()
    assert len(cache) == 8


def run_threads(work: Callable[[int], None], count: int) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# Single flight: one algorithm, and the two ways to wait.

Wait = Callable[["Future[None]", float], Awaitable[bool]]


async def blocking(future: Future[None], seconds: float) -> bool:
    return bool(wait([future], seconds).done)


async def suspending(future: Future[None], seconds: float) -> bool:
    done, _ = await asyncio.wait([asyncio.wrap_future(future)], timeout=seconds)
    return bool(done)


class Queue:
    """Waits as `suspending` does, and tells when so many wait."""

    def __init__(self, length: int) -> None:
        self._missing = length
        self.complete = asyncio.Event()

    async def wait(self, future: Future[None], seconds: float) -> bool:
        self._missing -= 1
        if self._missing == 0:
            self.complete.set()
        return await suspending(future, seconds)


async def load(cache: ReadThrough, key: str, fetch: Callable[[], Awaitable[Any]], wait_for: Wait) -> Any:
    while True:
        match cache.claim(key, 0.0):
            case Hit(value, _):
                return value
            case Lead() as lead:
                with lead:
                    value = await fetch()
                    lead.fulfil(value, 0.0)
                    return value
            case future:
                assert await wait_for(future, 5.0)


class Backend:
    """Answers when it is told to, and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.called = threading.Event()
        self.answer = threading.Event()

    async def fetch(self) -> list[str]:
        self.calls += 1
        self.called.set()
        assert self.answer.wait(5.0)
        return ["value"]


class AsyncBackend:
    def __init__(self) -> None:
        self.calls = 0
        self.called = asyncio.Event()
        self.answer = asyncio.Event()

    async def fetch(self) -> list[str]:
        self.calls += 1
        self.called.set()
        await self.answer.wait()
        return ["value"]


def test_the_first_caller_leads_and_the_others_wait():
    cache = read_through()
    lead = cache.claim("a", 0.0)
    future = cache.claim("a", 0.0)
    assert isinstance(lead, Lead)
    assert isinstance(future, Future)
    assert isinstance(cache.claim("b", 0.0), Lead)
    with lead:
        assert lead.fulfil("value", 1.0) is True
        assert not future.done()
    assert future.done()
    assert cache.claim("a", 3.0) == Hit("value", 2.0)


def test_a_value_past_its_ttl_is_loaded_again():
    cache = read_through()
    with cache.claim("a", 0.0) as lead:
        lead.fulfil("value", 0.0)
    assert isinstance(cache.claim("a", TTL + 0.001), Lead)


@pytest.mark.case("case-K07")
def test_callers_of_one_load_get_a_value_each():
    cache = read_through()
    value = {"items": ["a"]}
    with cache.claim("a", 0.0) as lead:
        lead.fulfil(value, 0.0)
    value["items"].append("x")
    first = cache.claim("a", 0.0)
    assert isinstance(first, Hit)
    first.value["items"].append("y")
    assert cache.claim("a", 0.0) == Hit({"items": ["a"]}, 0.0)


@pytest.mark.case("case-K10")
async def test_many_tasks_make_one_call():
    cache, backend = read_through(), AsyncBackend()
    tasks = [asyncio.create_task(load(cache, "a", backend.fetch, suspending)) for _ in range(50)]
    await backend.called.wait()
    backend.answer.set()
    assert await asyncio.gather(*tasks) == [["value"]] * 50
    assert backend.calls == 1


@pytest.mark.case("case-K10")
def test_many_threads_make_one_call():
    cache, backend, values = read_through(), Backend(), []
    backend.answer.set()
    run_threads(lambda _: values.append(complete(load(cache, "a", backend.fetch, blocking))), 16)
    assert values == [["value"]] * 16
    assert backend.calls == 1


@pytest.mark.case("case-K10")
async def test_a_waiter_takes_over_from_a_cancelled_leader():
    cache, backend = read_through(), AsyncBackend()
    leader = asyncio.create_task(load(cache, "a", backend.fetch, suspending))
    await backend.called.wait()
    queue = Queue(2)
    followers = [asyncio.create_task(load(cache, "a", backend.fetch, queue.wait)) for _ in range(2)]
    await queue.complete.wait()
    backend.called.clear()
    leader.cancel()
    await backend.called.wait()
    backend.answer.set()
    assert await asyncio.gather(*followers) == [["value"]] * 2
    assert leader.cancelled()
    assert backend.calls == 2
    assert cache._pending == {}


@pytest.mark.case("case-K10")
async def test_a_cancelled_waiter_disturbs_nobody():
    cache, backend = read_through(), AsyncBackend()
    leader = asyncio.create_task(load(cache, "a", backend.fetch, suspending))
    await backend.called.wait()
    queue = Queue(2)
    followers = [asyncio.create_task(load(cache, "a", backend.fetch, queue.wait)) for _ in range(2)]
    await queue.complete.wait()
    followers[0].cancel()
    await asyncio.wait([followers[0]])
    backend.answer.set()
    assert await asyncio.gather(leader, followers[1]) == [["value"]] * 2
    assert backend.calls == 1


@pytest.mark.case("case-K10")
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, asyncio.CancelledError])
def test_a_failed_load_is_neither_kept_nor_shared(error: type[BaseException]):
    cache = read_through()
    future: object = None
    with pytest.raises(error), cache.claim("a", 0.0):
        future = cache.claim("a", 0.0)
        raise error
    assert isinstance(future, Future)
    assert future.result(0) is None
    assert cache._pending == {}
    assert isinstance(cache.claim("a", 0.0), Lead)


@pytest.mark.case("case-K05")
def test_a_leader_with_a_degraded_answer_keeps_it_to_itself():
    cache = read_through()
    with cache.claim("a", 0.0):
        pass
    assert isinstance(cache.claim("a", 0.0), Lead)
    assert len(cache) == 0


@pytest.mark.case("case-K10")
def test_a_leader_that_never_came_back_is_given_up():
    cache = read_through()
    lost, future = cache.claim("a", 0.0), cache.claim("a", 1.0)
    assert isinstance(cache.claim("a", LEASE), Future)
    successor = cache.claim("a", LEASE + 1.0)
    assert isinstance(lost, Lead)
    assert isinstance(future, Future)
    assert isinstance(successor, Lead)
    with lost:
        pass
    assert not future.done()
    assert isinstance(cache.claim("a", LEASE + 2.0), Future)
    with successor:
        successor.fulfil("value", LEASE + 2.0)
    assert future.done()
    assert cache.claim("a", LEASE + 2.0) == Hit("value", 0.0)


def test_a_late_result_is_still_a_result():
    cache = read_through()
    with cache.claim("a", 0.0) as lead:
        pass
    lead.fulfil("value", 2.0)
    assert cache.claim("a", 3.0) == Hit("value", 1.0)


@pytest.mark.case("case-K10")
def test_a_waiter_waits_no_longer_than_its_own_time():
    cache = read_through()
    cache.claim("a", 0.0)
    future = cache.claim("a", 0.0)
    assert isinstance(future, Future)
    with pytest.raises(TimeoutError):
        future.result(0.0)


@pytest.mark.case("case-K10")
async def test_threads_and_tasks_can_wait_for_each_other():
    cache, backend, values = read_through(), Backend(), []
    thread = threading.Thread(
        target=lambda: values.append(complete(load(cache, "a", backend.fetch, blocking))), daemon=True
    )
    thread.start()
    assert backend.called.wait(5.0)
    queue = Queue(1)
    task = asyncio.create_task(load(cache, "a", backend.fetch, queue.wait))
    await queue.complete.wait()
    backend.answer.set()
    assert await task == ["value"]
    thread.join()
    assert values == [["value"]]
    assert backend.calls == 1
