"""Requests larger than a window, in the words of many vendors (cases C08, P04).

Numbers and set phrases decide between kinds that are never tried again unchanged anyway; nothing else is read out of texts.
"""

from __future__ import annotations

import re
from typing import Final

_LIMIT = r"\(?(?P<limit>\d[\d,]*)"
# Patterns are texts: `re` compiles them when the first failure comes, which keeps `import langgraph_degrade` light.
_PHRASES: Final = tuple(
    f"(?i){phrase}"
    for phrase in (
        rf"maximum (?:context|prompt) length (?:is|of) {_LIMIT}",
        rf"exceeds? (?:the )?(?:model'?s? )?(?:maximum )?context (?:limit|length|window)[^\d]{{0,5}}\d+ \+ \d+ > {_LIMIT}",
        rf"longer than the model'?s context length(?: {_LIMIT})?",
        rf"(?:greater|larger|longer) than (?:the |its )?(?:maximum )?(?:context|model) (?:length|window|size)(?: of)?(?: {_LIMIT})?",
        rf"context length of (?:only )?{_LIMIT}",
        rf"range of input length should be \[\d+, ?{_LIMIT}",
        rf"prompt is too long(?::? \d+ tokens > {_LIMIT})?",
        rf"input token count.{{0,40}} exceeds the maximum number of tokens allowed(?: {_LIMIT})?",
        rf"input tokens? exceeds? the configured limit(?: of {_LIMIT})?",
        r"input (?:token length )?(?:is )?too long",
        r"exceeds? the (?:available )?context (?:size|window|length)",
        r"exceeds? (?:maximum|model|max) context (?:length|window)",
        r"context (?:window|length) (?:exceeds limit|exceeded|overflow)",
        rf"exceeded model token limit ?:? ?(?:{_LIMIT})?",
        rf"total (?:message )?token length exceeds? model limit(?: {_LIMIT})?",
        r"exceeds? max message tokens",
        rf"too many tokens.{{0,80}} cannot exceed {_LIMIT}",
        rf"too large for model with {_LIMIT} maximum context length",
        rf"`inputs` tokens \+ `max_new_tokens` must be <= {_LIMIT}",
        r"reduce the length of (?:the|your) (?:messages|prompt|input)",
        r"prompt tokens? too long",
        rf"(?:输入|上下文|提示词|prompt)[^。\d]{{0,12}}(?:超长|过长|超过|超出)[^\d]{{0,12}}(?:{_LIMIT})?",
    )
)
_OUTPUT_TOO_LONG: Final = (
    r"(?i)max_(?:completion_|new_|output_)?tokens['\"`]?\b.{0,60}(?:too large|should be|must be|at most)"
)
_ABOUT_TOKENS: Final = r"(?i)token|\bTPM\b|context"
_TOO_LARGE: Final = r"(?i)\blimit:? {0,2}(?P<limit>\d[\d,]*)\b.{0,60}?\brequested:? {0,2}(?P<asked>\d[\d,]*)"


def is_overflow(text: str, *, anywhere: bool) -> bool:
    """Tell a prompt that doesn't fit from an output limit set too high (`Range of max_tokens should be …`).

    Args:
        text: What the target said.
        anywhere: Also believe phrases that don't speak of tokens: right for a model, not for a tool that finds an
            amount typed in too high.
    """
    if not (anywhere or re.search(_ABOUT_TOKENS, text)) or not any(re.search(phrase, text) for phrase in _PHRASES):
        return False
    return "`inputs`" in text or not re.search(_OUTPUT_TOO_LONG, text)


def is_larger_than_allowance(text: str) -> bool:
    """Tell a request that is larger than a whole minute's allowance: waiting can't help (case P04)."""
    found = re.search(_TOO_LARGE, text)
    if found is None or not re.search(_ABOUT_TOKENS, text):
        return False
    return _integer(found["asked"]) > _integer(found["limit"])


def limit_in(text: str) -> int | None:
    """Read the window in tokens out of a message; None where it isn't told."""
    for pattern in (_TOO_LARGE, *_PHRASES):
        found = re.search(pattern, text)
        if found and (limit := found.groupdict().get("limit")):
            return _integer(limit)
    return None


def _integer(digits: str) -> int:
    return int(digits.replace(",", ""))
