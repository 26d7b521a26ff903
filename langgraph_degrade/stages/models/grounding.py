"""Whether a sentence says no more than the record it was made from (spec M1: the smallest tier words, it knows nothing).

Strict rather than clever. A number, a name, a denial or a promise that the record does not hold makes the sentence
worthless, and so does a number beside the name of another field; then the facts themselves are told. The question lends
it no words: "has it been refunded?" must not come back as "it has been refunded". What is left to the model is the order
of things, and the courtesies.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from itertools import chain
from typing import Any

from langgraph_degrade.texts import CHINESE

Record = Mapping[str, Any]
"""One flat record: fields and their values. Two records, or one inside another, can be confused by who words them."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(rf"[^\W\d_{CHINESE}]+(?:['’][^\W\d_]+)?")
_CHINESE = re.compile(f"[{CHINESE}]")
_CLAUSE = re.compile(r"[;:!?。，；：！？\n]|[.,](?!\d)|\band\b")

_COURTESIES = frozenset(
    word
    for line in (
        "a an the is are was has have of for to in on at by from with and as it its it's this that these there here",
        "your you our we i me my please thank thanks hello hi dear customer question answer information details about",
        "regarding following according asking contacting us",
    )
    for word in line.split()
)
"""English words that state nothing by themselves: no time ("now", "still"), no promise ("will"), no deed ("done")."""
_COURTESIES_ZH = frozenset("您好的是为在呢请问于以下信息情况如尊敬客户顾感谢咨询我们这那里关该和与及其")
_DENIALS = frozenset(["not", "no", "never", "none", "nor", "neither", "without", "cannot", "nothing", "yes"])
_DENIALS_ZH = frozenset("不没未无非否勿莫别")


def stray(sentence: str, record: Record) -> str | None:
    """The first thing a sentence says that the record does not hold; None where there is none.

    Example:
        >>> order = {"order": "SO-7", "status": "packed", "pieces": 2, "amount": 50}
        >>> stray("Your order SO-7 is packed, thank you.", order)
        >>> stray("Your order SO-7 is refunded.", order), stray("The amount is 2.", order), stray("It is not packed.", order)
        ('refunded', '2', 'not')
    """
    said, known = _plain(sentence), _plain("\n".join(chain.from_iterable((key, _told(v)) for key, v in record.items())))
    numbers = _numbers(known)
    words = ({*_words(known)} | _COURTESIES) - _DENIALS
    characters = ({*_CHINESE.findall(known)} | _COURTESIES_ZH) - _DENIALS_ZH
    strays = (
        *(found for found in _NUMBER.findall(said) if _number(found) not in numbers),
        *(found for found in _words(said) if found not in words or found.endswith(("n't", "n’t"))),
        *(found for found in _CHINESE.findall(said) if found not in characters),
        *_misplaced(said, record),
    )
    return next(iter(strays), None)


def adds(sentence: str, facts: str, question: str) -> bool:
    """Whether a sentence tells something of the facts; small models often say the question over again.

    Example:
        >>> adds("Is P-108 in stock?", "P-108: 60", "Is P-108 in stock?")
        False
        >>> adds("P-108: 60 in stock", "P-108: 60", "Is P-108 in stock?")
        True
    """
    return bool((_parts(facts) - _parts(question) - _COURTESIES - _COURTESIES_ZH) & _parts(sentence))


def foreign_number(sentence: str, *known: str) -> str | None:
    """The first number in a sentence that stands nowhere in what is known.

    Example:
        >>> foreign_number("60 of P-109", "P-108: 60")
        '109'
    """
    numbers = _numbers(_plain("\n".join(known)))
    return next((found for found in _NUMBER.findall(_plain(sentence)) if _number(found) not in numbers), None)


def _misplaced(said: str, record: Record) -> list[str]:
    """Numbers beside the name of a field that is not theirs, or bare where several fields have one: "it is 4" of what?"""
    fields = [(set(_words(_plain(key))), _plain(_told(value))) for key, value in record.items()]
    numeric = [(names, values) for names, text in fields if (values := _numbers(text))]
    found: list[str] = []
    for clause in _CLAUSE.split(said):
        words = set(_words(clause))
        named = [values for names, values in numeric if names & words]
        whole = [text for _, text in fields if _WORD.search(text) and text in clause]  # SO-1001 says itself what it is
        own = set[str]().union(*map(_numbers, whole), *named)
        is_bare = not named and len(numeric) > 1
        found += [n for n in _NUMBER.findall(clause) if (named or is_bare) and _number(n) not in own]
    return found


def _words(text: str) -> list[str]:
    return _WORD.findall(text.replace("_", " "))


def _parts(text: str) -> set[str]:
    text = _plain(text)
    return {*_numbers(text), *_words(text), *_CHINESE.findall(text)}


def _told(value: Any) -> str:
    return "" if value is None else str(value)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _numbers(text: str) -> set[str]:
    return {*map(_number, _NUMBER.findall(text))}


def _number(written: str) -> str:
    """`1,299.00` and `1299` are one number."""
    whole = written.replace(",", "")
    return whole.rstrip("0").rstrip(".") if "." in whole else whole
