"""Targets are asked small requests, by one thread or one task, and nobody waits for it (spec M3, M4)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest
from langchain_core.messages import AIMessage
from langgraph.errors import GraphBubbleUp

from langgraph_degrade.engine.clock import SystemClock
from langgraph_degrade.engine.health import ProbeRule
from langgraph_degrade.engine.patrol import Patrol
from langgraph_degrade.engine.plan import is_async_callable
from langgraph_degrade.engine.ports import SyncPorts, complete
from langgraph_degrade.engine.probes import Probes
from langgraph_degrade.engine.scope import ACTIVE
from langgraph_degrade.engine.target import Target
from langgraph_degrade.engine.watch import Watch, failure_in, speaks_of
from langgraph_degrade.engine.workers import Worker, Workers
from langgraph_degrade.failures import Failure, classify
from langgraph_degrade.policy import Policy
from langgraph_degrade.store import SqliteStore
from langgraph_degrade.store.leases import MemoryLeases, SqliteLeases
from langgraph_degrade.testing import FakeClock, run_virtual
from langgraph_degrade.testing.clock import TICK, job_of
from tests.engine.acid import PATIENTLY
from tests.engine.races import holders

pytestmark = pytest.mark.row("M3")

EVERY = 30.0
Colour = Literal["sync", "async"]
What = Literal["ok", "down", "hangs", "slow"]


def target(name: str = "model:main") -> Target:
    return Target(name, Policy().target(name), source="model")


def admits(asked: Target, now: float) -> bool:
    permit = asked.admit(now, print)
    if isinstance(permit, Failure):
        return False
    asked.release(permit, now)
    return True


class Service:
    """What is probed: it does what `does` says of the time."""

    def __init__(self, clock: FakeClock, colour: Colour, does: Callable[[float], What]) -> None:
        self.asked = list[float]()
        self._clock = clock
        self._does = does
        self.probe = self._probe if colour == "sync" else self._aprobe

    def _probe(self) -> str:
        return complete(self._answer(self._sleep))

    async def _aprobe(self) -> str:
        return await self._answer(asyncio.sleep)

    async def _sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)

    async def _answer(self, sleep: Callable[[float], Coroutine[Any, Any, Any]]) -> str:
        now = self._clock.monotonic()
        self.asked.append(now)
        what = self._does(now)
        if what == "down":
            raise ConnectionRefusedError
        if what != "ok":
            await sleep(20.0 if what == "hangs" else 4.0)
        return "pong"


class Inline:
    """The sync colour without a thread: the same patrol, and time that a test can follow second by second."""

    def __init__(self, clock: FakeClock, until: float, every_second: Callable[[float], object]) -> None:
        self._workers = Workers(idle_timeout=0.05)
        self.ports = SyncPorts(clock, self._workers)
        self._clock, self._until, self._every_second = clock, until, every_second
        self.is_over = False

    def spawn(self, look: Callable[[], Coroutine[Any, Any, None]]) -> None:
        complete(look())

    async def pause(self, seconds: float) -> None:
        end = self._clock.monotonic() + seconds
        while self._clock.monotonic() < end and not self.is_over:
            now = self._clock.monotonic()
            self._clock.advance_to(min(end, float(int(now) + 1)))
            self._let_workers_end()
            self._every_second(now)
            self.is_over = now >= self._until

    def _let_workers_end(self) -> None:
        """What the time has woken up ends now, as it would in real time."""
        ours = [each for each in threading.enumerate() if isinstance(each, Worker) and each._pool is self._workers]
        for thread in ours:
            while (job := job_of(thread)) is not None and not self._clock.is_asleep(job):
                threading.Event().wait(TICK)


class Day:
    """Targets that are probed for some time, in one colour, and when each would have admitted a call."""

    def __init__(self, clock: FakeClock, colour: Colour, seed: int = 1) -> None:
        self.clock, self.colour, self.chance = clock, colour, Random(seed)
        self.watched = list[tuple[Target, Service]]()
        self.open_at = dict[str, list[tuple[float, bool]]]()

    def service(self, does: Callable[[float], What], name: str = "model:main") -> Service:
        service = Service(self.clock, self.colour, does)
        self.watched.append((target(name), service))
        return service

    def run(self, seconds: float) -> None:
        if self.colour == "async":
            run_virtual(self._in_a_loop(seconds), self.clock)
            return
        patrol = Patrol(self.clock, self.chance, None, "test")
        for watched, service in self.watched:
            is_async = is_async_callable(service.probe)
            patrol.join(Watch(watched, service.probe, ProbeRule(every=EVERY), is_async))
        complete(patrol.run(Inline(self.clock, seconds, self._look)))

    async def _in_a_loop(self, seconds: float) -> None:
        probes = Probes(self.clock, self.chance, Workers(idle_timeout=0.05))
        for watched, service in self.watched:
            probes.watch(watched, service.probe, every=EVERY)
        await probes.astart()
        while self.clock.monotonic() < seconds:
            self._look(self.clock.monotonic())
            await asyncio.sleep(1.0)
        await probes.astop()

    def _look(self, now: float) -> None:
        for watched, _ in self.watched:
            self.open_at.setdefault(watched.name, []).append((now, admits(watched, now)))

    def switches(self, name: str = "model:main") -> list[tuple[float, bool]]:
        """When traffic moved, and whether it came back."""
        looks = self.open_at[name]
        return [later for earlier, later in pairwise(looks) if earlier[1] != later[1]]


@pytest.fixture
def day(clock: FakeClock, colour: Colour) -> Day:
    return Day(clock, colour)


def outage(what: What) -> Callable[[float], What]:
    return lambda now: what if 600 <= now < 1200 else "ok"


@pytest.mark.row("M4")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("what", ["down", "hangs", "slow"])
def test_ten_minutes_of_outage_move_traffic_within_two_intervals_and_back_within_three(
    clock: FakeClock, colour: Colour, what: What, seed: int
):
    day = Day(clock, colour, seed)
    day.service(outage(what))
    day.run(1500)
    (left, was_open), (came_back, is_open) = day.switches()
    assert (was_open, is_open) == (False, True)
    assert 600 < left <= 600 + 2 * EVERY + 1
    assert 1200 < came_back <= 1200 + 3 * EVERY + 1


def test_a_dead_target_is_left_in_peace_between_its_probes(day: Day):
    service = day.service(lambda now: "down" if now >= 300 else "ok")
    day.run(3900)
    assert sum(now >= 400 for now in service.asked) == pytest.approx(3500 / EVERY, rel=0.05)


def test_a_healthy_one_is_probed_every_thirty_seconds(day: Day):
    service = day.service(lambda _: "ok")
    day.run(3600)
    gaps = [later - earlier for earlier, later in pairwise(service.asked)]
    assert 27 <= min(gaps) < 28
    assert 32 < max(gaps) <= 33
    assert day.switches() == []


def test_one_failed_probe_now_and_then_moves_nothing(day: Day):
    service = day.service(lambda _: "down" if len(service.asked) % 4 == 0 else "ok")
    day.run(3600)
    assert day.switches() == []


@pytest.mark.parametrize("seed", range(6))
def test_sixty_percent_success_for_an_hour_does_not_flap(clock: FakeClock, colour: Colour, seed: int):
    day, noise = Day(clock, colour, seed), Random(seed)
    day.service(lambda _: "ok" if noise.random() < 0.6 else "down")
    day.run(3600)
    assert len(day.switches()) <= 2


def test_targets_are_not_probed_in_the_same_moment(day: Day):
    services = [day.service(lambda _: "ok", f"tool:{number}") for number in range(10)]
    day.run(EVERY)
    first = sorted(service.asked[0] for service in services)
    assert min(later - earlier for earlier, later in pairwise(first)) > EVERY / 40


def test_a_probe_passes_an_open_breaker_and_is_in_nobodys_request(day: Day):
    service = day.service(lambda _: "ok")
    (watched, _) = day.watched[0]
    for breaker in watched.breakers:
        breaker.open(0.0, 1000.0)
    scopes = list[object]()
    original = service._answer

    async def answer(sleep: Any) -> str:
        scopes.append(ACTIVE.get())
        return await original(sleep)

    service._answer = answer
    day.run(300)
    assert len(scopes) >= 9
    assert set(scopes) == {None}
    assert {breaker.state(300.0) for breaker in watched.breakers} == {"open"}


def test_a_sync_probe_that_hangs_is_sent_again_after_ten_intervals_and_four_times_in_all(clock: FakeClock):
    day, released = Day(clock, "async"), threading.Event()
    watched, asked = target(), list[float]()

    def probe() -> None:
        asked.append(clock.monotonic())
        clock.hang(released)

    async def run() -> None:
        probes = Probes(clock, Random(1), Workers(idle_timeout=0.05))
        probes.watch(watched, probe)
        day.watched.append((watched, Service(clock, "async", lambda _: "ok")))
        await probes.astart()
        for _ in range(1800):
            day._look(clock.monotonic())
            await asyncio.sleep(1.0)
        await probes.astop()

    run_virtual(run(), clock)
    (left, _), (lapsed, is_open) = day.switches()
    assert left < 2 * EVERY + 1
    assert is_open
    assert 40 * EVERY < lapsed < 50 * EVERY
    assert len(asked) == 4
    assert all(later - earlier > 10 * EVERY for earlier, later in pairwise(asked))


# What a probe says


ONE_TOKEN = AIMessage("H", response_metadata={"finish_reason": "length"})


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (ONE_TOKEN, True),
        (AIMessage("", response_metadata={"stop_reason": "max_tokens"}), True),
        (None, True),
        (True, True),
        (False, False),
        ({"error": {"message": "overloaded", "code": 503}}, False),
        (AIMessage("", response_metadata={"finish_reason": "content_filter"}), None),
    ],
)
def test_a_value_speaks_for_or_against_its_target_or_not_at_all(found: Any, says: bool | None):
    assert speaks_of(failure_in(found, target())) is says


@pytest.mark.parametrize(
    ("error", "says"),
    [(TimeoutError(), False), (ConnectionResetError(), False), (RuntimeError("x"), False), (ValueError("no"), True)],
)
def test_an_error_is_classified_and_a_no_is_an_answer(error: Exception, says: bool):
    assert speaks_of(classify(error, source="tool")) is says


# The thread


@pytest.fixture
def workers() -> Workers:
    return Workers(idle_timeout=0.01)


@contextmanager
def running(workers: Workers, *probed: tuple[Target, Callable[[], Any]], **options: Any) -> Iterator[Probes]:
    """Probes in real time, and so fast that nobody waits."""
    probes = Probes(SystemClock(), Random(1), workers)
    for watched, probe in probed:
        probes.watch(watched, probe, **{"every": 0.05, "slow": PATIENTLY} | options)
    probes.start()
    try:
        yield probes
    finally:
        probes.stop()


class Asked:
    """A probe that says how often it was asked."""

    def __init__(self, does: Callable[[], Any] = lambda: None) -> None:
        self._asked = threading.Semaphore(0)
        self._does = does

    def __call__(self) -> Any:
        self._asked.release()
        return self._does()

    def wait(self, times: int) -> None:
        for _ in range(times):
            assert self._asked.acquire(timeout=PATIENTLY)


def new_threads(before: set[threading.Thread]) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread not in before]


def test_nothing_runs_before_the_start_nor_without_a_probe(workers: Workers):
    before = set(threading.enumerate())
    probes = Probes(SystemClock(), Random(1), workers)
    probes.start()
    probes.stop()
    probes.watch(target(), Asked())
    assert new_threads(before) == []


def test_stop_leaves_no_thread_and_refuses_nobody(workers: Workers):
    before, watched, probe = set(threading.enumerate()), target(), Asked(lambda: False)
    with running(workers, (watched, probe)):
        probe.wait(12)
        assert not admits(watched, SystemClock().monotonic())
        assert "degrade-probes" in [thread.name for thread in new_threads(before)]
    assert "degrade-probes" not in [thread.name for thread in new_threads(before)]
    assert admits(watched, SystemClock().monotonic())
    for worker in new_threads(before):
        worker.join(PATIENTLY)
    assert new_threads(before) == []


def test_a_hanging_probe_delays_neither_the_others_nor_the_stop(workers: Workers):
    released, clock = threading.Event(), SystemClock()
    hanging, other = Asked(lambda: released.wait(PATIENTLY)), Asked()
    probed = [(target("tool:a"), hanging), (target("tool:b"), other)]
    with running(workers, *probed) as probes:
        hanging.wait(1)
        other.wait(10)
        started = clock.monotonic()
        probes.stop()
        assert clock.monotonic() - started < 1.0
    released.set()


def test_what_a_probe_must_not_raise_ends_neither_thread_nor_traffic(workers: Workers):
    def leave() -> None:
        raise SystemExit(3)

    def interrupt() -> None:
        raise GraphBubbleUp

    async def mistaken() -> None: ...

    for does in (leave, interrupt, lambda: mistaken()):  # noqa: PLW0108 - not seen to be async
        watched, probe = target(), Asked(does)
        with running(workers, (watched, probe)):
            probe.wait(10)
            assert watched.health is not None
            assert watched.health.is_well


class AskedAsync(Asked):
    """The same, async, and in which loops it was."""

    loops: set[asyncio.AbstractEventLoop]

    async def __call__(self) -> Any:
        self.loops = {*getattr(self, "loops", ()), asyncio.get_running_loop()}
        self._asked.release()
        done = self._does()
        return await done if asyncio.iscoroutine(done) else done


def test_a_thread_makes_async_probes_each_in_a_loop_of_its_own_that_stays(workers: Workers):
    before = set(threading.enumerate())
    first, second = AskedAsync(), AskedAsync()
    with running(workers, (target(), first), (target("model:backup"), second)):
        first.wait(3)
        second.wait(3)
    assert len(first.loops) == len(second.loops) == 1
    assert first.loops != second.loops
    for thread in new_threads(before):
        thread.join(PATIENTLY)
    assert new_threads(before) == []
    assert all(loop.is_closed() for loop in first.loops | second.loops)


def test_an_async_probe_that_fails_moves_traffic_away_from_a_thread_too(workers: Workers):
    async def down() -> None:
        raise ConnectionRefusedError

    watched, probe = target(), AskedAsync(down)
    with running(workers, (watched, probe)):
        probe.wait(10)
        assert not admits(watched, SystemClock().monotonic())


def test_an_async_probe_that_hangs_is_cancelled_and_asked_again(workers: Workers):
    cancelled = threading.Semaphore(0)

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.release()
            raise

    watched, probe = target(), AskedAsync(hang)
    with running(workers, (watched, probe), slow=0.02):
        for _ in range(10):
            assert cancelled.acquire(timeout=PATIENTLY)
        assert watched.health is not None
        assert not watched.health.is_well


def test_an_async_probe_that_blocks_holds_up_no_other(workers: Workers):
    release = threading.Event()

    async def block() -> None:
        release.wait(PATIENTLY)

    blocking, other = AskedAsync(block), AskedAsync()
    fine = target("model:backup")
    with running(workers, (target(), blocking), (fine, other), slow=0.02):
        blocking.wait(1)
        other.wait(10)
        assert admits(fine, SystemClock().monotonic())
        release.set()


def test_a_client_of_another_event_loop_says_nothing_about_its_target(workers: Workers, caplog: Any):
    async def foreign() -> None:
        raise RuntimeError("<asyncio.locks.Event> is bound to a different event loop")

    watched, probe = target(), AskedAsync(foreign)
    with running(workers, (watched, probe)):
        probe.wait(5)
        assert watched.health is not None
        assert watched.health.is_well
    assert "does not probe: NotAProbe" in caplog.text


def test_a_target_that_joins_while_they_run_is_probed_too_and_only_once(workers: Workers):
    first, second, never = Asked(), Asked(), Asked()
    with running(workers) as probes:
        watched = target()
        probes.watch(watched, first, every=0.05)
        probes.watch(watched, never, every=0.05)
        first.wait(2)
        probes.watch(target("tool:b"), second, every=0.05)
        second.wait(2)
    assert not never._asked.acquire(blocking=False)


def test_they_can_be_started_twice_and_again(workers: Workers):
    before, probe = set(threading.enumerate()), Asked()
    with running(workers, (target(), probe)) as probes:
        probes.start()
        probe.wait(1)
        assert [thread.name for thread in new_threads(before)].count("degrade-probes") == 1
        probes.stop()
        probes.stop()
        probes.start()
        probe.wait(3)


FORK = """
import os, threading, warnings
from random import Random
from langgraph_degrade.engine.clock import SystemClock
from langgraph_degrade.engine.probes import Probes
from langgraph_degrade.engine.target import Target
from langgraph_degrade.engine.workers import Workers
from langgraph_degrade.policy import Policy

