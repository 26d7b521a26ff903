"""`degrader.wrap(graph)`: which runs get an honest ending, which their own answer, which their own error."""

from __future__ import annotations

import json
import logging
import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained
from langgraph.func import entrypoint
from langgraph.graph import MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import RunControl
from pydantic import BaseModel

from langgraph_degrade import Degrader, Policy
from langgraph_degrade.testing import FakeClock
from tests.conftest import Both

QUESTION = {"messages": [HumanMessage("where is SO-1?")]}
THREAD: RunnableConfig = {"configurable": {"thread_id": "t"}}


class Shop(MessagesState, total=False):
    total: Annotated[int, operator.add]


class Job(TypedDict, total=False):
    order: str


def chain(*nodes: Any, state: type = Shop, saver: Any = None, **options: Any) -> Any:
    builder = StateGraph(state, **options)
    for number, node in enumerate(nodes):
        builder.add_node(f"n{number}", node)
    builder.set_entry_point("n0")
    for number in range(1, len(nodes)):
        builder.add_edge(f"n{number - 1}", f"n{number}")
    return builder.compile(checkpointer=saver)


def interim(state: Any) -> dict[str, Any]:
    return {"messages": [AIMessage("Let me look that up.")]}


def answer(state: Any) -> dict[str, Any]:
    return {"messages": [AIMessage("It is on its way.")], "total": 1}


def crash(state: Any) -> dict[str, Any]:
    raise RuntimeError("hunter2")


