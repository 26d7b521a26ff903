"""Reading and mending a conversation: the turn it is in, its language, and tool calls nobody answered (spec E6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_degrade.texts import Language, Overrides, detect, text

SHORTEST = 12
"""Characters of a question in Latin letters that says what language it is in ○; shorter ones are often ids."""


def messages_of(state: object, key: str = "messages") -> Sequence[BaseMessage]:
    """The conversation in a graph's state, or nothing."""
    if isinstance(state, (dict, Mapping)):  # `dict` first: asking an abstract class takes its time
        found = state.get(key)
    elif isinstance(state, list):
        found = state
    else:
        found = getattr(state, key, None)
    return found if isinstance(found, (list, Sequence)) and not isinstance(found, str) else ()


def language_of(messages: Sequence[Any]) -> Language:
    """The language to answer in: of the last question that has one; an order number or "ok" has none of its own."""
    last: str | None = None
    for message in reversed(messages):
        if _role(message) != "human":
            continue
        question = str(message.text)
        language = detect(question)
        if len(question) > SHORTEST or language == "zh":
            return language
        last = question if last is None else last
    return detect(last or "")


def maker_of(messages: Sequence[Any], tool_call_id: str | None) -> str | None:
    """The id of the message that made a tool call: the latest, as some providers use their ids again in every round."""
    for message in reversed(messages):
        if _role(message) == "ai" and any(call["id"] == tool_call_id for call in message.tool_calls):
            found: str | None = message.id
            return found
    return None


def current_turn(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages since the current turn began, the question included."""
    turn: list[BaseMessage] = []
    for message in reversed(messages):
        turn.append(message)
        if isinstance(message, HumanMessage):
            break
    return turn[::-1]


def turn_results(messages: Sequence[BaseMessage]) -> list[ToolMessage]:
    """What tools have answered in the current turn: an answer after them states facts."""
    return [message for message in current_turn(messages) if isinstance(message, ToolMessage)]


def repair(
    messages: Sequence[BaseMessage], language: Language = "en", overrides: Overrides | None = None
) -> list[BaseMessage]:
    """The same conversation with every tool call answered exactly once, next to its call.

    Pairing is by place: ids that a provider uses again in a later round are matched to the nearest call before
    (case-T07). Results without a call are dropped, calls without a result get an honest placeholder. Idempotent; the
    order of everything else is kept.
    """
    mended: list[BaseMessage] = []
    spare = _results(messages)
    for place, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            continue
        mended.append(message)
        if isinstance(message, AIMessage):
            mended.extend(_answers(message, place, spare, language, overrides))
    return mended


def _results(messages: Sequence[BaseMessage]) -> dict[tuple[int, str], list[ToolMessage]]:
    """Results by the place of the call they belong to and its id."""
    found: dict[tuple[int, str], list[ToolMessage]] = {}
    latest: dict[str, int] = {}
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage):
            latest |= {call["id"]: place for call in _calls(message)}
        elif isinstance(message, ToolMessage) and message.tool_call_id in latest:
            found.setdefault((latest[message.tool_call_id], message.tool_call_id), []).append(message)
    return found


def _answers(
    message: AIMessage,
    place: int,
    spare: dict[tuple[int, str], list[ToolMessage]],
    language: Language,
    overrides: Overrides | None,
) -> Iterator[ToolMessage]:
    for call in _calls(message):
        waiting = spare.get((place, call["id"]))
        if waiting:
            yield waiting.pop(0)
        else:
            note = text("repaired.not_run", language, overrides)
            yield ToolMessage(note, name=call["name"], tool_call_id=call["id"], status="error")


def _calls(message: AIMessage) -> list[dict[str, str]]:
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    return [{"id": str(call["id"]), "name": str(call["name"] or "")} for call in calls if call["id"]]


def is_whole(messages: Sequence[BaseMessage]) -> bool:
    """Nothing to repair: every call is answered right after it. The common case, checked without building anything."""
    open_ids: list[str] = []
    message: Any
    for message in messages:
        role = _role(message)
        if role == "tool":
            if message.tool_call_id not in open_ids:
                return False
            open_ids.remove(message.tool_call_id)
        elif open_ids:
            return False
        elif role == "ai" and (message.tool_calls or message.invalid_tool_calls):
            open_ids = [call["id"] for call in _calls(message)]
    return not open_ids


@lru_cache(maxsize=64)
def _role_of(kind: Any) -> str:
    """Whose words a message is, by its class: asking pydantic's classes anew takes longer than all the rest here."""
    bases: dict[str, type] = {"human": HumanMessage, "ai": AIMessage, "tool": ToolMessage}
    return next((role for role, base in bases.items() if issubclass(kind, base)), "other")


def _role(message: object) -> str:
    kind: Any = type(message)
    return _role_of(kind)
