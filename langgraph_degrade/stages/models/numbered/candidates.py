"""Which words of a conversation can be which identifier: by the schema's pattern, the example shown, or their looks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage

from langgraph_degrade.errors import PolicyError
from langgraph_degrade.stages.models.numbered.identifiers import example_of, identifiers, item_of, said
from langgraph_degrade.stages.models.numbered.offers import Offer
from langgraph_degrade.stages.tools.validation import Validator, compile_schema

MOST = 24
"""○ Candidates that are listed; in a conversation with more of them the schema alone decides."""
_TOKEN = re.compile(r"#?[A-Za-z0-9]+(?:[-_.#/][A-Za-z0-9]+)*")
_RUNS = re.compile(r"[A-Za-z]+|\d+")
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?")
_LOOKS_LIKE_ONE = re.compile(r"(?=.*\d)(?!\d{1,2}$)|[A-Z]{3,}$")

Key = tuple[int, str]
"""An offer's number and a parameter's name."""


class _Shape(NamedTuple):
    """What an identifier looks like, as far as it is known."""

    example: str | None
    judge: Validator | None
    """Where the schema has a pattern: it says everything."""
    kind: str


def candidates(offers: Sequence[Offer], messages: Sequence[BaseMessage]) -> dict[Key, list[Any]]:
    """For every identifier of every offer the words that can be it, the latest first; empty where there are none.

    A word that looks like the example of one parameter is no candidate for another one, unless nothing is known of that.
    """
    found = _TOKEN.findall(said(messages))
    tokens = list(dict.fromkeys([*found, *(part for token in found if "/" in token for part in token.split("/"))]))
    shapes = _shapes(offers)
    claims = {token: max((_fit(token, shape) for shape in shapes.values()), default=0) for token in tokens}
    return {key: list(_values(shape, claims)) for key, shape in shapes.items()}


def _shapes(offers: Sequence[Offer]) -> dict[Key, _Shape]:
    """What is known of each identifier; what one tool says of `order_id` holds for every tool's `order_id`."""
    own = {(offer.number, name): _shape(offer, name) for offer in offers for name in identifiers(offer)}
    told = {name: shape.example for (_, name), shape in reversed(own.items()) if shape.example}
    return {
        (number, name): shape._replace(example=shape.example or told.get(name)) for (number, name), shape in own.items()
    }


def _shape(offer: Offer, name: str) -> _Shape:
    part = item_of(offer.properties[name])
    judge = None
    if "pattern" in part:
        try:
            judge = compile_schema({key: part[key] for key in ("pattern", "minLength", "maxLength") if key in part})
        except PolicyError:  # a dialect the engine can't read; the looks decide
            judge = None
    alone = len(identifiers(offer)) == 1
    return _Shape(example_of(part, offer.description if alone else ""), judge, str(part.get("type", "string")))


def _fit(token: str, shape: _Shape) -> int:
    """How surely a word is of a shape: 3 by pattern, 2 like the example with its letters, 1 like it but for them."""
    if shape.kind == "integer" and not token.isdecimal():
        return 0
    if shape.judge:
        return 0 if _accepted(token, shape.judge) is None else 3
    if not shape.example or _pattern(token) != _pattern(shape.example):
        return 0
    return 1 + (_letters(token) == _letters(shape.example))


def _values(shape: _Shape, claims: Mapping[str, int]) -> Iterator[Any]:
    """The best fitting words; where none fits, those that look like identifiers and fit nothing else."""
    fits = {token: _fit(token, shape) for token in claims}
    best = [token for token, fit in fits.items() if fit and fit == claims[token]]
    if shape.judge:
        best = [token for token, fit in fits.items() if fit]
    elif not best:
        looks = [token for token in claims if _may_be(token, shape.example)]
        unclaimed = [token for token in looks if not claims[token]]
        best = unclaimed or ([] if shape.example else looks)
    for token in best:
        if shape.kind == "integer":
            if token.isdecimal():
                yield int(token)
        else:
            yield (_accepted(token, shape.judge) or token) if shape.judge else token


def _may_be(token: str, example: str | None) -> bool:
    """A word that looks like an identifier, and has letters in it just where the example has some."""
    if not _LOOKS_LIKE_ONE.match(token) or _DATE.fullmatch(token):
        return False
    return example is None or bool(_letters(token)) == bool(_letters(example))


def _accepted(token: str, judge: Validator) -> str | None:
    """The word as the pattern wants it: customers write `dd1003`."""
    return next((form for form in (token, token.upper(), token.lower()) if judge.check(form) is None), None)


def _pattern(token: str) -> str:
    return _RUNS.sub(lambda run: "9" if run[0].isdecimal() else "A", token)


def _letters(token: str) -> list[str]:
    return [run.upper() for run in _RUNS.findall(token) if not run.isdecimal()]
