"""Who watches a run's tokens as they come is told of a member's only what stays (spec M5).

LangGraph's `stream_mode="messages"` and `astream_events` listen to the models inside, by callbacks, whatever becomes of
their words. Here these callbacks are held back: until a member has said something that may be shown, to its end where
the answer states facts; and of a member that failed they are never told. Other callbacks, tracers say, hear everything.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.callbacks.manager import ahandle_event, handle_event
from langchain_core.messages import AIMessage, BaseMessage

from langgraph_degrade.adapters.curtain import TAP, curtain
from langgraph_degrade.adapters.hearing import heard
from langgraph_degrade.adapters.said import Said
from langgraph_degrade.errors import IncompleteStream
from langgraph_degrade.stages.messages import turn_results
from langgraph_degrade.stages.models.calling import END

SILENT = frozenset({"nostream", "langsmith:nostream"})
"""Tags of runs that LangGraph shows to nobody."""
Heard = tuple[BaseCallbackHandler, str, tuple[Any, ...], dict[str, Any]]


class Audience:
    """Those who watch one request."""

    def __init__(self, asked: Any, *, is_async: bool) -> None:
        self._is_async = is_async
        self.is_held = states_facts(asked)
        """The answer states facts: it is shown whole or not at all."""
        self._stage: Stage | None = None

    @property
    def has_seen(self) -> bool:
        """Something was shown that can't be taken back."""
        return self._stage is not None and self._stage.has_shown

    def turn(self) -> Stage:
        """A member begins: whoever was asked before it is heard no more.

        Raises:
            IncompleteStream: that one was heard after all.
        """
        self.leave()
        if self.has_seen:
            raise IncompleteStream("a part of an answer was shown: nobody else goes on with it")
        self._stage = Stage(is_async=self._is_async, is_held=self.is_held)
        return self._stage

    def leave(self) -> None:
        """It is over, for whoever still talks too."""
        if self._stage is not None:
            self._stage.drop()

    @staticmethod
    def config(config: Any, stage: Stage, *, streams: bool = False) -> Any:
        """The config for a member; `streams`: its models do, whoever asks for the whole."""
        manager: Any = config.get("callbacks")
        behind = {
            id(one): curtain(one, stage, is_async=stage.is_async) for one in manager.handlers if _is_watching(one)
        }
        if behind or streams:
            config = heard(config)
            manager = config["callbacks"]
        if not behind:
            return config
        copied = manager.copy()
        copied.handlers = [behind.get(id(one), one) for one in manager.handlers]
        copied.inheritable_handlers = [behind.get(id(one), one) for one in manager.inheritable_handlers]
        return {**config, "callbacks": copied}


class Stage:
    """What one member does, kept until it may be seen."""

    def __init__(self, *, is_async: bool, is_held: bool) -> None:
        self.has_shown = False
        self.is_async = is_async
        self._is_held = is_held
        self._is_open = self._is_over = False
        self._waiting = deque[Heard]()
        self._said: dict[Any, Said] = {}
        self._taps: dict[Any, tuple[deque[Any], Any]] = {}
        self._lock = threading.Lock()  # of what is written above, never held over a call
        self._telling = threading.Lock()  # one tells at a time, in order; the others leave it theirs

    def drop(self) -> None:
        """It failed, or is late: nothing more of it is told."""
        with self._lock:
            self._is_over = True
            self._waiting.clear()

    async def show(self) -> None:
        """What it has said so far may be seen."""
        with self._lock:
            self._is_open = True
        await self._tell()

    async def accept(self) -> None:
        """It is good to the end."""
        self._is_held = False
        with self._lock:
            self._is_open = True
            self._said.clear()
        await self._tell()

    async def hear(self, handler: BaseCallbackHandler, name: str, args: tuple[Any, ...], told: dict[str, Any]) -> None:
        """Take in what a handler is to be told."""
        with self._lock:
            if self._is_over:
                return
            self._waiting.append((handler, name, args, told))
            if not self._is_held and (may := self._may_show(name, args, told)) is not None:
                self._is_open = may
        await self._tell()

    def _may_show(self, name: str, args: tuple[Any, ...], told: Mapping[str, Any]) -> bool | None:
        """Whether a model's words so far may be seen; None where this is not about words, or nobody is shown them."""
        if not SILENT.isdisjoint(told.get("tags") or ()):
            return None
        if name == "on_stream_event":
            return _is_spoken(args[0])
        message = getattr(told.get("chunk"), "message", None)
        if name != "on_llm_new_token" or not isinstance(message, AIMessage):
            return None
        return self._said.setdefault(told.get("run_id"), Said()).may_show(message)

    def _next(self) -> Heard | None:
        with self._lock:
            return self._waiting.popleft() if self._is_open and self._waiting else None

    async def _tell(self) -> None:
        while self._is_open and self._waiting and self._telling.acquire(blocking=False):
            try:
                while (heard := self._next()) is not None:
                    self.has_shown = True
                    await self._deliver(*heard)
            finally:
                self._telling.release()

    async def _deliver(
        self, handler: BaseCallbackHandler, name: str, args: tuple[Any, ...], told: dict[str, Any]
    ) -> None:
        if name == TAP:
            await self._tap(handler, *args)
        elif self.is_async:
            await ahandle_event([handler], name, None, *args, **told)
        else:
            handle_event([handler], name, None, *args, **told)

    async def _tap(self, handler: Any, run_id: Any, chunk: Any) -> None:
        """Have the handler see one more chunk of a run's output: its tap is fed piece by piece."""
        key = (id(handler), run_id)
        if key not in self._taps:
            feed = deque[Any]()
            tap = (
                handler.tap_output_aiter(run_id, _adrain(feed))
                if self.is_async
                else handler.tap_output_iter(run_id, _drain(feed))
            )
            self._taps[key] = (feed, tap)
        feed, tap = self._taps[key]
        if chunk is not END:
            feed.append(chunk)
        if self.is_async:
            await anext(tap, END)
        else:
            next(tap, END)


def _drain(feed: deque[Any]) -> Iterator[Any]:
    while feed:
        yield feed.popleft()


async def _adrain(feed: deque[Any]) -> AsyncIterator[Any]:
    while feed:
        yield feed.popleft()


def _is_spoken(event: Mapping[str, Any]) -> bool | None:
    """Read one event of a message's parts: words may be seen, half a call may not."""
    part = event.get("delta") or event.get("content") or event.get("content_block") or {}
    kind = str(part.get("type", ""))
    if "tool_call" in kind:
        return False
    return True if kind.startswith("text") and str(part.get("text") or "").strip() else None


def _is_watching(handler: Any) -> bool:
    return hasattr(handler, "tap_output_iter") and hasattr(handler, "tap_output_aiter")


def states_facts(asked: Any) -> bool:
    """The input holds what tools of this turn found, so that the answer states facts."""
    if isinstance(asked, Mapping):
        return any(map(states_facts, asked.values()))
    to_messages = getattr(asked, "to_messages", None)
    messages = to_messages() if callable(to_messages) else asked
    if not isinstance(messages, list | tuple) or not all(isinstance(one, BaseMessage) for one in messages):
        return False
    return bool(turn_results(messages))
