"""What came of a tool call, as the model, the application and the checkpoint get it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolOutputMixin

from langgraph_degrade.stages.tools.result import ToolResult

if TYPE_CHECKING:
    from langgraph_degrade.engine.plan import Outcome

ERRORS = frozenset({"unavailable", "unknown", "rejected"})
"""Results whose `ToolMessage.status` is `error`."""


def result_of(outcome: Outcome) -> ToolResult:
    """The typed result an application reads."""
    failure = outcome.failure
    return ToolResult.make(
        outcome.status,
        outcome.data,
        fallback_reason=None if outcome.status == "ok" or failure is None else failure.reason or failure.kind,
        age=outcome.age,
        source=outcome.source,
        failure=None if outcome.status == "ok" else failure,
    )


def attach(output: Any, outcome: Outcome, *, own_artifact: bool = False) -> Any:
    """Put the typed result on the message; commands and lists of messages are the tool's own business.

    An artifact that is there is the tool's own, and stays.
    """
    if not isinstance(output, ToolMessage):
        return output
    result = result_of(outcome).plain()
    if outcome.status in ERRORS:
        output.status = "error"
    if own_artifact or output.artifact is not None:
        output.additional_kwargs = {**output.additional_kwargs, "degrade": result}
    else:
        output.artifact = result
    return output


def is_plain(outcome: Outcome) -> bool:
    """The value speaks for itself: live, cached, from a backup, or recorded when this very call was made before.

    A write that is only known to be done, without what it gave, needs a sentence.
    """
    if outcome.status != "ok" or outcome.source == "verified":
        return False
    return outcome.source != "replay" or outcome.value is not None


def outlives_its_call(value: Any) -> bool:
    """Messages and commands carry the id of the call they answer: no other call may get them."""
    if isinstance(value, list):
        return not any(isinstance(item, ToolOutputMixin) for item in value)
    return not isinstance(value, ToolOutputMixin)
