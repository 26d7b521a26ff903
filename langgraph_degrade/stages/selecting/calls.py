"""The tool calls of a message, in one shape, with what the model wrote; and a message with its calls rewritten.

A call stands in a message up to four times: in `tool_calls` or `invalid_tool_calls`, in a chunk's `tool_call_chunks`,
in `additional_kwargs` and among the content's blocks. Providers read one or another, so all of them are rewritten.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from langchain_core.messages import AIMessage

from langgraph_degrade.failures import classify
from langgraph_degrade.stages.tools.shapes import is_array, is_object

Message = TypeVar("Message", bound=AIMessage)

_BLOCKS: Final = frozenset({"tool_use", "tool_call", "function_call", "tool_call_chunk", "invalid_tool_call"})
_WHOLE: Final = ("tool_calls", "stop")
_ARGUMENTS: Final = ("input", "args", "arguments")


class Call(NamedTuple):
    """One call."""

    id: str | None
    name: str
    args: Any
    """As LangChain holds them: an object, or text it could make nothing of."""
    written: str | None
    """The model's own text, where it is at hand: a repairing parser makes `{"amount": 12` whole (case T01)."""
    is_valid: bool
    """It stands in `tool_calls`, where it would be run."""
    source: Mapping[str, Any] = {}

    def changed(self, **to: Any) -> Call:
        """The same call with what is given; a change of arguments is what it says from now on."""
        return self._replace(**({"written": None} | to if "args" in to else to))


def calls_of(message: AIMessage) -> list[Call]:
    """Every call of a message, those LangChain gave up on last."""
    written = list(_written(message))
    given_up = [
        Call(call["id"], call["name"] or "", call["args"], call["args"], is_valid=False, source=call)
        for call in message.invalid_tool_calls
    ]
    for call in given_up:
        _take(written, call.id, call.name, call.args)
    held = [
        Call(call["id"], call["name"], call["args"], _take(written, call["id"], call["name"]), True, call)
        for call in message.tool_calls
    ]
    return held + given_up


def is_cut(message: AIMessage) -> bool:
    """The message says itself that it did not end well: then no call of it holds, however whole it looks (case T01)."""
    if message.response_metadata.get("finish_reason") in _WHOLE and "error" not in message.response_metadata:
        return False  # the common case, without asking
    probe = AIMessage(
        "", tool_calls=[{"name": "x", "args": {}, "id": "x"}], response_metadata=message.response_metadata
    )
    return classify(probe, source="model", expects_finish=False) is not None


def rewritten(message: Message, calls: Sequence[Call], to: Sequence[Call]) -> Message:
    """A copy of the same class in which `calls[i]` reads as `to[i]`, everywhere it stands."""
    copies = _Copies(calls, to)
    changes: dict[str, Any] = {
        "tool_calls": [_entry(call, "tool_call") for call in to if call.is_valid],
        "invalid_tool_calls": [_entry(call, "invalid_tool_call") for call in to if not call.is_valid],
    }
    if is_array(message.content):
        changes["content"] = copies.of(message.content)
    if is_array(raw := message.additional_kwargs.get("tool_calls")):
        changes["additional_kwargs"] = {**message.additional_kwargs, "tool_calls": copies.of(raw)}
    if chunks := getattr(message, "tool_call_chunks", None):
        changes["tool_call_chunks"] = copies.of(chunks)
    return message.model_copy(update=changes)


def identified(message: AIMessage, calls: Sequence[Call]) -> list[Call]:
    """The calls, each with an id of its own: one without can't be answered, one of two answers the other (case T07)."""
    seen: set[str] = set()
    given: list[Call] = []
    for place, call in enumerate(calls):
        id = call.id if call.id and call.id not in seen else _new_id(message, place, call)
        seen.add(id)
        given.append(call if id == call.id else call.changed(id=id))
    return given


def _new_id(message: AIMessage, place: int, call: Call) -> str:
    """Always the same for the same call, another in every message."""
    told = repr((message.id, place, call.id, call.name, call.args))
    return f"call_{hashlib.sha256(told.encode('utf-8', 'backslashreplace')).hexdigest()[:24]}"


class _Copies:
    """Finds, for each copy of a call, what it is to say; calls with the same id are met in their order (case T07)."""

    def __init__(self, calls: Sequence[Call], to: Sequence[Call]) -> None:
        self._pairs = list(zip(calls, to, strict=True))

    def of(self, items: Sequence[Any]) -> list[Any]:
        left = list(self._pairs)
        return [self._one(item, left) if is_object(item) and _is_call(item) else item for item in items]

    def _one(self, item: dict[str, Any], left: list[tuple[Call, Call]]) -> dict[str, Any]:
        inner = item.get("function")
        details = inner if is_object(inner) else item
        key = "call_id" if "call_id" in item else "id"
        named = (item.get(key), details.get("name") or "")
        places = [place for place, (call, _) in enumerate(left) if (call.id, call.name) == named]
        if not places:
            return item
        # Where several share an id and a name, the one that wrote this very text.
        old, to = left.pop(next((place for place in places if _said(details) == left[place][0].written), places[0]))
        if old is to:
            return item
        new = _details(details, old, to)
        return {**({**item, "function": new} if details is inner else new), key: to.id}


def _said(details: dict[str, Any]) -> Any:
    return next((details[key] or "" for key in _ARGUMENTS if key in details), None)


def _details(details: dict[str, Any], old: Call, new: Call) -> dict[str, Any]:
    """Name and arguments, the latter as the text or the object they were; what the model wrote stays where it holds."""
    key = next((key for key in _ARGUMENTS if key in details), None)
    if key is None or new.args is old.args:
        return {**details, "name": new.name}
    kept = {name: value for name, value in details.items() if name != "partial_json"}
    text = json.dumps(new.args, ensure_ascii=False) if is_object(new.args) else new.args
    return {**kept, "name": new.name, key: new.args if is_object(details[key]) else text}


def _is_call(item: dict[str, Any]) -> bool:
    return is_object(item.get("function")) or item.get("type") in _BLOCKS


def _entry(call: Call, kind: str) -> dict[str, Any]:
    entry = {**call.source, "id": call.id, "name": call.name, "args": call.args, "type": kind}
    if kind == "tool_call":
        entry.pop("error", None)
    return entry


def _written(message: AIMessage) -> Iterator[tuple[str | None, str, Any]]:
    """The calls as they came over the wire: (id, name, text)."""
    chunks = getattr(message, "tool_call_chunks", None)
    if chunks:
        yield from ((chunk["id"], chunk["name"] or "", chunk["args"] or "") for chunk in chunks)
        return
    raw = message.additional_kwargs.get("tool_calls")
    for call in filter(is_object, raw if is_array(raw) else []):
        function = call.get("function")
        if is_object(function):
            yield call.get("id"), function.get("name") or "", function.get("arguments")


def _take(written: list[tuple[str | None, str, Any]], id: str | None, name: str, text: Any = ...) -> str | None:
    for place, (known, called, said) in enumerate(written):
        if (known, called) == (id, name) and (text is ... or said == (text or "")):
            del written[place]
            return said if isinstance(said, str) else None
    return None
