"""What single values of a policy look like: durations, rates, shares, names, plain JSON, mappings that stay as they are.

Every wrong value raises through `wrong()`, so that what is wrong and what would be right stay two things until the
error is written (`problems.py`).
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Annotated, Any, NoReturn, TypeGuard, TypeVar, cast

from annotated_types import Ge, MinLen
from pydantic import AfterValidator, BeforeValidator, Strict
from pydantic_core import PydanticCustomError

K = TypeVar("K")
V = TypeVar("V")

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST = 366 * _UNITS["d"]  # ○ beyond it a typo is likelier than a wish
_DEEPEST = 64  # ○ far above any schema written by hand, far below Python's recursion limit
_SHOWN = 60
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)/(s|m|h|d)")
_NEARLY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(milli|ms|sec|min|hour|hr|day|[smhd])[a-z]*", re.IGNORECASE)
_SHORT = {"milli": "ms", "sec": "s", "min": "m", "hour": "h", "hr": "h", "day": "d"}


def wrong(what: str, fix: str, *, at: tuple[str | int, ...] = ()) -> PydanticCustomError:
    """Make the error for one wrong value: what is wrong, what would be right, and where below the value it is."""
    return PydanticCustomError("policy", "{what}; {fix}", {"what": what, "fix": fix, "at": at})


def shown(value: object) -> str:
    """Show a wrong value in an error, short enough to read."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def is_mapping(value: object) -> TypeGuard[Mapping[object, object]]:
    """Tell a mapping; what is in it is not known yet."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    """Tell a list or a tuple; what is in it is not known yet."""
    return isinstance(value, list | tuple)


def guess(given: object, choices: Iterable[str]) -> str:
    """Name the nearest choice, or all of them where none is near."""
    known = sorted(choices)
    near = difflib.get_close_matches(str(given), known, n=1)
    return f"did you mean {near[0]!r}?" if near else "write one of " + ", ".join(known)


def _number(value: object, noun: str, example: str) -> float | None:
    """Read a finite number; None for text, which has units."""
    if isinstance(value, str):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise wrong(f"{shown(value)} is not {noun}", f"write {example}")
    return float(value)


def duration(value: object) -> float:
    """Read `3`, `3.0`, `"3s"`, `"500ms"`, `"5m"`, `"24h"`, `"7d"` or a `timedelta` as seconds.

    Example:
        >>> duration("500ms"), duration("24h")
        (0.5, 86400.0)
    """
    plain = value.total_seconds() if isinstance(value, timedelta) else value
    seconds = _number(plain, "a duration", "a number and a unit, such as 3s")
    if seconds is None:
        seconds = _timed(str(value).strip())
    if not 0 <= seconds <= _LONGEST:
        raise wrong(f"{shown(value)} is no time anybody can wait", "write a duration from 0 to 366d, such as 3s")
    return seconds


def _timed(text: str) -> float:
    if found := _DURATION.fullmatch(text):
        return float(found[1]) * _UNITS[found[2]]
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        fix = f"write {text}s, or the number without quotes"
    elif found := _NEARLY.fullmatch(text):
        unit = found[2].lower()
        fix = f"did you mean {found[1]}{_SHORT.get(unit, unit)}?"
    else:
        fix = "write a number and one unit of ms, s, m, h, d, such as 3s or 500ms"
    raise wrong(f"{shown(text)} is not a duration", fix)


def positive_duration(value: object) -> float:
    """Read a duration that leaves time for something."""
    seconds = duration(value)
    if seconds == 0:
        raise wrong("0 leaves no time at all", "write a duration above 0, such as 3s")
    return seconds


def rate(value: object) -> float:
    """Read `100`, `"100/s"` or `"6000/m"` as calls per second."""
    per_second = _number(value, "a rate", "calls per time, such as 100/s")
    if per_second is None:
        found = _RATE.fullmatch(str(value).strip())
        if found is None:
            raise wrong(f"{shown(value)} is not a rate", "write calls per time, such as 100/s or 6000/m")
        per_second = float(found[1]) / _UNITS[found[2]]
    if per_second <= 0:
        raise wrong(f"{shown(value)} lets nothing through", "write a rate above 0, such as 100/s, or leave it out")
    return per_second


def share(value: object) -> float:
    """Read a share of the whole, above 0 and at most 1."""
    number = _number(value, "a share", "a number above 0 and at most 1, such as 0.3")
    if number is None or not 0 < number <= 1:
        percent = number is not None and 1 < number <= 100
        fix = f"did you mean {cast('float', number) / 100:g}?" if percent else "write one above 0 and at most 1"
        raise wrong(f"{shown(value)} is not a share", fix)
    return number


def plain_json(value: object, depth: int = 0) -> Any:
    """Copy what JSON can say; refuse dates, NaN, keys that are not text, and nesting without end."""
    if depth > _DEEPEST:
        raise wrong(f"nested deeper than {_DEEPEST} levels", "flatten it")
    if is_mapping(value):
        return {_text_key(key): plain_json(item, depth + 1) for key, item in value.items()}
    if is_list(value):
        return [plain_json(item, depth + 1) for item in value]
    if not isinstance(value, str | int | float | None) or (isinstance(value, float) and not math.isfinite(value)):
        raise wrong(f"{shown(value)} is not a JSON value", "write text, a finite number, true, false or null")
    return value


def _text_key(key: object) -> str:
    if not isinstance(key, str):
        raise wrong(f"the key {shown(key)} is not text", "put it in quotes")
    return key


def distinct(values: tuple[V, ...]) -> tuple[V, ...]:
    """Refuse a list that says the same thing twice."""
    for index, value in enumerate(values):
        if value in values[:index]:
            raise wrong(f"{shown(value)} stands twice", "keep one of them", at=(index,))
    return values


class FrozenDict(dict[K, V]):
    """A dict that cannot change, so that a policy can be shared between threads, compared and hashed."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a policy cannot be changed; make a new one with model_copy(update=...)")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse  # pyright: ignore[reportAssignmentType]

    def __hash__(self) -> int:  # type: ignore[override]
        # Keys only: equal mappings still hash equal, and values may be lists.
        return hash(frozenset(self))

    def __reduce__(self) -> tuple[type[FrozenDict[K, V]], tuple[dict[K, V]]]:
        return (FrozenDict, (dict(self),))


def _empty_if_null(value: object) -> object:
    return {} if value is None else value


Duration = Annotated[float, BeforeValidator(duration)]
PositiveDuration = Annotated[float, BeforeValidator(positive_duration)]
Rate = Annotated[float, BeforeValidator(rate)]
Share = Annotated[float, BeforeValidator(share)]
Count = Annotated[int, Strict(), Ge(0)]
PositiveCount = Annotated[int, Strict(), Ge(1)]
Flag = Annotated[bool, Strict()]
Name = Annotated[str, MinLen(1)]
Names = Annotated[tuple[Name, ...], AfterValidator(distinct)]
Frozen = Annotated[Mapping[K, V], AfterValidator(FrozenDict)]
JsonMapping = Annotated[Mapping[str, Any], BeforeValidator(plain_json), AfterValidator(FrozenDict)]
Written = BeforeValidator(_empty_if_null)
"""For what may be named and say no more: `get_stock:` with nothing after it declares a tool."""
