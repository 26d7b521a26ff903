"""What is shown of a reply, chunk by chunk; nothing twice, no half of a call, and no end that was none (spec M5)."""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import add_usage
from langchain_core.messages.tool import tool_call_chunk

from langgraph_degrade.adapters.rest import Rest
from langgraph_degrade.stages.models.calling import END, whole_of
from langgraph_degrade.stages.models.joining import joined
from langgraph_degrade.stages.models.request import judged

if TYPE_CHECKING:
    from langgraph_degrade.adapters.chain import Chain
    from langgraph_degrade.engine.scope import Scope
    from langgraph_degrade.stages.models.request import Reply


class Shown:
    """The chunks of one reply."""

    def __init__(self, reply: Reply, chain: Chain, scope: Scope) -> None:
        self._request = reply.request
        self._rest = _rest(reply, chain, scope)
        self._said: Any = reply.message
        self._held: Any = None
        self._ready = deque([_first(reply)])

    async def next(self) -> Any:
        """The next chunk to show, or `END`; `IncompleteStream` where the rest will never come."""
        if self._ready:
            return self._ready.popleft()
        while (rest := self._rest) is not None:
            chunk = await self._pulled(rest)
            if chunk is not None:
                return chunk
        return self._ready.popleft() if self._ready else END

    async def close(self) -> None:
        """Let go of a stream that was not listened to until its end."""
        rest, self._rest = self._rest, None
        if rest is not None:
            await rest.close()

    async def _pulled(self, rest: Rest) -> AIMessageChunk | None:
        """One chunk of the model's, if it may be shown at once; calls are held back until they are whole."""
        chunk = await rest.next()
        if chunk is END:
            self._rest = None
            self._finish(rest)
            return None
        if self._held is not None or chunk.tool_call_chunks:
            self._held = chunk if self._held is None else self._held + chunk
            return None
        self._said = self._said + chunk
        shown: AIMessageChunk = chunk
        return shown

    def _finish(self, rest: Rest) -> None:
        """The stream has ended: was it whole, and are its calls what they should be?"""
        whole = self._said if self._held is None else self._said + self._held
        message, failure = judged(whole_of(joined(whole)), self._request)
        if failure is not None:
            raise rest.cut(failure)
        rest.done()
        if self._held is not None:
            self._ready.append(_calls_of(message, self._held))


def _rest(reply: Reply, chain: Chain, scope: Scope) -> Rest | None:
    if reply.rest is None:
        return None
    tier, has_tools = reply.request.tier, bool(reply.request.tools)
    main = chain.target(chain.tiers[0], has_tools=has_tools)
    at = main if tier is None else chain.target(tier, has_tools=has_tools)
    source = None if tier is None else tier.name
    return Rest(reply.rest, chain.engine, scope, main=main, at=at, source=source)


def _first(reply: Reply) -> AIMessageChunk:
    tier = reply.request.tier
    message = reply.message
    chunk = message if isinstance(message, AIMessageChunk) else as_chunk(message)
    told = {"response_metadata": {**chunk.response_metadata, "tier": tier.name if tier is not None else "none"}}
    if reply.request.usage is not None:  # what the replies before this one cost
        told["usage_metadata"] = add_usage(reply.request.usage, chunk.usage_metadata)  # type: ignore[assignment]
    return chunk.model_copy(update=told)


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
