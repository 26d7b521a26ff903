"""What single values of a policy look like: durations, rates, shares, names and frozen mappings.

Every wrong value raises through `wrong()`, so that what is wrong and what would be right stay two things until the
error is written (`problems.py`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, NoReturn, TypeVar

from annotated_types import Ge, MinLen
from pydantic import AfterValidator, BeforeValidator, Strict
from pydantic_core import PydanticCustomError

K = TypeVar("K")
V = TypeVar("V")

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST = 366 * _SECONDS["d"]  # ○ beyond it a typo is likelier than a wish, and threading's own limit is not far
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)/(s|m|h|d)")
_SPELLED = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|[smhd]|milli|sec|min|hour|hr|day)[a-z]*", re.IGNORECASE)
_SHORT = {"milli": "ms", "sec": "s", "min": "m", "hour": "h", "hr": "h", "day": "d"}
_SHOWN = 60


def wrong(what: str, fix: str, *, at: tuple[str | int, ...] = ()) -> PydanticCustomError:
    """Make the error for one wrong value: what is wrong, what would be right, and where below the place it is."""
    return PydanticCustomError("policy", "{what}: {fix}", {"what": what, "fix": fix, "at": at})


def shown(value: object) -> str:
    """Show a wrong value in an error, short enough to read."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


class FrozenDict(dict[K, V]):
    """A dict that cannot change, so a policy can be shared between threads, compared and hashed."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        msg = "a policy cannot be changed; make a new one with model_copy(update=...)"
        raise TypeError(msg)

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        # Keys only: equal mappings still hash equal, and values may be lists.
        return hash(frozenset(self))

    def __reduce__(self) -> tuple[type[FrozenDict[K, V]], tuple[dict[K, V]]]:
        return (FrozenDict, (dict(self),))


Frozen = Annotated[Mapping[K, V], AfterValidator(FrozenDict)]


def duration(value: object) -> float:
    """Read `3`, `3.0`, `"3s"`, `"500ms"`, `"5m"`, `"24h"`, `"7d"` or a `timedelta` as seconds."""
    seconds = _number(value, "a duration", "3s")
    if seconds is None:
        seconds = _from_text(value)
    if not 0 <= seconds <= _LONGEST:
        what = f"{shown(value)} is not a duration anybody can wait for"
        raise wrong(what, "write one between 0 and 366 days, such as 3s")
    return seconds


def _number(value: object, noun: str, example: str) -> float | None:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise wrong(f"{shown(value)} is not {noun}", f"write {example}")
    if isinstance(value, str):
        return None
    if not math.isfinite(value):
        raise wrong(f"{shown(value)} is not {noun}", f"write a finite number, such as {example}")
    return float(value)


def _from_text(value: object) -> float:
    text = str(value).strip()
    if found := _DURATION.fullmatch(text):
        return float(found[1]) * _SECONDS[found[2]]
    raise wrong(f"{shown(value)} is not a duration", _duration_fix(text))


def _duration_fix(text: str) -> str:
    if re.fullmatch(r"[0-9.]+", text):
        return f"write the unit too ({text}s), or the bare number without quotes"
    if found := _SPELLED.fullmatch(text):
        unit = found[2].lower()
        return f"did you mean {found[1]}{_SHORT.get(unit, unit)}?"
    return "write a number and one unit of ms, s, m, h, d, such as 3s or 500ms"


def positive_duration(value: object) -> float:
    """Read a duration that has to last."""
    seconds = duration(value)
    if seconds == 0:
        raise wrong("0 leaves no time at all", "write a duration above 0, such as 3s")
    return seconds


def rate(value: object) -> float:
    """Read `100`, `"100/s"` or `"6000/m"` as calls per second."""
    per_second = _number(value, "a rate", "100/s")
    if per_second is None:
        found = _RATE.fullmatch(str(value).strip())
        if found is None:
            raise wrong(f"{shown(value)} is not a rate", "write calls per time, such as 100/s or 6000/m")
        per_second = float(found[1]) / _SECONDS[found[2]]
    if per_second <= 0:
        raise wrong(f"{shown(value)} lets nothing through", "write a rate above 0, such as 100/s, or leave it out")
    return per_second


def share(value: object) -> float:
    """Read a share of the whole, above 0 and at most 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise wrong(f"{shown(value)} is not a share", "write a number above 0 and at most 1, such as 0.3")
    if not 0 < value <= 1:
        guess = f"did you mean {value / 100:g}?" if 1 < value <= 100 else "write one above 0 and at most 1, such as 0.3"  # noqa: PLR2004
        raise wrong(f"{shown(value)} is not a share", guess)
    return float(value)


Duration = Annotated[float, BeforeValidator(duration)]
PositiveDuration = Annotated[float, BeforeValidator(positive_duration)]
Rate = Annotated[float, BeforeValidator(rate)]
Share = Annotated[float, BeforeValidator(share)]
Count = Annotated[int, Strict(), Ge(0)]
PositiveCount = Annotated[int, Strict(), Ge(1)]
Flag = Annotated[bool, Strict()]
Name = Annotated[str, MinLen(1)]
