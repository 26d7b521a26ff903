"""The last rung of selection: the customer is asked for what is missing, in words of their own (spec L1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from langgraph_degrade.stages.selecting.checking import CallFault
from langgraph_degrade.stages.selecting.offers import Offer, Parameter, Tools, at, offers
from langgraph_degrade.texts import KEYS, Language, Overrides, detect, text

MOST_CHOICES: Final = 6
"""Choices offered to a customer."""
_MOST_THINGS = 6
"""Things asked for at once ○."""
_LONGEST_LABEL = 60
"""Characters of a description that can be read out; a longer one was written for a model ○."""

_SENTENCE: Final = re.compile(r"[。；;\n(（\[{]|\.(?:\s|$)|[,，:：](?=\s*(?:e\.g|例如|比如|如|格式|format))")
_TECHNICAL: Final = re.compile(
    r"""(?ix) \b(?:json|string|str|int(?:eger)?|float|bool(?:ean)?|array|list\sof|dict|object|enum|null|none|uuid|iso
    |regex|parameter|argument|param|arg|api|schema|default|optional|required|default[s]?|field|utf|e164|yyyy)\b
    | 参数|字段|字符串|整数|布尔|数组|枚举|必填|选填|默认|格式|接口 | [\\^$|<>{}=_`*] """
)


def question_for(
    about: str | Sequence[CallFault],
    missing: Sequence[str],
    tools: Tools,
    language: Language = "en",
    overrides: Overrides | None = None,
) -> str:
    """The question to a customer for what a call still lacks.

    Args:
        about: A tool's name, or the faults of a message: what they found missing or invalid is asked for, and of a call
            that can't be read all that its tool requires.
        missing: Names of arguments (`order_id`, `address.city`) of the tool; empty: all that it requires.
            With faults they are asked for on top, of the first tool that has such an argument.
        tools: What was offered, in OpenAI's format; the words are the schema's titles and descriptions.
        language: The customer's.
        overrides: `Policy.texts`.

    Returns:
        Plain text. Where there is nothing certain to ask for, an open question; never an empty string.
    """
    offered = offers(tools)
    wanted = [(about, name) for name in missing or ("",)] if isinstance(about, str) else _wanted(about, missing)
    things: dict[str, None] = {}
    for tool, name in wanted:
        for parameter in _parameters(offered.get(tool), name):
            things[_thing(parameter, language, overrides)] = None
    return _question(list(things)[:_MOST_THINGS], language, overrides)


def _wanted(faults: Sequence[CallFault], missing: Sequence[str]) -> list[tuple[str, str]]:
    """(tool, argument); no argument: all that the tool requires."""
    named = [(fault.tool, name) for fault in faults for name in fault.arguments or ("",) if fault.what != "invented"]
    known = next((fault.tool for fault in faults if fault.what != "invented"), "")
    return named + [(known, name) for name in missing]


def _parameters(offer: Offer | None, name: str) -> Iterator[Parameter]:
    if offer is None:
        return
    if not name:
        yield from (parameter for parameter in offer.parameters if parameter.required)
    elif found := at(name, offer):
        yield found


def _question(things: Sequence[str], language: Language, overrides: Overrides | None) -> str:
    if not things:
        return text("ask.open", language, overrides)
    if len(things) == 1:
        return text("ask.one", language, overrides, what=things[0])
    return "\n".join([text("ask.several", language, overrides), *(f"- {thing}" for thing in things)])


def _thing(parameter: Parameter, language: Language, overrides: Overrides | None) -> str:
    label = _label(parameter, language, overrides)
    choices = _choices(parameter, language, overrides)
    if not choices:
        return label
    key = "ask.choices" if len(choices) <= MOST_CHOICES else "ask.more_choices"
    return text(key, language, overrides, what=label, choices=choices[:MOST_CHOICES])


def _label(parameter: Parameter, language: Language, overrides: Overrides | None) -> str:
    """What to call the argument: the schema's words if a customer can read them, else the nearest plain name."""
    said = [told for told in (_plain(parameter.description), _plain(parameter.title)) if told]
    own = [told for told in said if detect(told) == language and told.casefold() != _spelt(parameter.name)]
    if own:
        return own[0]
    if (common := f"ask.name.{_spelt(parameter.name).replace(' ', '_')}") in KEYS:
        return text(common, language, overrides)
    return next(iter(said if language == "zh" else ()), _spelt(parameter.name))  # names are English, or nearly so


def _plain(told: str) -> str:
    """The first phrase of a description, if nothing in it is a programmer's word."""
    phrase = " ".join(_SENTENCE.split(told.strip(), maxsplit=1)[0].split()).strip(" ,，.:：")
    return "" if len(phrase) > _LONGEST_LABEL or _TECHNICAL.search(phrase) else phrase


def _spelt(name: str) -> str:
    """`orderId` and `order_id` are `order id`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_\W]+", " ", name).strip().casefold()


def _choices(parameter: Parameter, language: Language, overrides: Overrides | None) -> list[str]:
    if parameter.labels:
        return list(parameter.labels)
    if set(parameter.kinds) - {"null"} == {"boolean"} and not parameter.choices:
        return [text("ask.yes", language, overrides), text("ask.no", language, overrides)]
    return [_spoken(choice, language, overrides) for choice in parameter.choices]


def _spoken(choice: Any, language: Language, overrides: Overrides | None) -> str:
    if isinstance(choice, bool):
        return text("ask.yes" if choice else "ask.no", language, overrides)
    return str(choice).replace("_", " ") if isinstance(choice, str | int | float) else ""
