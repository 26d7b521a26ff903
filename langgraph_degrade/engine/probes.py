"""`Probes`: which targets are probed, and by whom: one thread (`with degrader:`) or one task (`async with degrader:`).

Nothing runs before `start` or `astart`, nothing is left after `stop` or `astop`, and in a forked child nothing runs until it
is started there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from langgraph_degrade.engine.bulkhead import Bulkhead
from langgraph_degrade.engine.health import SLOW, ProbeRule
from langgraph_degrade.engine.patrol import Leases, Patrol
from langgraph_degrade.engine.plan import is_async_callable
from langgraph_degrade.engine.prober import LoopRun, Run, ThreadRun
from langgraph_degrade.engine.watch import Watch, only_sync
from langgraph_degrade.engine.workers import Workers

if TYPE_CHECKING:
    from random import Random

    from langgraph_degrade.engine.clock import Clock
    from langgraph_degrade.engine.target import Target


class Probes:
    """The application's probes.

    Example:
        >>> from random import Random
        >>> from langgraph_degrade.engine.clock import SystemClock
        >>> from langgraph_degrade.engine.target import Target
        >>> from langgraph_degrade.policy import Policy
        >>> stock = Target("tool:get_stock", Policy().target("tool:get_stock"))
        >>> probes = Probes(SystemClock(), Random(), Workers())
        >>> probes.watch(stock, lambda: True)
        >>> probes.start()
        >>> stock.health.is_well
        True
        >>> probes.stop()
    """

    def __init__(self, clock: Clock, rng: Random, workers: Workers, *, leases: Leases | None = None) -> None:
        """`leases`: where processes agree on who probes what; None: this one probes everything itself."""
        self._clock = clock
        self._random = rng
        self._workers = workers
        self._leases = leases
        self._declared: list[Watch] = []
        self._run: Run | None = None
        self._pid = os.getpid()
        self._lock = threading.Lock()  # of start, stop and watch; never held while anything is waited for

    def watch(
        self,
        target: Target,
        probe: Callable[[], Any],
        *,
        every: float = 30.0,
        switch_below: float = 0.5,
        slow: float | None = None,
    ) -> None:
        """Declare how a target is probed, before the start or while it runs. Once per target: a second one is ignored.

        Args:
            target: refuses traffic while its probes say so.
            probe: makes one small request of the target, past every guard: the bare tool, the bare model. What it raises
                and returns is classified; returning `False` is failing, None is fine, and so is an answer of a model
                that ends at the one token that was asked for. An async one that a thread makes runs in an event
                loop of its own, the same one every time. A sync one needs a timeout of its own: where it hangs, it
                counts as failing at every further look; after 10 intervals another one is made beside it, and while
                four hang the verdict lapses.
            every: seconds between two probes (spec M3); a tenth of it in doubt.
            switch_below: share of good ones below which traffic moves away.
            slow: seconds after which a probe is a bad one (spec M4), and given up; by default the target's basic timeout,
                else 3 s. Where it is longer than a tenth of `every`, hanging is noticed that much later.
        """
        if slow is None:
            own = target.policy.timeout
            slow = (own.basic if own is not None else None) or SLOW
        is_async = is_async_callable(probe)
        called = probe if is_async else partial(only_sync, probe)
        watch = Watch(target, called, ProbeRule(every, switch_below, slow), is_async)
        with self._lock:
            if any(known.target is target for known in self._declared):
                return
            run = self._living()
            if run is not None:
                _send(run, watch)
            self._declared.append(watch)

    def start(self) -> None:
        """Probe from a thread. Where it runs already, in whichever colour, nothing happens."""
        self._begin(lambda patrol: ThreadRun(patrol, self._clock, self._workers))

    async def astart(self) -> None:
        """Probe from a task of this event loop; as `start`."""
        self._begin(lambda patrol: LoopRun(patrol, self._clock, self._workers))

    def stop(self) -> None:
        """End it within a second, whatever hangs. Targets are no longer refused; a task ends in its loop's next turns."""
        if (run := self._end()) is not None:
            run.stop()

    async def astop(self) -> None:
        """End it, and wait until it has ended; otherwise as `stop`."""
        if (run := self._end()) is not None:
            await run.astop()

    def _begin(self, make: Callable[[Patrol], Run]) -> None:
        with self._lock:
            if self._living() is not None:
                return
            self._take_stock()
            # Not from our own chance: two processes with one seed must never hold each other's leases.
            run = make(Patrol(self._clock, self._random, self._leases, owner=uuid4().hex))
            for watch in self._declared:
                _send(run, watch)
            self._run = run

    def _take_stock(self) -> None:
        """In a forked child the parent's threads don't exist: nothing hangs, though the counts say so."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._declared = [replace(watch, bulkhead=Bulkhead(1)) for watch in self._declared]

    def _living(self) -> Run | None:
        run = self._run
        return run if run is not None and self._pid == os.getpid() and run.is_alive() else None

    def _end(self) -> Run | None:
        with self._lock:
            run, self._run = self._run, None
            if run is None:
                return None
            run.patrol.leave()
            return run if self._pid == os.getpid() else None


def _send(run: Run, watch: Watch) -> None:
    """Each run has watches of its own: what an earlier one left hanging can't speak in this one."""
    run.patrol.join(replace(watch))
    run.wake()
