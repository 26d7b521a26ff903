"""Whether a sentence says no more than the facts it was made from (spec M1: the smallest tier words, it knows nothing).

Strict rather than clever: a number, a name, a "not" or a promise that stands neither in the facts nor in the question makes
the sentence worthless, and the facts themselves are told instead. What is left to the model is their order and the
courtesies.
"""

from __future__ import annotations

import re
import unicodedata

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_\u3400-\u9fff\uf900-\ufaff]+(?:['’][^\W\d_]+)?")
_CHINESE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")

_COURTESIES = frozenset(
    [
        "a",
        "an",
        "the",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "has",
        "have",
        "had",
        "of",
        "for",
        "to",
        "in",
        "on",
        "at",
        "by",
        "from",
        "with",
        "and",
        "as",
        "it",
        "its",
        "it's",
        "this",
        "that",
        "these",
        "there",
        "here",
        "your",
        "you",
        "you're",
        "our",
        "we",
        "i",
        "me",
        "my",
        "please",
        "thank",
        "thanks",
        "hello",
        "hi",
        "dear",
        "customer",
        "question",
        "answer",
        "information",
        "detail",
        "details",
        "about",
        "regarding",
        "following",
        "follows",
        "according",
        "which",
        "what",
        "when",
        "where",
        "who",
        "how",
        "asking",
        "asked",
        "contacting",
        "reaching",
        "out",
        "us",
    ]
)
"""English words that state nothing: no negation, no time ("now", "still"), no promise ("will"), no deed ("done")."""
_COURTESIES_ZH = frozenset("您好的是为在呢请问于以下信息情况如尊敬客户顾感谢咨询我们这那里关该和与及其")


def stray(sentence: str, *given: str) -> str | None:
    """The first thing a sentence says that nothing of what is given holds; None where there is none.

    Example:
        >>> stray("Your order SO-7 is packed, thank you.", "order: SO-7, status: packed")
        >>> stray("Your order SO-7 is not packed.", "order: SO-7, status: packed")
        'not'
        >>> stray("库存 8 件", "stock: 7", "库存还有几件？")
        '8'
    """
    said, known = _plain(sentence), _plain("\n".join(given))
    numbers = {_number(found) for found in _NUMBER.findall(known)}
    words = {*_WORD.findall(known), *_COURTESIES}
    characters = {*_CHINESE.findall(known), *_COURTESIES_ZH}
    strays = (
        *(found for found in _NUMBER.findall(said) if _number(found) not in numbers),
        *(found for found in _WORD.findall(said) if found not in words),
        *(found for found in _CHINESE.findall(said) if found not in characters),
    )
    return next(iter(strays), None)


def adds(sentence: str, facts: str, question: str) -> bool:
    """Whether a sentence tells something of the facts; small models often say the question over again.

    Example:
        >>> adds("Is P-108 in stock?", "sku: P-108, stock: 60", "Is P-108 in stock?")
        False
        >>> adds("P-108: 60 in stock", "sku: P-108, stock: 60", "Is P-108 in stock?")
        True
    """
    new = _parts(facts) - _parts(question) - _COURTESIES - _COURTESIES_ZH
    return bool(new & _parts(sentence))


def _parts(text: str) -> set[str]:
    text = _plain(text)
    return {*map(_number, _NUMBER.findall(text)), *_WORD.findall(text), *_CHINESE.findall(text)}


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _number(written: str) -> str:
    """`1,299.00` and `1299` are one number."""
    whole = written.replace(",", "")
    return whole.rstrip("0").rstrip(".") if "." in whole else whole
