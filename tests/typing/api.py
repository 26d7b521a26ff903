"""The public API as a type checker sees it: `make lint` runs mypy and pyright, both strict, over this file. Never run."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Any, assert_type

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState, StateGraph

from langgraph_degrade import (
    CircuitOpen,
    DegradeContext,
    Degrader,
    DegradeState,
    Failure,
    LadderExhausted,
    Policy,
    ToolResult,
    UnknownOutcome,
    classify,
)
from langgraph_degrade.testing import FakeClock

degrader = Degrader()
assert_type(Degrader(Policy.load("degrade.yaml"), clock=FakeClock(), rng=random.Random(7)), Degrader)


# guard: parameters and return type survive, in both colours


def last_count(sku: str) -> int:
    return len(sku)


@degrader.guard("inventory")
def stock(sku: str, *, warehouse: int = 1) -> int:
    return len(sku) + warehouse


@degrader.guard("inventory", stage="execute", scene="stock_query", fallbacks=[last_count])
async def astock(sku: str) -> int:
    return len(sku)


async def guarded() -> None:
    assert_type(stock("A-1", warehouse=2), int)
    assert_type(await astock("A-1"), int)
    stock(7)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    stock("A-1", shelf=2)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]


def passed_on(sync: Callable[[str], int], coloured: Callable[[str], Awaitable[int]]) -> None:
    assert_type(degrader.guard("inventory")(sync)("A-1"), int)
    assert_type(degrader.guard("inventory")(coloured)("A-1"), Awaitable[int])


# tools, nodes, whole graphs


@tool
def get_stock(sku: str) -> dict[str, Any]:
    """Tell how many of an article are there."""
    return {"sku": sku}


class State(MessagesState, DegradeState): ...


def plan(state: State) -> dict[str, Any]:
    return {"messages": state["messages"]}


def graphs() -> None:
    assert_type(degrader.tool(get_stock), BaseTool)
    _: AgentMiddleware[Any, Any, Any] = degrader.middleware()
    agent = create_agent("openai:gpt", [get_stock], middleware=[degrader.middleware()], checkpointer=InMemorySaver())
    whole: Runnable[Any, Any] = degrader.wrap(agent)
    whole.invoke({"messages": []})
    builder = StateGraph(State)
    builder.add_node("plan", degrader.node(plan, stage="plan", fallbacks=[plan]))
    builder.add_node("tools", degrader.tool_node([get_stock]))


# what happened


def told(state: State, message: ToolMessage, other: BaseMessage) -> None:
    assert_type(DegradeContext.of(state), DegradeContext)
    assert_type(DegradeContext.of(state).level, int)
    assert_type(classify(TimeoutError()), Failure | None)
    result = ToolResult.of(message)
    assert_type(result, ToolResult | None)
    if result is not None and result.status == "stale":
        assert_type(result.age, float | None)


def refused(error: CircuitOpen | UnknownOutcome | LadderExhausted) -> str | tuple[Exception, ...]:
    if isinstance(error, LadderExhausted):
        return assert_type(error.exceptions, "tuple[Exception | ExceptionGroup[Exception], ...]")
    if isinstance(error, CircuitOpen):
        assert_type(error.retry_after, float | None)
    return error.target


def requests() -> None:
    with degrader.scope(session=30, retries=2):
        stock("A-1")
