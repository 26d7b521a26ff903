"""YAML read safely, with the line of every key.

Works on the parser's events, which are flat and lazy: nesting and aliases are bounded before anything is built, where
the ordinary composer recurses without end and expands merge keys without measure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from langgraph_degrade.errors import Problem
from langgraph_degrade.policy.problems import Place, Refused
from langgraph_degrade.policy.values import shown

MAX_DEPTH: Final = 64
"""Levels of nesting ○; a policy has about 8, an inline schema a few more."""
MAX_VALUES: Final = 50_000
"""Values after aliases are expanded ○; nine lines of YAML can otherwise stand for a billion."""

_MERGE = "tag:yaml.org,2002:merge"
_STRING = "tag:yaml.org,2002:str"
_TABBED = re.compile(r" *\t")
_PLAIN_DATA = "a policy is plain data: leave the tag out"
_COLLECTIONS = {None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}


@dataclass(slots=True)
class _Node:
    """A value with its line. `size` counts what it stands for once aliases are expanded."""

    line: int
    value: Any = None
    tag: str = ""
    items: list[_Node] | None = None
    pairs: list[tuple[_Node, _Node]] | None = None
    size: int = 1


@dataclass(slots=True)
class _Builder:
    """Turns events into nodes, one at a time."""

    scalars: Any = field(default_factory=lambda: yaml.SafeLoader(""))
    anchors: dict[str, _Node] = field(default_factory=dict[str, _Node])
    open: list[tuple[_Node, str | None, list[_Node]]] = field(
        default_factory=list[tuple[_Node, str | None, list[_Node]]]
    )
    roots: list[_Node] = field(default_factory=list[_Node])
    values: int = 0

    def feed(self, event: yaml.Event) -> None:
        line = _line(event.start_mark)
        match event:
            case yaml.ScalarEvent():
                self._count(1, line)
                self._add(self._scalar(event, line), event.anchor)
            case yaml.AliasEvent():
                node = self._alias(str(event.anchor), line)
                self._count(node.size, line)
                self._add(node, None)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._count(1, line)
                self._enter(event, line)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._leave()
            case _:
                pass

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> _Node:
        tag: Any = event.tag
        if tag is None or tag == "!":
            implicit = event.implicit if tag is None else (False, True)
            tag = self.scalars.resolve(yaml.ScalarNode, event.value, implicit)
        if tag == _MERGE:
            return _Node(line, event.value, tag)
        try:
            return _Node(line, self.scalars.construct_object(yaml.ScalarNode(tag, event.value)), tag)
        except yaml.YAMLError:
            raise Refused(Problem("", f"the tag {tag} is not read", _PLAIN_DATA, line)) from None
        except ValueError as error:  # a date that is none, a number of thousands of digits
            reason = str(error).partition(";")[0]
            what = f"{shown(event.value)} cannot be read ({reason})"
            raise Refused(Problem("", what, "put it in quotes if it is text", line)) from None

    def _alias(self, name: str, line: int) -> _Node:
        if name not in self.anchors:
            fix = f"write &{name} before, and not around, the place that uses *{name}"
            raise Refused(Problem("", f"*{name} stands for nothing yet", fix, line))
        return self.anchors[name]

    def _enter(self, event: Any, line: int) -> None:
        if event.tag not in _COLLECTIONS:
            raise Refused(Problem("", f"the tag {event.tag} is not read", _PLAIN_DATA, line))
        if len(self.open) >= MAX_DEPTH:
            raise _too_deep(line)
        node = _Node(line)
        if isinstance(event, yaml.MappingStartEvent):
            node.pairs = []
        else:
            node.items = []
        self.open.append((node, event.anchor, []))

    def _leave(self) -> None:
        node, anchor, parts = self.open.pop()
        if node.pairs is not None:
            node.pairs = _merged(list(zip(parts[::2], parts[1::2], strict=True)))
            node.size += sum(value.size for _, value in node.pairs)
        else:
            node.items = parts
            node.size += sum(part.size for part in parts)
        self._add(node, anchor)

    def _count(self, values: int, line: int) -> None:
        self.values += values
        if self.values > MAX_VALUES:
            what = f"more than {MAX_VALUES} values, aliases expanded"
            raise Refused(Problem("", what, "use fewer aliases; a policy has some hundred values", line))

    def _add(self, node: _Node, anchor: str | None) -> None:
        if anchor is not None:
            self.anchors[anchor] = node
        (self.open[-1][2] if self.open else self.roots).append(node)


def _merged(pairs: list[tuple[_Node, _Node]]) -> list[tuple[_Node, _Node]]:
    """Put the pairs of `<<:` before the mapping's own, which override them; own keys may stand once."""
    own: dict[str, tuple[_Node, _Node]] = {}
    merged: dict[str, tuple[_Node, _Node]] = {}
    for key, value in pairs:
        if key.tag == _MERGE:
            for pair in _mergeable(key, value):
                merged.setdefault(pair[0].value, pair)
            continue
        _check_key(key, own)
        own[key.value] = (key, value)
    return list((merged | own).values())


