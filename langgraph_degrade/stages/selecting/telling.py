"""What a model is told, once, about calls it got wrong: every call answered, none of them run (spec L1)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langgraph_degrade.stages.selecting.calls import Call, calls_of, identified, rewritten
from langgraph_degrade.stages.selecting.checking import CallFault
from langgraph_degrade.stages.selecting.offers import Parameter
from langgraph_degrade.stages.selecting.reading import arguments
from langgraph_degrade.texts import Language, Overrides, one_line, text

_LEGAL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What providers accept in a conversation; another name is a 400 for the whole thread (case T04)."""
_UNKNOWN = "unknown_tool"
_MOST = 40
"""Tools, arguments or choices listed to a model ○; it has the whole of them in its request."""


def told(
    faults: Sequence[CallFault], message: AIMessage, language: Language = "en", overrides: Overrides | None = None
) -> list[BaseMessage]:
    """The wrong message, and one tool message per call of it that says what is wrong and what there is.

    The message is the same object wherever a strict provider takes it back as it stands. What such a provider refuses
    is replaced on a copy, in call and answer alike: a name that is none (`unknown_tool`), arguments that are no whole
    object (`{}`), an id that is missing or stands twice. Meant for one more request, not for the stored conversation.

    Args:
        faults: What `faults` said of this very message.
        message: The message it was said of.
        language: The user's.
        overrides: `Policy.texts`.
    """
    calls = calls_of(message)
    if not calls:
        return []
    sent = identified(message, [_sendable(call) for call in calls])
    same = all(new is old for new, old in zip(sent, calls, strict=True))
    kept = message if same else rewritten(message, calls, sent)
    answers = (_answer(place, faults, language, overrides) for place in range(len(calls)))
    return [kept, *(_message(call, said) for call, said in zip(sent, answers, strict=True))]


def _sendable(call: Call) -> Call:
    name = call.name if _LEGAL_NAME.fullmatch(call.name) else _UNKNOWN
    args = arguments(call)
    if name == call.name and call.is_valid and args is call.args:
        return call
    if args is call.args:
        return call.changed(name=name, is_valid=True)
    return call.changed(name=name, args=args or {}, is_valid=True)


def _message(call: Call, said: str) -> ToolMessage:
    return ToolMessage(said, name=call.name, tool_call_id=call.id or "", status="error")


def _answer(place: int, faults: Sequence[CallFault], language: Language, overrides: Overrides | None) -> str:
    own = [fault for fault in faults if fault.place == place]
    if not own:
        return text("select.sibling", language, overrides)
    lines = [_wrong(fault, language, overrides) for fault in own]
    return "\n".join([*lines, *_there_is(own[0], language, overrides)])


def _wrong(fault: CallFault, language: Language, overrides: Overrides | None) -> str:
    key = "select.no_tools" if fault.what == "invented" and not fault.offered else f"select.{fault.what}"
    names = list(fault.arguments)
    return text(key, language, overrides, tool=fault.tool, nearest=fault.nearest, arguments=names)


def _there_is(fault: CallFault, language: Language, overrides: Overrides | None) -> Iterator[str]:
    """The tools there are, or what the called one takes."""
    if fault.what == "invented":
        if fault.offered:
            yield text("select.tools", language, overrides)
            yield from _listed(fault.offered)
    elif fault.parameters:
        yield text("select.takes", language, overrides, tool=fault.tool)
        yield from _listed([_declared(parameter) for parameter in fault.parameters])
    elif fault.nearest == fault.tool:
        yield text("select.takes_nothing", language, overrides, tool=fault.tool)


def _declared(parameter: Parameter) -> str:
    """`order_id: string, required`, in the words of JSON Schema, which models know in every language."""
    notes = ["|".join(parameter.kinds)] if parameter.kinds else []
    if parameter.choices:
        notes = ["one of " + " | ".join(json.dumps(choice, ensure_ascii=False) for choice in parameter.choices[:_MOST])]
    notes += ["required"] if parameter.required else []
    return f"{parameter.name}: {', '.join(notes)}" if notes else parameter.name


def _listed(items: Sequence[str]) -> Iterator[str]:
    yield from (f"- {one_line(item)}" for item in items[:_MOST])
    if len(items) > _MOST:
        yield "- …"
