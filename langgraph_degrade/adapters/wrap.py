"""`degrader.wrap(graph)`: session and user time for a whole run, and an honest answer where it would crash.

The wrapped graph is a copy whose class is a subclass of the graph's own, made for this one wrap; it overrides `stream`
and `astream` only, which invoke, events, subgraphs and the dev server all go through.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph.errors import EmptyInputError, GraphDrained, GraphRecursionError, InvalidUpdateError
from langgraph.runtime import RunControl

from langgraph_degrade.adapters.closing_state import Ending
from langgraph_degrade.adapters.pumps import END, AsyncPump, SyncPump
from langgraph_degrade.adapters.stream_modes import Modes
from langgraph_degrade.context import Event, turn_of
from langgraph_degrade.engine import ambient
from langgraph_degrade.engine.logs import frames
from langgraph_degrade.engine.ports import CallTimedOut
from langgraph_degrade.failures import Failure, classify
from langgraph_degrade.stages.messages import messages_of

if TYPE_CHECKING:
    from langgraph_degrade.engine.engine import Engine
    from langgraph_degrade.engine.scope import Scope

log = logging.getLogger("langgraph_degrade")

G = TypeVar("G")
OUR_TIME = "degrade: session time is over"
MISUSE = (TypeError, ValueError, EmptyInputError, InvalidUpdateError)
"""Before the first step these mean that the graph was called wrongly: a developer's business, not a user's."""


class Linked(RunControl):
    """Drains when the session time is over, or when the caller's own control says so."""

    __slots__ = ("_deadline", "_now", "_outer")

    def __init__(self, outer: RunControl | None, now: Callable[[], float], deadline: float | None) -> None:
        super().__init__()
        self._outer, self._now, self._deadline = outer, now, deadline

    @property
    def drain_requested(self) -> bool:
        return self.drain_reason is not None

    @property
    def drain_reason(self) -> str | None:
        if self._outer is not None and self._outer.drain_requested:
            return self._outer.drain_reason
        if self._deadline is not None and self._now() >= self._deadline:
            return OUR_TIME
        return super().drain_reason


class Wrapped:
    """What `wrap` mixes into a graph's class."""

    _engine: Engine
    _answer: Callable[[Any], Any] | None

    def stream(self, input: Any, config: Any = None, **kwargs: Any) -> Iterator[Any]:  # noqa: A002 - LangGraph's name
        """Stream the run; its last word is an honest answer where it could not be finished."""
        run = _Run(self, input, config, kwargs)
        pump = SyncPump(lambda: super(Wrapped, self).stream(input, config, **run.kwargs), run.engine, run.scope)  # type: ignore[misc]
        try:
            while True:
                try:
                    chunk = pump.next()
                except Exception as error:
                    yield from run.end(error).chunks()
                    return
                if chunk is END:
                    return
                yield from run.modes.seen(chunk)
        finally:
            try:
                pump.close()
            finally:
                run.close()

    async def astream(self, input: Any, config: Any = None, **kwargs: Any) -> AsyncIterator[Any]:  # noqa: A002
        """See `stream`."""
        run = _Run(self, input, config, kwargs)
        pump = AsyncPump(lambda: super(Wrapped, self).astream(input, config, **run.kwargs), run.engine, run.scope)  # type: ignore[misc]
        try:
            while True:
                try:
                    chunk = await pump.next()
                except Exception as error:
                    for last in await run.end(error).achunks():
                        yield last
                    return
                if chunk is END:
                    return
                for wanted in run.modes.seen(chunk):
                    yield wanted
        finally:
            try:
                await pump.close()
            finally:
                run.close()


class _Run:
    """One run of a wrapped graph: its scope, its times, what was seen of its state."""

    def __init__(self, graph: Any, given: Any, config: Any, kwargs: dict[str, Any]) -> None:
        self._graph, self._given, self._config = graph, given, config
        self.engine: Engine = graph._engine  # noqa: SLF001 - the class `wrap` made
        outer = self.engine.scopes.find()
        self.scope: Scope = outer or self.engine.scopes.new(bounded=True)
        self._owns_scope = outer is None
        self.modes = Modes(
            kwargs.get("stream_mode") or graph.stream_mode,
            subgraphs=bool(kwargs.get("subgraphs")),
            version=kwargs.get("version", "v1"),
        )
        control = Linked(kwargs.get("control"), self.engine.clock.monotonic, self.scope.deadline)
        self.kwargs = {**kwargs, "stream_mode": self.modes.asked, "control": control}

    def end(self, error: Exception) -> Ending:
        """Turn what ended the run into an answer; control flow and misuse pass."""
        if self._passes(error):
            raise error
        key, failure = self._why(error)
        log.error(
            "run of %s ended by %s: %s\n%s", self._graph.get_name(), failure.kind, type(error).__name__, frames(error)
        )
        scope, state = self.scope, self._known_state()
        scope.adopt(state, turn_of(messages_of(state)), None)
        scope.record(
            Event(
                scope.next_id(),
                f"graph:{self._graph.get_name()}",
                "state",
                failure.kind,
                failure.reason or failure.kind,
                direction="handoff",
                outcome="answered",
                at=self.engine.clock.time(),
                status=failure.status,
            )
        )
        return Ending(self._graph, self._config, state, self.modes, scope, key)

    def _known_state(self) -> Any:
        if self.modes.state is not None:
            return self.modes.state
        return self._given if isinstance(self._given, dict) else {}

    def _passes(self, error: Exception) -> bool:
        if isinstance(error, GraphDrained):
            return error.reason != OUR_TIME
        if ambient.is_control_flow(error):
            return True
        return isinstance(error, MISUSE) and not self.modes.began

    def _why(self, error: Exception) -> tuple[str, Failure]:
        if isinstance(error, GraphDrained):
            return "answer.timeout", Failure("deadline", reason="session time is over")
        if isinstance(error, CallTimedOut):
            return "answer.user_timeout", Failure("deadline", reason="user time is over")
        if isinstance(error, GraphRecursionError):
            return "answer.recursion", Failure("budget", reason="recursion limit")
        return "answer.crash", classify(error) or Failure("unknown", reason=type(error).__name__)

    def close(self) -> None:
        if self._owns_scope:
            self.engine.scopes.end(self.scope)


def wrap(engine: Engine, graph: G, answer: Callable[[Any], Any] | None) -> G:
    """See `Degrader.wrap`."""
    kind = type(graph)
    if issubclass(kind, Wrapped):
        raise TypeError("this graph is wrapped already")
    body = {"_engine": engine, "_answer": staticmethod(answer) if answer else None}
    made: Any = type(kind.__name__, (Wrapped, kind), body)
    copy: G = made.__new__(made)
    copy.__dict__.update(graph.__dict__)
    return copy