asked, release = threading.Semaphore(0), threading.Event()
watched = Target("tool:a", Policy().target("tool:a"))
probes = Probes(SystemClock(), Random(1), Workers())
probes.watch(watched, lambda: (asked.release(), os.getpid() == parent and release.wait(20)) and None, every=0.05, slow=0.02)
parent = os.getpid()
probes.start()
for _ in range(1):
    assert asked.acquire(timeout=20)
warnings.simplefilter("ignore")  # from Python 3.12 on: this process has threads
child = os.fork()
if child == 0:
    alone = [thread.name for thread in threading.enumerate()]
    asked = threading.Semaphore(0)
    probes.stop()
    probes.start()
    again = all(asked.acquire(timeout=20) for _ in range(3))
    probes.stop()
    os._exit(0 if again and "degrade-probes" not in alone else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
release.set()
"""


def test_a_forked_child_probes_nothing_until_it_is_started_there():
    ran = subprocess.run([sys.executable, "-c", FORK], check=True, capture_output=True, text=True, timeout=60)
    assert ran.stdout.split() == ["0"], ran.stderr


# The task


async def only_task() -> list[str]:
    """Names of the tasks besides the caller's."""
    return [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]


@pytest.mark.parametrize("what", ["ok", "hangs"])
def test_stop_leaves_no_task_whatever_hangs(clock: FakeClock, what: What):
    async def run() -> None:
        service = Service(clock, "async", lambda _: what)
        probes = Probes(clock, Random(1), Workers())
        probes.watch(target(), service.probe, slow=25.0)
        await probes.astart()
        await asyncio.sleep(EVERY)
        assert service.asked
        stopped_at = clock.monotonic()
        await probes.astop()
        assert clock.monotonic() == stopped_at
        assert await only_task() == []

    run_virtual(run(), clock)


def test_a_task_that_is_told_to_stop_from_outside_ends_in_its_loop(clock: FakeClock):
    async def run() -> None:
        probes = Probes(clock, Random(1), Workers())
        probes.watch(target(), Service(clock, "async", lambda _: "ok").probe)
        await probes.astart()
        await asyncio.sleep(100)
        probes.stop()
        await asyncio.sleep(1)
        assert await only_task() == []

    run_virtual(run(), clock)


def test_it_is_started_again_in_a_new_loop_where_nobody_stopped_it_in_the_last(clock: FakeClock):
    service = Service(clock, "async", lambda _: "ok")
    probes = Probes(clock, Random(1), Workers())
    probes.watch(target(), service.probe)

    async def run() -> int:
        await probes.astart()
        await asyncio.sleep(100)
        return len(service.asked)

    assert run_virtual(run(), clock) * 2 <= run_virtual(run(), clock) + 1


# Several processes


def process(clock: FakeClock, leases: Any, probe: Callable[[], Any], seed: int) -> tuple[Target, Probes]:
    watched = target()
    probes = Probes(clock, Random(seed), Workers(idle_timeout=0.05), leases=leases)
    probes.watch(watched, probe)
    return watched, probes


@pytest.mark.row("S3")
def test_of_several_processes_one_probes_and_the_others_follow(clock: FakeClock):
    service = Service(clock, "async", lambda now: "down" if now >= 300 else "ok")

    async def run() -> None:
        leases = MemoryLeases()
        processes = [process(clock, leases, service.probe, seed) for seed in range(4)]
        for _, probes in processes:
            await probes.astart()
        await asyncio.sleep(300)
        assert len(service.asked) <= 300 / 27 + 1
        await asyncio.sleep(2 * EVERY + 4)
        assert [admits(watched, clock.monotonic()) for watched, _ in processes] == [False] * 4
        for _, probes in processes:
            await probes.astop()

    run_virtual(run(), clock)


@pytest.mark.row("S3")
def test_when_the_prober_dies_another_takes_over(clock: FakeClock):
    asked = list[str]()

    async def probe(who: str) -> None:
        asked.append(who)

    async def run() -> None:
        leases = MemoryLeases()
        first, second = (process(clock, leases, partial(probe, who), 1)[1] for who in ("first", "second"))
        await first.astart()
        await asyncio.sleep(100)
        await second.astart()
        await asyncio.sleep(100)
        assert set(asked) == {"first"}
        await first.astop()
        asked.clear()
        await asyncio.sleep(3 * EVERY)
        assert set(asked) == {"second"}
        await second.astop()

    run_virtual(run(), clock)


class Broken:
    """A shared store that is down, or hangs."""

    def __init__(self, fail: Callable[[], Any]) -> None:
        self.try_hold = self.publish = self.published = lambda *_: fail()


@pytest.mark.row("S3")
@pytest.mark.parametrize("how", ["down", "hangs"])
def test_without_the_shared_store_each_process_probes_for_itself(clock: FakeClock, how: str):
    def fail() -> None:
        if how == "hangs":
            clock.hang(threading.Event())
        raise ConnectionError

    async def run() -> None:
        service = Service(clock, "async", lambda now: "down" if now >= 300 else "ok")
        watched, probes = process(clock, Broken(fail), service.probe, 1)
        await probes.astart()
        await asyncio.sleep(300)
        assert len(service.asked) >= 8
        await asyncio.sleep(3 * EVERY)
        assert not admits(watched, clock.monotonic())
        await probes.astop()

    run_virtual(run(), clock)


@pytest.mark.row("S3")
def test_the_sqlite_file_lends_a_target_to_one_process_at_a_time(tmp_path: Path):
    with closing(SqliteStore(tmp_path / "a.db")) as one, closing(SqliteStore(tmp_path / "a.db")) as other:
        first, second = SqliteLeases(one), SqliteLeases(other)
        assert first.try_hold("model:main", "a", 60.0, 1000.0)
        assert not second.try_hold("model:main", "b", 60.0, 1059.0)
        assert second.try_hold("model:backup", "b", 60.0, 1059.0)
        assert first.try_hold("model:main", "a", 60.0, 1059.0)
        assert not second.try_hold("model:main", "b", 60.0, 1118.0)
        assert second.published("model:main") is None
        first.publish("model:main", "a", "note", 1100.0)
        assert second.published("model:main") == ("note", 1100.0)
        assert second.try_hold("model:main", "b", 60.0, 1119.0)
        first.publish("model:main", "a", "late", 1120.0)
        assert second.published("model:main") == ("note", 1100.0)
        assert first.try_hold("model:main", "a", 60.0, 500.0), "the clock was set back"


@pytest.mark.row("S3")
def test_of_twenty_that_ask_the_sqlite_file_at_once_one_gets_it(tmp_path: Path):
    @contextmanager
    def leases() -> Iterator[SqliteLeases]:
        with closing(SqliteStore(tmp_path / "a.db", patience=PATIENTLY)) as store:
            yield SqliteLeases(store)

    assert len(holders(leases, 20)) == 1
