"""Unix times in a tool's result: a declared unit, and a window of sense (case X11).

A field whose schema says `"x-unit": "s"` or `"ms"` holds seconds or milliseconds since 1970. A number outside the years
2000 to 2100 that makes sense in the other unit was sent in the other unit and is brought over; one that makes sense in
neither fails, because a confident wrong date is worse than none. Text that is not a number (`2025-08-16 08:00:00`) is
left as it stands: nobody here turns it into a moment, so nobody gets its time zone wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from langgraph_degrade.errors import ToolSchemaError
from langgraph_degrade.stages.tools.locating import json_path, schema_error
from langgraph_degrade.stages.tools.shapes import is_array, is_mapping, is_object

Unit = Literal["s", "ms"]
Path = tuple[str | None, ...]
"""Names of fields; None stands for every item of an array."""

_FROM, _TO = 946_684_800, 4_102_444_800  # 2000-01-01 and 2100-01-01 UTC, in seconds
_PER_SECOND = {"s": 1, "ms": 1000}
_DIGITS = 17  # more are no time in either unit, and no float holds them


@dataclass(slots=True)
class Outcome:
    """What looking at one value's times came to."""

    value: object
    """The value, a changed copy where a time had to be brought over."""
    repairs: list[str] = field(default_factory=list[str])
    error: ToolSchemaError | None = None
    """The first time that makes sense in neither unit."""


@dataclass(frozen=True, slots=True)
class Timestamps:
    """The fields of one schema that declare a unit."""

    fields: tuple[tuple[Path, Unit], ...]

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> Timestamps:
        """Find them, through `properties`, `items`, alternatives and `$ref`s within the schema."""
        return cls(tuple(_declared(schema, schema, (), frozenset())))

    def settle(self, value: object, inside: str | None = None) -> Outcome:
        """Bring every declared time in `value` to its unit; `inside` names the field the schema is about."""
        outcome = Outcome(value)
        for path, unit in self.fields:
            path = path if inside is None else (inside, *path)  # noqa: PLW2901 - one loop, one path
            outcome.value = _settled(outcome.value, path, _Moment(unit, outcome), ())
        return outcome


def _declared(
    schema: Any, document: Mapping[str, Any], path: Path, above: frozenset[str]
) -> Iterator[tuple[Path, Unit]]:
    if not is_mapping(schema):
        return
    if schema.get("x-unit") in _PER_SECOND:
        yield path, schema["x-unit"]
    for step, part in _parts(schema):
        yield from _declared(part, document, (*path, *step), above)
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference not in above:  # a schema may refer to itself
        yield from _declared(_pointed(document, reference), document, path, above | {reference})


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    properties = schema.get("properties")
    if is_mapping(properties):
        yield from (((str(name),), part) for name, part in properties.items())
    yield (None,), schema.get("items")
    for keyword in ("anyOf", "oneOf", "allOf"):
        yield from (((), part) for part in schema.get(keyword) or ())


def _pointed(document: Any, reference: str) -> Any:
    if not reference.startswith("#/"):
        return None
    for name in reference[2:].split("/"):
        name = name.replace("~1", "/").replace("~0", "~")  # noqa: PLW2901 - JSON pointers escape so
        document = document.get(name) if is_mapping(document) else None
    return document


@dataclass(frozen=True, slots=True)
class _Moment:
    """One declared time, looked at wherever it stands."""

    unit: Unit
    outcome: Outcome

    def settled(self, value: object, place: tuple[str | int, ...]) -> object:
        number = _number(value)
        if number is None or self._sensible(number):
            return value
        path = json_path(place, frozenset(map(str, place)))
        other = number * 1000 if self.unit == "ms" else number // 1000
        if self._sensible(other):
            self.outcome.repairs.append(f"unit of time at {path}")
            return str(other) if isinstance(value, str) else other
        self.outcome.error = self.outcome.error or schema_error("a time outside 2000 to 2100", path)
        return value

    def _sensible(self, number: float) -> bool:
        return _FROM <= number / _PER_SECOND[self.unit] < _TO


def _number(value: object) -> int | float | None:
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) <= _DIGITS else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _settled(value: object, path: Path, moment: _Moment, place: tuple[str | int, ...]) -> object:
    """Return `value` with the times at `path` settled; the same object where none changed."""
    if not path:
        return moment.settled(value, place)
    step, rest = path[0], path[1:]
    if is_array(value) and step is None:
        settled = [_settled(item, rest, moment, (*place, index)) for index, item in enumerate(value)]
        return settled if any(new is not old for new, old in zip(settled, value, strict=True)) else value
    if is_object(value) and step is not None and step in value:
        inner = _settled(value[step], rest, moment, (*place, step))
        return value if inner is value[step] else {**value, step: inner}
    return value