def _mergeable(key: _Node, value: _Node) -> Iterator[tuple[_Node, _Node]]:
    for source in [value] if value.items is None else value.items:
        if source.pairs is None:
            raise Refused(Problem("", "<< merges mappings only", "write <<: *name of a mapping", key.line))
        yield from source.pairs


def _check_key(key: _Node, seen: dict[str, tuple[_Node, _Node]]) -> None:
    if key.tag != _STRING:
        what = f"the key {key.value!r} is not text" if key.tag else "a key is text, not a list or a mapping"
        raise Refused(Problem("", what, "put the key in quotes", key.line))
    if key.value in seen:
        first = seen[key.value][0].line
        raise Refused(Problem("", f"{key.value!r} stands twice, first on line {first}", "keep one of them", key.line))


def read(text: str) -> tuple[Any, dict[Place, int]]:
    """Return the data and the line of every path in it; raises `Refused` with the line of what cannot be read."""
    builder = _Builder()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's, where it was built in
    try:
        parse: Any = yaml.parse  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        events: Iterator[yaml.Event] = parse(text, Loader=loader)
        for event in events:
            builder.feed(event)
    except yaml.YAMLError as error:
        raise Refused(_syntax(error, text)) from None
    if len(builder.roots) > 1:
        raise Refused(Problem("", "a second document begins here", "keep one document a file", builder.roots[1].line))
    lines: dict[Place, int] = {}
    return (_plain(builder.roots[0], (), lines) if builder.roots else None), lines


def _syntax(error: yaml.YAMLError, text: str) -> Problem:
    mark: yaml.Mark | None = getattr(error, "problem_mark", None)
    what = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "not YAML")
    fix = "check indentation, colons and quotes here and just above"
    if mark is None:
        return Problem("", f"not readable as YAML ({what})", fix)
    if any(_TABBED.match(row) for row in text.splitlines()[mark.line : mark.line + 1]):
        fix = "indent with spaces, not tabs"
    return Problem("", f"not readable as YAML ({what})", fix, _line(mark))


def _line(mark: Any) -> int:
    """Count from 1, as editors do; every event of a parser has a mark."""
    return int(mark.line) + 1


def _too_deep(line: int) -> Refused:
    return Refused(Problem("", f"nested deeper than {MAX_DEPTH} levels", "a policy needs about 8", line))


def _plain(node: _Node, place: Place, lines: dict[Place, int]) -> Any:
    if len(place) > MAX_DEPTH:  # an alias within an alias within ...
        raise _too_deep(node.line)
    lines.setdefault(place, node.line)
    if node.pairs is not None:
        found: dict[str, Any] = {}
        for key, value in node.pairs:
            lines[(*place, key.value)] = key.line
            found[key.value] = _plain(value, (*place, key.value), lines)
        return found
    if node.items is not None:
        return [_plain(item, (*place, index), lines) for index, item in enumerate(node.items)]
    return node.value
