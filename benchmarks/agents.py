"""A `create_agent` run of two model calls and one tool call, timed from inside its outermost hooks."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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

from benchmarks.rows import MICRO, Row
from benchmarks.timing import Batches, more, settled, take_turns

ORDER = {"messages": [("user", "Is the blue kettle in stock?")]}
ToolAnswer = ToolMessage | Command[Any]


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
    """Calls on and does nothing else: what LangChain itself takes for one more middleware."""

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


class Stopwatch(PassOn):
    """Stands outermost and adds up the time from entering its hooks to leaving them."""

    def __init__(self) -> None:
        super().__init__()
        self.spent = 0.0

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
        with self._running():
            return handler(request)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolAnswer]) -> ToolAnswer:
        with self._running():
            return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        with self._running():
            return await handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolAnswer]]
    ) -> ToolAnswer:
        with self._running():
            return await handler(request)

    @contextmanager
    def _running(self) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.spent += time.perf_counter() - begin


class Timed:
    """One agent with these middlewares, a stopwatch around them, and the seconds its last run spent there."""

    def __init__(self, middleware: Sequence[AgentMiddleware]) -> None:
        self._watch = Stopwatch()
        self._agent = create_agent(Scripted(), [stock_tool()], middleware=[self._watch, *middleware])

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
    """Seconds between the outermost hooks, sync."""
    taken: dict[str, list[float]] = defaultdict(list)
    for name, agent in take_turns(agents, rounds):
        taken[name].append(agent.run())
    return settled(taken)


async def time_agents_async(agents: Mapping[str, Timed], rounds: int) -> Batches:
    """Seconds between the outermost hooks, async."""
    taken: dict[str, list[float]] = defaultdict(list)
    for name, agent in take_turns(agents, rounds):
        taken[name].append(await agent.arun())
    return settled(taken)


def middleware(rounds: int) -> Iterator[Row]:
    from langgraph_degrade import Degrader

    variants = {
        "none": Timed([]),
        "pass on": Timed([PassOn()]),
        "ours": Timed([Degrader().middleware()]),
        "LangChain's": Timed(langchains_own()),
    }
    colours = {
        "sync": time_agents(variants, rounds),
        "async": asyncio.run(time_agents_async(variants, rounds)),
    }
    for colour, taken in colours.items():
        note = "two model calls, one tool; inside our hooks"
        yield Row(
            f"middleware in `create_agent`, {colour}", more(taken, "ours", "pass on") * MICRO, budget=100, note=note
        )
        ours, theirs = more(taken, "ours", "none"), more(taken, "LangChain's", "none")
        note = f"{ours * MICRO:.0f} against {theirs * MICRO:.0f} µs over an agent without middleware"
        yield Row(f"… against LangChain's three, {colour}", ours / theirs, "×", note=note)
