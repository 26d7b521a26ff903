"""Nodes of hand-built graphs: `degrader.node` and `degrader.tool_node`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolNode

from langgraph_degrade.adapters.guard import fallback_steps, refuse_generators
from langgraph_degrade.adapters.tool_calls import ToolCalls, enter, keeps_context, with_context
from langgraph_degrade.engine.plan import Call, Outcome, Plan, is_async_callable
from langgraph_degrade.stages.closing import closing
from langgraph_degrade.stages.messages import messages_of

if TYPE_CHECKING:
    from langgraph_degrade.adapters.tools import ToolGuard
    from langgraph_degrade.engine.engine import Engine
    from langgraph_degrade.engine.scope import Scope
    from langgraph_degrade.engine.target import Target

Node = Callable[..., Any]


def tool_node(
    engine: Engine, guard: ToolGuard, tools: Sequence[BaseTool | Callable[..., Any]], **options: Any
) -> ToolNode:
    """LangGraph's own `ToolNode` with guarded calls; `options` are its own."""
    calls = ToolCalls(engine, guard, messages_key=options.get("messages_key", "messages"))
    return ToolNode(tools, wrap_tool_call=calls.wrap, awrap_tool_call=calls.awrap, **options)


def node(
    engine: Engine, fn: Node | Runnable[Any, Any], target: Target, fallbacks: Sequence[Node]
) -> Node | Runnable[Any, Any]:
    """`fn` as a node that degrades: same colour, same injected parameters."""
    if isinstance(fn, Runnable):
        return _runnable_node(engine, fn, target, fallbacks)
    refuse_generators(fn)
    is_async = is_async_callable(fn)
    guarded = _Node(engine, fn, target, fallbacks, is_async=is_async)
    if is_async:

        @functools.wraps(fn)
        async def call_async(state: Any, *args: Any, **kwargs: Any) -> Any:
            return await guarded.acall(state, *args, **kwargs)

        return call_async

    @functools.wraps(fn)
    def call(state: Any, *args: Any, **kwargs: Any) -> Any:
        return guarded.call(state, *args, **kwargs)

    return call


def _runnable_node(
    engine: Engine, fn: Runnable[Any, Any], target: Target, fallbacks: Sequence[Node]
) -> Runnable[Any, Any]:
    """A runnable has both colours, so its node has too."""
    sync = _Node(engine, fn.invoke, target, fallbacks, is_async=False)
    both = _Node(engine, fn.ainvoke, target, fallbacks, is_async=True)
    return RunnableLambda(sync.call, both.acall, name=fn.get_name())


class _Node:
    """One guarded node."""

    def __init__(self, engine: Engine, fn: Node, target: Target, fallbacks: Sequence[Node], *, is_async: bool) -> None:
        self._engine = engine
        self._target = target
        steps = fallback_steps(
            self._engine, target, [_plain(step, is_async=is_async) for step in fallbacks], is_async=is_async
        )
        self._plan = Plan(target=target, fn=fn, is_async=is_async, steps=steps)

    def call(self, state: Any, *args: Any, **kwargs: Any) -> Any:
        scope, mark = self._enter(state)
        return self._leave(state, scope, mark, self._engine.run(self._plan, self._call(state, args, kwargs)))

    async def acall(self, state: Any, *args: Any, **kwargs: Any) -> Any:
        scope, mark = self._enter(state)
        return self._leave(state, scope, mark, await self._engine.arun(self._plan, self._call(state, args, kwargs)))

    def _enter(self, state: Any) -> tuple[Scope | None, int]:
        scope = enter(self._engine, state)
        return scope, scope.revision if scope is not None else 0

    @staticmethod
    def _call(state: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        call = Call((state, *args), kwargs, _unnamed)
        call.is_cacheable = False  # it hangs on the whole state
        return call

    def _leave(self, state: Any, scope: Scope | None, mark: int, outcome: Outcome) -> Any:
        value = outcome.value if outcome.has_value else self._nothing(state, scope)
        if scope is None or scope.revision == mark or not keeps_context(state):
            return value
        if value is None or isinstance(value, dict):
            return {**(value or {}), "degrade": scope.context.plain()}
        return with_context(value, scope)

    def _nothing(self, state: Any, scope: Scope | None) -> dict[str, Any]:
        """No rung had a value: the state stays as it is; an answer stage says so honestly."""
        if self._target.stage != "answer" or scope is None:
            return {}
        texts = self._engine.policy.texts
        words = closing("answer.crash", messages_of(state), scope.context, self._engine.language(), texts)
        return {"messages": [AIMessage(words, response_metadata={"degraded": True})]}


def _unnamed(*_: Any, **__: Any) -> dict[str, Any]:
    """A node's arguments are the graph's, not a wish of the user's."""
    return {}


def _plain(fallback: Node | Runnable[Any, Any], *, is_async: bool) -> Node:
    if isinstance(fallback, Runnable):
        return cast("Node", fallback.ainvoke if is_async else fallback.invoke)
    return fallback
