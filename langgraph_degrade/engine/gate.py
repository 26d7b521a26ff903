"""Several breaker rules on one target, as one (spec B3: rules can be combined)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from langgraph_degrade.engine.breaker import Breaker, Permit
    from langgraph_degrade.engine.ramp import State
    from langgraph_degrade.failures import Kind


class Gate(Protocol):
    """What admits calls and is told what became of them; `Breaker` is one."""

    def acquire(self, now: float, /) -> Any: ...
    def succeed(self, permit: Any, now: float, /) -> None: ...
    def fail(self, permit: Any, kind: Kind, now: float, /) -> None: ...
    def release(self, permit: Any, now: float, /) -> None: ...
    def retry_after(self, now: float) -> float: ...
    @property
    def in_a_row(self) -> int: ...
    def state(self, now: float) -> State: ...
    def open(self, now: float, seconds: float | None = None) -> None: ...
    def close(self) -> None: ...


class Gates:
    """Admits what all of its breakers admit."""

    __slots__ = ("_breakers",)

    def __init__(self, breakers: Sequence[Breaker]) -> None:
        self._breakers = tuple(breakers)

    def acquire(self, now: float) -> tuple[Permit, ...] | None:
        held: list[Permit] = []
        for breaker in self._breakers:
            permit = breaker.acquire(now)
            if permit is None:
                for earlier, given in zip(self._breakers, held, strict=False):
                    earlier.release(given, now)
                return None
            held.append(permit)
        return tuple(held)

    def succeed(self, permits: tuple[Permit, ...], now: float) -> None:
        for breaker, permit in zip(self._breakers, permits, strict=True):
            breaker.succeed(permit, now)

    def fail(self, permits: tuple[Permit, ...], kind: Kind, now: float) -> None:
        for breaker, permit in zip(self._breakers, permits, strict=True):
            breaker.fail(permit, kind, now)

    def release(self, permits: tuple[Permit, ...], now: float) -> None:
        for breaker, permit in zip(self._breakers, permits, strict=True):
            breaker.release(permit, now)

    def retry_after(self, now: float) -> float:
        return max((breaker.retry_after(now) for breaker in self._breakers), default=0.0)

    @property
    def in_a_row(self) -> int:
        return max((breaker.in_a_row for breaker in self._breakers), default=0)

    def state(self, now: float) -> State:
        states = {breaker.state(now) for breaker in self._breakers}
        if "open" in states:
            return "open"
        return "half_open" if "half_open" in states else "closed"

    def open(self, now: float, seconds: float | None = None) -> None:
        for breaker in self._breakers:
            breaker.open(now, seconds)

    def close(self) -> None:
        for breaker in self._breakers:
            breaker.close()
