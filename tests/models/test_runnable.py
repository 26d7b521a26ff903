"""Runnables that step down, prompt and model swapped together: where LangChain's `.with_fallbacks` was."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableGenerator, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from langgraph_degrade import Degrader, IncompleteStream, LadderExhausted
from langgraph_degrade.testing import FakeClock, run_virtual
from tests.conftest import Both
from tests.models.test_chain import Speaker, calls_it, get_order, speaker

pytestmark = pytest.mark.row("M7")

ASKED = {"question": "Where is SO-1001?"}
MAIN = ChatPromptTemplate([("system", "You are the best."), ("user", "{question}")])
BACKUP = ChatPromptTemplate([("system", "Be brief."), ("user", "{question}")])


class Told(list[Any]):
    """The events of one degrader."""

    @property
    def steps(self) -> list[tuple[Any, ...]]:
        return [(event.kind, event.source, event.outcome) for event in self]


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def degrader(clock: FakeClock, told: Told) -> Degrader:
    return Degrader(clock=clock, listeners=[told.append])


def chunks(both: Both, runnable: Runnable[Any, Any], asked: Any, got: list[Any] | None = None, **config: Any) -> Any:
    """What it streams; `got` keeps what came before an error."""
    got = [] if got is None else got

    async def listen() -> None:
        if both.colour == "sync":
            for chunk in runnable.stream(asked, **config):
                got.append(chunk)
            return
        async for chunk in runnable.astream(asked, **config):
            got.append(chunk)

    both.run(listen())
    return got


def says(clock: FakeClock, *parts: Any, ended: list[str] | None = None) -> Runnable[Any, Any]:
    """Streams its parts: a number is a pause, an error is raised."""

    def talk(_: Iterator[Any]) -> Iterator[Any]:
        try:
            for part in parts:
                if isinstance(part, float):
                    clock.sleep(part)
                else:
                    yield _said(part)
        finally:
            (ended if ended is not None else []).append("sync")

    async def atalk(_: AsyncIterator[Any]) -> AsyncIterator[Any]:
        try:
            for part in parts:
                if isinstance(part, float):
                    await clock.asleep(part)
                else:
                    yield _said(part)
        finally:
            (ended if ended is not None else []).append("async")

    return RunnableGenerator(talk, atalk)


def _said(part: Any) -> Any:
    if isinstance(part, BaseException):
        raise part
    return part


@pytest.mark.row("M1")
def test_the_backup_is_asked_with_its_own_prompt(both: Both, degrader: Degrader, told: Told) -> None:
    main, backup = speaker(ConnectionResetError()), speaker("It is packed.")
    chain = degrader.runnable([MAIN | main, BACKUP | backup], name="answers")
    assert both.call(chain, "invoke", ASKED).content == "It is packed."
    assert main.asked[0][0].content == "You are the best."
    assert backup.asked[0][0].content == "Be brief."
    assert told.steps == [("connection", "answers/1", "ok")]
    assert (told[0].target, told[0].direction) == ("runnable:answers", "model")


def test_a_healthy_chain_leaves_no_trace(both: Both, degrader: Degrader, told: Told) -> None:
    backup = speaker("never asked")
    chain = degrader.runnable([MAIN | speaker("It is packed."), BACKUP | backup])
    assert both.call(chain, "invoke", ASKED).content == "It is packed."
    assert (told, backup.asked) == ([], [])


@pytest.mark.case("case-F13")
def test_a_bug_in_a_prompt_is_told_as_what_it_is(
    both: Both, degrader: Degrader, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    main = speaker("never asked")
    broken = ChatPromptTemplate([("user", "{qestion}")])
    chain = degrader.runnable([broken | main, BACKUP | speaker("It is packed.")], name="answers")
    assert both.call(chain, "invoke", ASKED).content == "It is packed."
    assert [(event.kind, event.reason) for event in told] == [("unknown", "KeyError")]
    assert main.asked == []
    assert any("runnable:answers failed: KeyError" in record.getMessage() for record in caplog.records)


@pytest.mark.row("F1")
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (AIMessage(""), "empty"),
        (AIMessage("", response_metadata={"finish_reason": "content_filter"}), "content_filter"),
        (
            AIMessage("", invalid_tool_calls=[{"name": "get_order", "args": '{"or', "id": "c1", "error": "cut"}]),
            "malformed_call",
        ),
    ],
)
def test_an_answer_that_is_none_goes_to_the_next(
    both: Both, degrader: Degrader, told: Told, answer: AIMessage, kind: str
) -> None:
    chain = degrader.runnable([speaker(answer), speaker("Here.")], name="answers")
    assert both.call(chain, "invoke", "hi").content == "Here."
    assert told.steps == [(kind, "answers/1", "ok")]


@pytest.mark.parametrize("value", ["", None, [], {"error": "needs an order id"}])
def test_other_values_are_taken_as_they_are(both: Both, degrader: Degrader, told: Told, value: Any) -> None:
    chain = degrader.runnable([lambda _: value, lambda _: "never asked"])
    assert both.call(chain, "invoke", "hi") == value
    assert told == []


def test_with_nothing_left_every_cause_is_raised(both: Both, degrader: Degrader, told: Told) -> None:
    first, second = ConnectionResetError(), ConnectionAbortedError()
    chain = degrader.runnable([speaker(first), speaker(second)])
    with pytest.raises(LadderExhausted) as caught:
        both.call(chain, "invoke", "hi")
    assert caught.value.exceptions == (first, second)
    with pytest.raises(LadderExhausted):
        chunks(both, chain, "hi")
    with pytest.raises(ConnectionResetError):
        both.call(degrader.runnable([speaker(first)]), "invoke", "hi")


@pytest.mark.row("F3")
def test_interrupt_is_not_a_failure(both: Both, degrader: Degrader, told: Told) -> None:
    backup = speaker("never asked")
    chain = degrader.runnable([lambda _: AIMessage(interrupt("Really?")), backup])
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda state: {"messages": [chain.invoke(state["messages"])]})
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    assert both.call(graph, "invoke", {"messages": [("user", "hi")]}, config)["__interrupt__"][0].value == "Really?"
    assert both.call(graph, "invoke", Command(resume="Yes."), config)["messages"][-1].content == "Yes."
    assert (told, backup.asked) == ([], [])


@pytest.mark.row("F3")
@pytest.mark.parametrize("how", ["stream", "batch", "batch, errors returned"])
def test_interrupt_passes_streams_and_batches_too(both: Both, degrader: Degrader, told: Told, how: str) -> None:
    backup = speaker("never asked")
    chain = degrader.runnable([lambda _: interrupt("Really?"), backup])

    async def answer(state: Any) -> Any:
        if how == "stream":
            return {"messages": [chunk async for chunk in chain.astream("hi")]}
        return {"messages": await chain.abatch(["hi"], return_exceptions="," in how)}

    def answer_sync(state: Any) -> Any:
        if how == "stream":
            return {"messages": list(chain.stream("hi"))}
        return {"messages": chain.batch(["hi"], return_exceptions="," in how)}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", RunnableLambda(answer_sync, answer))
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=InMemorySaver())
    out = both.call(graph, "invoke", {"messages": []}, {"configurable": {"thread_id": "1"}})
    assert out["__interrupt__"][0].value == "Really?"
    assert (told, backup.asked) == ([], [])


@pytest.mark.row("F3")
@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_cancelled_caller_is_no_failure(degrader: Degrader, clock: FakeClock, told: Told, is_streamed: bool) -> None:
    backup = speaker("never asked")
    chain = degrader.runnable([says(clock, 5.0, "late"), backup])

    async def ask() -> Any:
        return [chunk async for chunk in chain.astream("hi")] if is_streamed else await chain.ainvoke("hi")

    async def cancel() -> None:
        task = asyncio.ensure_future(ask())
        await clock.asleep(1.0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_virtual(cancel(), clock)
    assert (told, backup.asked) == ([], [])


@pytest.mark.row("M5")
def test_failover_before_the_first_chunk_is_invisible(both: Both, degrader: Degrader, told: Told) -> None:
    main = speaker(["", ConnectionResetError()])
    chain = degrader.runnable([MAIN | main, BACKUP | speaker(["It is ", "packed."])], name="answers")
    assert [chunk.content for chunk in chunks(both, chain, ASKED) if chunk.content] == ["It is ", "packed."]
    assert told.steps == [("connection", "answers/1", "ok")]


@pytest.mark.row("M5")
def test_after_a_chunk_was_shown_nobody_else_goes_on(both: Both, degrader: Degrader, told: Told) -> None:
    backup = speaker("never shown")
    main = MAIN | speaker(["It is ", ConnectionResetError()]) | StrOutputParser()
    chain = degrader.runnable([main, BACKUP | backup | StrOutputParser()], name="answers")
    got: list[Any] = []
    with pytest.raises(IncompleteStream) as caught:
        chunks(both, chain, ASKED, got)
    assert isinstance(caught.value.__cause__, ConnectionResetError)
    assert (got, backup.asked) == (["It is "], [])
    assert told.steps == [("connection", "answers", "cut")]


@pytest.mark.row("M5")
@pytest.mark.case("case-T01")
@pytest.mark.parametrize("words", ["", "Let me look. "])
def test_half_a_call_is_never_shown(both: Both, degrader: Degrader, told: Told, words: str) -> None:
    call = tool_call_chunk(name="get_order", args='{"order": "SO-1', id="c1", index=0)
    half = AIMessageChunk(content="", tool_call_chunks=[call])
    chain = degrader.runnable([speaker([words, half, ConnectionResetError()]), speaker([calls_it()])])
    got: list[Any] = []
    if words:
        with pytest.raises(IncompleteStream):
            chunks(both, chain, "hi", got)
        assert [(chunk.content, chunk.tool_call_chunks) for chunk in got] == [(words, [])]
        return
    chunks(both, chain, "hi", got)
    assert [call["args"] for chunk in got for call in chunk.tool_calls] == [{"order": "SO-1001"}]


@pytest.mark.row("M5")
def test_a_whole_call_is_shown_after_the_words_before_it(both: Both, degrader: Degrader, told: Told) -> None:
    chain = degrader.runnable([speaker(["Let me look.", calls_it()])])
    got = chunks(both, chain, "hi")
    assert "".join(str(chunk.content) for chunk in got) == "Let me look."
    assert [call["args"] for chunk in got for call in chunk.tool_calls] == [{"order": "SO-1001"}]
    assert told == []


@pytest.mark.row("M5")
@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        (["", " ", "a", "", "b"], ["", " ", "a", "", "b"]),
        (["", " "], ["", " "]),
        ([{"a": 1}, {"a": 2}], [{"a": 1}, {"a": 2}]),
        ([AIMessage("whole")], [AIMessage("whole")]),
        ([AIMessage("")], ["from the backup"]),
        ([], ["from the backup"]),
        (["", ConnectionResetError()], ["from the backup"]),
    ],
)
def test_what_is_streamed_comes_as_it_is_or_not_at_all(
    both: Both, degrader: Degrader, clock: FakeClock, parts: list[Any], shown: list[Any]
) -> None:
    chain = degrader.runnable([says(clock, *parts), says(clock, "from the backup")])
    assert chunks(both, chain, "hi") == shown


@pytest.mark.row("T3")
@pytest.mark.row("M5")
def test_a_silent_stream_is_given_up(both: Both, degrader: Degrader, clock: FakeClock, told: Told) -> None:
    silent = says(clock, 11.0, AIMessageChunk("late")) | StrOutputParser()
    chain = degrader.runnable([silent, says(clock, "Here.")], name="answers")
    assert chunks(both, chain, "hi") == ["Here."]
    assert told.steps == [("timeout", "answers/1", "ok")]
    assert told[0].elapsed == pytest.approx(10.0, abs=0.1)  # not the clock: whoever was given up sleeps on


@pytest.mark.row("M5")
def test_a_stream_that_falls_silent_is_cut(both: Both, degrader: Degrader, clock: FakeClock, told: Told) -> None:
    silent = says(clock, AIMessageChunk("It is "), 6.0, AIMessageChunk("late")) | StrOutputParser()
    chain = degrader.runnable([silent, says(clock, "never shown")], name="answers")
    with pytest.raises(IncompleteStream):
        chunks(both, chain, "hi")
    assert told.steps == [("timeout", "answers", "cut")]


@pytest.mark.row("B2")
@pytest.mark.row("M5")
def test_streams_that_break_open_the_breaker(both: Both, degrader: Degrader, clock: FakeClock) -> None:
    chain = degrader.runnable([says(clock, "It is ", ConnectionResetError()), says(clock, "Here.")], name="answers")
    for _ in range(3):
        with pytest.raises(IncompleteStream):
            chunks(both, chain, "hi")
    assert chunks(both, chain, "hi") == ["Here."]


def test_what_speaks_only_when_it_is_done_has_the_whole_time(
    both: Both, degrader: Degrader, clock: FakeClock, told: Told
) -> None:
    chain = degrader.runnable([says(clock, 20.0, {"done": True}), says(clock, "never asked")])
    assert chunks(both, chain, "hi") == [{"done": True}]
    assert told == []


@pytest.mark.row("T3")
def test_what_takes_too_long_is_given_up(both: Both, degrader: Degrader, clock: FakeClock, told: Told) -> None:
    chain = degrader.runnable([says(clock, 31.0, "late"), says(clock, "Here.")], name="answers")
    assert both.call(chain, "invoke", "hi") == "Here."
    assert told.steps == [("timeout", "answers/1", "ok")]


class Kept(Runnable[Any, Any]):
    """Holds on to its streams, so that only who closes them ends them."""

    def __init__(self, inner: Runnable[Any, Any]) -> None:
        self.inner = inner
        self.steps: list[Any] = []

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        return self.inner.invoke(*args, **kwargs)

    def stream(self, *args: Any, **kwargs: Any) -> Any:
        self.steps.append(self.inner.stream(*args, **kwargs))
        return self.steps[-1]

    def astream(self, *args: Any, **kwargs: Any) -> Any:
        self.steps.append(self.inner.astream(*args, **kwargs))
        return self.steps[-1]


def test_a_stream_nobody_listens_to_any_more_is_let_go(both: Both, degrader: Degrader, clock: FakeClock) -> None:
    ended: list[str] = []
    chain = degrader.runnable([Kept(says(clock, "a", "b", "c", ended=ended))])

    async def listen() -> None:
        if both.colour == "sync":
            steps = chain.stream("hi")
            assert next(steps) == "a"
            steps.close()
            return
        asteps: Any = chain.astream("hi")
        assert await anext(asteps) == "a"
        await asteps.aclose()

    both.run(listen())
    assert ended == [both.colour]


def test_every_input_of_a_batch_degrades_on_its_own(both: Both, degrader: Degrader, told: Told) -> None:
    def main(asked: str, config: Any) -> str:
        if asked != "good":
            raise ConnectionResetError
        return f"main for {config['metadata']['user']}"

    def backup(asked: str, config: Any) -> str:
        if asked == "lost":
            raise TimeoutError
        return f"backup for {config['metadata']['user']}"

    chain = degrader.runnable([RunnableLambda(main), RunnableLambda(backup)], name="answers")
    configs = [{"metadata": {"user": user}} for user in "ABC"]
    got = both.call(chain, "batch", ["good", "bad", "lost"], configs, return_exceptions=True)
    assert got[:2] == ["main for A", "backup for B"]
    assert [type(error) for error in got[2].exceptions] == [ConnectionResetError, TimeoutError]
    assert sorted(told.steps, key=str) == [
        ("connection", "answers/1", "ok"),
        ("connection", None, "failed"),
        ("timeout", "answers/1", "failed"),
    ]
    with pytest.raises(LadderExhausted):
        both.call(chain, "batch", ["good", "lost"], configs[:2])


@pytest.mark.row("B2")
@pytest.mark.case("case-F10")
def test_a_dead_runnable_is_soon_left_alone(both: Both, degrader: Degrader, clock: FakeClock, told: Told) -> None:
    main = speaker(ConnectionResetError())
    chain = degrader.runnable([main, speaker("Here.")], name="answers")
    for _ in range(120):
        assert both.call(chain, "invoke", "hi").content == "Here."
        clock.sleep(5)
    assert len(main.asked) <= 3 + 600 / 30
    assert ("open", "answers/1", "ok") in told.steps


@pytest.mark.row("B6")
def test_only_a_name_shares_breakers(both: Both, degrader: Degrader) -> None:
    dead = speaker(ConnectionResetError())
    for _ in range(5):
        both.call(degrader.runnable([dead, speaker("Here.")], name="answers"), "invoke", "hi")
        both.call(degrader.runnable([speaker(ConnectionResetError()), speaker("Here.")]), "invoke", "hi")
    assert degrader.breaker("runnable:answers").current_state == "open"
    assert both.call(degrader.runnable([speaker("Hello.")]), "invoke", "hi").content == "Hello."


class Runs(BaseCallbackHandler):
    """Who ran under whom."""

    def __init__(self) -> None:
        self.names: dict[Any, str] = {}
        self.parents: dict[str, str | None] = {}
        self.failed: list[str] = []

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, parent_run_id: Any = None, **_: Any) -> None:
        name = self.names[run_id] = _["name"]
        self.parents[name] = self.names.get(parent_run_id)

    def on_chain_error(self, error: BaseException, *, run_id: Any, **_: Any) -> None:
        self.failed.append(self.names[run_id])


@pytest.mark.parametrize("is_streamed", [False, True])
def test_traces_nest(both: Both, degrader: Degrader, is_streamed: bool) -> None:
    def main(_: Any) -> str:
        raise ConnectionResetError

    runs = Runs()
    members = [RunnableLambda(main, name="main"), RunnableLambda(lambda _: "Here.", name="backup")]
    chain = degrader.runnable(members, name="answers")
    config = {"callbacks": [runs]}
    if is_streamed:
        chunks(both, chain, "hi", config=config)
    else:
        both.call(chain, "invoke", "hi", config)
    assert runs.parents == {"answers": None, "main": "answers", "backup": "answers"}
    assert runs.failed == ["main"]


@pytest.mark.row("M5")
def test_every_token_reaches_the_graphs_stream_once(both: Both, degrader: Degrader) -> None:
    chain = degrader.runnable([MAIN | speaker(ConnectionResetError()), BACKUP | speaker(["It ", "is ", "packed."])])
    builder = StateGraph(MessagesState)
    builder.add_node("ask", RunnableLambda(lambda state: {"question": state["messages"][-1].content}) | chain | _noted)
    builder.add_edge(START, "ask")
    parts = chunks(both, builder.compile(), {"messages": [("user", "hi")]}, stream_mode="messages")
    assert [message.content for message, _ in parts if message.content] == ["It ", "is ", "packed."]


def _noted(message: Any) -> dict[str, Any]:
    return {"messages": [message]}


def test_what_is_guarded_inside_belongs_to_the_same_request(both: Both, degrader: Degrader, told: Told) -> None:
    @degrader.guard("stock", fallbacks=[lambda: 7])
    def stock() -> int:
        raise ConnectionResetError

    def main(_: Any) -> int:
        stock()
        raise TimeoutError

    both.call(degrader.runnable([main, lambda _: "Here."]), "invoke", "hi")
    assert len({event.id.partition(".")[0] for event in told}) == 1
    assert len(told) == 2


@pytest.mark.case("case-F08")
def test_every_one_gets_the_tools(both: Both, degrader: Degrader) -> None:
    main, backup = speaker(ConnectionResetError()), speaker(calls_it())
    chain = degrader.runnable([main, backup]).bind_tools([get_order], tool_choice="any")
    assert both.call(chain, "invoke", "hi").tool_calls[0]["name"] == "get_order"
    assert main.given == backup.given == [{"tools": [get_order], "tool_choice": "any"}]


class Order(BaseModel):
    """An order."""

    order: str


@pytest.mark.case("case-F08")
def test_every_one_gets_the_form_to_answer_in(both: Both, degrader: Degrader) -> None:
    answer = AIMessage("", tool_calls=[{"name": "Order", "args": {"order": "SO-1001"}, "id": "c1"}])
    main, backup = speaker(ConnectionResetError()), speaker(answer)
    chain = degrader.runnable([main, backup]).with_structured_output(Order)
    assert both.call(chain, "invoke", "hi") == Order(order="SO-1001")
    assert [given["tools"] for given in (*main.given, *backup.given)] == [[Order], [Order]]


@pytest.mark.case("case-F08")
def test_tools_are_never_dropped_in_silence(degrader: Degrader) -> None:
    chain = degrader.runnable([speaker("x"), speaker("x")], name="answers")
    with pytest.raises(TypeError, match="answers: with_structured_output would drop the tools"):
        chain.bind_tools([get_order]).with_structured_output(Order)
    with pytest.raises(TypeError, match=r"number 1, RunnableSequence, has no bind_tools.*prompt \| model.bind_tools"):
        degrader.runnable([speaker("x"), BACKUP | speaker("x")]).bind_tools([get_order])


def test_tools_change_nothing_about_who_is_known_to_be_down(both: Both, degrader: Degrader) -> None:
    main = speaker(ConnectionResetError())
    chain = degrader.runnable([main, speaker("Here.")])
    for _ in range(5):
        both.call(chain.bind_tools([get_order]), "invoke", "hi")
    assert len(main.asked) < 5


def test_it_composes_as_any_runnable_does(both: Both, degrader: Degrader) -> None:
    chain = degrader.runnable([MAIN | speaker("a", "a"), BACKUP | Speaker(lines=["b"])], name="answers")
    piped = {"question": RunnableLambda(str.upper)} | chain.with_config(tags=["x"]) | StrOutputParser()
    assert both.call(piped, "invoke", "hi") == "a"
    assert "".join(chunks(both, piped, "hi")) == "a"
    assert chain.get_input_schema().model_json_schema()["properties"].keys() == {"question"}
    assert chain.InputType is (MAIN | speaker("a")).InputType
    assert chain.OutputType == (MAIN | speaker("a")).OutputType
    assert chain.get_name() == "answers"
    assert chain.config_specs == []


def test_options_of_a_call_reach_whoever_is_asked(both: Both, degrader: Degrader) -> None:
    main, backup = speaker(ConnectionResetError()), speaker("Here.")
    both.call(degrader.runnable([main, backup]).bind(temperature=0), "invoke", "hi")
    assert main.given == backup.given == [{"temperature": 0}]


def test_it_says_what_is_wrong_with_it(degrader: Degrader) -> None:
    with pytest.raises(ValueError, match="one at least"):
        degrader.runnable([])
    with pytest.raises(TypeError):
        degrader.runnable(["gpt"])  # type: ignore[list-item]
