r"""A tool's result held against its JSON Schema (spec E2): outer fields, then core fields, then types.

`jsonschema-rs` decides and locates. The words are ours, made from the kind of the error: the messages of both
libraries repeat the value they complain about, and a value may be a customer's. So `jsonschema` itself is not needed
here; the tests hold its verdicts against ours. Where the two are known to differ:

- `multipleOf` on floats: exact decimals here (0.3 is a multiple of 0.1), binary floats there;
- NaN and Infinity: `clean` makes them null first, so a required number fails as it should;
- `\d` and `\w` in a `pattern`: ASCII only here, full-width digits and every script's letters there;
- `format`: a note in every draft, here and there; who needs it asserted writes a `pattern`.

A pattern that runs wild is cut by the engine's backtracking limit and fails the value. No `$ref` is ever fetched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from langgraph_degrade.errors import PolicyError
from langgraph_degrade.failures.failure import Failure
from langgraph_degrade.stages.tools.locating import json_path, schema_error, schema_failure
from langgraph_degrade.stages.tools.shapes import is_array, is_mapping, is_object
from langgraph_degrade.stages.tools.timestamps import Timestamps

if TYPE_CHECKING:
    from pydantic import BaseModel

LARGE = 10_000
"""○ With more values than this a failing answer is judged by the first rows of its lists."""
SAMPLE = 50
"""○ Rows of a list that show what is wrong with all of them."""
_CONTAINERS = frozenset({dict, list})
_LENGTHS = frozenset({"minItems", "contains"})  # what cutting a list may break by itself

_WORDS = {
    "additionalProperties": "unexpected field",
    "unevaluatedProperties": "unexpected field",
    "enum": "none of the allowed values",
    "const": "not the one allowed value",
    "anyOf": "none of the allowed forms",
    "oneOf": "not exactly one of the allowed forms",
    "falseSchema": "nothing is allowed here",
}


class Validator:
    """One compiled schema. Immutable, safe to share between threads."""

    __slots__ = ("_engine", "_known", "admits_text", "model", "timestamps")

    def __init__(self, schema: Mapping[str, Any], model: type[BaseModel] | None = None) -> None:
        self._engine = _compiled(schema)
        self._known = frozenset(_field_names(schema))
        self.admits_text = _admits_text(schema)
        """The result may be a bare text: one that is not JSON is judged as it stands."""
        self.model = model
        """The pydantic model the schema came from: an instance of it has been validated already."""
        self.timestamps = Timestamps.of(schema)

    def check(self, value: object, root: str = "$") -> Failure | None:
        """Return the first failure in E2's order, or None; its `cause` is a `ToolSchemaError` with the `path`.

        `value` is plain JSON (`cleaning.clean`), `root` where in the tool's answer it stands.
        """
        try:
            if self._engine.is_valid(value):
                return None
            error = _innermost(self._outermost(value))
        except Exception as problem:  # what it cannot even take in (keys, depth, surrogates) breaks every schema
            return schema_failure(schema_error(f"not plain JSON ({type(problem).__name__})", root))
        path = json_path(_steps(error.instance_path, value), self._known, root)
        return schema_failure(schema_error(_words(error), path))

    def _outermost(self, value: object) -> Any:
        """Return the first error in E2's order, without collecting a hundred thousand wrong rows of one large answer."""
        if not _is_large(value):
            return min(self._engine.iter_errors(value), key=_rank)
        errors = self._engine.iter_errors(_sample(value))
        found = min((error for error in errors if error.kind.name not in _LENGTHS), key=_rank, default=None)
        return found or self._first(value)

    def _first(self, value: object) -> Any:
        try:
            self._engine.validate(value)
        except ValueError as error:
            return error
        raise ValueError("valid after all")  # pragma: no cover - `is_valid` has said otherwise


