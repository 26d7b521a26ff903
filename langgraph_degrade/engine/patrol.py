"""`Patrol`: asks every target that has a probe, one small request at a time, and tells its `Health` (spec M3, M4).

The algorithm, once for both colours. Who carries it out, a thread or a task, is a `Way` (`probes.py`). A probe goes to its
callable, past breakers, quotas and budgets, and outside of every request: no user's call waits for it or pays for it.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from langgraph_degrade.engine import ambient
from langgraph_degrade.engine.bulkhead import Bulkhead, NoWorker
from langgraph_degrade.engine.logs import frames
from langgraph_degrade.engine.ports import CallTimedOut
from langgraph_degrade.engine.watch import NotAProbe, Watch, failure_in, speaks_of
from langgraph_degrade.failures import classify

if TYPE_CHECKING:
    from random import Random

    from langgraph_degrade.engine.clock import Clock
    from langgraph_degrade.engine.ports import Ports

log = logging.getLogger("langgraph_degrade")

JITTER = 0.1
"""Part of the interval by which chance moves each probe, either way ○."""
SPREAD = 0.618034
"""Of the interval, between two targets' first probes: the golden section spreads any number of them, later ones too."""
STORE_TIME = 2.0
"""Seconds a shared store may take to say whose turn it is ○; after that we probe ourselves."""


class Leases(Protocol):
    """One prober per target over all processes, and its verdicts for the others. Thread-safe; `now` is Unix time.

    Any method may raise: then this process probes for itself (spec S3).
    """

    def try_hold(self, name: str, owner: str, seconds: float, now: float) -> bool:
        """Hold, or hold on to, what nobody else holds; it is anybody's again after `seconds`."""
        ...

    def publish(self, name: str, owner: str, note: str, now: float) -> None:
        """Say what was found. Without effect from whoever does not hold it any more."""
        ...

    def published(self, name: str) -> tuple[str, float] | None:
        """What was found last, and when."""
        ...


class Way(Protocol):
    """Who carries a patrol out: the thread or the task that starts the looks, and what they run on."""

    is_over: bool

    @property
    def ports(self) -> Ports: ...
    def spawn(self, look: Callable[[], Coroutine[Any, Any, None]], /) -> None:
        """Have it run beside this one; then end the pause."""
        ...

    async def pause(self, seconds: float, /) -> None:
        """Wait, at most so long; less when a look ends, a watch joins, or it is over."""
        ...


class Patrol:
    """One run, from a start to its stop."""

    def __init__(self, clock: Clock, rng: Random, leases: Leases | None, owner: str) -> None:
        self.watches: list[Watch] = []
        self._clock = clock
        self._random = rng
        self._leases = leases
        self._owner = owner
        self._first = rng.random()
        self._store = Bulkhead(1)

    def join(self, watch: Watch) -> None:
        """Begin to watch a target: the first probe comes within its interval, apart from the others'."""
        phase = (self._first + len(self.watches) * SPREAD) % 1.0
        watch.rest(self._clock.monotonic() + watch.rule.every * phase)
        watch.target.health = watch.health
        self.watches.append(watch)

    def leave(self) -> None:
        """End it: what was known of the targets is not known any more."""
        for watch in self.watches:
            if watch.target.health is watch.health:
                watch.target.health = None

    async def run(self, way: Way) -> None:
        """Have each target looked at when it is due, until it is over."""
        while not way.is_over:
            now = self._clock.monotonic()
            for watch in self._due(now):
                watch.is_busy = True
                try:
                    way.spawn(partial(self.look, way, watch))
                except NoWorker:
                    watch.rest(now + watch.rule.every)
            due = min((watch.due for watch in self.watches if not watch.is_busy), default=math.inf)
            await way.pause(max(0.0, due - self._clock.monotonic()))

    async def look(self, way: Way, watch: Watch) -> None:
        """Look at one target once: probe it, or learn what the process found whose turn it is."""
        started, pause = self._clock.monotonic(), watch.rule.every
        try:
            if await self._is_ours(way.ports, watch):
                await self._probe(way, watch)
                pause = watch.health.pause
            else:
                await self._follow(way.ports, watch)
                pause = watch.rule.hasty
        except Exception as error:
            log.error("probing %s: %s\n%s", watch.name, type(error).__name__, frames(error))  # noqa: TRY400 - no text
        finally:
            pause *= self._random.uniform(1 - JITTER, 1 + JITTER)
            watch.rest(max(started + pause, self._clock.monotonic()))

    def _due(self, now: float) -> Iterator[Watch]:
        return (watch for watch in tuple(self.watches) if watch.due <= now and not watch.is_busy)

    async def _probe(self, way: Way, watch: Watch) -> None:
        health, started = watch.health, self._clock.monotonic()
        hangs = watch.still_hangs(started)
        good, why = (False, "the last one still hangs") if hangs else await self._verdict(way.ports, watch)
        if good is None or way.is_over:
            return
        was_well, now = health.is_well, self._clock.monotonic()
        health.told(good, now - started, now)
        if was_well != health.is_well:
            _log_turn(watch, why)
        if self._leases is not None:
            publish = partial(self._leases.publish, watch.name, self._owner, health.note(), self._clock.time())
            await self._stored(way.ports, watch, publish)

    async def _verdict(self, ports: Ports, watch: Watch) -> tuple[bool | None, str]:
        """(the probe was good, bad, or says nothing; what came)."""
        try:
            value = await ports.call(
                watch.probe,
                is_async=watch.is_async,
                timeout=watch.rule.slow,
                own_thread=False,
                bulkhead=watch.bulkhead,
            )
        except NoWorker:  # too many hang, or the machine has no thread left, which is nobody's fault
            return None, ""
        except (Exception, SystemExit) as error:
            if isinstance(error, NotAProbe | SystemExit) or ambient.is_control_flow(error):
                log.warning("the probe of %s does not probe: %s", watch.name, type(error).__name__)
                return None, ""
            failure = classify(error, source=watch.target.source)
            if isinstance(error, CallTimedOut):
                watch.hangs(self._clock.monotonic())
        else:
            failure = failure_in(value, watch.target)
        return speaks_of(failure), "slow" if failure is None else failure.kind

    async def _is_ours(self, ports: Ports, watch: Watch) -> bool:
        if self._leases is None:
            return True
        seconds = 2 * watch.rule.every + watch.rule.slow  # outlasts the next probe, however late
        hold = partial(self._leases.try_hold, watch.name, self._owner, seconds, self._clock.time())
        return bool(await self._stored(ports, watch, hold, instead=True))

    async def _follow(self, ports: Ports, watch: Watch) -> None:
        if self._leases is None:
            return
        found = await self._stored(ports, watch, partial(self._leases.published, watch.name))
        if found is not None:
            note, at = found
            watch.health.adopt(note, self._clock.time() - at, self._clock.monotonic())

    async def _stored(self, ports: Ports, watch: Watch, ask: Callable[[], Any], *, instead: Any = None) -> Any:
        try:
            return await ports.call(ask, is_async=False, timeout=STORE_TIME, own_thread=False, bulkhead=self._store)
        except Exception as error:
            log.warning("the shared store says nothing of %s (%s): probing here", watch.name, type(error).__name__)
            return instead


def _log_turn(watch: Watch, why: str) -> None:
    health = watch.health
    if health.is_well:
        log.warning("%s is well again, traffic comes back (%s)", watch.name, health.reason)
    else:
        log.warning("%s is not well, traffic moves away (%s; the last one: %s)", watch.name, health.reason, why)
