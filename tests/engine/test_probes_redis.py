"""One prober per target over many machines: Redis says whose turn it is, and keeps what was found."""

from __future__ import annotations

import threading
from contextlib import ExitStack, nullcontext
from functools import partial
from random import Random

import pytest
import redis
from langchain_core.tools import tool

from langgraph_degrade import Degrader, Policy
from langgraph_degrade.engine.clock import SystemClock
from langgraph_degrade.engine.probes import Probes
from langgraph_degrade.engine.target import Target
from langgraph_degrade.engine.workers import Workers
from langgraph_degrade.store.leases_redis import RedisLeases
from langgraph_degrade.testing.clock import TICK
from tests.engine.acid import PATIENTLY
from tests.engine.races import holders

pytestmark = pytest.mark.row("M3")


@tool
def get_stock(sku: str) -> int:
    """Look the stock up."""
    return len(sku)


def redis_leases(url: str) -> RedisLeases:
    return RedisLeases(redis.Redis.from_url(url, socket_timeout=PATIENTLY))


@pytest.mark.row("S3")
def test_redis_lends_a_target_to_one_process_at_a_time(redis_url: str):
    """Its clock decides, whatever the processes think what time it is."""
    client = redis.Redis.from_url(redis_url)
    first, second = redis_leases(redis_url), redis_leases(redis_url)
    assert first.try_hold("model:main", "a", 60.0, 1000.0)
    assert not second.try_hold("model:main", "b", 60.0, 9e9)
    assert second.try_hold("model:backup", "b", 60.0, 0.0)
    assert first.try_hold("model:main", "a", 30.0, 0.0)
    assert 29_000 < client.pttl("degrade:prober:model:main") <= 30_000
    assert second.published("model:main") is None
    first.publish("model:main", "a", "nöte", 0.0)
    found = second.published("model:main")
    assert found is not None
    assert found[0] == "nöte"
    assert abs(SystemClock().time() - found[1]) < PATIENTLY
    client.delete("degrade:prober:model:main")  # as if its time were over
    assert second.try_hold("model:main", "b", 60.0, 0.0)
    first.publish("model:main", "a", "late", 0.0)
    assert (second.published("model:main") or ("", 0))[0] == "nöte"
    other = RedisLeases(client, prefix="other:")
    assert other.try_hold("model:main", "c", 60.0, 0.0)


@pytest.mark.row("S3")
def test_of_twenty_that_ask_redis_at_once_one_gets_it(redis_url: str):
    assert len(holders(lambda: nullcontext(redis_leases(redis_url)), 20)) == 1


@pytest.mark.row("S3")
def test_degraders_that_share_redis_make_one_prober_and_all_know_what_it_found(redis_url: str):
    asked, degraders = list[str](), list[Degrader]()
    policy = Policy.model_validate(
        {
            "models": {"probe": {"every": "50ms"}},
            "tools": {"get_stock": {"effect": "read", "probe": "ping"}},
        }
    )
    downs = [threading.Semaphore(0) for _ in range(3)]

    def ping(who: str) -> bool:
        asked.append(who)
        return False

    for number, down in enumerate(downs):
        degrader = Degrader(policy, leases=redis_leases(redis_url))
        degrader.register(ping=partial(ping, str(number)))
        degrader.tool(get_stock)
        degraders.append(degrader)
        threading.Thread(target=_until_down, args=(degrader, down), daemon=True).start()
    with ExitStack() as stack:
        for degrader in degraders:
            stack.enter_context(degrader)
        for down in downs:
            assert down.acquire(timeout=PATIENTLY)
        assert len(set(asked)) == 1


def _until_down(degrader: Degrader, down: threading.Semaphore) -> None:
    watched = degrader._engine.target("tool:get_stock")
    while watched.health is None or watched.health.is_well:
        threading.Event().wait(TICK)
    down.release()


@pytest.mark.row("S3")
def test_without_redis_each_process_probes_for_itself():
    asked = threading.Semaphore(0)
    nowhere = RedisLeases(redis.Redis(host="127.0.0.1", port=9, socket_timeout=0.1))
    probes = Probes(SystemClock(), Random(1), Workers(idle_timeout=0.01), leases=nowhere)
    probes.watch(Target("model:main", Policy().target("model:main"), source="model"), asked.release, every=0.05)
    probes.start()
    assert all(asked.acquire(timeout=PATIENTLY) for _ in range(3))
    probes.stop()
