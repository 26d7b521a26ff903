"""A weak model's reply made a real tool call, or a `Failure` that says why it is none (spec M2, L1).

Tolerant of how the reply is wrapped and of the names of its fields; never of what it says. Nothing is completed,
nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import tool_call

from langgraph_degrade.failures.failure import Failure
from langgraph_degrade.stages.models.numbered.checking import checked
from langgraph_degrade.stages.models.numbered.jsonish import argument_object, objects_in
from langgraph_degrade.stages.models.numbered.offers import NONE, Offer, offers_of

_NAMES = ("tool", "name", "tool_name", "function", "action")
_NUMBERS = ("number", "编号")
_ARGUMENTS = ("arguments", "args", "parameters", "tool_input", "action_input", "input", "参数")
_TEXTS = ("text", "answer", "回复")
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "token_limit"})


def read_reply(
    text: str,
    tools: Sequence[Mapping[str, Any]],
    *,
    finish_reason: str | None = None,
    messages: Sequence[BaseMessage] | None = None,
) -> AIMessage | Failure:
    """The reply to `menu` as a message with one tool call, or with the plain answer.

    Args:
        text: the model's reply.
        tools: OpenAI-format dicts, in the order `menu` got them.
        finish_reason: why the reply ended, in the server's word; of one that was cut nothing is used.
        messages: the conversation. Where it is given, an identifier that nobody said in it, or a number in a
            conversation without any, is an invented one.

    Returns:
        The message, or a `Failure`: `malformed_call` for an invented tool, broken, missing or invented arguments,
        `schema` for a reply without JSON, `empty` for none at all.

    Example:
        >>> tool = {"type": "function", "function": {"name": "now", "description": "Tell the time."}}
        >>> read_reply('{"tool": "now", "number": 1, "arguments": {}}', [tool]).tool_calls[0]["name"]
        'now'
    """
    if not text.strip():
        return Failure("empty", reason="no text")
    objects, broken = objects_in(text)
    reason = (finish_reason or "").strip().casefold()
    if reason in _CUT:
        return _cut(reason) if objects or broken else Failure("schema", reason=f"finish_reason: {reason}")
    if broken:
        return _malformed(broken)
    replies = _distinct(objects)
    if len(replies) != 1:
        return _malformed("more than one reply") if replies else Failure("schema", reason="no JSON in the reply")
    return _read(replies[0], offers_of(tools), messages)


def _read(
    reply: Mapping[str, Any], offers: Sequence[Offer], messages: Sequence[BaseMessage] | None
) -> AIMessage | Failure:
    offer = _chosen(reply, offers)
    if isinstance(offer, Failure):
        return offer
    if offer is None:
        answer = _first(reply, _TEXTS)
        is_text = isinstance(answer, str) and answer.strip()
        return AIMessage(answer) if is_text else Failure("empty", reason="number 0 without a text")
    arguments = _arguments(reply, offer)
    if arguments is None:
        return _malformed("arguments are no JSON object")
    fit = checked(arguments, offer, messages)
    return fit if isinstance(fit, Failure) else _call(offer.name, fit)


def _arguments(reply: Mapping[str, Any], offer: Offer) -> dict[str, Any] | None:
    """The arguments, where the menu wants them or beside the tool's name; None where they are no object."""
    places = [_ARGUMENTS[0], *(name for name in _ARGUMENTS[1:] if name not in offer.properties)]
    for place in places:
        if place in reply:
            return argument_object(reply[place])
    return {key: value for key, value in reply.items() if key not in {*_NAMES, *_NUMBERS, *_TEXTS}}


def _chosen(reply: Mapping[str, Any], offers: Sequence[Offer]) -> Offer | Failure | None:
    """The offer that the name and the number mean; they must not mean two. None: the plain answer."""
    meant: set[int] = set()
    for value in (_first(reply, _NAMES), _first(reply, _NUMBERS)):
        number = None if value is None else _number(value, offers)
        if value is not None and number is None:
            return _malformed("no such tool")
        meant |= set() if number is None else {number}
    if not meant and set(reply) <= set(_TEXTS):
        return None
    if len(meant) != 1:
        return _malformed("name and number differ" if meant else "no tool chosen")
    number = meant.pop()
    return offers[number - 1] if number else None


def _number(value: object, offers: Sequence[Offer]) -> int | None:
    """The number that a number, a text of one, or a tool's name stands for; None where it stands for no offer."""
    if isinstance(value, Mapping):  # `{"function": {"name": …}}`
        value = value.get("name")
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    word = str(value).strip()
    named = {offer.name: offer.number for offer in offers}
    if word in named:
        return named[word]
    if word.casefold() == NONE:
        return 0
    return int(word) if word.isdecimal() and len(word) < 6 and int(word) <= len(offers) else None


def _first(reply: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((reply[name] for name in names if reply.get(name) is not None), None)


def _distinct(objects: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The replies among the objects; a model that says the same thing twice has said it once."""
    unique: list[dict[str, Any]] = []
    for found in objects:
        if found not in unique:
            unique.append(found)
    return unique


def _call(name: str, arguments: dict[str, Any]) -> AIMessage:
    # An id of its own: providers that use theirs again make results of one round answer another (case T07).
    return AIMessage("", tool_calls=[tool_call(name=name, args=arguments, id=f"numbered_{uuid4().hex}")])


def _cut(reason: str) -> Failure:
    return _malformed(f"cut (finish_reason: {reason})")


def _malformed(reason: str) -> Failure:
    return Failure("malformed_call", reason=f"numbered reply: {reason}")
