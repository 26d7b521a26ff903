"""What is wrong with a policy, in words: pydantic's errors translated, near misses guessed, lines added."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Final, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from langgraph_degrade.errors import PolicyError, Problem
from langgraph_degrade.policy.values import guess, shown

Place: TypeAlias = tuple[str | int, ...]
Lines: TypeAlias = Mapping[Place, int]

MAX_LISTED: Final = 20
"""Problems written out in one error ○; the rest is counted."""

_PLAIN = re.compile(r"[\w-]+")
_KEY = "[key]"  # pydantic's mark for "the key itself is wrong"

# pydantic's error type → what is wrong, what would be right
_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "missing": ("missing", "a cache has no default for it: write ttl: 30s"),
    "bool_type": ("{input} is not yes or no", "write true or false, without quotes"),
    "int_type": ("{input} is not a whole number", "write a number such as 3, without quotes"),
    "greater_than_equal": ("{input} is too small", "write {ge} or more"),
    "string_type": ("{input} is not text", "write text; put it in quotes if it looks like something else"),
    "string_too_short": ("empty", "write something or leave the key out"),
    "tuple_type": ("{input} is not a list", "write a list, such as [{input}]"),
    "mapping_type": ("{input} is not a mapping", "write `key: value` pairs below it"),
    "dict_type": ("{input} is not a mapping", "write `key: value` pairs below it"),
    "model_type": ("{input} is not a mapping", "write `key: value` pairs below it"),
}


class Refused(Exception):
    """Internal: a source that cannot be read at all. Becomes a `PolicyError` where the file's name is known."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.what)
        self.problem = problem


def policy_error(source: str, problems: Sequence[Problem]) -> PolicyError:
    """Write one error for all problems, each with file, line or path, and fix."""
    rows = [_row(source, problem) for problem in problems[:MAX_LISTED]]
    if len(problems) == 1:
        return PolicyError(rows[0], problems=problems)
    if len(problems) > MAX_LISTED:
        rows.append(f"and {len(problems) - MAX_LISTED} more")
    return PolicyError("\n  ".join([f"{source}: {len(problems)} problems", *rows]), problems=problems)


def _row(source: str, problem: Problem) -> str:
    where = f"{source}:{problem.line}" if problem.line is not None else source
    place = f"{problem.place}: " if problem.place else ""
    return f"{where}: {place}{problem.what}; {problem.fix}"


def path(place: Place) -> str:
    """Write a place as people do: `tools.get_stock.breakers[0].rate`."""
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += ("." if text else "") + (step if _PLAIN.fullmatch(step) else f'"{step}"')
    return text


def line_of(place: Place, lines: Lines) -> int | None:
    """Find the line of a place, or of the nearest thing around it."""
    for end in range(len(place), -1, -1):
        if (line := lines.get(place[:end])) is not None:
            return line
    return None


def problem(place: Place, what: str, fix: str, lines: Lines) -> Problem:
    return Problem(path(place), what, fix, line_of(place, lines))


def explain(error: ValidationError, model: type[BaseModel], lines: Lines) -> list[Problem]:
    """Translate every fault pydantic found, in the order of the file."""
    found = [_explained(fault, model, lines) for fault in error.errors(include_url=False)]
    return sorted(found, key=lambda one: one.line or 0)


def _explained(fault: ErrorDetails, model: type[BaseModel], lines: Lines) -> Problem:
    place = tuple(step for step in fault["loc"] if step != _KEY)
    context = fault.get("ctx", {})
    match fault["type"]:
        case "policy":
            return problem((*place, *context["at"]), context["what"], context["fix"], lines)
        case "extra_forbidden":
            return problem(place, "unknown key", _key_fix(place, model), lines)
        case "literal_error":
            choices = re.findall(r"'([^']*)'", context["expected"])
            return problem(place, f"{shown(fault['input'])} is not known here", guess(fault["input"], choices), lines)
        case kind:
            what, fix = _WORDS.get(kind, (fault["msg"], "see the table of the policy in the documentation"))
            words = {"input": shown(fault["input"])} | context
            return problem(place, what.format_map(words), fix.format_map(words), lines)


def _key_fix(place: Place, model: type[BaseModel]) -> str:
    key, owner = str(place[-1]), _model_at(model, place[:-1])
    for section, info in model.model_fields.items():
        home = _model_at(info.annotation, ())
        if home is not None and home is not owner and key in home.model_fields:
            return f"it belongs under {section!r}"
    return guess(key, owner.model_fields if owner else ())


def _model_at(kind: Any, place: Place) -> type[BaseModel] | None:
    """Find the model whose keys stand at a place, by walking the annotations."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        if not place:
            return kind
        info = kind.model_fields.get(str(place[0]))
        return _model_at(info.annotation, place[1:]) if info else None
    parts = get_args(kind)
    if get_origin(kind) in {Union, UnionType, Annotated}:
        return next((found for part in parts if (found := _model_at(part, place))), None)
    # A mapping's values stand last, a tuple's items first: `Mapping[str, X]`, `tuple[X, ...]`.
    inner = [part for part in parts if part is not Ellipsis]
    return _model_at(inner[-1], place[1:]) if inner and place else None
