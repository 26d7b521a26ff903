"""The end of a run that could not be finished: what it writes, shows and keeps."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import END
from langgraph.graph.message import add_messages

from langgraph_degrade.engine import ambient
from langgraph_degrade.stages.closing import closing
from langgraph_degrade.stages.messages import language_of, last_question, messages_of, repair

if TYPE_CHECKING:
    from langgraph_degrade.adapters.stream_modes import Modes
    from langgraph_degrade.engine.scope import Scope
    from langgraph_degrade.policy import Policy

log = logging.getLogger("langgraph_degrade")

NODE = "degrade"
"""The name under which the ending appears in `updates` and `messages` streams."""


class Ending:
    """Made once, after the run has ended."""

    def __init__(self, graph: Any, config: Any, state: Any, modes: Modes, scope: Scope, key: str) -> None:
        self._graph, self._config, self._state = graph, config, state
        self._modes, self._scope, self._key = modes, scope, key
        self._policy: Policy = graph._engine.policy  # noqa: SLF001 - the class `wrap` made

    def chunks(self) -> list[Any]:
        """Keep the ending where the graph has a saver; the chunks the caller asked for."""
        update = self._update()
        if self._is_kept:
            try:
                self._graph.update_state(self._config, None, as_node=END)
                self._graph.update_state(self._config, update, as_node=self._author())
                self._graph.update_state(self._config, None, as_node=END)
            except Exception as error:  # the answer reaches the user all the same
                self._not_kept(error)
        return self._shown(update)

    async def achunks(self) -> list[Any]:
        """See `chunks`."""
        update = self._update()
        if self._is_kept:
            try:
                await self._graph.aupdate_state(self._config, None, as_node=END)
                await self._graph.aupdate_state(self._config, update, as_node=self._author())
                await self._graph.aupdate_state(self._config, None, as_node=END)
            except Exception as error:  # the answer reaches the user all the same
                self._not_kept(error)
        return self._shown(update)

    @property
    def _is_kept(self) -> bool:
        # A subgraph's state is its parent's to keep.
        return isinstance(self._graph.checkpointer, BaseCheckpointSaver) and not ambient.config()

    def _update(self) -> dict[str, Any]:
        custom = self._graph._answer  # noqa: SLF001 - the class `wrap` made
        if custom is not None:
            update: dict[str, Any] = dict(custom(self._state))
        elif "messages" in self._graph.channels:
            update = {"messages": self._messages()}
        else:
            update = {}
        if "degrade" in self._graph.channels:
            update["degrade"] = self._scope.context.plain()
        return update

    def _messages(self) -> list[BaseMessage]:
        """Results the run had reached, placeholders for calls nobody answered, and the honest answer."""
        known: Sequence[BaseMessage] = add_messages([], list(messages_of(self._state)))  # type: ignore[assignment, arg-type]
        reached = [*known, *self._modes.latest]
        texts, configured = self._policy.texts, self._policy.language
        language = language_of(last_question(reached)) if configured == "auto" else configured
        whole = repair(reached, language, texts)
        seen = {id(message) for message in known}
        added: list[BaseMessage] = [m for m in whole if id(m) not in seen and isinstance(m, AIMessage | ToolMessage)]
        if _is_answered(reached):
            return added
        words = closing(self._key, reached, self._scope.context, language, texts)
        return [*added, AIMessage(words, response_metadata={"degraded": True})]

    def _author(self) -> str:
        """A node to write in the name of: one without conditions of its own, if there is one."""
        nodes: list[str] = [name for name in self._graph.nodes if not name.startswith("__")]
        builder = getattr(self._graph, "builder", None)
        plain = [name for name in nodes if builder is None or not builder.branches.get(name)]
        return (plain or nodes)[0]

    def _shown(self, update: dict[str, Any]) -> list[Any]:
        shown: list[Any] = []
        for mode in self._modes.wanted:
            if mode == "values":
                shown.append(self._modes.make("values", self._final(update)))
            elif mode == "updates":
                shown.append(self._modes.make("updates", {NODE: update}))
            elif mode == "messages":
                spoken = [
                    m
                    for m in update.get("messages", ())
                    if isinstance(m, AIMessage) and m.response_metadata.get("degraded")
                ]
                shown.extend(self._modes.make("messages", (message, {"langgraph_node": NODE})) for message in spoken)
        return shown

    def _final(self, update: dict[str, Any]) -> Any:
        state = dict(self._state) if isinstance(self._state, dict) else {}
        if "messages" in update:
            known: Any = list(messages_of(state))
            return {**state, **update, "messages": add_messages(known, update["messages"])}
        return {**state, **update}

    @staticmethod
    def _not_kept(error: Exception) -> None:
        log.error("the ending of a run could not be kept (%s)", type(error).__name__)


def _is_answered(messages: Sequence[BaseMessage]) -> bool:
    """The run had its answer already; only what came after it failed (a saver's last write, say)."""
    last = messages[-1] if messages else None
    return (
        isinstance(last, AIMessage)
        and not last.tool_calls
        and not last.invalid_tool_calls
        and bool(str(last.text).strip())
    )
