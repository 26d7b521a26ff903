"""What a middleware takes of a `create_agent` run of two model calls and one tool call."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from statistics import median
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelFallbackMiddleware,
    ModelRequest,
    ModelResponse,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
)
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.types import Command

from benchmarks.calls import worker
from benchmarks.rows import MICRO, Row
from benchmarks.timing import Batches, more, settled, take_turns

ORDER = {"messages": [("user", "Is the blue kettle in stock?")]}
ToolAnswer = ToolMessage | Command[Any]
HOOKS = ("wrap_model_call", "wrap_tool_call", "awrap_model_call", "awrap_tool_call")


class Scripted(BaseChatModel):
    """Asks for the tool once, then answers."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> Scripted:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        call = {"name": "get_stock", "args": {"sku": "kettle-blue"}, "id": "1"}
        answered = isinstance(messages[-1], ToolMessage)
        reply = AIMessage("Yes, seven.") if answered else AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=reply)])


class PassOn(AgentMiddleware):
    """Calls on and does nothing else."""

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
        return handler(request)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolAnswer]) -> ToolAnswer:
        return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        return await handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolAnswer]]
    ) -> ToolAnswer:
        return await handler(request)


class Limit(AgentMiddleware):
    """Gives every call a time limit, the barest way there is (async: not against a slow `finally`), and does nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self._hand_over = worker()

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
        return self._hand_over(lambda: handler(request))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolAnswer]) -> ToolAnswer:
        return self._hand_over(lambda: handler(request))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        async with asyncio.timeout(3):
            return await asyncio.ensure_future(handler(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolAnswer]]
    ) -> ToolAnswer:
        async with asyncio.timeout(3):
            return await asyncio.ensure_future(handler(request))


class Watch:
    """Adds up the time inside the hooks of middlewares, and takes off what their handlers took.

    Of a middleware that puts a tool of its own in the tool's place the tool's handler stays in; what LangChain takes to
    run a tool then leaves with the difference to `PassOn`. The tracing LangChain puts around each hook is outside.
    """

    def __init__(self) -> None:
        self.spent = 0.0

    def over(self, middleware: AgentMiddleware, *, swaps_tool: bool) -> AgentMiddleware:
        """Time the hooks this middleware has, in place."""
        kind = type(middleware)
        own = [name for name in HOOKS if getattr(kind, name) is not getattr(AgentMiddleware, name)]
        timed = {name: self._timed(name, getattr(kind, name), keep=swaps_tool and "tool" in name) for name in own}
        middleware.__class__ = type(kind.__name__, (kind,), timed)
        return middleware

    def _timed(self, name: str, hook: Callable[..., Any], *, keep: bool) -> Callable[..., Any]:
        off = 0 if keep else -1

        def sync(middleware: AgentMiddleware, request: Any, handler: Callable[[Any], Any]) -> Any:
            def handed(request: Any) -> Any:
                with self._counting(off):
                    return handler(request)

            with self._counting(1):
                return hook(middleware, request, handed)

        async def coloured(middleware: AgentMiddleware, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
            async def handed(request: Any) -> Any:
                with self._counting(off):
                    return await handler(request)

            with self._counting(1):
                return await hook(middleware, request, handed)

        return coloured if name.startswith("a") else sync

    @contextmanager
    def _counting(self, sign: int) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.spent += sign * (time.perf_counter() - begin)


class Timed:
    """One agent with these middlewares, and the seconds its last run spent in their hooks."""

    def __init__(self, *middleware: AgentMiddleware, swaps_tool: bool = False) -> None:
        self._watch = Watch()
        watched = [self._watch.over(one, swaps_tool=swaps_tool) for one in middleware]
        self._agent = create_agent(Scripted(), [stock_tool()], middleware=watched)

    def run(self) -> float:
        self._watch.spent = 0.0
        answer = self._agent.invoke(ORDER)
        return self._checked(answer)

    async def arun(self) -> float:
        self._watch.spent = 0.0
        answer = await self._agent.ainvoke(ORDER)
        return self._checked(answer)

    def _checked(self, answer: Mapping[str, Any]) -> float:
        *_, told, reply = answer["messages"]
        assert '"pieces": 7' in told.content, told  # a failing tool would be timed on another path
        assert reply.content == "Yes, seven.", reply
        return self._watch.spent


def stock_tool() -> BaseTool:
    def get_stock(sku: str) -> dict[str, Any]:
        """Tell how many of an article are there."""
        return {"sku": sku, "pieces": 7}

    async def aget_stock(sku: str) -> dict[str, Any]:
        """Tell how many of an article are there."""
        return {"sku": sku, "pieces": 7}

    return StructuredTool.from_function(get_stock, aget_stock)


def langchains_own() -> list[AgentMiddleware]:
    """LangChain's middlewares that come nearest to what ours does, in the order its documentation gives."""
    return [
        ModelFallbackMiddleware(Scripted()),
        ToolErrorMiddleware(lambda error, _: type(error).__name__),
        ToolRetryMiddleware(on_failure="error"),
    ]


def time_agents(agents: Mapping[str, Timed], rounds: int) -> Batches:
    """Seconds inside the hooks, sync."""
    taken: dict[str, list[float]] = defaultdict(list)
    for name, agent in take_turns(agents, rounds):
        taken[name].append(agent.run())
    return settled(taken)


async def time_agents_async(agents: Mapping[str, Timed], rounds: int) -> Batches:
    """Seconds inside the hooks, async."""
    taken: dict[str, list[float]] = defaultdict(list)
    for name, agent in take_turns(agents, rounds):
        taken[name].append(await agent.arun())
    return settled(taken)


def middleware(rounds: int) -> Iterator[Row]:
    from langgraph_degrade import Degrader

    variants = {
        "pass on": Timed(PassOn(), swaps_tool=True),
        "ours": Timed(Degrader().middleware(), swaps_tool=True),
        "limits": Timed(Limit(), swaps_tool=True),
        "LangChain's": Timed(*langchains_own()),
    }
    colours = {
        "sync": time_agents(variants, rounds),
        "async": asyncio.run(time_agents_async(variants, rounds)),
    }
    for colour, taken in colours.items():
        ours, limits = more(taken, "ours", "pass on"), more(taken, "limits", "pass on")
        theirs = median(taken["LangChain's"])
        note = (
            f"of three bare time limits ({limits * MICRO:.0f} µs): "
            f"{ours * MICRO:.0f} µs in our hooks, {(ours - limits) * MICRO:.0f} without the limits"
        )
        yield Row(f"middleware in `create_agent`, {colour}", ours / limits, "×", 4, note)
        note = f"retry, fallback and error middleware: {theirs * MICRO:.0f} µs, measured the same way"
        yield Row(f"… against LangChain's three, {colour}", ours / theirs, "×", note=note)
