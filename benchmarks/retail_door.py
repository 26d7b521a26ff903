"""The way into the shop: its tools as they are, with the weather between them and whoever calls them."""

from __future__ import annotations

import asyncio
import functools
import math
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from langchain_core.tools import StructuredTool

from benchmarks.retail_faults import EARLY, HANGS, SPOILED, Fault, Weather, error_of, spoiled
from benchmarks.retail_shop import TIMEOUT, Action, Kit, record_of, was_done
from langgraph_degrade.engine.ports import complete
from langgraph_degrade.engine.workers import Worker
from langgraph_degrade.testing import FakeClock

LATE = TIMEOUT + 1.5
"""Seconds after which a late call is carried out: too late for its caller, before the next call is made."""
LONGEST_WAIT = 10_000
"""Real milliseconds for a worker to come home whose time has come; only a bug takes longer."""

Colour = Literal["sync", "async", "mixed"]
"""`mixed`: sync tools called from async code."""
Pause = Callable[[float], Awaitable[None]]


@dataclass(eq=False)
class Served:
    """One attempt that reached the shop's door, and what the shop did about it."""

    number: int
    action: Action
    fault: Fault | None
    chance: Random
    at: float
    was_run: bool = False
    value: Any = None
    """The shop's own answer, its "no" included; whether or not it arrived."""
    data: Any = None
    """The same as it was then, as JSON."""
    landed: float | None = None
    """When a late one is carried out, on the replay's clock."""
    worker: threading.Thread | None = None

    @property
    def came_home(self) -> bool:
        """A late one that was carried out, and whose caller learnt of it: a thread comes back, a cancelled task does not."""
        return self.was_executed and isinstance(self.worker, Worker)

    @property
    def was_executed(self) -> bool:
        """The shop did it, or looked it up; a "no" changes nothing."""
        return self.was_run and not isinstance(self.value, ValueError)


class Door:
    """The way into one shop: makes its tools, lets the weather at them, and writes down what went through."""

    def __init__(self, shop: Kit, weather: Weather, clock: FakeClock) -> None:
        self.shop = shop
        self.log: list[Served] = []
        self.looks: Counter[str] = Counter()
        """Read-backs, by what became of them."""
        self._weather = weather
        self._clock = clock
        self._number = 0
        self._late: list[Served] = []
        self._lock = threading.Lock()

    def expect(self, number: int) -> None:
        """Say which call comes next; the seed, its number and its attempt decide what befalls it."""
        self._number = number

    def attempts(self, number: int) -> list[Served]:
        """List what reached the door of one call, in order."""
        return [served for served in self.log if served.number == number]

    def tools(self, colour: Colour) -> list[StructuredTool]:
        """Make the shop's tools as its own environment describes them."""
        return [self._tool(name, tool, colour) for name, tool in self.shop.get_tools().items()]

    def read_back(self, name: str) -> Callable[[Mapping[str, Any], Any], bool | None]:
        """Make the `verify` hook of a write: a look at the records, which the weather may spoil too."""

        def look(arguments: Mapping[str, Any], _config: Any) -> bool | None:
            number = self._number
            self.looks["asked"] += 1
            fault, _ = self._weather.fault(number, self.looks["asked"], "read-back")
            if fault is not None:
                self.looks["failed"] += 1
                if fault in HANGS:
                    self._clock.sleep(math.inf)
                raise ConnectionResetError
            seen = was_done(self.shop, Action(name, arguments))
            self.looks[f"said {seen}"] += 1
            return seen

        return look

    def land(self) -> None:
        """Carry out what is late and due by now; returns when the callers who still wait for it were told."""
        now = self._clock.monotonic()
        due = [served for served in self._late if (served.landed or 0.0) <= now]
        self._late = [served for served in self._late if served not in due]
        for served in due:
            self._execute(served)
            if isinstance(served.worker, Worker):
                _await_idle(served.worker)

    def _tool(self, name: str, tool: Any, colour: Colour) -> StructuredTool:
        method = getattr(self.shop, name)

        @functools.wraps(method)
        def call(**arguments: Any) -> Any:
            return complete(self._serve(Action(name, arguments), self._block))

        @functools.wraps(method)
        async def acall(**arguments: Any) -> Any:
            return await self._serve(Action(name, arguments), self._suspend)

        return StructuredTool.from_function(
            func=call,
            coroutine=acall if colour == "async" else None,
            name=name,
            description=tool.openai_schema["function"]["description"],
            args_schema=tool.params,
        )

    async def _serve(self, action: Action, pause: Pause) -> Any:
        served = self._arrive(action)
        fault = served.fault
        if fault in EARLY:
            if fault == "hang":
                await pause(math.inf)
            raise error_of(fault, served.chance)
        if fault == "late":
            served.landed, served.worker = served.at + LATE, threading.current_thread()
            self._late.append(served)
            await pause(LATE)
        self._execute(served)
        if fault == "hang, done":
            await pause(math.inf)
        if fault in ("reset after", "hang, done"):
            raise error_of(fault, served.chance)
        return self._reply(served)

    def _arrive(self, action: Action) -> Served:
        attempt = len(self.attempts(self._number))
        fault, chance = self._weather.fault(self._number, attempt)
        served = Served(self._number, action, fault, chance, self._clock.monotonic())
        self.log.append(served)
        return served

    def _execute(self, served: Served) -> None:
        """Once: by the caller whose time has come, or by `land`."""
        with self._lock:
            if served.was_run:
                return
            served.was_run = True
            try:
                served.value = getattr(self.shop, served.action.name)(**served.action.arguments)
            except ValueError as error:
                served.value = error
            served.data = record_of(served.value)

    @staticmethod
    def _reply(served: Served) -> Any:
        if isinstance(served.value, ValueError):
            if served.fault != "late":
                served.fault = None  # there was no body to break
            raise served.value
        if served.fault in SPOILED:
            return spoiled(served.fault, served.data, served.chance)
        return served.value

    async def _block(self, seconds: float) -> None:
        self._clock.sleep(seconds)

    async def _suspend(self, seconds: float) -> None:
        if math.isinf(seconds):
            await asyncio.Event().wait()
        await self._clock.asleep(seconds)


def _await_idle(worker: Worker) -> None:
    """Wait until the worker that brought a late answer home has told everybody who wants to know."""
    tick = threading.Event()
    for _ in range(LONGEST_WAIT):
        if worker.job is None:
            return
        tick.wait(0.001)
    raise AssertionError("a late call never came home")
