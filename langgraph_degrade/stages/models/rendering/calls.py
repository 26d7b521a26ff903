"""Tool calls and their results, under ids and names the provider accepts (spec E6, M6).

An id depends on the one it stands for and how often that came before, not on what follows: the beginning of a growing
conversation stays the same, and providers' prompt caches with it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langgraph_degrade.stages.models.rendering.contents import Content, same
from langgraph_degrade.stages.models.rendering.reader import Reader
from langgraph_degrade.stages.models.rendering.records import Record, quoted
from langgraph_degrade.texts import one_line

_STRICT_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""Anthropic's characters, OpenAI's length (Chat Completions 40, Responses 64)."""
_IDS: Mapping[str, re.Pattern[str]] = {
    "openai": re.compile(r"[\x21-\x7e]{1,40}"),
    "mistralai": re.compile(r"[A-Za-z0-9]{9}"),
}
_STRICT_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAMES: Mapping[str, re.Pattern[str]] = {"google_genai": re.compile(r"[A-Za-z0-9_.:-]{1,64}")}
LONGEST_NAME = 64
"""Characters of a tool's name, as OpenAI and Anthropic have it."""
_NAMELESS = "unknown_tool"
_CALL_BLOCKS = frozenset({"tool_use", "tool_call", "function_call", "custom_tool_call", "invalid_tool_call"})
_RAW = ("tool_calls", "function_call")
"""Keys of `additional_kwargs` under which some integrations send calls again."""