def compile_schema(schema: Mapping[str, Any] | type[BaseModel]) -> Validator:
    """Compile `schema` once; a pydantic model stands for the JSON it would accept.

    Raises:
        PolicyError: not a valid JSON Schema, or one that refers to another document.

    Example:
        >>> compile_schema({"type": "object", "required": ["price"]}).check({}).reason
        "schema: required 'price' missing at $"
    """
    if isinstance(schema, type):
        # Not mode="serialization": there a field with a default is required, and an answer without it would fail.
        return Validator(schema.model_json_schema(), model=schema)
    return Validator(schema)


def engine_for(schema: Mapping[str, Any]) -> Any:
    """`jsonschema-rs` for this schema, as all of this package uses it: nothing is fetched, formats are notes.

    Raises:
        Exception: whatever it can't take: no valid schema, keys that are no text, nesting without end.
    """
    import jsonschema_rs

    return jsonschema_rs.validator_for(dict(schema), retriever=_refuse, validate_formats=False)


def _compiled(schema: Mapping[str, Any]) -> Any:
    import jsonschema_rs

    try:
        return engine_for(schema)
    except jsonschema_rs.ValidationError as error:
        place = json_path(error.instance_path)
        raise PolicyError(f"result_schema: {error.message[:300]} (at {place})") from error
    except Exception as error:  # keys that are no strings, values YAML made dates of, nesting without end
        raise PolicyError(f"result_schema: not a JSON Schema: {str(error)[:300]}") from error


def _refuse(address: str) -> NoReturn:
    raise ValueError(f"a schema stands on its own: {address!r} is not fetched")


def _admits_text(schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("type")
    if kinds is None:
        return not {"properties", "required", "items", "prefixItems"} & schema.keys()
    return "string" in ([kinds] if isinstance(kinds, str) else kinds)


def _is_large(value: object) -> bool:
    count, todo = 0, [value]
    for part in todo:
        inner: Collection[Any] = part.values() if is_object(part) else part if is_array(part) else ()
        count += len(inner)
        if count > LARGE:
            return True
        todo += [item for item in inner if type(item) in _CONTAINERS]
    return False


def _sample(value: object) -> object:
    if is_array(value):
        return [_sample(item) for item in value[:SAMPLE]]
    return {key: _sample(item) for key, item in value.items()} if is_object(value) else value


def _steps(path: list[str | int], value: Any) -> Iterator[str | int]:
    """Tell a key made of digits (a phone number, say) from an index: the engine gives both as numbers."""
    for step in path:
        if is_object(value):
            yield str(step)
            value = value.get(str(step))
        else:
            yield step
            value = value[step]


def _field_names(schema: object) -> Iterator[str]:
    """Every name the schema itself mentions: these may be shown, any other key is the tool's data."""
    if isinstance(schema, str):
        yield schema
    elif is_array(schema):
        for part in schema:
            yield from _field_names(part)
    elif is_mapping(schema):
        for key, part in schema.items():
            yield from (key, *_field_names(part))


def _rank(error: Any) -> tuple[bool, int]:
    """Missing before wrong, outer before inner; a null where something must be is as good as missing."""
    kind = error.kind.name
    missing = kind == "required" or (kind == "type" and error.instance is None)
    return (not missing, len(error.instance_path))


def _innermost(error: Any) -> Any:
    """Step into the one alternative the value was meant to be: `Order | None` given an order complains about the order."""
    while error.kind.name in ("anyOf", "oneOf"):
        depth = len(error.instance_path)
        meant = [branch for branch in error.kind.context if not any(_not_meant(e, depth) for e in branch)]
        if len(meant) != 1:
            return error
        error = min(meant[0], key=_rank)
    return error


def _not_meant(error: Any, depth: int) -> bool:
    return error.kind.name in ("type", "const", "enum") and len(error.instance_path) == depth


def _words(error: Any) -> str:
    kind = error.kind.name
    if kind == "required":
        return f"required {error.kind.property!r} missing"
    if kind == "type":
        return f"{' or '.join(sorted(error.kind.types))} expected, {_type_name(error.instance)} found"
    return _WORDS.get(kind, f"breaks {kind!r}")


def _type_name(value: object) -> str:
    names: dict[type, str] = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")
