"""A tool's result schema: a path, a mapping, or a Python type; checked, with every reference inside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, get_origin

from pydantic import AfterValidator, BeforeValidator, TypeAdapter, ValidationInfo
from pydantic.errors import PydanticUserError

from langgraph_degrade.policy.problems import Lines, Place, Refused
from langgraph_degrade.policy.values import FrozenDict, guess, is_mapping, plain_json, shown, wrong

_FETCHED = ("http:", "https:", "file:", "ftp:")
_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a policy comes from, for its errors and its relative paths (pydantic's validation context)."""

    name: str = "policy"
    directory: Path = Path()
    lines: Lines = field(default_factory=dict[Place, int])

    @classmethod
    def of(cls, info: ValidationInfo) -> Source:
        """Take the source out of a validation; a policy written in code has none."""
        return info.context if isinstance(info.context, Source) else cls()


def _schema(value: object, info: ValidationInfo) -> object:
    if value is None or is_mapping(value):
        return plain_json(value)
    if isinstance(value, str):
        return plain_json(_from_file(value, Source.of(info).directory))
    if isinstance(value, type) or get_origin(value) is not None:
        return _from_type(value)
    raise wrong(f"{shown(value)} is not a schema", "write the path of a JSON file, or the schema itself")


def _from_file(name: str, directory: Path) -> object:
    from langgraph_degrade.policy.loading import parse

    if name.lower().startswith(_FETCHED):
        raise wrong(f"{shown(name)} would have to be fetched", "save the schema beside the policy and write its path")
    try:
        data, _ = parse(directory / name)
    except Refused as refused:
        fault = refused.problem
        line = "" if fault.line is None else f", line {fault.line}"
        raise wrong(f"{name}{line}: {fault.what}", f"{fault.fix} (paths start from {directory})") from None
    if not is_mapping(data):
        raise wrong(f"{name} holds no schema", "a schema is a mapping, such as {type: object}")
    return data


def _from_type(kind: Any) -> object:
    try:
        return TypeAdapter(kind).json_schema()
    except PydanticUserError as error:
        raise wrong(f"{shown(kind)} has no schema ({error.code})", "pass a pydantic model, or a JSON Schema") from None


def _checked(schema: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if schema is None:
        return None
    try:
        _check_shape(schema)
        _check_references(schema)
    except RecursionError:
        raise wrong("the schema is nested too deeply", "flatten it, or use $defs") from None
    return FrozenDict(schema)


def _check_shape(schema: Mapping[str, Any]) -> None:
    from jsonschema import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for

    find: Any = validator_for  # its stub knows no default but a validator
    dialect = find(schema, default=None)
    if dialect is None and "$schema" in schema:
        fix = f"write {Draft202012Validator.META_SCHEMA['$id']}, or leave $schema out"
        raise wrong(f"the dialect {shown(schema['$schema'])} is not known", fix)
    try:
        (dialect or Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        raise wrong(f"not valid JSON Schema at {error.json_path}", _schema_fix(error)) from None


def _schema_fix(error: Any) -> str:
    if error.json_path.endswith(".type"):
        return f"{shown(error.instance)} is no type, {guess(error.instance, _TYPES)}"
    return str(error.message)[:200]


def _check_references(schema: Mapping[str, Any]) -> None:
    """Follow every `$ref` within the document itself; nothing is ever fetched."""
    from referencing import Registry, Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    root: Any = Resource[Any].from_contents(schema, default_specification=DRAFT202012)
    todo: list[tuple[Any, Any]] = [(root, Registry[Any]().resolver_with_root(root))]  # no retriever: refuses by default
    while todo:
        part, resolver = todo.pop()
        for reference in _references(part.contents):
            try:
                resolver.lookup(reference)
            except Unresolvable:
                fix = "copy what it means under $defs and write #/$defs/NAME; nothing is fetched"
                raise wrong(f"$ref {shown(reference)} leads nowhere in the schema", fix) from None
        todo += [(inner, resolver.in_subresource(inner)) for inner in part.subresources()]


def _references(contents: object) -> list[str]:
    if not is_mapping(contents):  # `true` and `false` are schemas too
        return []
    return [ref for key in ("$ref", "$dynamicRef") if isinstance(ref := contents.get(key), str)]


ResultSchema = Annotated[Mapping[str, Any] | None, BeforeValidator(_schema), AfterValidator(_checked)]
