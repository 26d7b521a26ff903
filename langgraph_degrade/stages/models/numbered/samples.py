"""Samples: what a user may say and the reply it asks for. Small models learn the form from them, and little else.

A user's own samples are the best ones; where there are none for a tool, one is made from its schema and description,
in the user's language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langgraph_degrade.stages.models.numbered.glossary import name_in_chinese, name_words
from langgraph_degrade.stages.models.numbered.identifiers import example_of, is_identifier, item_of
from langgraph_degrade.stages.models.numbered.likeness import likeness
from langgraph_degrade.stages.models.numbered.numerals import is_number
from langgraph_degrade.stages.models.numbered.offers import Offer
from langgraph_degrade.stages.models.numbered.words import WORDS
from langgraph_degrade.stages.tools.shapes import is_mapping
from langgraph_degrade.texts import Language, detect

PER_TOOL = 2
"""○ A user's own samples of one tool that are shown, the likest to the question first."""
PLAIN = "0"
"""The name under which samples of plain answers are declared."""

_PLAIN_VALUES: Mapping[str, tuple[Any, ...]] = {"boolean": (True,), "object": ({},), "null": (None,)}
_FORMATS = {"date": ("2030-05-17",), "time": ("09:30",), "date-time": ("2030-05-17T09:30:00Z",)}
_CLAUSE = re.compile(r"[.。:：;；(（\n]")
_PIECE = re.compile(r"(\\d|\[[^\]]+\]|\\?[^\\\[\](){}|*+?^$])(?:\{(\d+)(?:,\d*)?\}|([*+?]))?")


class Sample(NamedTuple):
    """One exchange of a menu."""

    question: str
    arguments: Mapping[str, Any] | None = None
    """None: no tool fits, and `text` is the answer."""
    text: str = ""

    @classmethod
    def of(cls, given: Any) -> Sample:
        """Read a declared one: a `Sample`, a pair, or a mapping with these keys."""
        if is_mapping(given):
            return cls(str(given["question"]), given.get("arguments"), str(given.get("text", "")))
        return cls(*given)


def samples_for(offer: Offer, declared: Mapping[str, Sequence[Any]], question: str, language: Language) -> list[Sample]:
    """The samples of one tool: declared ones in the user's language, else derived ones."""
    own = _declared(offer.name, declared, language)
    if len(own) > PER_TOOL:
        own = sorted(own, key=lambda sample: -likeness(question, sample.question))[:PER_TOOL]
    return own or derived(offer, language)


def plain_samples(offers: Sequence[Offer], declared: Mapping[str, Sequence[Any]], language: Language) -> list[Sample]:
    """Samples of answers in plain words: a greeting, and a question that lacks what a tool needs."""
    words = WORDS[language]
    asking = [Sample(_asked(offer, [], language), None, words.ask.format(what=what)) for offer, what in _needs(offers)]
    return _declared(PLAIN, declared, language) or [
        *(Sample(said, None, told) for said, told in words.plain),
        *asking[:1],
    ]


def _declared(name: str, declared: Mapping[str, Sequence[Any]], language: Language) -> list[Sample]:
    return [sample for sample in map(Sample.of, declared.get(name, ())) if detect(sample.question) == language]


def _needs(offers: Sequence[Offer]) -> Iterator[tuple[Offer, str]]:
    """The tools that need an identifier, and how it is called."""
    for offer in offers:
        for name in offer.required:
            if is_identifier(name, offer.properties.get(name, {})):
                yield offer, name


def purpose(offer: Offer, language: Language) -> str:
    """What a tool is for, in the user's language: a clause of its description, else what its name says."""
    clause = _CLAUSE.split(offer.description, maxsplit=1)[0].strip()
    if clause and detect(clause) == language:
        return _lower(clause)
    named = name_in_chinese(offer.name) if language == "zh" else " ".join(name_words(offer.name))
    return named or _lower(clause) or offer.name


def derived(offer: Offer, language: Language) -> list[Sample]:
    """A sample with what is required; before it one with the optional numbers, where there are any.

    Optional texts and choices are not shown: a model that has seen them fills them in where nobody has said anything,
    and numbers nobody has said are kept from it by `reply_format`.
    """
    numbers = [name for name, part in offer.properties.items() if name not in offer.required and is_number(part)]
    fuller = [_derived(offer, [*offer.required, *numbers], language)] if numbers else []
    return [*fuller, _derived(offer, offer.required, language)]


def _derived(offer: Offer, names: Sequence[str], language: Language) -> Sample:
    arguments = {name: example_value(name, offer.properties.get(name, {}), offer, language) for name in names}
    return Sample(_asked(offer, arguments.values(), language), arguments)


def _asked(offer: Offer, values: Iterable[Any], language: Language) -> str:
    words = WORDS[language]
    given = words.comma.join(str(value) for value in values)
    form = words.request if given else words.bare_request
    return form.format(purpose=purpose(offer, language), given=given)


def _lower(clause: str) -> str:
    return clause[:1].lower() + clause[1:] if clause[1:2].islower() else clause


def example_value(name: str, part: Mapping[str, Any], offer: Offer, language: Language) -> Any:
    """A value the schema allows, as the schema or the description shows it."""
    part = item_of(whole) if (whole := part).get("type") == "array" else item_of(part)
    value = next(_values(name, part, offer, language))
    return [value] if whole.get("type") == "array" else value


def _values(name: str, part: Mapping[str, Any], offer: Offer, language: Language) -> Iterator[Any]:
    """The schema's own values, best first; the last one always comes."""
    yield from [part["const"]] if "const" in part else []
    yield from part.get("enum", ())
    yield from part.get("examples", ())
    kind = part.get("type", "string")
    if kind in ("integer", "number"):
        yield max(int(part.get("minimum", 2)), 2) if "maximum" not in part else int(part["maximum"])
    yield from _PLAIN_VALUES.get(str(kind), ())
    yield from filter(None, [example_of(part, offer.description if is_identifier(name, part) else "")])
    yield from filter(None, [_by_pattern(str(part.get("pattern", "")))])
    yield from _FORMATS.get(str(part.get("format")), ())
    yield "A1024" if is_identifier(name, part) else WORDS[language].something


def _by_pattern(pattern: str) -> str | None:
    """A text of a simple pattern (literals, classes, counts), or None."""
    made = "".join(_letter(piece[1]) * (int(piece[2]) if piece[2] else 1) for piece in _PIECE.finditer(pattern))
    try:
        return made if made and re.search(pattern, made) else None
    except re.error:
        return None


def _letter(piece: str) -> str:
    if piece == r"\d":
        return "1"
    if piece.startswith("["):
        return piece[1] if piece[1] not in "\\^" else "1"
    return piece.removeprefix("\\")
