"""The inside of a guarded tool: its call goes through the engine, and what LangChain is to format comes back."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from langchain_core.tools import BaseTool, StructuredTool, Tool, ToolException
from pydantic import ValidationError

from langgraph_degrade.adapters.arguments import Arguments
from langgraph_degrade.adapters.readers import artifact_reader, reader
from langgraph_degrade.adapters.results import attach, is_plain, outlives_its_call, result_of
from langgraph_degrade.engine import ambient
from langgraph_degrade.engine.plan import Call, Outcome, Plan
from langgraph_degrade.engine.steps import Callables, policy_steps
from langgraph_degrade.failures import Failure
from langgraph_degrade.stages.tools.wording import as_text, told

if TYPE_CHECKING:
    from langgraph_degrade.engine.engine import Engine
    from langgraph_degrade.engine.plan import Step
    from langgraph_degrade.engine.scope import Scope
    from langgraph_degrade.engine.target import Target

_NO_SUCH = object()


class AsyncOnly(NotImplementedError):
    """A tool without a sync twin was called from sync code: for its developer to see, nothing to degrade."""


class Slot:
    """What one invocation of a guarded tool passes from its inside to its outside."""

    __slots__ = ("id", "outcome")

    def __init__(self, id: str | None) -> None:
        self.id = id
        self.outcome: Outcome | None = None


class Made:
    """A tool call as a message made it: what the node around the tool passes to its inside, and gets back."""

    __slots__ = ("call", "id", "maker", "outcome", "scope")

    def __init__(self, id: str | None, maker: str | None, scope: Scope | None) -> None:
        self.scope = scope
        self.id = id
        self.maker = maker
        """The id of the message: some providers number their calls per message."""
        self.call: Call | None = None
        """The call as the engine got it, if it came that far …"""
        self.outcome: Outcome | None = None
        """… and what came of it."""


SLOT: ContextVar[Slot | None] = ContextVar("langgraph_degrade_tool_slot", default=None)
MADE: ContextVar[Made | None] = ContextVar("langgraph_degrade_tool_call", default=None)


class Guard:
    """What a guarded tool knows: its engine, and a plan for each colour."""

    __slots__ = ("_arguments", "_async_only", "_async_plan", "_engine", "_has_artifact", "_sync_plan", "target")

    def __init__(self, engine: Engine, target: Target, tool: BaseTool, callables: Callables) -> None:
        self._engine = engine
        self.target = target
        self._has_artifact = tool.response_format == "content_and_artifact"
        self._arguments = Arguments(tool)
        self._async_only = is_async_only(tool)
        run, arun = own_method(tool, "_run"), own_method(tool, "_arun")
        is_async = has_async(tool)
        self._sync_plan = self._plan(run, callables, is_async=False)
        self._async_plan = self._plan(arun, callables, is_async=True) if is_async else self._sync_plan
        if isinstance(tool, Tool):
            by_place(*self._sync_plan.steps, *(self._async_plan.steps if is_async else ()))

    def __deepcopy__(self, _: object) -> Self:
        return self  # a deep copy of a tool goes through the same engine

    def _plan(self, fn: Callable[..., Any], callables: Callables, *, is_async: bool) -> Plan:
        policy = self.target.policy
        return Plan(
            target=self.target,
            fn=fn,
            is_async=is_async,
            steps=policy_steps(self._engine, self.target, fn, callables, is_async=is_async),
            reader=artifact_reader(self.target) if self._has_artifact else reader(self.target),
            refresh=callables.get(policy.refresh or ""),
            verify=callables.get(policy.verify or ""),
            keeps=outlives_its_call,
            claims=policy.effect != "read",
        )

    def run(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if self._async_only:
            raise AsyncOnly(f"{self.target.name} has no sync version: call it from async code")
        slot, made = _around()
        call = self._call(args, kwargs, slot, made)
        return self._content(self._engine.run(self._sync_plan, call, None if made is None else made.scope), slot, made)

    async def arun(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._async_plan is self._sync_plan and hasattr(kwargs.get("run_manager"), "get_sync"):
            kwargs["run_manager"] = kwargs["run_manager"].get_sync()
        slot, made = _around()
        call = self._call(args, kwargs, slot, made)
        return self._content(
            await self._engine.arun(self._async_plan, call, None if made is None else made.scope), slot, made
        )

    def _call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], slot: Slot | None, made: Made | None) -> Call:
        named = self._arguments.named(args, kwargs)
        call = Call(args, kwargs, lambda *_, **__: named)
        call.asked = named
        call.id = slot.id if slot is not None else None
        call.is_cacheable = self._arguments.are_all(kwargs, call.id)
        if made is not None:
            made.call = call
            if made.maker is not None:
                call.id = f"{made.maker}/{call.id}"
        return call

    def _content(self, outcome: Outcome, slot: Slot | None, made: Made | None) -> Any:
        """What LangChain is to format: the tool's own value, or the honest text in its place."""
        if slot is not None:
            slot.outcome = outcome
        if made is not None:
            made.outcome = outcome
        if is_plain(outcome):
            value = outcome.data if isinstance(outcome.value, bytes | bytearray) else outcome.value
            is_own = not self._has_artifact or outcome.source is None or isinstance(value, tuple)
            return value if is_own else (as_text(value), value)
        cause = outcome.failure.cause if outcome.failure is not None else None
        if outcome.status == "rejected" and isinstance(cause, ToolException):
            raise cause  # the tool's own `handle_tool_error` words it, if it has one
        text = self.text(outcome)
        return (text, None) if self._has_artifact else text

    def text(self, outcome: Outcome) -> str:
        """What the model reads instead of a plain value."""
        texts = self._engine.policy.texts
        return told(outcome, self.target.policy, self._engine.language(), texts, is_pair=self._has_artifact)

    def malformed(self, error: Exception) -> Outcome | None:
        """Arguments of the model's own that break the tool's schema; None for anything else, injected ones included."""
        if not isinstance(error, ValidationError) or ambient.is_control_flow(error):
            return None
        wrong = sorted(
            {str(item["loc"][0]) for item in error.errors(include_input=False, include_url=False) if item["loc"]}
        )
        mine = [name for name in wrong if self._arguments.is_models(name)]
        if wrong and not mine:
            return None
        failure = Failure(
            "malformed_call", reason=f"arguments: {', '.join(mine) or 'invalid'}", unsent=True, cause=error
        )
        return Outcome("rejected", failure=failure)

    def finish(self, slot: Slot, output: Any, tool_call_id: str | None) -> Any:
        """Attach the typed result; without a tool call hand out the value itself, or what stands in its place."""
        outcome = slot.outcome
        if outcome is None:
            return output
        if tool_call_id is None:
            return output if is_plain(outcome) else result_of(outcome)
        return attach(output, outcome, own_artifact=self._has_artifact)


