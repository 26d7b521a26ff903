"""What a tool returned, made plain JSON: fit for a model, a cache, a checkpoint and a schema.

A *repair* changes what was said: lone surrogates and NUL characters (Postgres and other languages refuse them), NaN and
Infinity (not JSON), integers beyond 2**53 - 1 (rounded by others, and beyond 64 bits no checkpoint takes them). Each
leaves a mark. Turning a tuple, a date or a dataclass into its JSON form changes nothing that was said and leaves none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from langgraph_degrade.errors import ToolSchemaError
from langgraph_degrade.stages.tools.locating import json_path, schema_error
from langgraph_degrade.stages.tools.unfolding import key_text, type_mark, unfold

MAX_DEPTH = 100
"""○ Deeper values break recursive readers further on (msgpack, browsers, Python's own json)."""
MAX_VALUES = 2_000_000
"""○ Ten megabytes of JSON hold fewer; a value that shares its parts can unfold to any number."""
MAX_REPAIRS = 20
"""○ Marks kept for one value."""
SAFE_INTEGER = 2**53 - 1
"""What JavaScript, and whoever reads numbers as doubles, keeps exact."""

_UNSAFE = re.compile("[\0\ud800-\udfff]")
_ONLY_STR = frozenset({str})
_INFINITY = math.inf


def clean(value: object, *, keep_integers: bool = False) -> tuple[object, list[str]]:
    """Return `value` as plain JSON with a mark for each repair; the same object where it was plain already.

    `keep_integers` leaves large integers numbers, for a schema that says `integer`.

    Raises:
        ToolSchemaError: a cycle, nesting deeper than 100 ○, more than two million values ○.

    Example:
        >>> clean({"amount": float("nan"), "sizes": (1, 2)})
        ({'amount': None, 'sizes': [1, 2]}, ['non-finite number at $.amount'])
    """
    if plain_size(value) is not None:
        return value, []
    copier = _Copier(keep_integers=keep_integers)
    return copier.copy(value), copier.marks()


def clean_text(text: str) -> str:
    """Replace lone surrogates, drop NUL characters; two surrogates that belong together become their character."""
    if not _UNSAFE.search(text):
        return text
    return text.replace("\0", "").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def plain_size(value: object) -> int | None:  # noqa: C901, PLR0912 - one hot loop: a call per item doubles its time
    """Return None where `value` is not plain JSON, else an upper bound of its size as JSON, in bytes.

    One scan, level by level, so that depth costs no recursion; all texts are judged in one go at the end.

    Raises:
        ToolSchemaError: more than two million values ○.
    """
    level: list[Any] = [value]  # no narrowing by exact type: `Any`, or an ignore a line
    texts: list[str] = []
    count = 1
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for item in level:
            kind: Any = type(item)  # pyright: ignore[reportUnknownVariableType]
            if kind is str:
                texts.append(item)
            elif kind is dict:
                texts += item
                below += item.values()
            elif kind is list:
                below += item
            elif kind is float:
                if not -_INFINITY < item < _INFINITY:
                    return None
            elif kind is int:
                if not -SAFE_INTEGER <= item <= SAFE_INTEGER:
                    return None
            elif item is not None and kind is not bool:
                return None
        if not below:
            return _plain_texts(texts, count)
        count += len(below)
        if count > MAX_VALUES:
            raise schema_error(f"more than {MAX_VALUES} values")
        level = below
    return None


def _plain_texts(texts: list[str], values: int) -> int | None:
    if not _ONLY_STR.issuperset(map(type, texts)):
        return None  # a key that is no string, or a subclass with ideas of its own
    joined = "".join(texts)
    if "\0" in joined or (not joined.isascii() and _UNSAFE.search(joined)):
        return None
    return 6 * len(joined) + 30 * (len(texts) + values)  # an escaped character; a number with its comma


def _same(value: object) -> object:
    return value


class _Copier:
    """Copies one value into plain JSON, remembering where it is."""

    def __init__(self, *, keep_integers: bool) -> None:
        self._keep_integers = keep_integers
        self._path: list[str | int] = []
        self._above: set[int] = set()
        self._left = MAX_VALUES
        self._marks: list[str] = []
        self._unmarked = 0
        self._copiers: dict[type, Callable[..., object]] = {
            str: self._text,
            int: self._integer,
            float: self._number,
            dict: self._object,
            list: self._array,
            bool: bool,
            type(None): _same,
        }

    def marks(self) -> list[str]:
        return [*self._marks, f"{self._unmarked} more"] if self._unmarked else self._marks

    def copy(self, value: object) -> object:
        self._left -= 1
        if self._left < 0:
            raise self._error(f"more than {MAX_VALUES} values")
        for _ in range(3):  # an enum's value, say, may be one of these that needs unfolding in turn
            copier = self._copiers.get(type(value))
            if copier:
                return copier(value)
            value = unfold(value)
        return type_mark(value)

    def _text(self, text: str) -> str:
        cleaned = clean_text(text)
        if cleaned is not text:
            self._mark("NUL or surrogate")
        return cleaned

    def _integer(self, number: int) -> object:
        if self._keep_integers or -SAFE_INTEGER <= number <= SAFE_INTEGER:
            return number
        self._mark("large integer")
        try:
            return str(number)
        except ValueError:  # Python writes no more than 4300 digits
            return None

    def _number(self, number: float) -> float | None:
        if math.isfinite(number):
            return number
        self._mark("non-finite number")
        return None

    def _array(self, items: list[object]) -> object:
        return self._inside(items, lambda: [self._at(index, item) for index, item in enumerate(items)])

    def _object(self, fields: dict[object, object]) -> object:
        return self._inside(fields, lambda: self._fields(fields))

    def _fields(self, fields: dict[object, object]) -> dict[str, object]:
        copied: dict[str, object] = {}
        for key, value in fields.items():
            name = clean_text(key_text(key))
            if name in copied or (name != key and isinstance(key, str)):
                self._mark("field renamed or doubled")
            copied[name] = self._at(name, value)
        return copied

    def _at(self, part: str | int, value: object) -> object:
        self._path.append(part)
        copied = self.copy(value)
        self._path.pop()
        return copied

    def _inside(self, container: object, copy: Callable[[], object]) -> object:
        if id(container) in self._above:
            raise self._error("a value that contains itself")
        if len(self._above) >= MAX_DEPTH:
            raise self._error(f"nested deeper than {MAX_DEPTH}")
        self._above.add(id(container))
        copied = copy()
        self._above.discard(id(container))
        return copied

    def _mark(self, what: str) -> None:
        if len(self._marks) < MAX_REPAIRS:
            self._marks.append(f"{what} at {json_path(self._path)}")
        else:
            self._unmarked += 1

    def _error(self, what: str) -> ToolSchemaError:
        return schema_error(what, json_path(self._path))
