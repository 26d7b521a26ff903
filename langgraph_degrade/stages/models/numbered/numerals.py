"""Numbers somebody said. A number that a call needs and nobody mentioned would be the model's own."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from langgraph_degrade.stages.models.numbered.identifiers import item_of

_WORD = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand|dozen|"
    r"half|couple|pair|both|twice|single|double|all|noon|midnight|full|everything)\b"
    r"|[零二两三四五六七八九十百千万半双]|全部|全额|中午|一(?![下些样直起点定般会])",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+")


def is_number(part: Mapping[str, Any]) -> bool:
    """Tell a parameter that takes a number and says nothing of which."""
    part = item_of(part)
    return part.get("type") in ("integer", "number") and not {"enum", "const", "default"} & part.keys()


def holds_number(text: str, identifiers: Collection[str], *, counted: bool = False) -> bool:
    """Tell whether a text holds a number, in digits or words, that is part of no identifier.

    `counted` leaves out 一 and `one`, which are articles as often as numbers.
    """
    for identifier in sorted(identifiers, key=len, reverse=True):
        text = re.sub(re.escape(identifier), " ", text, flags=re.IGNORECASE)
    found = {word.lower() for word in _WORD.findall(text)}
    return bool(_DIGITS.search(text) or (found - {"一", "one"} if counted else found))
