"""Arguments of a numbered reply held against the tool's schema, and identifiers against the conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from langgraph_degrade.errors import PolicyError
from langgraph_degrade.failures.failure import Failure
from langgraph_degrade.stages.models.numbered.identifiers import identifiers, item_of, occurs, said
from langgraph_degrade.stages.models.numbered.numerals import holds_number, is_number
from langgraph_degrade.stages.models.numbered.offers import Offer
from langgraph_degrade.stages.tools.shapes import is_array
from langgraph_degrade.stages.tools.validation import compile_schema

LARGEST = 2**53 - 1
"""A whole number beyond it is an identifier in disguise, and doubles and JavaScript round it (case T14)."""


def checked(
    arguments: Mapping[str, Any], offer: Offer, messages: Sequence[BaseMessage] | None
) -> dict[str, Any] | Failure:
    """The arguments as the schema wants them, or why they can't be used."""
    unknown = set(arguments) - set(offer.properties)
    if unknown and not offer.schema.get("additionalProperties"):
        return _malformed(offer, f"{len(unknown)} unknown arguments")
    ready = {name: _fitted(value, offer.properties.get(name, {})) for name, value in arguments.items()}
    ready = {name: value for name, value in ready.items() if value is not None or name in offer.required}
    try:
        wrong = compile_schema(offer.schema).check(ready)
    except PolicyError:
        return _malformed(offer, "the tool's own schema is not valid")
    if wrong is not None:
        return _malformed(offer, wrong.reason)
    invented = None if messages is None else _invented(ready, offer, said(messages))
    return _malformed(offer, f"nobody said what is in {invented!r}") if invented else ready


def _fitted(value: Any, part: Mapping[str, Any]) -> Any:
    """A number where a text is wanted, and the other way round, if nothing is lost."""
    kind = item_of(part).get("type")
    if kind == "string" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if kind == "integer" and isinstance(value, str) and value.isdecimal() and int(value) <= LARGEST:
        return int(value)
    return value


def _invented(arguments: Mapping[str, Any], offer: Offer, text: str) -> str | None:
    """The name of the first argument that the model has made up, or None."""
    given = [name for name in identifiers(offer) if name in arguments]
    for name in given:
        if not all(occurs(value, text) for value in _each(arguments[name])):
            return name
    numbers = [name for name in arguments if name not in given and is_number(offer.properties.get(name, {}))]
    said_ids = {str(value) for name in given for value in _each(arguments[name])}
    return numbers[0] if numbers and not holds_number(text, said_ids) else None


def _each(value: Any) -> Iterator[Any]:
    if is_array(value):
        yield from value
    elif value is not None:
        yield value


def _malformed(offer: Offer, reason: str) -> Failure:
    return Failure("malformed_call", reason=f"numbered reply: {offer.name}: {reason}")
