"""What the running graph says about itself: config, runtime, control flow. Outside a graph: nothing."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from langchain_core.runnables.config import var_child_runnable_config
from langgraph import errors as _errors
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime, get_runtime


def runtime() -> Runtime[Any] | None:
    """The runtime of the graph run this code is in, or None. Costs 0.1 µs outside a graph, 1 µs inside."""
    if var_child_runnable_config.get() is None:
        return None
    try:
        return get_runtime()
    except (KeyError, RuntimeError):
        return None


def config() -> Mapping[str, Any]:
    """The runnable config of the run this code is in; empty outside."""
    return var_child_runnable_config.get() or {}


def configurable() -> Mapping[str, Any]:
    """`config["configurable"]` of the run this code is in: where trusted identity comes from (case-K01)."""
    return config().get("configurable") or {}


def is_nested() -> bool:
    """This code is in a subgraph, or in a graph called by a node."""
    return "|" in str(configurable().get("checkpoint_ns") or "")


def is_control_flow(error: BaseException) -> bool:
    """Interrupts, parent commands, drains and invalid resumes are not failures (spec F3)."""
    return isinstance(error, GraphBubbleUp) or _is_invalid_resume(error)


def trace_id() -> str:
    """The id under which other systems know this request: the OpenTelemetry trace, else the run (spec T8)."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is not None:
        context = trace.get_current_span().get_span_context()
        if context.is_valid:
            return format(context.trace_id, "032x")
    here = runtime()
    info = here.execution_info if here else None
    return str(info.run_id or "") if info else ""


def _never(_error: BaseException) -> bool:
    return False


_is_invalid_resume = getattr(_errors, "is_invalid_resume", _never)  # langgraph before 1.2.2x never marks them
