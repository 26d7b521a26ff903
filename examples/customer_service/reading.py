"""The rule-driven stand-in for a model: what it understands of a tool's text. One rule set for everybody.

A tool's text is a JSON value, words, or both. A `{code, msg, data}` envelope is opened; "success, no data" is taken at
its word. Words are understood as a model would that follows instructions: that something is unavailable, old, refused,
or that its outcome is not known; anything else is simply passed on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

Gist = Literal["value", "unsure", "done", "refused", "failed", "words"]

SUCCESS = frozenset({0, "0", 200})
GISTS: tuple[tuple[Gist, re.Pattern[str]], ...] = (
    # The first that fits; a text's first words weigh most, later ones may only say what not to say.
    ("done", re.compile(r"^(?:done|completed|已经?完成)", re.IGNORECASE)),
    ("refused", re.compile(r"^the answer is no|refused|否定答复|业务答复", re.IGNORECASE)),
    (
        "unsure",
        re.compile(
            r"nobody knows|not (?:yet )?(?:known|certain|confirmed)|unknown|may or may not|cannot (?:tell|confirm)"
            r"|无人知道|不确定|未知|无法确认|尚未确认|不清楚",
            re.IGNORECASE,
        ),
    ),
    (
        "failed",
        re.compile(
            r"fail|error|unavailable|not available|not carried out|not called|left out|no result|cannot|could not"
            r"|失败|不可用|没有(?:结果|执行)|无法|查不到|跳过",
            re.IGNORECASE,
        ),
    ),
)
QUOTED = re.compile(r"[“「](.+?)[”」]")
OFFER = re.compile(r"(?:offer this(?: instead)?: |可以向用户提供：)(.+)$", re.IGNORECASE | re.MULTILINE)
AGE = re.compile(
    r"(\d+(?:\.\d+)?)\s*(s|sec(?:ond)?s?|min(?:ute)?s?|h(?:our)?s?|秒|分钟|小时)(?:\b|(?=[\s前之以]))", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a tool's text comes to. `old`: the value is said to be old, `age` tells how old in the text's words."""

    gist: Gist
    value: Any = None
    words: str = ""
    old: bool = False
    age: tuple[str, str] | None = None
    offer: str = ""


def read(text: str) -> Reading:
    """Understand a tool's text."""
    for value, words in _values(text):
        return _opened(value, words)
    offer = OFFER.search(text)
    words = OFFER.sub("", text).strip()
    gist = _gist(words)
    quoted = QUOTED.search(words)
    return Reading(gist, words=quoted[1] if gist == "refused" and quoted else words, offer=offer[1] if offer else "")


def _gist(words: str) -> Gist:
    for gist, pattern in GISTS:
        if pattern.search(words):
            return gist
    return "words"


def _values(text: str) -> Iterator[tuple[Any, str]]:
    """Yield the JSON value in a text, and the words around it."""
    if text.strip() == "null":
        yield None, ""
    for start in (found.start() for found in re.finditer(r"[\[{]", text)):
        try:
            value, end = json.JSONDecoder().raw_decode(text, start)
        except ValueError:
            continue
        yield value, f"{text[:start]} {text[end:]}".strip()


def _opened(value: Any, words: str) -> Reading:
    if isinstance(value, dict) and "code" in value:
        envelope = cast("Mapping[str, Any]", value)
        if envelope["code"] not in SUCCESS:
            return Reading("refused", words=str(envelope.get("msg", "")))
        value = envelope.get("data")
    age = AGE.search(words)
    return Reading("value", value, words, old=bool(words), age=(age[1], age[2]) if age else None)
