"""Streamed tool calls whose pieces bear no index: put together where there is one way to, and only there.

OpenAI's streams number the pieces of each call. Some compatible servers number nothing: they send whole calls, which
need no putting together, or pieces, which belong to the only call that is not whole yet. Where two are open, or none,
nobody can tell, and the pieces stay what they are: no calls.
"""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk

from langgraph_degrade.stages.selecting.reading import parsed


def joined(got: AIMessageChunk) -> AIMessageChunk:
    """The sum of a stream's chunks, with calls whose pieces nobody numbered put together."""
    pieces = got.tool_call_chunks
    if not pieces or any(piece["index"] is not None for piece in pieces) or all(map(_is_whole, pieces)):
        return got
    calls = _put_together(pieces)
    if calls is None:
        return got
    told = {name: getattr(got, name) for name in ("content", "additional_kwargs", "response_metadata", "id", "name")}
    return AIMessageChunk(**told, usage_metadata=got.usage_metadata, tool_call_chunks=calls)


def _put_together(pieces: Iterable[ToolCallChunk]) -> list[ToolCallChunk] | None:
    calls: list[ToolCallChunk] = []
    for piece in pieces:
        opened = [call for call in calls if not _is_whole(call)]
        own = [call for call in opened if call["id"] == piece["id"]] if piece["id"] else []
        if piece["name"] and not own:
            calls.append(_head(piece))
            continue
        belongs = own if piece["id"] else opened
        if len(belongs) != 1 or piece["name"] not in (None, "", belongs[0]["name"]):
            return None
        belongs[0]["args"] = (belongs[0]["args"] or "") + (piece["args"] or "")
    return calls


def _head(piece: ToolCallChunk) -> ToolCallChunk:
    return tool_call_chunk(name=piece["name"], args=piece["args"] or "", id=piece["id"], index=None)


def _is_whole(call: ToolCallChunk) -> bool:
    """Nothing can follow: one JSON object was written, to its end."""
    text = (call["args"] or "").rstrip()
    return text.endswith(("}", "]")) and parsed(text) is not None
