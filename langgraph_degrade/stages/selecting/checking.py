"""What is wrong with a message's tool calls: invented tools, missing and invalid arguments, calls that were cut (L1)."""

from __future__ import annotations

import difflib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from langchain_core.messages import AIMessage

from langgraph_degrade.failures import Failure
from langgraph_degrade.stages.selecting.calls import Call, calls_of, is_cut
from langgraph_degrade.stages.selecting.judging import Finding, judged
from langgraph_degrade.stages.selecting.offers import Offer, Parameter, Tools, offers
from langgraph_degrade.stages.selecting.reading import arguments, ends_early, is_plain

What = Literal["invented", "missing", "invalid", "unreadable", "cut"]

_LONGEST_NAME = 64
"""Characters a provider allows for a tool's name."""
_LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class CallFault:
    """One thing wrong with one call; a call may have two (something missing, something invalid)."""

    id: str | None
    tool: str
    """The name the model called."""
    what: What
    """`invented`: no such tool was offered · `missing`, `invalid`: the named arguments · `unreadable`: the arguments
    are no JSON object · `cut`: the call, or its message, ended too early."""
    arguments: tuple[str, ...] = ()
    """`order_id`, `address.city`, `items[0].sku`: names only, never values."""
    nearest: str | None = None
    """The offered tool that was meant, or comes nearest by name."""
    offered: tuple[str, ...] = ()
    """All offered tools."""
    parameters: tuple[Parameter, ...] = ()
    """What the called tool takes."""
    place: int = 0
    """Which call of the message: valid ones first. Ids may be missing, or stand twice."""


def faults(message: AIMessage, tools: Tools) -> list[CallFault]:
    """Judge every call of a message, those LangChain gave up on included, exactly as it stands; empty: all can be run.

    Ask `mended` first, or what it would repair is a fault here. A streamed message is judged by the text the model
    wrote, not by what a repairing parser made of it. A tool whose schema can't be read is not held to it.

    Args:
        message: A whole answer, also one summed up from chunks.
        tools: What the model was offered: `{"type": "function", "function": {"name", "description", "parameters"}}`.

    Example:
        >>> order = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
        >>> tools = [{"type": "function", "function": {"name": "get_order", "parameters": order}}]
        >>> call = {"name": "get_order", "args": {}, "id": "c1"}
        >>> [(fault.what, fault.arguments) for fault in faults(AIMessage("", tool_calls=[call]), tools)]
        [('missing', ('order_id',))]
    """
    calls = calls_of(message)
    if not calls:
        return []
    offered = offers(tools)
    whole = is_cut(message)
    return [fault for place, call in enumerate(calls) for fault in _of_call(call, place, offered, cut=whole)]


def as_failure(faults: Sequence[CallFault]) -> Failure | None:
    """Name the faults for the ladder and its breakers; the model was reached, so nothing is `unsent`.

    The reason holds names that the schemas declare and no others: what a model invents may be a customer's data.
    """
    if not faults:
        return None
    reason = "tool call: " + "; ".join(dict.fromkeys(map(_reason, faults)))
    return Failure("malformed_call", reason=reason if len(reason) <= _LONGEST_REASON else f"{reason[:199]}…")


def _of_call(call: Call, place: int, offered: Mapping[str, Offer], *, cut: bool) -> Iterator[CallFault]:
    offer = offered.get(call.name)
    for what, names in _findings(call, offer, cut=cut):
        yield CallFault(
            call.id,
            call.name,
            what,
            names,
            offer.name if offer else nearest(call.name, offered),
            tuple(offered),
            offer.parameters if offer else (),
            place,
        )


def _findings(call: Call, offer: Offer | None, *, cut: bool) -> Iterator[tuple[What, tuple[str, ...]]]:
    args = arguments(call)
    if cut or (args is None and ends_early(call)):
        yield "cut", ()
    elif offer is None:
        yield "invented", ()
    elif args is None:
        yield "unreadable", ()
    else:
        found = _grouped(args, offer)
        yield from found
        if not found and not is_plain(call):
            yield "unreadable", ()


def _grouped(args: Mapping[str, Any], offer: Offer) -> list[tuple[What, tuple[str, ...]]]:
    groups: defaultdict[What, list[str]] = defaultdict(list)
    odd = list(_not_json(args))
    named = {name for _, name in odd}
    for what, name in (*odd, *(finding for finding in judged(args, offer) if finding[1] not in named)):
        groups[what] += [name] if name else []
    return [(what, tuple(dict.fromkeys(groups[what]))) for what in _ORDER if what in groups]


_ORDER: Final[tuple[What, ...]] = ("missing", "invalid")


def _not_json(args: Mapping[str, Any]) -> Iterator[Finding]:
    """NaN and other things JSON has no word for: the schema's engine takes them for null."""
    for name, value in args.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            yield "invalid", name


def nearest(name: str, offered: Mapping[str, Any]) -> str | None:
    """The offered tool that comes nearest by name, where one comes near at all."""
    folded = {tool.casefold(): tool for tool in offered}
    close = difflib.get_close_matches(name[:_LONGEST_NAME].casefold(), folded, n=1)
    return folded[close[0]] if close else None


def _reason(fault: CallFault) -> str:
    if fault.what == "invented":
        return "invented tool" + (f" (nearest {fault.nearest})" if fault.nearest else "")
    where = f" ({fault.nearest})" if fault.nearest == fault.tool else ""
    known = {parameter.name for parameter in fault.parameters}
    names = [name if name.split(".")[0].split("[")[0] in known else "*" for name in fault.arguments]
    return f"{fault.what} {', '.join(dict.fromkeys(names))}".strip() + where
