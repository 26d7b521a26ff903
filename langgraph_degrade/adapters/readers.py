"""How a target's returned values are read: decoded, cleaned, judged and validated as its policy declares."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph_degrade.failures import classify
from langgraph_degrade.stages.tools.reading import Reading, read
from langgraph_degrade.stages.tools.validation import compile_schema

if TYPE_CHECKING:
    from langgraph_degrade.engine.plan import Reader
    from langgraph_degrade.engine.target import Target


def reader(target: Target) -> Reader:
    """Reads everything a tool returns: a `ToolResult` needs it as plain JSON."""
    policy = target.policy
    return partial(
        read,
        classify=partial(classify, source=target.source, allow_empty=policy.effect == "write"),
        envelope=policy.envelope,
        schema_validator=compile_schema(policy.result_schema) if policy.result_schema is not None else None,
        text_errors=policy.text_errors,
    )


def declared_reader(target: Target) -> Reader | None:
    """Reads only what the policy says how to read; a plain callable's value is otherwise left as it is."""
    policy = target.policy
    declared = policy.result_schema is not None or policy.envelope is not None or policy.text_errors
    return reader(target) if declared else None


def artifact_reader(target: Target) -> Reader:
    """For tools that return `(content, artifact)`: the artifact is what a schema describes, else the content."""
    whole = reader(target)
    place = 1 if target.policy.result_schema is not None else 0

    def read_pair(raw: Any) -> Reading:
        if not isinstance(raw, tuple) or len(raw) != 2:
            return whole(raw)  # type: ignore[return-value]
        got = whole(raw[place])
        pair = (raw[0], got.value) if place else (got.value, raw[1])
        return Reading(pair, got.data, got.failure, getattr(got, "repairs", ()))

    return read_pair
