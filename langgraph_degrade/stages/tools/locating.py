"""Where in a value something is wrong, said without repeating the value."""

from __future__ import annotations

import re
from collections.abc import Iterable

from langgraph_degrade.errors import ToolSchemaError
from langgraph_degrade.failures.failure import Failure

_FIELD_NAME = re.compile(r"[^\W\d][\w-]{0,39}")


def json_path(parts: Iterable[str | int], known: frozenset[str] | None = None, root: str = "$") -> str:
    """Return `$.orders[0].price`; keys that may be data (not in `known`, or not a field's name) show as `*`."""
    steps = (f"[{part}]" if isinstance(part, int) else f".{_shown(part, known)}" for part in parts)
    return root + "".join(steps)


def schema_error(what: str, path: str = "$") -> ToolSchemaError:
    """Return the error `schema: WHAT at PATH`, at most 200 characters long; its `path` is whole."""
    told = path if len(path) <= 100 else f"{path[:99]}…"
    what = what if len(what) <= 80 else f"{what[:79]}…"
    return ToolSchemaError(f"schema: {what} at {told}", path=path)


def _shown(key: str, known: frozenset[str] | None) -> str:
    named = _FIELD_NAME.fullmatch(key) if known is None else key in known
    return key if named else "*"


def schema_failure(error: ToolSchemaError) -> Failure:
    """Return `error` as a value. Not transient: spec T1 has no retry for an invalid response."""
    return Failure("schema", reason=str(error), cause=error)
