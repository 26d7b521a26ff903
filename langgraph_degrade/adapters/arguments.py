"""What a call's arguments are: the model's own, and those LangChain and LangGraph put beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, get_type_hints

from langchain_core.runnables import RunnableConfig

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


class Arguments:
    """Tells a tool's arguments apart."""

    __slots__ = ("_hidden", "_injected")

    def __init__(self, tool: BaseTool) -> None:
        self._injected = injected(tool)
        kind = type(tool)
        self._hidden = self._injected | {"run_manager", "callbacks"} | configs(kind._run) | configs(kind._arun)

    def named(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """What the model asked for; whatever a free-form schema lets through is part of it."""
        asked: dict[str, Any] = {str(place): value for place, value in enumerate(args)}
        return asked | {name: value for name, value in kwargs.items() if name not in self._hidden}

    def are_all(self, kwargs: Mapping[str, Any], tool_call_id: str | None) -> bool:
        """Nothing was injected that the result may depend on (the tool call's own id says nothing)."""
        given = self._injected & kwargs.keys()
        return not any(tool_call_id is None or kwargs[name] != tool_call_id for name in given)

    def is_models(self, name: str) -> bool:
        """The model fills this one in."""
        return name not in self._hidden


def injected(tool: BaseTool) -> frozenset[str]:
    """The arguments LangGraph fills in: state, stores, runtimes, tool call ids."""
    marked: frozenset[str] = getattr(tool, "_injected_args_keys", frozenset())
    visible = tool.tool_call_schema
    if isinstance(visible, dict):
        return marked
    return marked | (fields(tool.get_input_schema()) - fields(visible))


def configs(fn: Callable[..., Any]) -> frozenset[str]:
    """The parameters LangChain passes the config to: it looks for exactly this annotation."""
    try:
        hints = get_type_hints(fn)
    except Exception:  # names that only a type checker knows; LangChain finds none either
        return frozenset()
    return frozenset(name for name, hint in hints.items() if hint is RunnableConfig)


def fields(schema: Any) -> frozenset[str]:
    """The names of a pydantic model's fields, of either version."""
    return frozenset(schema.model_fields if hasattr(schema, "model_fields") else schema.__fields__)
