"""A policy file's bytes into data: YAML with its lines, JSON, TOML. Bounded before anything is parsed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from langgraph_degrade.errors import Problem
from langgraph_degrade.policy.problems import Place, Refused
from langgraph_degrade.policy.values import is_list, is_mapping

MAX_BYTES: Final = 1_000_000
"""Largest file read ○; a policy of a hundred tools is about 40 KB."""
MAX_TOML_PARTS: Final = 64
"""Parts of one dotted TOML key ○: tomllib takes time by their square, minutes for a file of 100 KB."""

Lines = dict[Place, int]

# Strings are taken out first, so that dots in sentences do not count; each match runs to the end of its line at worst,
# so that scanning stays linear.
_STRING = re.compile(r"""\"(?:[^"\\]|\\.)*(?:"|\\?$)|'[^']*(?:'|$)""")
_DOTTED = re.compile(rf"""(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){{{MAX_TOML_PARTS}}}""")


def parse(path: Path) -> tuple[Any, Lines]:
    """Read one file by its suffix; raises `Refused` with what is wrong and where."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise Refused(Problem("", f"{path.suffix or 'no suffix'} is not read", "name it .yaml, .json or .toml"))
    text = _text(path)
    try:
        return reader(text)
    except RecursionError:
        raise Refused(Problem("", "nested too deeply to be read", "a policy needs about 8 levels")) from None


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            what = "is not a regular file" if path.exists() else "no such file"
            raise Refused(Problem("", what, f"looked for {path}"))
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise Refused(Problem("", f"larger than {MAX_BYTES} bytes", "a policy is some KB; is it the right file?"))
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(Problem("", f"not UTF-8 at byte {error.start}", "save it as UTF-8")) from None
    except OSError as error:
        raise Refused(Problem("", f"cannot be read ({error.strerror})", f"looked for {path}")) from None


def _yaml(text: str) -> tuple[Any, Lines]:
    from langgraph_degrade.policy import yaml_lines

    return yaml_lines.read(text)


class _Repeated(dict[str, Any]):
    """A JSON object in which a key stands twice; found again, with its path, once all is read."""

    key = ""


def _json(text: str) -> tuple[Any, Lines]:
    try:
        data = json.loads(text, object_pairs_hook=_object, parse_constant=_constant) if text.strip() else None
    except json.JSONDecodeError as error:
        fix = "check commas, quotes and brackets here and just before"
        raise Refused(
            Problem("", f"not readable as JSON ({error.msg}, column {error.colno})", fix, error.lineno)
        ) from None
    except ValueError as error:  # a number of thousands of digits
        raise Refused(Problem("", f"not readable as JSON ({_short(error)})", "put it in quotes")) from None
    _refuse_repeated(data, "")
    return data, {}


def _short(error: ValueError) -> str:
    return str(error).partition(";")[0]  # what follows is advice for programmers


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    keys = [key for key, _ in pairs]
    marked = _Repeated(found)
    marked.key = next(key for key in keys if keys.count(key) > 1)
    return marked


def _constant(name: str) -> NoReturn:
    raise Refused(Problem("", f"{name} is not JSON", "write a finite number"))


def _refuse_repeated(data: Any, place: str) -> None:
    if isinstance(data, _Repeated):
        raise Refused(Problem(f"{place}{data.key}", "stands twice", "keep one of them"))
    if is_mapping(data):
        for key, value in data.items():
            _refuse_repeated(value, f"{place}{key}.")
    elif is_list(data):
        for index, value in enumerate(data):
            _refuse_repeated(value, f"{place.removesuffix('.')}[{index}].")


def _toml(text: str) -> tuple[Any, Lines]:
    import tomllib

    for number, line in enumerate(text.splitlines(), 1):
        if _DOTTED.search(_STRING.sub("s", line)):
            raise Refused(Problem("", f"a key of more than {MAX_TOML_PARTS} parts", "nest less", number))
    try:
        return tomllib.loads(text), {}
    except tomllib.TOMLDecodeError as error:
        fix = "check quotes, brackets and repeated keys there"
        raise Refused(Problem("", f"not readable as TOML ({error})", fix)) from None


_READERS: Final[Mapping[str, Callable[[str], tuple[Any, Lines]]]] = {
    ".yaml": _yaml,
    ".yml": _yaml,
    ".json": _json,
    ".toml": _toml,
}
