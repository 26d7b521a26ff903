"""The tools a model was offered, as their schemas declare them (OpenAI's format)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from langgraph_degrade.stages.tools.shapes import is_array, is_mapping

Schema = Mapping[str, Any]
Tools = Sequence[Mapping[str, Any]]

ALL: Final = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
"""The types of JSON; `number` admits integers too."""
_PYTHON: Final[Mapping[type, str]] = {
    str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array", type(None): "null",
}  # fmt: skip
_OPTIONS: Final = ("anyOf", "oneOf")
_HOPS = 8
"""References followed, and levels of alternatives looked into ○: a schema may refer to itself."""


class Parameter(NamedTuple):
    """One argument a tool takes, as far as a model or a customer has to know it."""

    name: str
    kinds: tuple[str, ...] = ()
    """JSON types; empty where anything goes."""
    required: bool = False
    title: str = ""
    description: str = ""
    choices: tuple[Any, ...] = ()
    """The only values there are, in the schema's order, null left out."""
    labels: tuple[str, ...] = ()
    """The choices' own titles, where every one has one."""


class Offer(NamedTuple):
    """One offered tool."""

    name: str
    schema: Schema
    """Of its arguments, and the root of every reference in it."""

    @property
    def required(self) -> frozenset[str]:
        """The arguments it can't do without."""
        names = self.schema.get("required")
        return frozenset(name for name in names if isinstance(name, str)) if is_array(names) else frozenset()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its arguments, in the order they are declared."""
        declared = properties(self.schema, self.schema)
        return tuple(parameter(name, declared[name], self, name in self.required) for name in declared)


def offers(tools: Tools) -> dict[str, Offer]:
    """The offered tools by name; a server's own (`{"type": "web_search"}`) are never called by us."""
    found: dict[str, Offer] = {}
    for tool in tools:
        function = tool.get("function", tool)
        name = function.get("name") if is_mapping(function) else None
        if isinstance(name, str) and name:
            schema = function.get("parameters")
            found.setdefault(name, Offer(name, schema if is_mapping(schema) else {}))
    return found


def parameter(name: str, schema: object, offer: Offer, required: bool) -> Parameter:  # noqa: FBT001 - a plain record
    """Read what is said of one argument."""
    part = resolved(schema, offer.schema)
    kinds = admitted(part, offer.schema)
    values = [(value, title) for value, title in literals(part, offer.schema) if value is not None]
    labels = tuple(title for _, title in values)
    return Parameter(
        name,
        () if kinds == ALL else tuple(sorted(kinds - {"integer"} if "number" in kinds else kinds)),
        required,
        _words(part, "title"),
        _words(part, "description"),
        tuple(value for value, _ in values),
        labels if all(labels) else (),
    )


def at(path: str, offer: Offer) -> Parameter | None:
    """The argument at `address.city` or `items[0].sku`; None where the schema knows no such."""
    schema, owner, name = offer.schema, offer.schema, ""
    for step in path.split("."):
        name, *rows = step.replace("]", "").split("[")
        owner = branch(schema, offer.schema, "object")
        if name not in (declared := properties(owner, offer.schema)):
            return None
        schema = declared[name]
        for _ in rows:
            schema = resolved(branch(schema, offer.schema, "array").get("items"), offer.schema)
    needed = owner.get("required")
    return parameter(name, schema, offer, is_array(needed) and name in needed)


def properties(schema: object, root: Schema) -> dict[str, Any]:
    """The named parts of an object."""
    found = resolved(schema, root).get("properties")
    return {str(name): part for name, part in found.items()} if is_mapping(found) else {}


def branch(schema: object, root: Schema, kind: str, hops: int = _HOPS) -> Schema:
    """The one alternative of this JSON type (`Order | None` has one for objects); empty where there are several."""
    part = resolved(schema, root)
    meant = [option for option in options(part) if kind in admitted(option, root)]
    if not meant or not hops:
        return part
    return branch(meant[0], root, kind, hops - 1) if len(meant) == 1 else {}


def options(part: Schema) -> list[Any]:
    """The alternatives of a schema."""
    return [option for word in _OPTIONS if is_array(listed := part.get(word)) for option in listed]


def resolved(schema: object, root: Schema) -> Schema:
    """The schema itself with its `$ref` followed (inside the root; nothing is fetched), and an `allOf` of one opened."""
    part: Schema = schema if is_mapping(schema) else {}
    for _ in range(_HOPS):
        reference, whole = part.get("$ref"), part.get("allOf")
        if isinstance(reference, str) and reference.startswith("#"):
            key, inner = "$ref", _pointed(reference[1:], root)
        elif is_array(whole) and len(whole) == 1 and is_mapping(whole[0]):
            key, inner = "allOf", whole[0]
        else:
            break
        part = {**inner, **{name: part[name] for name in part if name != key}}
    return part


def admitted(schema: object, root: Schema, hops: int = _HOPS) -> frozenset[str]:
    """The JSON types a schema may admit: never one too few, so that what is not in it is certainly refused."""
    part = resolved(schema, root)
    kinds = _typed(part.get("type"))
    if is_array(values := part.get("enum", [part["const"]] if "const" in part else None)):
        kinds &= frozenset(_PYTHON.get(type(value), "object") for value in values)
    if not hops:
        return kinds
    for word in _OPTIONS:
        if is_array(listed := part.get(word)):
            kinds &= frozenset[str]().union(*(admitted(option, root, hops // 2) for option in listed))
    return kinds


def literals(schema: object, root: Schema, hops: int = _HOPS) -> Iterator[tuple[Any, str]]:
    """The values a schema lists (`enum`, `const`, alternatives of these), each with its own title."""
    part = resolved(schema, root)
    if is_array(values := part.get("enum")):
        yield from ((value, "") for value in values)
    elif "const" in part:
        yield part["const"], _words(part, "title")
    elif hops:
        for option in options(part):
            yield from literals(option, root, hops // 2)


def _typed(declared: object) -> frozenset[str]:
    if declared is None:
        return ALL
    kinds = frozenset(str(kind) for kind in declared) if is_array(declared) else frozenset({str(declared)})
    return kinds | {"integer"} if "number" in kinds else kinds


def _pointed(pointer: str, root: Schema) -> Schema:
    part: Any = root
    for step in pointer.split("/")[1:]:
        part = part.get(step.replace("~1", "/").replace("~0", "~")) if is_mapping(part) else None
    return part if is_mapping(part) else {}


def _words(part: Schema, key: str) -> str:
    said = part.get(key)
    return said if isinstance(said, str) else ""
