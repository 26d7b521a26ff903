"""Nodes of hand-built graphs: `degrader.node` and `degrader.tool_node`.

A node's return value is a state update, never judged: `{"error": "needs an order id"}` says something about the user's
request, not about the node. Only what it raises is a failure, whatever kind it is.

Whether a graph has a `degrade` key can't be seen from a node: a `Send` payload or an input schema of its own leaves it
out. The context is written all the same: LangGraph drops keys that a graph does not declare. (Where the whole state is
one bare dict, `StateGraph(dict)`, it stands in that dict.) Which turn it is can't be seen from a `Send` payload either:
where a graph has `messages`, some guarded node that sees them has to come first, or the turn counts as one of its own.

With nothing left an answer node speaks through `messages`. A graph that keeps its answer elsewhere gives it a last
fallback that writes there (`fallbacks=[short_answer, lambda state: {"answer": SORRY}]`): else its state stays as it
was, the context tells what is missing, and a line in the log says so.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolNode
from langgraph.types import Command

from langgraph_degrade.adapters.guard import fallback_steps, refuse_generators
from langgraph_degrade.adapters.injected import Node, suited
from langgraph_degrade.adapters.tool_calls import ToolCalls, enter
from langgraph_degrade.engine.plan import Call, Outcome, Plan, is_async_callable
from langgraph_degrade.stages.closing import closing
from langgraph_degrade.stages.messages import messages_of
from langgraph_degrade.stages.tools.reading import Reading

if TYPE_CHECKING:
    from langgraph_degrade.adapters.tools import ToolGuard
    from langgraph_degrade.engine.engine import Engine
    from langgraph_degrade.engine.scope import Scope
    from langgraph_degrade.engine.target import Target

log = logging.getLogger("langgraph_degrade")

State = dict[str, Any]


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
        plain = [_plain(step, is_async=is_async) for step in fallbacks]
        steps = fallback_steps(engine, target, plain, is_async=is_async)
        self._plan = Plan(
            target=target,
            fn=fn,
            is_async=is_async,
            steps=[replace(step, fn=suited(step.fn, fn)) for step in steps if step.fn is not None],
            reader=Reading,
            heeds_no=False,
            leaves_items=target.stage == "execute",  # a plan or an answer is no wish of the user's
        )

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
        return Call((state, *args), kwargs, _unnamed)

    def _leave(self, state: Any, scope: Scope | None, mark: int, outcome: Outcome) -> Any:
        if scope is None:
            return outcome.value if outcome.has_value else {}
        value = outcome.value if outcome.has_value else self._nothing(state, scope)
        if scope.revision == mark or _is_conversation(state):
            return value
        return written(value, {"degrade": scope.context.plain()})

    def _nothing(self, state: Any, scope: Scope) -> Any:
        """No rung had a value: the state stays as it is; an answer stage says so honestly."""
        if self._target.stage != "answer":
            return Command()
        texts = self._engine.policy.texts
        words = closing("answer.crash", messages_of(state), scope.context, self._engine.language(), texts)
        answer = [AIMessage(words, id=str(uuid4()), response_metadata={"degraded": True})]
        if _is_conversation(state):
            return answer
        if not ("messages" in state if isinstance(state, Mapping) else hasattr(state, "messages")):
            log.error("%s: no `messages` to answer in; a last fallback can write the answer", self._target.name)
        return Command(update={"messages": answer})


def written(value: Any, change: State) -> Any:
    """A node's update `value` that writes `change` too, whatever form it has: nothing of it is lost."""
    if value is None or isinstance(value, dict):
        return {**(value or {}), **change}
    if isinstance(value, Command) and (value.update is None or isinstance(value.update, dict)):
        return replace(value, update={**(value.update or {}), **change})
    if isinstance(value, Command) and isinstance(value.update, list | tuple):
        return replace(value, update=[*value.update, *change.items()])
    items = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()
    several = any(isinstance(item, Command) for item in items)
    return [*(items if several else (value,)), Command(update=change)]


def _is_conversation(state: Any) -> bool:
    """The graph's whole state is a list of messages: there is no key to write to."""
    return isinstance(state, list) and all(isinstance(item, BaseMessage) for item in cast("list[object]", state))


def _unnamed(*_: Any, **__: Any) -> State:
    """A node's arguments are the graph's, not a wish of the user's."""
    return {}


def _plain(fallback: Node | Runnable[Any, Any], *, is_async: bool) -> Node:
    if isinstance(fallback, Runnable):
        return cast("Node", fallback.ainvoke if is_async else fallback.invoke)
    return fallback