class Dying(InMemorySaver):
    """Dies over its `left + 1`st checkpoint, and for good."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left

    def put(self, *args: Any, **kwargs: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise ConnectionError("SSL connection has been closed unexpectedly")
        return super().put(*args, **kwargs)

    async def aput(self, *args: Any, **kwargs: Any) -> Any:
        return self.put(*args, **kwargs)


def texts(state: dict[str, Any]) -> list[str]:
    return [str(message.content) for message in state["messages"]]


def is_honest(message: Any) -> bool:
    return bool(message.response_metadata.get("degraded"))


def chunks(both: Both, graph: Any, *args: Any, **kwargs: Any) -> list[Any]:
    if both.colour == "sync":
        return list(graph.stream(*args, **kwargs))

    async def collect() -> list[Any]:
        return [chunk async for chunk in graph.astream(*args, **kwargs)]

    return list(both.run(collect()))


@pytest.mark.row("A3")
def test_an_interim_text_is_no_answer(both: Both, clock: FakeClock) -> None:
    out = both.call(Degrader(clock=clock).wrap(chain(interim, crash)), "invoke", QUESTION)
    assert texts(out)[1] == "Let me look that up."
    assert is_honest(out["messages"][-1])
    assert len(out["messages"]) == 3


@pytest.mark.case("case-D01")
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_saver_that_dies_after_the_last_node_leaves_the_answer(both: Both, clock: FakeClock, durability: str) -> None:
    left = 0 if durability == "exit" else 3
    graph = Degrader(clock=clock).wrap(chain(interim, answer, saver=Dying(left)))
    out = both.call(graph, "invoke", QUESTION, THREAD, durability=durability)
    assert texts(out)[1:] == ["Let me look that up.", "It is on its way."]
    assert out["total"] == 1


@pytest.mark.case("case-D01")
@pytest.mark.parametrize("mode", ["values", "updates", "messages"])
def test_an_answer_that_outlived_its_saver_is_told_once(both: Both, clock: FakeClock, mode: Any) -> None:
    graph = Degrader(clock=clock).wrap(chain(interim, answer, saver=Dying(3)))
    told = chunks(both, graph, QUESTION, THREAD, stream_mode=mode, durability="sync")
    assert str(told).count("on its way") == 1
    assert "degrade" not in str(told)


@pytest.mark.case("case-D01")
def test_a_saver_that_dies_between_nodes_leaves_an_honest_ending(both: Both, clock: FakeClock) -> None:
    ran: list[str] = []

    def last(state: Any) -> dict[str, Any]:
        ran.append("last")
        return answer(state)

    graph = Degrader(clock=clock).wrap(chain(interim, last, saver=Dying(2)))
    out = both.call(graph, "invoke", QUESTION, THREAD, durability="sync")
    assert ran == []
    assert texts(out)[1] == "Let me look that up."
    assert is_honest(out["messages"][-1])


@pytest.mark.row("T3")
def test_a_saver_that_hangs_does_not_hold_the_answer(both: Both, clock: FakeClock) -> None:
    class Hanging(InMemorySaver):
        hangs = False

        def get_tuple(self, config: RunnableConfig) -> Any:
            if self.hangs:
                clock.sleep(10_000)
            return super().get_tuple(config)

        async def aget_tuple(self, config: RunnableConfig) -> Any:
            if self.hangs:
                await clock.asleep(10_000)
            return super().get_tuple(config)

    def node(state: Any) -> dict[str, Any]:
        saver.hangs = True
        raise RuntimeError("hunter2")

    saver = Hanging()
    graph = Degrader(Policy.model_validate({"timeouts": {"user": "60s", "session": "60s"}}), clock=clock).wrap(
        chain(both.paint(node), saver=saver)
    )
    began = clock.monotonic()
    out = both.call(graph, "invoke", QUESTION, THREAD)
    assert is_honest(out["messages"][-1])
    assert clock.monotonic() - began < 60


def test_a_crash_with_nowhere_to_answer_is_raised_as_it_is(both: Both, clock: FakeClock) -> None:
    events: list[Any] = []
    degrader = Degrader(clock=clock, listeners=[events.append])
    with pytest.raises(RuntimeError, match="hunter2"):
        both.call(degrader.wrap(chain(both.paint(crash), state=Job)), "invoke", {"order": "SO-1"})
    work: Any = entrypoint()(both.paint(crash))
    with pytest.raises(RuntimeError, match="hunter2"):
        both.call(degrader.wrap(work), "invoke", "SO-1")
    assert [(event.outcome, event.direction) for event in events] == [("failed", None)] * 2


@pytest.mark.parametrize("state", [Shop, Job])
def test_a_custom_answer_that_fails_does_not_escape(both: Both, clock: FakeClock, state: Any) -> None:
    def broken(state: Any) -> dict[str, Any]:
        raise KeyError("nope")

    graph = Degrader(clock=clock).wrap(chain(both.paint(crash), state=state), answer=broken)
    if state is Job:
        with pytest.raises(RuntimeError, match="hunter2"):
            both.call(graph, "invoke", {"order": "SO-1"})
    else:
        assert is_honest(both.call(graph, "invoke", QUESTION)["messages"][-1])


def test_bad_data_in_the_first_node_is_no_misuse(both: Both, clock: FakeClock) -> None:
    def parse(state: Any) -> dict[str, Any]:
        return dict(json.loads("{"))

    def refuse(state: Any) -> dict[str, Any]:
        raise ValueError("no such order")

    for node in (parse, refuse):
        out = both.call(Degrader(clock=clock).wrap(chain(both.paint(node))), "invoke", QUESTION)
        assert is_honest(out["messages"][-1])


def test_output_keys_keep_their_shape(both: Both, clock: FakeClock) -> None:
    graph = Degrader(clock=clock).wrap(chain(both.paint(crash)))
    out = both.call(graph, "invoke", QUESTION, output_keys="messages")
    assert [type(message) for message in out] == [HumanMessage, AIMessage]
    with pytest.raises(RuntimeError, match="hunter2"):
        both.call(graph, "invoke", QUESTION, output_keys="total")


def test_a_model_as_state_stays_one(both: Both, clock: FakeClock) -> None:
    class Model(BaseModel):
        messages: Annotated[list[AnyMessage], add_messages] = []
        total: int = 0

    def count(state: Any) -> dict[str, Any]:
        return {"total": 3}

    graph = Degrader(clock=clock).wrap(chain(both.paint(count), both.paint(crash), state=Model))
    out = both.call(graph, "invoke", QUESTION, version="v2").value
    assert isinstance(out, Model)
    assert out.total == 3
    assert is_honest(out.messages[-1])
    assert both.call(graph, "invoke", QUESTION)["total"] == 3


@pytest.mark.row("F3")
def test_a_wrapped_subgraph_obeys_its_callers_control(both: Both, clock: FakeClock) -> None:
    control = RunControl()
    ran: list[str] = []

    def first(state: Any) -> dict[str, Any]:
        control.request_drain("deploy")
        return {}

    def second(state: Any) -> dict[str, Any]:
        ran.append("second")
        return {}

    inner = Degrader(clock=clock).wrap(chain(both.paint(first), both.paint(second)))
    with pytest.raises(GraphDrained, match="deploy"):
        both.call(chain(inner, saver=InMemorySaver()), "invoke", QUESTION, THREAD, control=control)
    assert ran == []


@pytest.mark.row("R3")
def test_the_ending_of_a_replay_is_kept_at_the_threads_head(both: Both, clock: FakeClock) -> None:
    def count(state: Any) -> dict[str, Any]:
        return {"total": 1}

    graph = Degrader(clock=clock).wrap(chain(both.paint(count), both.paint(crash), saver=InMemorySaver()))
    both.call(graph, "invoke", QUESTION, THREAD)
    oldest = list(graph.get_state_history(THREAD))[-1].config
    out = both.call(graph, "invoke", None, oldest)
    kept = graph.get_state(THREAD)
    assert out["total"] == kept.values["total"] == 1
    assert kept.next == ()
    assert texts(kept.values)[-1] == texts(out)[-1]


def test_no_stream_mode_streams_nothing(both: Both, clock: FakeClock) -> None:
    assert chunks(both, Degrader(clock=clock).wrap(chain(both.paint(answer))), QUESTION, stream_mode=[]) == []


def test_callbacks_of_the_caller_are_kept(both: Both, clock: FakeClock) -> None:
    from langchain_core.callbacks import BaseCallbackHandler

    class Names(BaseCallbackHandler):
        run_inline = True

        def __init__(self) -> None:
            self.seen: list[str] = []

        def on_chain_start(self, *args: Any, name: str = "", **kwargs: Any) -> None:
            self.seen.append(name)

    mine = Names()
    graph = Degrader(clock=clock).wrap(chain(both.paint(answer)))
    both.call(graph, "invoke", QUESTION, {"callbacks": [mine]})
    assert "n0" in mine.seen


def test_the_log_tells_where_and_not_what(both: Both, clock: FakeClock, caplog: pytest.LogCaptureFixture) -> None:
    secret = "hunter2"

    def leak(state: Any) -> dict[str, Any]:
        raise RuntimeError(secret)

    def broken(state: Any) -> dict[str, Any]:
        raise KeyError(secret)

    graph = Degrader(clock=clock).wrap(chain(both.paint(leak)), answer=broken)
    with caplog.at_level(logging.DEBUG, "langgraph_degrade"):
        both.call(graph, "invoke", QUESTION)
    assert "in leak" in caplog.text
    assert "in broken" in caplog.text
    assert secret not in caplog.text
