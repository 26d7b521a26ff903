"""What LangGraph injects into a node, handed to a node's fallbacks by what each of them asks for.

LangGraph reads the signature of the node it was given, the main one; its fallbacks may ask for less, or for more.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgraph_degrade.engine import ambient

Node = Callable[..., Any]

INJECTED: Mapping[str, tuple[str, ...]] = {
    "config": ("RunnableConfig",),
    "writer": ("StreamWriter", "Callable"),
    "store": ("BaseStore",),
    "previous": (),
    "runtime": (),
}
"""The parameters LangGraph fills in, and the words one of which stands in an annotation that means them; a parameter of
that name with another annotation is the node's own. Empty: whatever the annotation."""


def parameters_of(fn: Node) -> Sequence[inspect.Parameter]:
    """The parameters after the state; none where the signature can't be read."""
    try:
        return list(inspect.signature(fn).parameters.values())[1:]
    except (TypeError, ValueError):
        return ()


def suited(fallback: Node, main: Node) -> Node:
    """`fallback`, callable with whatever `main` was called with; an async one still gives an awaitable."""
    names = [parameter.name for parameter in parameters_of(main)]
    parameters = parameters_of(fallback)
    asked = [parameter.name for parameter in parameters if _is_injected(parameter)]
    passed = [parameter.name for parameter in parameters if parameter.kind in _BY_NAME and parameter.name not in asked]

    @functools.wraps(fallback)
    def call(state: Any, *args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        own = {name: given[name] for name in (*asked, *passed) if name in given}
        missing = [name for name in asked if name not in own]
        return fallback(state, **own, **(_here(missing) if missing else {}))

    return call


_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _is_injected(parameter: inspect.Parameter) -> bool:
    if parameter.name not in INJECTED or parameter.kind not in _BY_NAME:
        return False
    words = INJECTED[parameter.name]
    annotation = parameter.annotation
    return not words or annotation is parameter.empty or any(word in str(annotation) for word in words)


def _here(names: Sequence[str]) -> dict[str, Any]:
    """What the running graph has under these names; outside of one only the (empty) config."""
    runtime = ambient.runtime()
    found: dict[str, Any] = {"config": ambient.config()}
    if runtime is not None:
        found |= {
            "runtime": runtime,
            "writer": runtime.stream_writer,
            "store": runtime.store,
            "previous": runtime.previous,
        }
    return {name: found[name] for name in names if name in found}
