"""Identifiers: arguments that nobody may make up.

An order number a model has invented looks as right as a real one. So an argument that is an identifier must stand in
what the user said or a tool answered, letter by letter; what the model itself said is no evidence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from langgraph_degrade.failures.shapes import words
from langgraph_degrade.stages.models.numbered.offers import Offer, without_null
from langgraph_degrade.stages.tools.shapes import is_mapping

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SURE = words("id ids uid uuid guid sku skus isbn iban ean imei vin pnr serial")
"""Last words of a name that are always identifiers, whatever their type."""
_LIKELY = words("code codes no nr num number numbers ref reference account card")
"""The same for texts; an integer `number` is a count as often as not."""
_KNOWN = words("currency country language lang locale airport iata city area zip")
"""Codes a model knows and nobody types: `EUR` for euros."""
_TOLD = re.compile(r"\b(?:id|identifier|number|code|no\.)(?!\w| of\b)|号|编码|条码|代码", re.IGNORECASE)
_SHOWN = re.compile(r"#?(?:[A-Za-z]{1,12}[-_/#]){0,4}[A-Za-z]{0,12}\d(?:[-_/#]?[A-Za-z0-9])*")
_LIKE = re.compile(r"(?:\blike\b|\be\.g\.|\bexample\b|\bsuch as\b|例如|比如|形如|如|示例)[^\w#]{0,6}", re.IGNORECASE)
_CODED = re.compile(r"\^#?\(?(?:[A-Z]{1,6}|\[A-Z)[^|]*(?:\\d|\[0-9)")
"""A pattern of capitals and digits, which nothing but an identifier has; `06:30` may be a customer's half past six."""
_FREE = ("enum", "const", "format", "default")
_SEPARATORS = r"[\s_/.#-]{0,2}"


def is_identifier(name: str, part: Mapping[str, Any]) -> bool:
    """Tell whether a parameter takes an identifier: by its name, or what it is said to be."""
    part = item_of(part)
    kind = part.get("type", "string")
    if kind not in ("string", "integer") or any(key in part for key in _FREE):
        return False
    *before, last = _CAMEL.sub("_", name).lower().replace("-", "_").split("_")
    if last in _SURE:
        return True
    if kind == "integer" or _KNOWN & {*before, last}:
        return False
    if _CODED.match(str(part.get("pattern", ""))):
        return True
    return last in _LIKELY or bool(_TOLD.search(str(part.get("description", ""))))


def item_of(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """What one value of a parameter is: of `X | None` the X, of a list its item."""
    part = without_null(part)
    items = part.get("items")
    if part.get("type") == "array" and is_mapping(items):
        return {"description": part.get("description", ""), **items}
    return part


def identifiers(offer: Offer) -> list[str]:
    """Names of the parameters of an offer that take identifiers."""
    return [name for name, part in offer.properties.items() if is_identifier(name, part)]


def example_of(part: Mapping[str, Any], description: str = "") -> str | None:
    """The example of an identifier that its schema, or a description, shows: `Order ids look like DD1003`."""
    for shown in (part.get("example"), *(part.get("examples") or ())):
        if isinstance(shown, str | int):
            return str(shown)
    for told in (str(part.get("description", "")), description):
        for place in _LIKE.finditer(told):
            if found := _SHOWN.match(told, place.end()):
                return found[0]
    return None


def said(messages: Sequence[BaseMessage]) -> str:
    """What users said and tools answered, the latest first: the only place an identifier may come from."""
    told = [str(message.text) for message in reversed(messages) if message.type in ("human", "tool")]
    return unicodedata.normalize("NFKC", "\n".join(told))


def occurs(value: object, text: str) -> bool:
    """Tell whether an identifier stands whole in a text: `DD100` does not stand in `DD1001`, `DD1001` does in `dd 1001`."""
    letters = [re.escape(letter) for letter in str(value) if letter.isalnum()]
    bare = _SEPARATORS.join(letters)
    return bool(bare) and bool(re.search(rf"(?<![A-Za-z0-9]){bare}(?![A-Za-z0-9])", text, re.IGNORECASE))
