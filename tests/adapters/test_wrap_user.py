"""`degrader.wrap(graph)`: the user's time and the user's Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import StateGraph

from langgraph_degrade import Degrader, Policy
from langgraph_degrade.testing import FakeClock
from tests.adapters.graphs import State
from tests.conftest import Both

QUESTION = {"messages": [HumanMessage("where is SO-1?")]}


def chain(*nodes: Any, **options: Any) -> Any:
    builder = StateGraph(State)
    for number, node in enumerate(nodes):
        builder.add_node(f"n{number}", node)
    builder.set_entry_point("n0")
    for number in range(1, len(nodes)):
        builder.add_edge(f"n{number - 1}", f"n{number}")
    return builder.compile(**options)


@pytest.mark.row("F3")
def test_ctrl_c_comes_out_as_itself_and_ends_the_request(clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    ended: list[object] = []
    release = threading.Event()

    def hang(state: State) -> dict[str, Any]:
        os.kill(os.getpid(), signal.SIGINT)
        release.wait(20)
        return {}

    finish, old = degrader._engine.scopes._end, signal.signal(signal.SIGINT, signal.default_int_handler)
    degrader._engine.scopes._end = lambda scope: (ended.append(scope), finish(scope))[1]
    try:
        with pytest.raises(KeyboardInterrupt):
            degrader.wrap(chain(hang)).invoke(QUESTION)
    finally:
        release.set()
        signal.signal(signal.SIGINT, old)
    assert len(ended) == 1


@pytest.mark.row("F3")
def test_what_is_no_exception_comes_out_as_itself(both: Both, clock: FakeClock) -> None:
    class Fail(BaseException):
        pass

    def node(state: State) -> dict[str, Any]:
        raise Fail("stop")

    with pytest.raises(Fail, match="stop"):
        both.call(Degrader(clock=clock).wrap(chain(both.paint(node))), "invoke", QUESTION)
    assert clock.monotonic() < 200  # and did not wait for the user tier


@pytest.mark.row("T3")
def test_the_callers_time_between_chunks_is_its_own(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(Policy.model_validate({"timeouts": {"user": "60s", "session": "60s"}}), clock=clock)
    graph = degrader.wrap(chain(*[both.paint(lambda state: {"messages": [AIMessage("done")]})] * 3))
    seen: list[str] = []

    def note(chunk: Any) -> None:
        seen.extend(chunk)
        if len(seen) == 3:
            clock.advance(100)  # a client that reads slowly

    if both.colour == "sync":
        for chunk in graph.stream(QUESTION, stream_mode="updates"):
            note(chunk)
    else:

        async def story() -> None:
            async for chunk in graph.astream(QUESTION, stream_mode="updates"):
                note(chunk)

        both.run(story())
    assert seen == ["n0", "n1", "n2"]
