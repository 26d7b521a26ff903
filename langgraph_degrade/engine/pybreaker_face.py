"""The `pybreaker.CircuitBreaker` every breaker shows itself as (spec B8).

Import it late: pybreaker imports redis where that is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import pybreaker

from langgraph_degrade.engine.clock import Clock
from langgraph_degrade.engine.courier import Courier
from langgraph_degrade.engine.ramp import State
from langgraph_degrade.engine.shared_state import NAMES, Circuit, SharedState
from langgraph_degrade.errors import DegradeError

OWN: dict[str, State] = {name: state for state, name in NAMES.items()}
"""What we call pybreaker's states."""


class PybreakerFace(pybreaker.CircuitBreaker):
    """Shows one of our breakers to whoever knows pybreaker: its state, its listeners, its storages.

    It decides nothing. pybreaker's own machine would hold its lock during a call, count cancellations, read Redis on
    every call and close when Redis dies. So calls don't go through it (`call` and its kin raise); listeners and
    storages are told on threads of their own, and what they raise is logged.

    `open`, `half_open` and `close` are an operator's hand on our breaker.

    Example:
        >>> from langgraph_degrade.engine.breaker import Breaker
        >>> from langgraph_degrade.engine.clock import SystemClock
        >>> from langgraph_degrade.policy import BreakerRule
        >>> breaker = Breaker(BreakerRule())
        >>> face = PybreakerFace("tool:get_stock", breaker, SystemClock())
        >>> breaker.on_change = face.changed
        >>> face.current_state
        'closed'
        >>> face.open() and face.state.name
        'open'
    """

    def __init__(self, name: str, circuit: Circuit, clock: Clock, *, open_for: float = 30.0) -> None:
        """Show `circuit`; `changed` must then be told of its changes. `open_for`: seconds (spec B4)."""
        self._circuit = circuit
        self._clock = clock
        self._courier = Courier(f"degrade-listeners-{name}")
        self._shared: SharedState | None = None
        self.wants_calls = False
        """Whether a listener wants more than state changes: only then `before_call`, `success` and `failure` do work."""
        super().__init__(fail_max=sys.maxsize, reset_timeout=open_for, name=name)
        self._states = {state: self._create_new_state(state) for state in OWN}

    @property
    def current_state(self) -> str:
        """Our breaker's state now, as pybreaker spells it."""
        return NAMES[self._circuit.state(self._clock.monotonic())]

    @property
    def state(self) -> pybreaker.CBStateType:
        """The same as an object. Assigning a name is an operator's hand."""
        return self._states[self.current_state]

    @state.setter
    def state(self, state_str: str) -> None:
        {"open": self.open, "half-open": self.half_open, "closed": self.close}[state_str]()

    @property
    def fail_counter(self) -> int:
        """Failures of one and the same kind in a row."""
        return self._circuit.in_a_row

    def open(self) -> bool:
        """Open our breaker for its usual time."""
        self._circuit.open(self._clock.monotonic())
        return True

    def half_open(self) -> None:
        """Let our breaker probe with the next call."""
        self._circuit.open(self._clock.monotonic(), 0.0)

    def close(self) -> None:
        """Close our breaker, with a fresh window."""
        self._circuit.close()

    def add_listener(self, listener: Any) -> None:
        """Have a `CircuitBreakerListener` told, in order, on a thread of its own."""
        super().add_listener(listener)
        self.wants_calls = any(map(_wants_calls, self._heard_by()))

    def remove_listener(self, listener: Any) -> None:
        """Tell it nothing any more."""
        super().remove_listener(listener)
        self.wants_calls = any(map(_wants_calls, self._heard_by()))

    def use_storage(self, storage: pybreaker.CircuitBreakerStorage) -> None:
        """Share openings through a pybreaker storage, such as `CircuitRedisStorage`, with other processes."""
        self._stop_sharing()
        self._shared = SharedState(
            storage, self._circuit, self._clock, name=str(self.name), open_for=self.reset_timeout
        )
        self._shared.start()

    def stop(self) -> None:
        """End the threads, after what waits has been delivered."""
        self._courier.stop()
        self._stop_sharing()

    def changed(self, old: State, new: State) -> None:
        """Pass a change of our breaker on. Never waits, never raises."""
        self._announce("state_change", self._states[NAMES[old]], self._states[NAMES[new]])
        if self._shared is not None:
            self._shared.changed(old, new)

    def before_call(self, func: Callable[..., object], *args: object, **kwargs: object) -> None:
        """Tell listeners that a call begins."""
        if self.wants_calls:
            self._announce("before_call", func, *args, **kwargs)

    def success(self) -> None:
        """Tell listeners that a call went well."""
        if self.wants_calls:
            self._announce("success")

    def failure(self, error: BaseException) -> None:
        """Tell listeners that a call failed."""
        if self.wants_calls:
            self._announce("failure", error)

    def call(self, *_: object, **__: object) -> NoReturn:
        """Refuse: calls go through the Degrader."""
        raise DegradeError(
            f"this breaker only shows the state of {self.name!r}; call it through degrader.guard(...) or degrader.tool(...)"
        )

    call_async = calling = __call__ = call

    def add_excluded_exception(self, exception: object) -> NoReturn:
        """Refuse: which failures count is said elsewhere."""
        raise DegradeError(
            f"{exception!r}: which failures count is decided by their kind; see `text_errors` and `envelope` in the policy"
        )

    def add_excluded_exceptions(self, *exceptions: object) -> NoReturn:
        """Refuse, as `add_excluded_exception`."""
        self.add_excluded_exception(exceptions)

    def _announce(self, event: str, *args: object, **kwargs: object) -> None:
        for listener in self._heard_by():
            self._courier.send(partial(_tell, listener, event, self, *args, **kwargs))

    def _heard_by(self) -> tuple[object, ...]:
        untyped: Any = self  # `listeners` is typed with a variable nothing binds
        heard_by: tuple[object, ...] = untyped.listeners
        return heard_by

    def _stop_sharing(self) -> None:
        shared, self._shared = self._shared, None
        if shared is not None:
            shared.stop()


def _tell(listener: object, event: str, *args: object, **kwargs: object) -> None:
    getattr(listener, event)(*args, **kwargs)


def _wants_calls(listener: object) -> bool:
    silent = pybreaker.CircuitBreakerListener
    return any(
        getattr(type(listener), event, None) not in {None, getattr(silent, event)}
        for event in ("before_call", "success", "failure")
    )
