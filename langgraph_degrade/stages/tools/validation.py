"""A tool's result held against its JSON Schema (spec E2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

    from langgraph_degrade.failures.failure import Failure


class Validator:
    """One compiled schema. Immutable, safe to share between threads."""

    def check(self, value: object, root: str = "$") -> Failure | None:
        """Return the first failure in E2's order, or None; `failure.cause` is a `ToolSchemaError` with its `path`."""
        return None


def compile_schema(schema: Mapping[str, Any] | type[BaseModel]) -> Validator:
    """Compile `schema` once.

    Raises:
        PolicyError: not a valid JSON Schema, or one that refers to another document.
    """
    return Validator()
