"""`degrader.wrap(graph)`: session and user time for a whole run, and an honest answer where it would crash.

The wrapped graph is a copy whose class is a subclass of the graph's own, made for this one wrap; it overrides `stream`
and `astream` only, which invoke, events, subgraphs and the dev server all go through.

A sync step that the user tier leaves behind can't be stopped. It is closed as soon as it comes home, but what LangGraph
saves at its end is saved before that: the thread's head is then that step, not the ending.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.runnables.config import merge_configs
from langgraph.errors import EmptyInputError, GraphDrained, GraphRecursionError, InvalidUpdateError
from langgraph.types import Command

from langgraph_degrade.adapters.closing_state import Ending, Remains
from langgraph_degrade.adapters.finished import Hurry, final_state
from langgraph_degrade.adapters.pumps import END, AsyncPump, SyncPump
from langgraph_degrade.adapters.run_control import OUR_TIME, Linked
from langgraph_degrade.adapters.stream_modes import Modes
from langgraph_degrade.adapters.values import plain
from langgraph_degrade.adapters.watch import Watch
from langgraph_degrade.context import Event, turn_of
from langgraph_degrade.engine import ambient
from langgraph_degrade.engine.logs import frames
from langgraph_degrade.engine.ports import AsyncPorts, CallTimedOut, complete
from langgraph_degrade.failures import Failure, classify
from langgraph_degrade.stages.messages import messages_of

if TYPE_CHECKING:
    from langgraph_degrade.engine.engine import Engine
    from langgraph_degrade.engine.ports import Ports
    from langgraph_degrade.engine.scope import Scope

log = logging.getLogger("langgraph_degrade")

G = TypeVar("G")
MISUSE = (TypeError, ValueError)
"""Before any node was entered these mean that the graph was called wrongly: a developer's business, not a user's.

Their subclasses (bad JSON, say) come from what was called instead, a saver for one.
"""


class Wrapped:
    """What `wrap` mixes into a graph's class."""

    _engine: Engine
    _answer: Callable[[Any], Any] | None

    def stream(self, input: Any, config: Any = None, **kwargs: Any) -> Iterator[Any]:  # noqa: A002 - LangGraph's name
        """Stream the run; its last word is an honest answer where it could not be finished."""
        run = _Run(self, input, config, kwargs)
        pump = SyncPump(lambda: super(Wrapped, self).stream(input, run.config, **run.kwargs), run.engine, run.scope)  # type: ignore[misc]
        try:
            while True:
                try:
                    chunk = pump.next()
                except Exception as error:
                    yield from complete(run.end(error, run.engine.sync_ports, is_async=False))
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
        pump = AsyncPump(lambda: super(Wrapped, self).astream(input, run.config, **run.kwargs), run.engine, run.scope)  # type: ignore[misc]
        try:
            while True:
                try:
                    chunk = await pump.next()
                except Exception as error:
                    for last in await run.end(error, AsyncPorts(run.engine.clock, run.engine.workers), is_async=True):
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
    """One run of a wrapped graph: its scope, its times, what was seen of it."""

    def __init__(self, graph: Any, given: Any, config: Any, kwargs: dict[str, Any]) -> None:
        self._graph, self._given, self._config = graph, given, config or {}
        self.engine: Engine = graph._engine  # noqa: SLF001 - the class `wrap` made
        outer = self.engine.scopes.find()
        self.scope: Scope = outer or self.engine.scopes.new()
        self._owns_scope = outer is None
        asked, keys = kwargs.get("stream_mode"), kwargs.get("output_keys")
        self._keys: str | Sequence[str] = graph.output_channels if keys is None else keys
        self.modes = Modes(
            graph.stream_mode if asked is None else asked,
            subgraphs=bool(kwargs.get("subgraphs")),
            version=kwargs.get("version", "v1"),
        )
        self._watch = Watch()
        self.config = {**self._config, "callbacks": _with(self._config.get("callbacks"), self._watch)}
        control = Linked(kwargs.get("control"), self.engine.clock.monotonic, self.scope.deadline)
        self.kwargs = {**kwargs, "stream_mode": self.modes.asked, "control": control}

    async def end(self, error: Exception, ports: Ports, *, is_async: bool) -> list[Any]:
        """Turn what ended the run into the chunks of an answer.

        Control flow, misuse, and what leaves nowhere to put an answer are raised as they are.
        """
        if self._passes(error):
            raise error
        key, failure = self._why(error)
        name = self._graph.get_name()
        log.error("run of %s ended by %s: %s\n%s", name, failure.kind, type(error).__name__, frames(error))
        hurry = Hurry(ports, self.engine.clock, is_async=is_async)
        remains = self._remains()
        final = await self._final(error, hurry, remains)
        self.scope.adopt(remains.state, turn_of(messages_of(remains.state)), None)
        ending = Ending(remains, key, final)
        self._record(failure, is_answer=ending.is_answer)
        chunks = await ending.chunks(hurry)
        if chunks is None:
            raise error
        return chunks

    def _remains(self) -> Remains:
        settled = self.modes.settled
        return Remains(
            graph=self._graph,
            config=self._config,
            keys=self._keys,
            state=self._known_state(),
            modes=self.modes,
            results=[result for result in self._watch.results if result.task not in settled],
            scope=self.scope,
        )

    async def _final(self, error: Exception, hurry: Hurry, remains: Remains) -> dict[str, Any] | None:
        """The state of a run that was over when `error` came.

        A node that failed or still runs means it was not, whatever the last message looks like: “Let me look that
        up” ends no conversation. LangGraph itself says so at its limits. What else fails fails outside the nodes, and
        then the nodes' own results tell whether anything was left to do.
        """
        is_cut = isinstance(error, GraphDrained | GraphRecursionError) or not self._watch.is_quiet
        if is_cut or ambient.config():  # within another graph it is that graph's saver, and that graph's run
            return None
        return await final_state(hurry, self._graph, self._config, remains.state, self._watch.results)

    def _record(self, failure: Failure, *, is_answer: bool) -> None:
        scope = self.scope
        scope.record(
            Event(
                scope.next_id(),
                f"graph:{self._graph.get_name()}",
                "state",
                failure.kind,
                failure.reason or failure.kind,
                direction="handoff" if is_answer else None,
                outcome="answered" if is_answer else "failed",
                at=self.engine.clock.time(),
                status=failure.status,
            )
        )

    def _known_state(self) -> dict[str, Any]:
        if self.modes.state is not None:
            return plain(self.modes.state, self._keys)
        return {} if self._given is None or isinstance(self._given, Command) else plain(self._given, ())

    def _passes(self, error: Exception) -> bool:
        if isinstance(error, GraphDrained):
            return error.reason != OUR_TIME
        if ambient.is_control_flow(error):
            return True
        is_misuse = type(error) in MISUSE or isinstance(error, EmptyInputError | InvalidUpdateError)
        return is_misuse and not self._watch.began

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


def _with(callbacks: Any, watch: Watch) -> Any:
    return merge_configs({"callbacks": callbacks}, {"callbacks": [watch]}).get("callbacks")


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
