"""What LangGraph keeps in context variables works inside a call that runs elsewhere than its node."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config, get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from langgraph_degrade.engine.clock import SystemClock
from langgraph_degrade.engine.ports import AsyncPorts, SyncPorts, complete
from langgraph_degrade.engine.workers import Workers


class State(TypedDict, total=False):
    seen: dict[str, Any]


def tool() -> dict[str, Any]:
    thread = get_config()["configurable"]["thread_id"]
    get_stream_writer()({"progress": "asking"})
    answer = interrupt("refund?")
    return {"thread": thread, "answer": answer}


async def atool() -> dict[str, Any]:
    return tool()


def graph_of(target: Any, *, is_async: bool) -> Any:
    workers = Workers()
    how: dict[str, Any] = {"is_async": is_async, "timeout": 30.0, "own_thread": False}

    def node(state: State) -> State:
        return {"seen": complete(SyncPorts(SystemClock(), workers).call(target, **how))}

    async def anode(state: State) -> State:
        return {"seen": await AsyncPorts(SystemClock(), workers).call(target, **how)}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_node("anode", anode)
    builder.add_conditional_edges(START, lambda state: "anode" if state else "node", ["node", "anode"])
    builder.add_edge(["node"], END)
    builder.add_edge(["anode"], END)
    return builder.compile(checkpointer=InMemorySaver())


CONFIG: RunnableConfig = {"configurable": {"thread_id": "t-1"}}
SEEN = {"thread": "t-1", "answer": "yes"}


@pytest.mark.row("F3")
@pytest.mark.row("T5")
def test_config_stream_writer_and_interrupt_reach_a_worker():
    graph = graph_of(tool, is_async=False)
    parts = list(graph.stream({}, CONFIG, stream_mode=["custom", "updates"]))
    assert ("custom", {"progress": "asking"}) in parts
    assert [part[0].value for mode, part in parts if mode == "updates" for part in part.values()] == ["refund?"]
    assert graph.invoke(Command(resume="yes"), CONFIG)["seen"] == SEEN


@pytest.mark.row("F3")
@pytest.mark.row("T5")
@pytest.mark.parametrize(("target", "is_async"), [(tool, False), (atool, True)])
async def test_config_stream_writer_and_interrupt_reach_a_worker_and_a_task_of_its_own(target: Any, is_async: bool):
    graph = graph_of(target, is_async=is_async)
    parts = [part async for part in graph.astream({"seen": {}}, CONFIG, stream_mode=["custom", "updates"])]
    assert ("custom", {"progress": "asking"}) in parts
    assert [part[0].value for mode, part in parts if mode == "updates" for part in part.values()] == ["refund?"]
    assert (await graph.ainvoke(Command(resume="yes"), CONFIG))["seen"] == SEEN
