"""The application object: breakers as pybreaker's, listeners, lifetimes."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pybreaker
import pytest

from langgraph_degrade import CircuitOpen, DegradeError, Degrader, Policy, PolicyError
from langgraph_degrade.testing import FakeClock

RULE = {"consecutive": 3, "min_calls": 3, "open_for": "30s"}
POLICY = Policy.model_validate({"targets": {"shop": {"effect": "read", "timeout": "none", "breakers": [RULE]}}})


class Heard(pybreaker.CircuitBreakerListener):
    """A listener as people have them."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.changed = threading.Event()

    def before_call(self, cb: Any, func: Any, *args: Any, **kwargs: Any) -> None:
        self.told.append("before")

    def success(self, cb: Any) -> None:
        self.told.append("success")

    def failure(self, cb: Any, exc: BaseException) -> None:
        self.told.append(type(exc).__name__)

    def state_change(self, cb: Any, old_state: Any, new_state: Any) -> None:
        self.told.append(f"{old_state.name}->{new_state.name}")
        self.changed.set()


@pytest.mark.row("B8")
def test_a_breaker_shows_itself_as_pybreakers_and_tells_its_listeners(clock: FakeClock) -> None:
    heard = Heard()
    with Degrader(POLICY, clock=clock) as degrader:
        breaker = degrader.breaker("shop")
        assert isinstance(breaker, pybreaker.CircuitBreaker)
        breaker.add_listener(heard)
        errors: list[Exception | None] = [None, *[ConnectionResetError()] * 3]

        @degrader.guard("shop")
        def call() -> str:
            error = errors.pop(0)
            if error is not None:
                raise error
            return "ok"

        call()
        for _ in range(3):
            with pytest.raises(ConnectionResetError):
                call()
        assert breaker.current_state == "open"
        with pytest.raises(CircuitOpen):
            call()
        assert heard.changed.wait(10)
    assert heard.told == ["before", "success", *["before", "ConnectionResetError"] * 3, "closed->open"]


@pytest.mark.row("B8")
def test_calls_through_the_face_are_refused_and_an_operator_may_open_it(clock: FakeClock) -> None:
    degrader = Degrader(POLICY, clock=clock)
    breaker = degrader.breaker("shop")
    with pytest.raises(DegradeError, match=r"degrader\.guard"):
        breaker.call(lambda: 1)
    breaker.open()
    with pytest.raises(CircuitOpen):
        degrader.guard("shop")(lambda: 1)()


def test_a_listener_that_raises_fails_nothing(clock: FakeClock) -> None:
    def bad(event: Any) -> None:
        raise RuntimeError

    degrader = Degrader(clock=clock, listeners=[bad])

    def broken() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        degrader.guard("shop")(broken)()


def test_it_is_a_context_manager_in_both_colours(clock: FakeClock) -> None:
    async def story() -> int:
        async with Degrader(clock=clock) as degrader:

            @degrader.guard("shop")
            async def call() -> int:
                return 1

            return await call()

    assert asyncio.run(story()) == 1
    with Degrader(clock=clock) as degrader:
        assert degrader.guard("shop")(lambda: 2)() == 2


def test_what_cannot_work_is_said_when_it_is_made(clock: FakeClock) -> None:
    from langgraph.graph import StateGraph

    from tests.adapters.graphs import State

    with pytest.raises(TypeError, match=r"Policy\.load"):
        Degrader("degrade.yaml")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="SqliteStore"):
        Degrader(store="claims.db")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="compiled"):
        Degrader(clock=clock).wrap(StateGraph(State))
    policy = Policy.model_validate({"tools": {"pay": {"effect": "write", "verify": "find_payment"}}})
    with pytest.raises(PolicyError, match="find_payment"):
        Degrader(policy, clock=clock).middleware()


def test_a_tools_breaker_is_found_by_the_tools_name(clock: FakeClock) -> None:
    degrader = Degrader(Policy.model_validate({"tools": {"look": {"effect": "read"}}}), clock=clock)
    assert degrader.breaker("look") is degrader.breaker("tool:look")
