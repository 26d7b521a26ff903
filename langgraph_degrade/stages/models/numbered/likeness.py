"""How alike texts are by what they speak of, across Chinese and English; cheap, and no model is asked.

A text is taken to pieces: the families of related words it touches, and for words of no family their first letters
(Latin) or pairs of characters (Chinese). Pieces that few tools share count most.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from langgraph_degrade.stages.models.numbered.families import FAMILIES, STOP

_LATIN = re.compile(r"[a-z]+")
_CJK = re.compile(r"[\u3400-\u9fff]+")
_STEM = 5
"""Letters that tell a word of no family: `exporting` and `exported` are near enough."""
_ENDINGS = ("ing", "ies", "ed", "es", "s", "d")


def likeness(one: str, other: str) -> float:
    """From 0 (nothing in common) to 1 (the same pieces)."""
    left, right = pieces(one), pieces(other)
    return 2 * len(left & right) / (len(left) + len(right)) if left and right else 0.0


def scores(question: str, texts: Sequence[tuple[str, str]]) -> list[float]:
    """How much a question has in common with each of some (name, description) pairs; 0 where nothing."""
    asked = pieces(question)
    named = [pieces(name.replace("_", " ")) for name, _ in texts]
    held = [own | pieces(told) for own, (_, told) in zip(named, texts, strict=True)]
    seen = Counter(piece for part in held for piece in part)
    return [
        sum(_weight(seen[piece], len(texts)) * (1.5 if piece in own else 1.0) for piece in asked & part)
        for own, part in zip(named, held, strict=True)
    ]


def pieces(text: str) -> frozenset[str]:
    """What a text speaks of."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).lower()
    return frozenset((*_of_latin(spaced), *_of_chinese(spaced)))


def _of_latin(text: str) -> Iterator[str]:
    for word in _LATIN.findall(text):
        family = next((_TABLE[form] for form in _forms(word) if form in _TABLE), None)
        if family is not None:
            yield family
        elif len(word) > 2 and word not in STOP:
            yield word[:_STEM]


def _forms(word: str) -> Iterator[str]:
    yield word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) > 2:
            bare = word.removesuffix(ending)
            yield from (bare, f"{bare}e", f"{bare}y")
            if len(bare) > 3 and bare[-1] == bare[-2]:
                yield bare[:-1]


def _of_chinese(text: str) -> Iterator[str]:
    """Longest words first; what a family has taken is no pair of characters any more."""
    for run in _CJK.findall(text):
        rest = run
        for word, family in _CHINESE:
            if word in rest:
                yield family
                rest = rest.replace(word, " ")
        for part in rest.split():
            yield from (part[at : at + 2] for at in range(len(part) - 1) if part[at : at + 2] not in STOP)


def _weight(tools: int, of: int) -> float:
    return math.log(1 + of / tools)


def _table() -> Mapping[str, str]:
    return {word: f"@{line.split()[0]}" for line in FAMILIES.strip().splitlines() for word in line.split()}


_TABLE = _table()
_CHINESE = sorted(
    ((word, family) for word, family in _TABLE.items() if not word.isascii()), key=lambda pair: -len(pair[0])
)
