"""The rest of a stream whose beginning was shown: within its time, and honest about how it ended (spec M5)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from langgraph_degrade.context import Event
from langgraph_degrade.engine import ambient
from langgraph_degrade.errors import IncompleteStream
from langgraph_degrade.failures import Failure, classify
from langgraph_degrade.stages.models.calling import Silent

if TYPE_CHECKING:
    from collections.abc import Generator

    from langgraph_degrade.engine.engine import Engine
    from langgraph_degrade.engine.scope import Scope
    from langgraph_degrade.engine.target import Target
    from langgraph_degrade.stages.models.calling import Chunks


class Rest:
    """What is still to come; nobody else may go on with it."""

    def __init__(
        self, chunks: Chunks, engine: Engine, scope: Scope, *, main: Target, at: Target, source: str | None
    ) -> None:
        """`main` is whose ladder it is, `at` who was reached on it, `source` how events call that one."""
        self._chunks = chunks
        self._engine = engine
        self._scope = scope
        self._main = main
        self._at = at
        self._source = source
        self._spent = 0.0

    async def next(self) -> Any:
        """The next chunk or `END`; `IncompleteStream` where it will never come."""
        now = self._engine.clock.monotonic
        began = now()
        try:
            return await self._chunks.next(most=self._left(began))
        except Exception as error:
            if ambient.is_control_flow(error):
                raise
            raise self.cut(self._why(error, now())) from error
        finally:
            self._spent += now() - began  # what whoever listens takes is not the model's time

    async def close(self) -> None:
        """Nobody wants it."""
        if self._chunks.verdict is not None:
            self._chunks.verdict.release(self._engine.clock.monotonic())
        await self._chunks.close()

    def done(self) -> None:
        """It came, to its end, and was good."""
        self._tell(None)

    def cut(self, failure: Failure) -> IncompleteStream:
        """Say what happened, to the breaker, to the context and to the caller."""
        self._tell(failure)
        event = Event.of(
            failure,
            id=self._scope.next_id(),
            target=self._main.name,
            source=self._source,
            stage=self._at.stage,
            outcome="cut",
            at=self._engine.clock.time(),
        )
        self._scope.record(event)
        return IncompleteStream(f"{self._at.name}: {event.reason} after a part of it was shown")

    def _tell(self, failure: Failure | None) -> None:
        if self._chunks.verdict is not None:
            self._chunks.verdict.tell(failure, self._engine.clock.monotonic())

    def _why(self, error: Exception, now: float) -> Failure:
        remaining = self._scope.remaining(now)
        if isinstance(error, Silent) and remaining is not None and remaining <= 0:
            return Failure("deadline", reason="request out of time", cause=error)
        return classify(error, source="model") or Failure("unknown", reason=type(error).__name__, cause=error)

    def _left(self, now: float) -> float:
        """Seconds the whole answer still has, of its own time and of the request's."""
        limits = self._at.policy.timeout
        own = None if limits is None else limits.complex if self._scope.query == "complex" else limits.basic
        times = [None if own is None else own - self._spent, self._scope.remaining(now)]
        return max(0.0, min((time for time in times if time is not None), default=float("inf")))


@contextmanager
def a_request(engine: Engine) -> Generator[Scope]:
    """The request this code is part of; else one of its own, which ends with the block."""
    scope = engine.scopes.find()
    if scope is not None:
        yield scope
        return
    scope = engine.scopes.new()
    try:
        yield scope
    finally:
        engine.scopes.end(scope)
