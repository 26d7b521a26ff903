"""From what a tool returned to what it means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from langgraph_degrade.failures.failure import Failure, Kind

if TYPE_CHECKING:
    from langgraph_degrade.policy import EnvelopePolicy
    from langgraph_degrade.stages.tools.validation import Validator


@dataclass(frozen=True, slots=True)
class Reading:
    """What a tool's return value turned out to be."""

    value: object
    """The tool's own value, the same object unless something in it had to be repaired."""
    data: object = None
    """The same as plain JSON, out of its envelope: for `ToolResult.data`, caches and checks."""
    failure: Failure | None = None
    """Why it only looked like success; None where it is one."""
    repairs: tuple[str, ...] = ()
    """What was repaired, for events: `nan at $.amount`."""


def read(
    raw: object,
    *,
    classify: Callable[..., Failure | None],
    envelope: EnvelopePolicy | None = None,
    schema_validator: Validator | None = None,
    text_errors: Mapping[str, Kind] | None = None,
) -> Reading:
    """Decode, clean, classify, unwrap and validate `raw`; never raises on account of what is in it."""
    return Reading(raw, raw)
