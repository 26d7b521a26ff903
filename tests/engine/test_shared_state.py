"""Processes tell each other of openings through a storage people have; a dead one changes nothing (spec B8, S3)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pybreaker
import pytest
import redis

from langgraph_degrade.engine.shared_state import SharedState
from langgraph_degrade.testing import FakeClock
from tests.engine.processes import Worker
from tests.services import Redis

pytestmark = [pytest.mark.row("B8"), pytest.mark.row("S3")]


class Shared(Worker):
    """A worker whose looks at the storage, and writes to it, happen when the test says."""

    def __init__(self, storage: pybreaker.CircuitBreakerStorage, clock: FakeClock | None = None) -> None:
        super().__init__(clock)
        self.shared = SharedState(storage, self.breaker, self.clock, name="tool:get_stock", open_for=30.0)
        self.breaker.on_change = self.shared.changed

    def look(self, after: float = 1.0) -> str:
        """Look again after `after` seconds; the state then."""
        self.shared.stop()  # what waits is written
        self.clock.advance(after)
        self.shared.poll()
        return self.breaker.state(self.clock.monotonic())


@pytest.fixture
def client(redis_url: str) -> Iterator[Any]:
    with closing(redis.Redis.from_url(redis_url)) as client:
        yield client


@pytest.fixture
def storage(client: Any) -> pybreaker.CircuitRedisStorage:
    return pybreaker.CircuitRedisStorage(pybreaker.STATE_CLOSED, client, namespace="get_stock")


def opened_at(client: Any) -> int:
    return int(client.get("get_stock:pybreaker:opened_at"))


def test_what_one_worker_opens_the_others_open(storage: Any, client: Any) -> None:
    opener, other = Shared(storage), Shared(storage)
    opener.fail()
    opener.shared.stop()
    assert client.get("get_stock:pybreaker:state") == b"open"
    assert other.look() == "open"
    assert 28.0 <= other.breaker.retry_after(other.clock.monotonic()) <= 30.0


@pytest.mark.case("case-B11")
def test_thirty_two_observers_leave_opened_at_as_the_opener_wrote_it(storage: Any, client: Any) -> None:
    opener = Shared(storage)
    opener.fail()
    opener.shared.stop()
    client.decr("get_stock:pybreaker:opened_at", 5)  # five seconds ago by the server's clock, which all share
    written = opened_at(client)
    for _ in range(32):
        other = Shared(storage)
        assert other.look() == "open"
        assert other.breaker.retry_after(other.clock.monotonic()) <= 25.0
        assert other.look(after=31.0) == "half_open"
        other.succeed_until("closed")
        other.shared.stop()
    assert opened_at(client) == written
    assert client.get("get_stock:pybreaker:state") == b"open"


def test_one_opening_is_followed_once(storage: Any) -> None:
    opener, other = Shared(storage), Shared(storage)
    opener.fail()
    opener.shared.stop()
    assert other.look() == "open"
    other.face.close()
    assert other.look() == "closed"
    assert other.look(after=3600.0) == "closed"


def test_a_worker_whose_own_probes_fail_says_so(storage: Any, client: Any) -> None:
    opener, other = Shared(storage), Shared(storage)
    opener.fail()
    opener.shared.stop()
    client.decr("get_stock:pybreaker:opened_at", 20)
    written = opened_at(client)
    assert other.look() == "open"
    other.clock.advance(30.0)
    other.fail(1)
    other.shared.stop()
    assert opened_at(client) >= written + 20


@pytest.mark.case("case-B11")
def test_open_left_behind_by_a_dead_process_opens_nobody(storage: Any, client: Any) -> None:
    opener = Shared(storage)
    opener.fail()
    opener.shared.stop()
    client.decr("get_stock:pybreaker:opened_at", 31)
    assert Shared(storage).look() == "closed"


@pytest.mark.case("case-B13")
def test_opened_in_the_future_counts_as_just_now(storage: Any, client: Any) -> None:
    opener, other = Shared(storage), Shared(storage)
    opener.fail()
    opener.shared.stop()
    client.incr("get_stock:pybreaker:opened_at", 10**7)
    assert other.look() == "open"
    assert other.breaker.retry_after(other.clock.monotonic()) == 30.0


@pytest.mark.case("case-B11")
def test_an_evicted_key_is_no_hint_and_stays_evicted(storage: Any, client: Any) -> None:
    worker = Shared(storage)
    client.flushall()
    assert worker.look() == "closed"
    assert client.keys() == []
    worker.fail()
    worker.shared.stop()
    client.delete("get_stock:pybreaker:state", "get_stock:pybreaker:opened_at")
    assert worker.look() == "open"  # by its own word, until its own time
    worker.clock.advance(30.0)
    assert worker.breaker.acquire(worker.clock.monotonic()) is not None


@pytest.mark.case("case-B11")
def test_open_without_a_time_counts_as_just_now_and_once(storage: Any, client: Any) -> None:
    worker = Shared(storage)
    client.set("get_stock:pybreaker:state", "open")
    assert worker.look() == "open"
    worker.face.close()
    assert worker.look() == "closed"


@pytest.mark.case("case-B11")
def test_a_redis_that_dies_neither_opens_nor_closes_anything(caplog: pytest.LogCaptureFixture) -> None:
    with Redis() as server, closing(redis.Redis.from_url(server.url)) as client:
        storage = pybreaker.CircuitRedisStorage(pybreaker.STATE_CLOSED, client, namespace="get_stock")
        worker, other = Shared(storage), Shared(storage)
        server.stop()
        with caplog.at_level(logging.WARNING, "langgraph_degrade"):
            assert worker.look() == "closed"
            worker.fail()
            assert worker.look() == "open"
            assert other.look() == "closed"
            other.fail()  # the same rules, alone
            assert other.look() == "open"
        assert not worker.shared.reachable
        assert caplog.text.count("deciding alone") == 2  # once a worker, not once a look
        server.start()
        assert worker.look() == "open"
        assert worker.shared.reachable
        worker.clock.advance(30.0)
        worker.succeed_until("closed")
        worker.shared.stop()
        assert client.get("get_stock:pybreaker:state") == b"closed"


def test_it_looks_at_most_once_a_second(storage: Any, client: Any) -> None:
    worker = Shared(storage)
    before = client.info("commandstats")["cmdstat_get"]["calls"]
    for _ in range(100):
        worker.clock.advance(0.1)
        worker.shared.poll()
    assert client.info("commandstats")["cmdstat_get"]["calls"] - before == 10


def test_the_state_is_read_and_a_call_admitted_without_a_word_to_redis(storage: Any, client: Any) -> None:
    worker = Shared(storage)
    before = client.info("stats")["total_commands_processed"]
    for _ in range(100):
        assert worker.face.state.name == "closed"
        permit = worker.breaker.acquire(0.0)
        assert permit is not None
        worker.breaker.succeed(permit, 0.0)
    assert client.info("stats")["total_commands_processed"] - before == 1  # the `info` before


def test_a_client_that_decodes_and_a_plain_storage_work_as_well(redis_url: str) -> None:
    memory = pybreaker.CircuitMemoryStorage(pybreaker.STATE_CLOSED)
    with closing(redis.Redis.from_url(redis_url, decode_responses=True)) as client:
        decoding = pybreaker.CircuitRedisStorage(pybreaker.STATE_CLOSED, client, namespace="get_stock")
        for storage in (decoding, memory):
            opener, other = Shared(storage), Shared(storage)
            opener.fail()
            opener.shared.stop()
            assert other.look() == "open"
