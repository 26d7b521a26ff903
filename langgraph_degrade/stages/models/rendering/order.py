"""The order of roles providers insist on: system first, the user before the assistant, nobody empty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langgraph_degrade.stages.models.rendering.contents import Content, is_blank, plain
from langgraph_degrade.stages.models.rendering.makers import REASONING
from langgraph_degrade.stages.models.rendering.reader import Reader
from langgraph_degrade.stages.models.rendering.records import Record
from langgraph_degrade.stages.models.rendering.roles import is_system


def replace_system(messages: Sequence[BaseMessage], new_system_messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The conversation under another system part; the dialogue stays as it is.

    The system part is every message before the dialogue that is the system's or the developer's.

    Example:
        >>> from langchain_core.messages import SystemMessage
        >>> [m.text for m in replace_system([SystemMessage("a"), HumanMessage("hi")], [SystemMessage("b")])]
        ['b', 'hi']
    """
    begin = next((place for place, message in enumerate(messages) if not is_system(message)), len(messages))
    return [*new_system_messages, *messages[begin:]]


def ordered(messages: Sequence[BaseMessage], before: Sequence[BaseMessage], reader: Reader) -> list[BaseMessage]:
    """The conversation as its reader insists on it.

    Args:
        messages: what goes out so far.
        before: the conversation as it was: messages of the user that stood side by side there may do so here.
        reader: whose rules count; OpenAI takes system messages anywhere, and an assistant's first.
    """
    said = [spoken for message in messages if (spoken := _said(message, reader)) is not None]
    if not reader.is_lenient:
        said.sort(key=lambda message: not is_system(message))  # stable: nothing else changes places
        said = _opened(said, reader)
    said = _joined(said, before, reader)
    return list(_bridged(said, reader)) if reader.family == "mistralai" else said


def _said(message: BaseMessage, reader: Reader) -> BaseMessage | None:
    """The message with something in it; None where nothing was said, and nobody misses it."""
    if isinstance(message, AIMessage):
        return None if not message.tool_calls and (is_blank(message) or _only_thought(message)) else message
    if not is_blank(message):
        return message
    if is_system(message):
        return None
    key = "render.nothing_found" if message.type == "tool" else "render.nothing_said"
    return message.model_copy(update={"content": reader.say(key)})


def _only_thought(message: AIMessage) -> bool:
    content: Content = message.content
    return not isinstance(content, str) and all(
        isinstance(block, dict) and block.get("type") in REASONING for block in content
    )


def _opened(messages: list[BaseMessage], reader: Reader) -> list[BaseMessage]:
    """With words of the user's side before the assistant's first."""
    begin = next((place for place, message in enumerate(messages) if not is_system(message)), len(messages))
    if begin < len(messages) and isinstance(messages[begin], AIMessage):
        return [*messages[:begin], HumanMessage(reader.say("render.opening")), *messages[begin:]]
    return messages


def _joined(messages: list[BaseMessage], before: Sequence[BaseMessage], reader: Reader) -> list[BaseMessage]:
    """Messages that came to stand side by side made one; in a flattened conversation, all that do."""
    neighbours = {(id(one), id(other)) for one, other in pairwise(before)} if reader.takes_tools else set[Any]()
    runs: list[list[BaseMessage]] = []
    for message in messages:
        last = runs[-1][-1] if runs else None
        if last is not None and _is_one(last, message, reader) and (id(last), id(message)) not in neighbours:
            runs[-1].append(message)
        else:
            runs.append([message])
    return [_one(run, reader) for run in runs]


def _is_one(one: BaseMessage, other: BaseMessage, reader: Reader) -> bool:
    if isinstance(one, HumanMessage):
        return isinstance(other, HumanMessage)
    return not reader.takes_tools and isinstance(one, AIMessage) and isinstance(other, AIMessage)


def _one(run: Sequence[BaseMessage], reader: Reader) -> BaseMessage:
    if len(run) == 1 and not isinstance(run[0], Record):
        return run[0]
    if isinstance(run[0], AIMessage):
        words = [
            said for message in run if isinstance(message, AIMessage) and (said := str(plain(message).text)).strip()
        ]
        return AIMessage("\n\n".join(words)) if words else run[0]
    parts = list(_parts(run, reader))
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) == len(parts):
        return HumanMessage("\n\n".join(texts))
    return HumanMessage([{"type": "text", "text": part} if isinstance(part, str) else part for part in parts])


def _parts(run: Sequence[BaseMessage], reader: Reader) -> Iterator[str | dict[str, Any]]:
    """What was said, the user's words told apart from the notes before them."""
    was_record = False
    for message in run:
        is_record = isinstance(message, Record)
        if was_record and not is_record:
            yield reader.say("render.user")
        was_record = is_record
        content: Content = message.content
        if isinstance(content, str):
            yield content
        else:
            yield from content


def _bridged(messages: Sequence[BaseMessage], reader: Reader) -> Iterator[BaseMessage]:
    """Mistral takes no user right after a tool (400, code 3230): the assistant says something in between."""
    last: BaseMessage | None = None
    for message in messages:
        if last is not None and last.type == "tool" and isinstance(message, HumanMessage):
            yield AIMessage(reader.say("render.noted"))
        yield message
        last = message
