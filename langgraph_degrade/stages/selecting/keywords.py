"""A tool call without a model: keywords find the tool, regular expressions its arguments; never a guess (spec L1)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from langchain_core.messages import AIMessage

from langgraph_degrade.texts import CHINESE

LONGEST: Final = 8_000
"""Characters of a question that is searched; a longer one is no question, and a cut one could end inside an id."""

_IS_CHINESE: Final = re.compile(f"[{CHINESE}]")
_LETTER: Final = rf"[^\W{CHINESE}]"
"""A letter or digit of a word that has boundaries: `iPhone` in `查iPhone库存` is a word of its own."""


@dataclass(frozen=True, slots=True)
class KeywordTemplate:
    """How one tool is recognised in a customer's own words.

    Example:
        >>> template = KeywordTemplate("get_order", ["订单", "order"], {"order_id": re.compile(r"(SO-[0-9]+)")})
        >>> from_keywords("我的订单 ＳＯ－１００１ 到哪了？", [template]).tool_calls[0]["args"]
        {'order_id': 'SO-1001'}
    """

    tool: str
    keywords: Sequence[str]
    """Chinese ones are found anywhere, others as whole words; case and width don't matter."""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Name → a compiled regular expression with one group, whose text is the argument, or any other value as it is.
    Written by the application, never by a user; it sees the question in half width (NFKC), and as it was typed."""
    optional: Collection[str] = ()
    """Arguments that are left out where the question doesn't say them; every other one must be found."""

    def __post_init__(self) -> None:
        if isinstance(self.keywords, str) or not any(map(_folded, self.keywords)):
            raise ValueError(f"keywords of {self.tool!r}: a list with at least one word is needed")
        for name, pattern in self.arguments.items():
            if isinstance(pattern, re.Pattern) and pattern.groups != 1:
                raise ValueError(f"argument {name!r} of {self.tool!r}: its pattern needs exactly one group")


def from_keywords(question: str, templates: Sequence[KeywordTemplate]) -> AIMessage | None:
    """Make the call whose template has most keywords in the question; None where that is not beyond doubt.

    In doubt is: no keyword, two templates with as many, an argument that isn't there, or one that is there with two
    different values (two order numbers). The call is as good as its template: hold it against the schema (`faults`)
    like any other, and give a write its confirmation.
    """
    folded = _folded(question) if len(question) <= LONGEST else ""
    if not folded or len(folded) > LONGEST:
        return None
    scores = [_score(template, folded) for template in templates]
    best = max(scores, default=0)
    if not best or scores.count(best) > 1:
        return None
    template = templates[scores.index(best)]
    args = _arguments(template, question)
    if args is None:
        return None
    call = {"name": template.tool, "args": args, "id": f"call_{uuid4().hex}", "type": "tool_call"}
    return AIMessage("", tool_calls=[call])


def _score(template: KeywordTemplate, folded: str) -> int:
    return sum(_is_in(word, folded) for word in {_folded(word) for word in template.keywords} if word)


def _is_in(word: str, folded: str) -> bool:
    if _IS_CHINESE.search(word):
        return word in folded
    return re.search(f"(?<!{_LETTER}){re.escape(word)}(?!{_LETTER})", folded) is not None


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _arguments(template: KeywordTemplate, question: str) -> dict[str, Any] | None:
    args: dict[str, Any] = {}
    for name, source in template.arguments.items():
        found = set(_found(source, question)) if isinstance(source, re.Pattern) else None
        if found is None:
            args[name] = source
        elif len(found) == 1:
            args[name] = found.pop()
        elif found or name not in template.optional:
            return None
    return args


def _found(pattern: re.Pattern[str], question: str) -> Iterator[str]:
    """What the pattern finds, in half width: full-width digits are no order number to any database."""
    for text in (unicodedata.normalize("NFKC", question), question):
        for match in pattern.finditer(text):
            if value := unicodedata.normalize("NFKC", match[1] or "").strip():
                yield value
