"""The end of a run that could not be finished: what it writes, shows and keeps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import END
from langgraph.graph.message import add_messages
from langgraph.types import Command, StateUpdate

from langgraph_degrade.adapters.finished import author, configurable
from langgraph_degrade.adapters.values import shaped
from langgraph_degrade.engine import ambient
from langgraph_degrade.engine.logs import frames
from langgraph_degrade.stages.closing import closing
from langgraph_degrade.stages.messages import language_of, messages_of, repair

if TYPE_CHECKING:
    from langgraph_degrade.adapters.finished import Hurry
    from langgraph_degrade.adapters.stream_modes import Modes
    from langgraph_degrade.adapters.watch import Result
    from langgraph_degrade.engine.scope import Scope

log = logging.getLogger("langgraph_degrade")

NODE = "degrade"
"""The name under which the ending appears in `updates` and `messages` streams."""
COORDINATES = ("checkpoint_id", "checkpoint_ns", "checkpoint_map")
"""Where a replay began, not where its thread is now: an ending kept there would fork the thread."""


@dataclass(frozen=True, slots=True)
class Remains:
    """What a run leaves behind."""

    graph: Any
    config: Any
    keys: str | Sequence[str]
    """Its output keys."""
    state: dict[str, Any]
    """Its last known state, by channel."""
    modes: Modes
    results: Sequence[Result]
    """What the last step's nodes returned, so far as `state` does not hold it."""
    scope: Scope


