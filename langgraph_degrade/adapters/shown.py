"""What is shown of a reply, chunk by chunk; nothing twice, no half of a call, and no end that was none (spec M5)."""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk

from langgraph_degrade.context import Event
from langgraph_degrade.engine import ambient
from langgraph_degrade.errors import IncompleteStream
from langgraph_degrade.failures import Failure, classify
from langgraph_degrade.stages.models.calling import END, whole_of
from langgraph_degrade.stages.models.request import judged

if TYPE_CHECKING:
    from langgraph_degrade.adapters.chain import Chain
    from langgraph_degrade.engine.scope import Scope
    from langgraph_degrade.stages.models.request import Reply


class Shown:
    """The chunks of one reply."""

    def __init__(self, reply: Reply, chain: Chain, scope: Scope) -> None:
        self._reply = reply
        self._request = reply.request
        self._chain = chain
        self._scope = scope
        self._began = chain.engine.clock.monotonic()
        self._said: Any = reply.message
        self._held: Any = None
        self._ready = deque([_first(reply)])
        self._is_over = reply.rest is None
        self._is_told = False

    async def next(self) -> Any:
        """The next chunk to show, or `END`; `IncompleteStream` where the rest will never come."""
        if self._ready:
            return self._ready.popleft()
        while not self._is_over:
            chunk = await self._pulled()
            if chunk is not None:
                return chunk
        if self._ready:
            return self._ready.popleft()
        return self._cost()

    async def close(self) -> None:
        """Let go of a stream that was not listened to until its end."""
        if self._reply.rest is not None and not self._is_over:
            self._is_over = True
            await self._reply.rest.close()

    async def _pulled(self) -> AIMessageChunk | None:
        """One chunk of the model's, if it may be shown at once; calls are held back until they are whole."""
        try:
            chunk = await self._reply.rest.next(most=self._left())
        except Exception as error:
            if ambient.is_control_flow(error):
                raise
            failure = classify(error, source="model") or Failure("unknown", reason=type(error).__name__, cause=error)
            raise self._broken(failure) from error
        if chunk is END:
            self._is_over = True
            self._finish()
            return None
        if self._held is not None or chunk.tool_call_chunks:
            self._held = chunk if self._held is None else self._held + chunk
            return None
        self._said = self._said + chunk
        shown: AIMessageChunk = chunk
        return shown

    def _finish(self) -> None:
        """The stream has ended: was it whole, and are its calls what they should be?"""
        whole = self._said if self._held is None else self._said + self._held
        message, failure = judged(whole_of(whole), self._request)
        if failure is not None:
            raise self._broken(failure)
        if self._held is not None:
            self._ready.append(_calls_of(message, self._held))

    def _left(self) -> float:
        """Seconds the whole answer still has, of its own time and of the request's."""
        now, target = self._chain.engine.clock.monotonic(), self._target
        own = target.policy.timeout.basic if target.policy.timeout is not None else None
        times = [None if own is None else own - (now - self._began), self._scope.remaining(now)]
        return max(0.0, min((time for time in times if time is not None), default=float("inf")))

    @property
    def _target(self) -> Any:
        tier = self._request.tier or self._chain.tiers[0]
        return self._chain.target(tier, has_tools=bool(self._request.tools))

    def _broken(self, failure: Failure) -> IncompleteStream:
        """Text was shown, so nobody else may go on with it: say what happened, to the breaker and to the caller."""
        engine, target = self._chain.engine, self._target
        now = engine.clock.monotonic()
        target.blame(failure, now)
        event = Event(
            id=self._scope.next_id(),
            target=self._chain.target(self._chain.tiers[0], has_tools=bool(self._request.tools)).name,
            source=self._request.tier.name if self._request.tier is not None else None,
            stage=target.stage,
            kind=failure.kind,
            reason=failure.reason or failure.kind,
            status=failure.status,
            outcome="cut",
            at=engine.clock.time(),
        )
        self._scope.record(event)
        return IncompleteStream(f"{target.name}: {failure.reason or failure.kind} after text was shown")

    def _cost(self) -> Any:
        """What the replies before this one cost, in a chunk of its own."""
        if self._is_told or self._request.usage is None:
            return END
        self._is_told = True
        return AIMessageChunk(content="", usage_metadata=self._request.usage)


def _first(reply: Reply) -> AIMessageChunk:
    tier = reply.request.tier
    message = reply.message
    chunk = message if isinstance(message, AIMessageChunk) else as_chunk(message)
    return chunk.model_copy(
        update={"response_metadata": {**chunk.response_metadata, "tier": tier.name if tier is not None else "none"}}
    )


def as_chunk(message: AIMessage) -> AIMessageChunk:
    """A whole message as the only chunk of a stream."""
    calls = [
        tool_call_chunk(
            name=call["name"], args=json.dumps(call["args"], ensure_ascii=False), id=call["id"], index=place
        )
        for place, call in enumerate(message.tool_calls)
    ]
    return AIMessageChunk(
        content=message.content,
        additional_kwargs={k: v for k, v in message.additional_kwargs.items() if k != "tool_calls"},
        response_metadata=message.response_metadata,
        tool_call_chunks=calls,
        usage_metadata=message.usage_metadata,
        id=message.id,
    )


def _calls_of(message: AIMessage, held: AIMessageChunk) -> AIMessageChunk:
    """The chunk that was held back, its calls as they were mended."""
    return as_chunk(message).model_copy(
        update={
            "content": held.content,
            "usage_metadata": held.usage_metadata,
            "response_metadata": held.response_metadata,
            "additional_kwargs": {},
        }
    )