def identified(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Every call has an id; results without one belong to the calls without one, in their order."""
    if not any(not call["id"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls):
        return messages
    named: list[BaseMessage] = []
    waiting: list[str] = []
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage):
            calls = [
                call if call["id"] else {**call, "id": f"call_{place}_{n}"} for n, call in enumerate(message.tool_calls)
            ]
            waiting = [str(new["id"]) for new, old in zip(calls, message.tool_calls, strict=True) if not old["id"]]
            named.append(message.model_copy(update={"tool_calls": calls}) if waiting else message)
        elif isinstance(message, ToolMessage) and waiting and message.tool_call_id in ("", "None"):
            named.append(message.model_copy(update={"tool_call_id": waiting.pop(0)}))
        else:
            named.append(message)
    return named


def lawful(messages: Sequence[BaseMessage], reader: Reader) -> list[BaseMessage]:
    """The conversation, whole already, with calls, results and the blocks of calls in accord."""
    ids = _Ids(reader.family)
    names = _NAMES.get(reader.family or "", _STRICT_NAME)
    done: list[BaseMessage] = []
    for message, results in _rounds(messages):
        if isinstance(message, AIMessage) and (results or _has_calls(message)):
            done += _Round(message, results, ids, names).told(reader)
        else:
            done += [message, *results]
    return done


def _rounds(messages: Iterable[BaseMessage]) -> Iterator[tuple[BaseMessage, list[ToolMessage]]]:
    """Each message with the results that follow it."""
    head: BaseMessage | None = None
    results: list[ToolMessage] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            results.append(message)
            continue
        if head is not None:
            yield head, results
        head, results = message, []
    if head is not None:
        yield head, results


def _has_calls(message: AIMessage) -> bool:
    has_raw = any(key in message.additional_kwargs for key in _RAW)
    return bool(message.tool_calls or message.invalid_tool_calls or has_raw) or any(_call_blocks(message.content))


def _call_blocks(content: Content) -> Iterator[dict[str, Any]]:
    if not isinstance(content, str):
        yield from (block for block in content if isinstance(block, dict) and block.get("type") in _CALL_BLOCKS)


class _Ids:
    """Ids given out so far, none twice in a conversation: pairs are told apart by them alone."""

    def __init__(self, family: str | None) -> None:
        self._pattern = _IDS.get(family or "", _STRICT_ID)
        self._is_short = family == "mistralai"
        self._taken: set[str] = set()
        self._times: dict[str, int] = {}

    def lawful(self, old: str) -> str:
        times = self._times[old] = self._times.get(old, 0) + 1
        new = old if times == 1 and self._pattern.fullmatch(old) else self._made(old, times)
        while new in self._taken:
            new = self._made(new, times)
        self._taken.add(new)
        return new

    def _made(self, old: str, times: int) -> str:
        digest = hashlib.sha256(f"{old}#{times}".encode("utf-8", "replace")).hexdigest()
        return digest[:9] if self._is_short else f"call_{digest[:24]}"


class _Round:
    """One message that calls tools, and what they returned."""

    def __init__(self, message: AIMessage, results: list[ToolMessage], ids: _Ids, names: re.Pattern[str]) -> None:
        self._message = message
        self._results = results
        self._names = names
        self._calls = [cast("dict[str, Any]", call) for call in message.tool_calls]
        self._new = [
            {**call, "id": ids.lawful(str(call["id"])), "name": _lawful_name(call["name"], names)}
            for call in self._calls
        ]

    def told(self, reader: Reader) -> list[BaseMessage]:
        """The round as it goes out; calls that could not be read as a note after it."""
        calls = [*self._calls, *map(dict, self._message.invalid_tool_calls)]
        places = list(_places(calls, self._results))
        sound = [
            _renamed(result, self._new[place], self._names)
            for place, result in zip(places, self._results, strict=True)
            if place < len(self._new)
        ]
        notes: list[BaseMessage] = []
        for place in range(len(self._new), len(calls)):
            found = [result for at, result in zip(places, self._results, strict=True) if at == place]
            notes.append(_unreadable(str(calls[place]["name"] or _NAMELESS), found, reader))
        return [self._called(), *sound, *notes]

    def _called(self) -> AIMessage:
        message = self._message
        content = self._content()
        # beside calls in `tool_calls` nobody reads the raw ones; without any, they would be sent
        has_raw = not message.tool_calls and any(key in message.additional_kwargs for key in _RAW)
        is_same = self._new == self._calls and content is message.content
        if is_same and not message.invalid_tool_calls and not has_raw:
            return message
        return AIMessage(
            content=content,
            tool_calls=self._new,
            additional_kwargs={key: value for key, value in message.additional_kwargs.items() if key not in _RAW},
            response_metadata=message.response_metadata,
            id=message.id,
            name=message.name,
            usage_metadata=message.usage_metadata,
        )

    def _content(self) -> Content:
        """The blocks of the calls under their new ids; a block whose call is gone goes with it."""
        content = self._message.content
        if isinstance(content, str) or not any(_call_blocks(content)):
            return content
        blocks = list(self._blocks(content))
        return content if same(blocks, content) else blocks

    def _blocks(self, content: Sequence[str | dict[str, Any]]) -> Iterator[str | dict[str, Any]]:
        waiting = list(zip(self._calls, self._new, strict=True))
        for block in content:
            if isinstance(block, str) or block.get("type") not in _CALL_BLOCKS:
                yield block
                continue
            key = "call_id" if "call_id" in block else "id"
            at = next((n for n, (old, _) in enumerate(waiting) if old["id"] == block.get(key)), None)
            if at is not None:
                old, new = waiting.pop(at)
                yield block if old == new else {**block, key: new["id"], "name": new["name"]}


def _places(calls: Sequence[Mapping[str, Any]], results: Iterable[ToolMessage]) -> Iterator[int]:
    """Which call each result answers: ids that occur twice are matched in their order."""
    open_calls = list(enumerate(calls))
    for result in results:
        at = next(n for n, (_, call) in enumerate(open_calls) if str(call["id"]) == result.tool_call_id)
        yield open_calls.pop(at)[0]


def _renamed(result: ToolMessage, call: Mapping[str, Any], allowed: re.Pattern[str]) -> ToolMessage:
    name = result.name if result.name is None or allowed.fullmatch(result.name) else call["name"]
    if result.tool_call_id == call["id"] and result.name == name:
        return result
    return result.model_copy(update={"tool_call_id": call["id"], "name": name})


def _lawful_name(name: str, allowed: re.Pattern[str]) -> str:
    if allowed.fullmatch(name):
        return name
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:LONGEST_NAME] or _NAMELESS


def _unreadable(name: str, results: Sequence[ToolMessage], reader: Reader) -> Record:
    said = [reader.say("render.unreadable", name=one_line(name, LONGEST_NAME))]
    return Record(content="\n".join(said + [quoted(str(result.text)) for result in results]))