class Ending:
    """Made once, after the run has ended.

    Args:
        remains: see there.
        key: the text that says how the run ended; None if it had its answer, and only what came after that failed.
        final: the state the run ended in, if it did.
    """

    def __init__(self, remains: Remains, key: str, final: dict[str, Any] | None) -> None:
        self._remains, self._key, self._final = remains, key, final
        self._written = self._update()

    @property
    def is_answer(self) -> bool:
        """An honest answer in place of the run's own, and a place to put it."""
        return self._final is None and self._written is not None

    @property
    def _graph(self) -> Any:
        return self._remains.graph

    async def chunks(self, hurry: Hurry) -> list[Any] | None:
        """Keep the ending where the graph has a saver; the chunks the caller asked for.

        None where there is nowhere to put an answer.
        """
        update = self._written
        if update is None:
            return None
        if "degrade" in self._graph.channels:
            update["degrade"] = self._remains.scope.context.plain()
        await self._keep(update, hurry)
        return list(self._shown(update) if self._final is None else self._rest())

    def _update(self) -> dict[str, Any] | None:
        if self._final is not None:  # message ids make this write idempotent; other channels' reducers need not be
            return {"messages": self._reached()[1]} if self._has_messages else {}
        custom = self._graph._answer  # noqa: SLF001 - the class `wrap` made
        if custom is not None:
            try:
                return dict(custom(self._remains.state))
            except Exception as error:  # the developer's answer failed: ours, or the run's own error, is next
                _complain("the answer of a wrapped graph failed", error)
        keys = self._remains.keys
        is_hidden = isinstance(keys, str) and keys != "messages"
        return {"messages": self._closing()} if self._has_messages and not is_hidden else None

    @property
    def _has_messages(self) -> bool:
        return "messages" in self._graph.channels

    def _closing(self) -> list[BaseMessage]:
        """Results the run had reached, placeholders for calls nobody answered, and the honest answer."""
        policy, context = self._graph._engine.policy, self._remains.scope.context  # noqa: SLF001 - the class `wrap` made
        reached, added = self._reached()
        language = self._language(reached)
        words = closing(self._key, reached, context, language, policy.texts)
        return [*added, AIMessage(words, id=str(uuid4()), response_metadata={"degraded": True})]

    def _reached(self) -> tuple[Sequence[BaseMessage], list[BaseMessage]]:
        """The conversation, and what of it the state does not hold yet."""
        stored: list[Any] = list(messages_of(self._remains.state))
        known: Any = add_messages([], stored)
        reached: Any = known
        try:
            for result in self._remains.results:
                reached = add_messages(reached, _messages(result.output))
        except (TypeError, ValueError, NotImplementedError) as error:  # no messages at all
            log.info("what a node wrote can't be read as messages (%s)", type(error).__name__)
        whole = repair(reached, self._language(reached), self._graph._engine.policy.texts)  # noqa: SLF001 - as above
        seen = {id(message) for message in known}
        return reached, [m for m in whole if id(m) not in seen and isinstance(m, AIMessage | ToolMessage)]

    def _language(self, messages: Sequence[BaseMessage]) -> Any:
        configured = self._graph._engine.policy.language  # noqa: SLF001 - as above
        return language_of(messages) if configured == "auto" else configured

    async def _keep(self, update: dict[str, Any], hurry: Hurry) -> None:
        # A subgraph's state is its parent's to keep.
        if ambient.config() or not isinstance(self._graph.checkpointer, BaseCheckpointSaver):
            return
        config = self._remains.config
        place = {name: value for name, value in configurable(config).items() if name not in COORDINATES}
        end = [StateUpdate(None, END)]
        steps = [end, [StateUpdate(update, author(self._graph))], end] if update else [end]
        try:
            await hurry.call(self._graph, "bulk_update_state", {**config, "configurable": place}, steps)
        except Exception as error:  # the answer reaches the user all the same
            _complain("the ending of a run could not be kept", error)

    def _shown(self, update: dict[str, Any]) -> Iterator[Any]:
        """The ending."""
        return self._made(
            values=lambda: [self._values(update)],
            updates=lambda: [{NODE: update}],
            messages=lambda: [(message, {"langgraph_node": NODE}) for message in _spoken(update)],
        )

    def _rest(self) -> Iterator[Any]:
        """What the run gave, and its stream did not tell any more."""
        if not self._remains.results:
            return iter(())
        return self._made(values=lambda: [self._output()], updates=self._untold, messages=self._unspoken)

    def _made(self, **parts: Callable[[], Iterable[Any]]) -> Iterator[Any]:
        modes = self._remains.modes
        for mode in modes.wanted:
            for data in parts.get(mode, tuple)():
                yield modes.make(mode, data)

    def _values(self, update: dict[str, Any]) -> Any:
        remains = self._remains
        state = {**remains.state, **update}
        if "messages" in update:
            state["messages"] = add_messages(list(messages_of(remains.state)), update["messages"])  # type: ignore[arg-type]
        return shaped(state, remains.keys, remains.modes.state)

    def _output(self) -> Any:
        remains, final = self._remains, self._final or {}
        keys = remains.keys
        shown = final if isinstance(keys, str) else {name: final[name] for name in keys if name in final}
        return shaped(shown, keys, remains.modes.state)

    def _untold(self) -> Iterator[dict[str, Any]]:
        for result in self._remains.results:
            if result.task not in self._remains.modes.told:
                yield {result.node: _written(result.output)}

    def _unspoken(self) -> Iterator[tuple[AIMessage, dict[str, str]]]:
        for result in self._remains.results:
            for message in _messages(result.output):
                if isinstance(message, AIMessage) and message.id not in self._remains.modes.spoken:
                    yield message, {"langgraph_node": result.node}


def _spoken(update: dict[str, Any]) -> Iterator[AIMessage]:
    for message in update.get("messages", ()):
        if isinstance(message, AIMessage) and message.response_metadata.get("degraded"):
            yield message


def _messages(output: Any) -> list[Any]:
    """The messages in what a node returned: a state update, a command, or several of them."""
    if isinstance(output, list | tuple):
        return [message for part in output for message in _messages(part)]
    return list(messages_of(_written(output)))


def _written(output: Any) -> Any:
    return output.update if isinstance(output, Command) else output


def _complain(what: str, error: Exception) -> None:
    log.error("%s: %s\n%s", what, type(error).__name__, frames(error))
