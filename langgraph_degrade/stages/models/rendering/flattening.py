"""Tool history in words, for tiers that take no tools: what was asked, and what was found, as data (spec M6)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langgraph_degrade.stages.models.rendering.contents import Content, plain
from langgraph_degrade.stages.models.rendering.media import kind_of
from langgraph_degrade.stages.models.rendering.reader import Reader
from langgraph_degrade.stages.models.rendering.records import Record, quoted
from langgraph_degrade.texts import one_line


def flattened(messages: Sequence[BaseMessage], reader: Reader) -> list[BaseMessage]:
    """The conversation without tool calls; nothing of what they asked and returned is lost."""
    told: list[BaseMessage] = []
    names: dict[str, str] = {}
    for is_found, group in groupby(messages, lambda message: message.type == "tool"):
        if is_found:
            results = [message for message in group if isinstance(message, ToolMessage)]
            told.append(Record(content=_found(results, names, reader)))
            continue
        for message in group:
            if isinstance(message, AIMessage) and message.tool_calls:
                names |= {str(call["id"]): call["name"] for call in message.tool_calls}
                told.append(AIMessage(_asked(message, reader)))
            else:
                told.append(message)
    return told


def _asked(message: AIMessage, reader: Reader) -> str:
    asked = [
        reader.say("render.asked", name=call["name"], args=json.dumps(call["args"], ensure_ascii=False, default=str))
        for call in message.tool_calls
    ]
    words = str(plain(message).text).strip()
    return "\n".join([words, *asked] if words else asked)


def _found(results: Sequence[ToolMessage], names: dict[str, str], reader: Reader) -> Content:
    parts: list[str | dict[str, Any]] = [reader.say("render.found")]
    for result in results:
        key = "render.failed" if result.status == "error" else "render.result"
        parts.append(reader.say(key, name=one_line(names.get(result.tool_call_id) or result.name or "")))
        parts += _parts(result, reader)
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) == len(parts):
        return "\n".join(texts)
    return [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]


def _parts(result: ToolMessage, reader: Reader) -> Iterator[str | dict[str, Any]]:
    content: Content = result.content
    parts = [content] if isinstance(content, str) else content
    if not any(str(part).strip() for part in parts):
        yield reader.say("render.nothing_found")
        return
    for part in parts:
        if isinstance(part, str):
            yield quoted(part)
        elif part.get("type") == "text":
            yield quoted(str(part.get("text") or ""))
        elif kind_of(part) is not None:
            yield part
        else:
            yield quoted(json.dumps(part, ensure_ascii=False, default=str))