def _around() -> tuple[Slot | None, Made | None]:
    """The invocation this code is inside of, and the call it was made for, if a message made it."""
    slot, made = SLOT.get(), MADE.get()
    is_for_this = slot is not None and made is not None and slot.id is not None and made.id == slot.id
    return slot, made if is_for_this else None


def own_method(tool: BaseTool, name: str) -> Callable[..., Any]:
    """The method of the tool's own class, which may be static or of the class, bound to the tool."""
    method: Callable[..., Any] = inspect.getattr_static(type(tool), name).__get__(tool, type(tool))
    return method


def has_async(tool: BaseTool) -> bool:
    """The tool really awaits; a sync one behind `_arun` would land on LangChain's default executor."""
    coroutine: object = getattr(tool, "coroutine", _NO_SUCH)
    if coroutine is not _NO_SUCH:
        return coroutine is not None
    return type(tool)._arun is not BaseTool._arun


def is_async_only(tool: BaseTool) -> bool:
    """LangChain's own tool around a coroutine and no function."""
    return type(tool)._run in (StructuredTool._run, Tool._run) and getattr(tool, "func", None) is None


def by_place(*steps: Step) -> None:
    """Ask the alternatives of a tool with one unnamed argument by place, too."""
    for step in steps:
        if step.target is not None and step.fn is not None:
            step.fn = partial(_unnamed, step.fn)


def _unnamed(fn: Callable[..., Any], **numbered: Any) -> Any:
    return fn(*numbered.values())
