"""How long a target wants to be left alone: `Retry-After`, rate-limit headers, durations in texts (cases P05, P10, P11)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

Moment = Callable[[], float]
"""Unix time, asked only where an absolute date has to be measured."""

LONGEST: Final = 31 * 86_400.0
"""Seconds; a longer wait is cut to this (○: monthly quotas are the longest that mean anything)."""

_EPOCH_SECONDS = 1e9
_EPOCH_MILLISECONDS = 1e12
_NUMBER: Final = r"(?a)\d+(?:\.\d+)?"
_UNITS: Final[Mapping[str, float]] = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0,
}  # fmt: skip
_PART: Final = r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|d)"
_PARTS: Final = r"(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h|d)){1,6}"
_WORDS: Final[Mapping[str, float]] = {
    "millisecond": 1e-3, "second": 1.0, "sec": 1.0, "minute": 60.0, "min": 60.0, "hour": 3600.0, "day": 86_400.0,
    "毫秒": 1e-3, "秒": 1.0, "分": 60.0, "小时": 3600.0, "天": 86_400.0,
}  # fmt: skip
_DATE = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_STRUCTURED: Final = r"\b(?:remaining|r)=0\b.{0,40}?\b(?:reset|t)=(\d+)"
"""The IETF drafts' `RateLimit: limit=100, remaining=0, reset=5` and `"default";r=0;t=5`."""
_ZONED: Final = r"(?:Z|[+-]\d\d:?\d\d)$"
_ASKING: Final = r"(?:retry|try again|wait|available|resets?)(?: again)?"
_SPELT: Final = r"(?P<number>\d+(?:\.\d+)?)\s{0,2}(?P<word>milliseconds?|seconds?|secs?|minutes?|mins?|hours?|days?)"
_SHORT: Final = r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d)){1,4}"
_IN_TEXT: Final = (  # texts, compiled by `re` when they are first needed
    rf"(?P<china>{_DATE})\s{{0,3}}(?:之?后)?\s{{0,3}}(?:重置|恢复|刷新)",
    rf"(?i)\b(?:resets?|retry|try again|available)(?: again)?\s{{1,3}}(?:at|after|on)\s{{1,3}}(?P<when>{_DATE})",
    rf"(?i)\b{_ASKING}(?:\s{{1,3}}(?:after|in|for))?(?:\s{{1,3}}(?:about|approximately|at least))?[\s:]{{1,3}}{_SPELT}\b",
    rf"(?i)\b{_ASKING}\s{{1,3}}(?:after|in|for)\s{{1,3}}(?P<when>{_SHORT}\b|\d+(?=\s{{0,3}}(?:[.,;)]|$)))",
    r"(?P<number>\d+(?:\.\d+)?)\s{0,2}(?P<word>毫秒|秒|分|小时|天)(?:钟)?(?:之?后|以后|再)",
    r"(?:等待|间隔)\s{0,2}(?P<number>\d+(?:\.\d+)?)\s{0,2}(?P<word>毫秒|秒|分|小时|天)",
)


def retry_after(headers: Mapping[str, str], now: Moment) -> float | None:
    """Read how many seconds the answer's headers ask for; None where they don't say or say nonsense.

    Args:
        headers: Lower-case names.
        now: Asked only where the answer has no `Date` of its own: both dates by the same clock is better.
    """
    milliseconds = headers.get("retry-after-ms", "").strip()
    if re.fullmatch(_NUMBER, milliseconds):
        return _bounded(float(milliseconds) / 1000)
    return seconds(headers.get("retry-after"), _own_moment(headers, now))


def reset_after(headers: Mapping[str, str], now: Moment) -> float | None:
    """Read when the exhausted limit of an `x-ratelimit-*` family is filled again.

    A limit of which something remains says nothing; of several exhausted ones the last to reset counts.
    """
    moment = _own_moment(headers, now)
    waits = [seconds(value, moment) for value in _resets(headers)]
    return max((wait for wait in waits if wait is not None), default=None)


def is_exhausted(headers: Mapping[str, str]) -> bool:
    """Tell whether a limit stands at zero (GitHub answers its rate limit with 403)."""
    return any("remaining" in name and value.strip() == "0" for name, value in headers.items())


def seconds(value: object, now: Moment) -> float | None:
    """Read a wait in any of the forms seen on wires.

    `2`, `1.5`, `2, 2` (a header sent twice), `1m30s`, `250ms`, HTTP and ISO dates, epoch seconds (from 1e9) and
    milliseconds (from 1e12). A moment in the past is 0; what is none of these (`-5`, `abc`, empty) is None.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(float(value), now)
    if not isinstance(value, str):
        return None
    text = value.strip()
    parts = [part.strip() for part in text.split(",")]
    if all(re.fullmatch(_NUMBER, part) for part in parts):
        return _number(max(map(float, parts)), now)
    if re.fullmatch(_PARTS, text):
        return _bounded(sum(float(amount) * _UNITS[unit] for amount, unit in re.findall(_PART, text)))
    moment = _date(text)
    return None if moment is None else _bounded(moment - now())


def wait_in(text: str, now: Moment) -> float | None:
    """Find a wait in a message: `Please retry after 86400 seconds`, `请在 30 秒后重试`, `限额将在 … 重置`."""
    for pattern in _IN_TEXT:
        if found := re.search(pattern, text):
            return _from_match(found.groupdict(), now)
    return None


def _from_match(found: Mapping[str, str | None], now: Moment) -> float | None:
    if when := found.get("when"):
        return seconds(when, now)
    if (china := found.get("china")) is not None:  # a moment without a zone in a Chinese text is China's (case X11)
        return seconds(china if re.search(_ZONED, china) else f"{china}+08:00", now)
    word = str(found["word"]).casefold()
    unit = _WORDS.get(word) or _WORDS[word.removesuffix("s")]
    return _bounded(float(str(found["number"])) * unit)


def _number(value: float, now: Moment) -> float | None:
    if not math.isfinite(value) or value < 0:
        return None
    if value >= _EPOCH_MILLISECONDS:
        return _bounded(value / 1000 - now())
    return _bounded(value - now() if value >= _EPOCH_SECONDS else value)


def _bounded(wait: float) -> float:
    return min(max(wait, 0.0), LONGEST)


def _date(text: str) -> float | None:
    from email.utils import parsedate_to_datetime

    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            date = parse(text)
        except (ValueError, IndexError, TypeError):
            continue
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    return None


def _own_moment(headers: Mapping[str, str], now: Moment) -> Moment:
    sent = headers.get("date")
    moment = _date(sent) if sent else None
    return now if moment is None else lambda: moment


def _resets(headers: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        if "ratelimit" not in name.replace("-", ""):
            continue
        if "reset" in name and headers.get(name.replace("reset", "remaining"), "0").strip() == "0":
            yield value
        elif found := re.search(_STRUCTURED, value):
            yield found[1]
