"""`degrader.tool`: a tool that says honestly what came of it. Still the same tool: class, name, schema, signature.

The guarded tool is a copy whose class is a subclass of the tool's own that runs `_run` and `_arun` through the engine.
LangChain's own machinery around them (argument validation, callbacks, injected state, formatting) stays as it is.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_type_hints

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, ToolException
from langchain_core.tools import tool as as_tool
from pydantic import ValidationError

from langgraph_degrade.adapters.declared import declared, declared_notes
from langgraph_degrade.adapters.tool_guard import SLOT, Guard, Slot, has_async
from langgraph_degrade.engine.steps import Callables, check_names, watch

if TYPE_CHECKING:
    from langgraph_degrade.engine.engine import Engine
    from langgraph_degrade.engine.target import Target

MOST_TOOLS = 512
"""Guarded tools kept ○; only agents that make tools per request have more."""


class ToolGuard:
    """Makes guarded tools, one per tool; the same tool gives the same guarded one."""

    def __init__(self, engine: Engine, callables: Callables) -> None:
        self._engine = engine
        self._callables = callables
        self._made: dict[int, tuple[BaseTool, BaseTool]] = {}

    def __call__(self, tool: BaseTool | Callable[..., Any]) -> BaseTool:
        """Return `tool` as a copy that goes through the engine; a plain function becomes a tool first."""
        whole = tool if isinstance(tool, BaseTool) else as_tool(tool)
        if isinstance(whole, Guarded):
            return whole
        known = self._made.get(id(whole))
        if known is not None and known[0] is whole:
            return known[1]
        guarded = self._guarded(whole)
        self._made[id(whole)] = (whole, guarded)
        while len(self._made) > MOST_TOOLS:
            self._made.pop(next(iter(self._made)))
        return guarded

    def _guarded(self, tool: BaseTool) -> BaseTool:
        name = f"tool:{tool.name}"
        target = self._engine.target(name, override=declared(tool, self._engine.policy), twin=_identity(tool))
        check_names(target.name, target.policy, self._callables)
        watch(self._engine, target, self._callables)
        copy = tool.model_copy()
        object.__setattr__(copy, "__class__", _guarded_class(type(tool)))
        object.__setattr__(copy, "_degrade", Guard(self._engine, target, tool, self._callables))
        return copy


class Guarded:
    """Marks guarded tools."""

    _degrade: Guard


def target_of(guarded: Any) -> Target:
    """The target behind a guarded tool."""
    target: Target = guarded._degrade.target  # noqa: SLF001 - the class made here
    return target


def _identity(tool: BaseTool) -> str:
    """Tell two tools of one name apart (`search` of two servers), and a tool made anew for each request not at all."""
    schema = tool.args_schema
    shape = schema if isinstance(schema, Mapping) else getattr(schema, "__name__", schema)
    return repr((type(tool).__qualname__, tool.description, shape, declared_notes(tool)))


@lru_cache(maxsize=256)
def _guarded_class(kind: type[BaseTool]) -> type[BaseTool]:
    """A subclass of `kind` whose inside goes through the engine and whose outside attaches what came of it."""
    body = {**_inside(kind), **_outside(kind), "__module__": kind.__module__, "__doc__": kind.__doc__}
    metaclass: Any = type(kind)
    made: type[BaseTool] = metaclass(kind.__name__, (Guarded, kind), body)
    return made


def _inside(kind: type[BaseTool]) -> dict[str, Any]:
    @functools.wraps(kind._run)
    def _run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self._degrade.run(args, kwargs)

    # LangChain reads off the signature what to pass: for `_arun` it asks `_run` where a class has no `_arun` of its own.
    @functools.wraps(kind._run if kind._arun is BaseTool._arun else kind._arun)
    async def _arun(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await self._degrade.arun(args, kwargs)

    _resolve_signature(_run, kind, "_run")
    _resolve_signature(_arun, kind, "_run" if kind._arun is BaseTool._arun else "_arun")
    return {"_run": _run, "_arun": _arun}


def _resolve_signature(fn: Any, kind: type[BaseTool], name: str) -> None:
    """Resolve the signature now: LangChain reads it, and evaluates annotations written as text, on every call."""
    try:
        hints = get_type_hints(fn, include_extras=True)
    except Exception:  # names that only a type checker knows: they stay as they were written
        hints = dict(fn.__annotations__)
    signature = inspect.signature(fn)
    known = [one.replace(annotation=hints.get(one.name, one.annotation)) for one in signature.parameters.values()]
    if isinstance(inspect.getattr_static(kind, name), staticmethod | classmethod):
        known.insert(0, inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY))
    fn.__annotations__ = hints
    fn.__signature__ = signature.replace(parameters=known)


def _outside(kind: type[BaseTool]) -> dict[str, Any]:
    @functools.wraps(kind.run)
    def run(self: Any, tool_input: Any, *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:
        slot = Slot(tool_call_id)
        token = SLOT.set(slot)
        try:
            output = kind.run(self, tool_input, *args, tool_call_id=tool_call_id, **kwargs)
        except (ToolException, ValidationError) as error:
            output = _worded(self, slot, error, tool_call_id)
        finally:
            SLOT.reset(token)
        return self._degrade.finish(slot, output, tool_call_id)

    @functools.wraps(kind.arun)
    async def arun(self: Any, tool_input: Any, *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:
        slot = Slot(tool_call_id)
        token = SLOT.set(slot)
        try:
            output = await kind.arun(self, tool_input, *args, tool_call_id=tool_call_id, **kwargs)
        except (ToolException, ValidationError) as error:
            output = _worded(self, slot, error, tool_call_id)
        finally:
            SLOT.reset(token)
        return self._degrade.finish(slot, output, tool_call_id)

    @functools.wraps(kind.ainvoke)
    async def ainvoke(self: Any, *args: Any, **kwargs: Any) -> Any:
        # LangChain runs a sync tool's whole `invoke` on the loop's default executor, whose threads are joined at exit.
        return await (kind if has_async(self) else BaseTool).ainvoke(self, *args, **kwargs)

    return {"run": run, "arun": arun, "ainvoke": ainvoke}


def _worded(tool: Any, slot: Slot, error: Exception, tool_call_id: str | None) -> Any:
    """An error of the tool's own making, or arguments that break its schema, as what the model is told."""
    guard: Guard = tool._degrade  # noqa: SLF001 - the class made here
    if slot.outcome is None:
        slot.outcome = guard.malformed(error)
        if slot.outcome is None or tool_call_id is None:
            slot.outcome = None
            raise error
    if tool_call_id is None:
        return None
    return ToolMessage(guard.text(slot.outcome), name=tool.name, tool_call_id=tool_call_id, status="error")
