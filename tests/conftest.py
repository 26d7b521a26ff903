"""What every test has: time that jumps, one body for both colours, real servers on demand, and the state of the contract."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Literal

import pytest

from langgraph_degrade.engine.ports import complete
from langgraph_degrade.testing import FakeClock, run_virtual

pytest_plugins = ("pytester", "tests.contract", "tests.services", "tests.servers.fixtures")


class Both:
    """Runs one test body in the colour of the test."""

    def __init__(self, colour: Literal["sync", "async"], clock: FakeClock) -> None:
        self.colour = colour
        self._clock = clock

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Finish `coroutine`: without an event loop, or in one whose time is the test's clock."""
        return complete(coroutine) if self.colour == "sync" else run_virtual(coroutine, self._clock)

    def call(self, thing: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        """`thing.method(...)`, or what `thing.amethod(...)` gives: `both.call(graph, "invoke", state)`."""
        if self.colour == "sync":
            return getattr(thing, method)(*args, **kwargs)
        return run_virtual(getattr(thing, "a" + method)(*args, **kwargs), self._clock)

    def paint(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """`fn`, or an `async def` that does the same."""
        if self.colour == "sync":
            return fn

        @functools.wraps(fn)
        async def painted(*args: Any, **kwargs: Any) -> Any:
            return fn(*args, **kwargs)

        return painted


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    clock = FakeClock()
    yield clock
    clock.advance_to(math.inf)  # what hangs in a thread ends with the test


@pytest.fixture(params=["sync", "async"])
def colour(request: pytest.FixtureRequest) -> Literal["sync", "async"]:
    """Asking for it runs the test in both."""
    return request.param


@pytest.fixture
def both(colour: Literal["sync", "async"], clock: FakeClock) -> Both:
    return Both(colour, clock)
