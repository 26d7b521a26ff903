"""Targets that do as they are told: `scripted`."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from langgraph_degrade.engine.clock import Clock, SystemClock
from langgraph_degrade.testing.clock import FakeClock


class ScriptEnded(BaseException):
    """Raised when a scripted target is called more often than its script has steps.

    A `BaseException`, so that what is being tested can't degrade it.
    """


@dataclass(frozen=True)
class Delay:
    """A step that answers late: after `seconds`, with `value` (raised, if it is an exception)."""

    seconds: float
    value: Any = None


class Hang:
    """A step that doesn't answer until `release`; then with `value` (raised, if it is an exception).

    Under a `FakeClock` it costs no real time: the limit it runs into comes at once.
    """

    def __init__(self, value: Any = None) -> None:
        self.value = value
        self._released = False
        self._lock = threading.Lock()
        self._wakes: list[Callable[[], object]] = []

    def release(self) -> None:
        """Let every call that hangs here answer, and later ones answer at once."""
        with self._lock:
            self._released = True
            wakes, self._wakes = self._wakes, []
        for wake in wakes:
            with contextlib.suppress(RuntimeError):  # a closed event loop
                wake()

    def block(self, clock: Clock) -> None:
        """Hang this thread."""
        event = threading.Event()
        self._on_release(event.set)
        if isinstance(clock, FakeClock):
            clock.hang(event)
        else:
            event.wait()

    async def suspend(self) -> None:
        """Hang this task."""
        event = asyncio.Event()
        self._on_release(functools.partial(asyncio.get_running_loop().call_soon_threadsafe, event.set))
        await event.wait()

    def _on_release(self, wake: Callable[[], object]) -> None:
        with self._lock:
            if not self._released:
                self._wakes.append(wake)
                return
        wake()


@dataclass(frozen=True)
class Called:
    """One call of a scripted target."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    at: float
    """The clock's `monotonic` when it began."""


class Scripted(Protocol):
    """A scripted target: call it, or await its call, and read `calls`."""

    calls: list[Called]

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


def scripted(
    steps: Iterable[Any], *, colour: Literal["sync", "async"] = "sync", clock: Clock | None = None
) -> Scripted:
    """Make a function that takes anything and does one step a call; thread-safe.

    A step is a `Delay`, a `Hang`, an exception (instance or class) to raise, or a value to return. For a target that
    always does the same: `itertools.repeat(step)`. `colour` "async" gives an `async def`. Pass the `FakeClock` the
    rest of the test runs on.

    Example:
        >>> stock = scripted([17, ConnectionResetError()])
        >>> stock("sku-1"), stock.calls[0].args
        (17, ('sku-1',))
    """
    script = _Script(steps, SystemClock() if clock is None else clock)
    target = _async_target(script) if colour == "async" else _sync_target(script)
    target.calls = script.calls  # type: ignore[attr-defined]
    return target  # type: ignore[return-value]


class _Script:
    def __init__(self, steps: Iterable[Any], clock: Clock) -> None:
        self.clock = clock
        self.calls: list[Called] = []
        self._steps = iter(steps)
        self._lock = threading.Lock()

    def next(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with self._lock:
            self.calls.append(Called(args, kwargs, self.clock.monotonic()))
            try:
                return next(self._steps)
            except StopIteration:
                raise ScriptEnded(f"call {len(self.calls)} stands in no script") from None


def _sync_target(script: _Script) -> Callable[..., Any]:
    def target(*args: Any, **kwargs: Any) -> Any:
        step = script.next(args, kwargs)
        if isinstance(step, Hang):
            step.block(script.clock)
        elif isinstance(step, Delay):
            script.clock.sleep(step.seconds)
        return _outcome(step)

    return target


def _async_target(script: _Script) -> Callable[..., Any]:
    async def target(*args: Any, **kwargs: Any) -> Any:
        step = script.next(args, kwargs)
        if isinstance(step, Hang):
            await step.suspend()
        elif isinstance(step, Delay):
            await script.clock.asleep(step.seconds)
        return _outcome(step)

    return target


def _outcome(step: Any) -> Any:
    value: Any = step.value if isinstance(step, Delay | Hang) else step
    if _is_error(value):
        raise value
    return value


def _is_error(value: object) -> bool:
    return isinstance(value, BaseException) or (isinstance(value, type) and issubclass(value, BaseException))
