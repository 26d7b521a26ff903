"""Runnables over real HTTP, inside graphs: how often their models ask, and what those who watch get to see."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler, UsageMetadataCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel

from langgraph_degrade import Degrader, IncompleteStream, Tier
from langgraph_degrade.adapters.audience import Audience
from langgraph_degrade.testing import FakeClock
from tests.conftest import Both
from tests.models.test_chain import get_order
from tests.models.test_chain_faults import HALF_A_CALL, HEL, ROLE, Seen, _chunk
from tests.models.wire import Lines, Wire, completion, error, saying
from tests.servers.faults import Reply, sse

ASKED = ChatPromptTemplate([("user", "{q}")])
TALK = ChatPromptTemplate([("placeholder", "{messages}")])
ANSWER = "It is packed."


@pytest.fixture(scope="module")
def lines() -> Iterator[Lines]:
    with Lines("main", "backup") as lines:
        yield lines


@pytest.fixture
def wire(lines: Lines) -> Wire:
    return Wire(lines, "main", "backup")


class Wish(BaseModel):
    """What the customer wants."""

    order: str


@pytest.mark.row("T2")
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda model: ASKED | model | StrOutputParser(), id="in a sequence"),
        pytest.param(lambda model: ASKED | model.bind(stop=["x"]), id="bound"),
        pytest.param(lambda model: (ASKED | model).with_config(tags=["a"]), id="configured"),
        pytest.param(lambda model: RunnableParallel(answer=ASKED | model), id="in parallel"),
        pytest.param(lambda model: ASKED | model.with_structured_output(Wish, include_raw=True), id="in a form"),
        pytest.param(lambda model: ASKED | model.bind_tools([get_order]), id="with tools"),
        pytest.param(lambda model: ASKED | model.with_retry(stop_after_attempt=1), id="retried, not at all"),
    ],
)
@pytest.mark.parametrize("how", ["invoke", "stream"])
def test_the_models_inside_make_one_request_each(wire: Wire, lines: Lines, make: Any, how: str) -> None:
    wire.script(main=error(500, "oops"), backup=saying(how, "Here."))
    main, backup = lines.clients.values()
    chain = wire.degrader.runnable([make(main), ASKED | backup], name="answers")
    asked = {"q": "hi"}
    got = [chain.invoke(asked)] if how == "invoke" else list(chain.stream(asked))
    assert "".join(part.text for part in got) == "Here."
    assert len(wire.bodies("main")) == 1
    assert wire.kinds == [("server_error", "answers/1", "ok")]
    assert main.max_retries is None  # the application's own model is as it was


@pytest.mark.row("T2")
def test_a_model_inside_an_assignment_makes_one_request_too(wire: Wire, lines: Lines) -> None:
    wire.script(main=error(500, "oops"), backup=completion("Here."))
    chains = [RunnablePassthrough.assign(answer=ASKED | model) for model in lines.clients.values()]
    assert wire.degrader.runnable(chains).invoke({"q": "hi"})["answer"].text == "Here."
    assert len(wire.bodies("main")) == 1


@pytest.mark.row("T1")
@pytest.mark.row("T2")
def test_the_last_one_is_asked_once_more_in_place_of_its_sdks_retries(
    wire: Wire, lines: Lines, clock: FakeClock
) -> None:
    wire.script(main=[error(503, "busy"), completion("Here.")])
    chain = Degrader(clock=clock).runnable([ASKED | lines.clients["main"]])
    assert chain.invoke({"q": "hi"}).content == "Here."
    assert len(wire.bodies("main")) == 2


def test_what_is_no_model_is_never_run_twice(clock: FakeClock) -> None:
    ran: list[str] = []

    def busy(asked: str) -> str:
        ran.append(asked)
        response = error(503, "busy")
        raise OSError(f"503 {response.body!r}")

    with pytest.raises(OSError, match="503"):
        Degrader(clock=clock).runnable([busy]).invoke("hi")
    assert ran == ["hi"]


# --- who watches ----------------------------------------------------------------------------------------------------

WATCHING = ("messages", "amessages", "events", "events, streamed")


class Watch:
    """What a graph showed of the models inside, with a chain in its only node."""

    def __init__(self, chain: Any, way: str) -> None:
        self.shown: list[str] = []
        self.calls = 0
        self.way = way
        builder = StateGraph(MessagesState)

        def given(state: Any) -> Any:
            return {"messages": state["messages"], "q": "hi"}

        def noted(message: Any) -> Any:
            return {"messages": [message] if isinstance(message, AIMessage) else [AIMessage(message)]}

        inner = RunnableLambda(given) | chain | RunnableLambda(noted)
        if "streamed" in way:

            async def streamed(state: Any, config: Any) -> Any:
                parts = [part async for part in chain.astream(given(state), config)]
                return noted("".join(getattr(part, "text", part) for part in parts))

            inner = RunnableLambda(streamed)  # type: ignore[arg-type, assignment]
        builder.add_node("ask", inner)
        builder.add_edge(START, "ask")
        self._graph = builder.compile()

    def run(self, *messages: Any, **config: Any) -> None:
        asked = {"messages": list(messages) or [("user", "hi")]}
        if self.way == "messages":
            for part, _ in self._graph.stream(asked, config, stream_mode="messages"):
                self._see(part)
        else:
            asyncio.run(self._listen(asked, config))

    async def _listen(self, asked: Any, config: Any) -> None:
        if self.way == "amessages":
            async for part, _ in self._graph.astream(asked, config, stream_mode="messages"):
                self._see(part)
            return
        async for event in self._graph.astream_events(asked, config, version="v2"):
            if event["event"] == "on_chat_model_stream":
                self._see(event["data"]["chunk"])

    def _see(self, part: Any) -> None:
        assert isinstance(part, AIMessage | AIMessageChunk)
        self.shown += [part.text] if part.text else []
        self.calls += bool(getattr(part, "tool_call_chunks", None))


BEFORE_A_WORD: dict[str, tuple[Reply, str]] = {
    "cut": (sse([ROLE], "cut"), "connection"),
    "filtered": (sse([ROLE, _chunk({}, "content_filter")]), "content_filter"),
    "blank": (sse([ROLE, _chunk({"content": " "}), _chunk({}, "stop")]), "empty"),
    "half a call": (sse(HALF_A_CALL, "cut"), "connection"),
    "a call that is none": (sse([*HALF_A_CALL, _chunk({}, "tool_calls")]), "malformed_call"),
}
HALVES = [ANSWER[: len(ANSWER) // 2], ANSWER[len(ANSWER) // 2 :]]


@pytest.mark.row("M5")
@pytest.mark.parametrize("way", WATCHING)
@pytest.mark.parametrize(("fault", "kind"), BEFORE_A_WORD.values(), ids=BEFORE_A_WORD.keys())
def test_nothing_is_seen_of_a_member_that_failed(wire: Wire, lines: Lines, way: str, fault: Reply, kind: str) -> None:
    wire.script(main=fault, backup=saying("stream", ANSWER))
    chain = wire.degrader.runnable([TALK | model for model in lines.clients.values()], name="answers")
    watch = Watch(chain, way)
    watch.run()
    assert (watch.shown, watch.calls) == (HALVES, 0)
    assert wire.kinds == [(kind, "answers/1", "ok")]


@pytest.mark.row("M5")
@pytest.mark.parametrize("way", WATCHING)
def test_a_good_members_tokens_are_seen_as_they_come_each_once(wire: Wire, lines: Lines, way: str) -> None:
    wire.script(main=saying("stream", ANSWER))
    chain = wire.degrader.runnable([TALK | model | StrOutputParser() for model in lines.clients.values()])
    watch = Watch(chain, way)
    watch.run()
    assert watch.shown[:2] == HALVES
    assert watch.shown[2:] in ([], [ANSWER])  # the node makes a message of its own of the text
    assert wire.events == []


@pytest.mark.row("M5")
@pytest.mark.parametrize("way", WATCHING)
def test_after_a_word_was_seen_nobody_else_goes_on_whoever_asked_for_the_whole(
    wire: Wire, lines: Lines, way: str
) -> None:
    wire.script(main=sse(HEL, "cut"), backup=saying("stream", ANSWER))
    chain = wire.degrader.runnable([TALK | model for model in lines.clients.values()], name="answers")
    watch = Watch(chain, way)
    with pytest.raises(IncompleteStream, match="after a part of it was shown"):
        watch.run()
    assert watch.shown == ["Hel"]
    assert wire.bodies("backup") == []
    assert [(kind, outcome) for kind, _, outcome in wire.kinds] == [("connection", "cut")]


@pytest.mark.row("M5")
def test_where_nobody_watches_a_cut_answer_is_another_members_to_give(wire: Wire, lines: Lines) -> None:
    wire.script(main=sse(HEL, "cut"), backup=completion(ANSWER))
    main = lines.clients["main"].model_copy(update={"streaming": True})
    chain = wire.degrader.runnable([TALK | main, TALK | lines.clients["backup"]], name="answers")
    assert chain.invoke({"messages": [("user", "hi")]}).text == ANSWER
    assert wire.kinds == [("connection", "answers/1", "ok")]


FOUND: list[Any] = [
    HumanMessage("Where is SO-1001?"),
    AIMessage("", tool_calls=[{"name": "get_order", "args": {"order": "SO-1001"}, "id": "c1"}]),
    ToolMessage("packed", tool_call_id="c1"),
]


@pytest.mark.row("M5")
@pytest.mark.parametrize("way", WATCHING)
def test_an_answer_that_states_facts_is_seen_whole_or_not_at_all(wire: Wire, lines: Lines, way: str) -> None:
    wire.script(main=sse(HEL, "cut"), backup=saying("stream", ANSWER))
    chain = wire.degrader.runnable([TALK | model for model in lines.clients.values()], name="answers")
    watch = Watch(chain, way)
    watch.run(*FOUND)
    assert watch.shown == HALVES
    assert wire.kinds == [("connection", "answers/1", "ok")]


@pytest.mark.row("M5")
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("make", [lambda: FOUND, lambda: {"messages": FOUND}, lambda: TALK.invoke({"messages": FOUND})])
def test_a_stream_that_states_facts_is_shown_whole_or_not_at_all(
    wire: Wire, lines: Lines, is_async: bool, make: Any
) -> None:
    wire.script(main=sse(HEL, "cut"), backup=saying("stream", ANSWER))
    talk = (lambda model: TALK | model) if isinstance(make(), dict) else (lambda model: model)
    chain = wire.degrader.runnable([talk(model) for model in lines.clients.values()], name="answers")

    async def listen() -> list[Any]:
        return [chunk async for chunk in chain.astream(make())]

    got = asyncio.run(listen()) if is_async else list(chain.stream(make()))
    assert [chunk.text for chunk in got if chunk.text] == HALVES


class Listening(BaseCallbackHandler):
    """Hears that runs begin."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def on_chain_start(self, *_: Any, **told: Any) -> None:
        self.heard.append(told["name"])


@pytest.mark.row("M5")
def test_who_was_given_up_is_heard_no_more_and_who_was_heard_is_not_followed(both: Both) -> None:
    listening, audience = Listening(), Audience("hi", is_async=both.colour == "async")

    async def follow() -> None:
        late, second = audience.turn(), audience.turn()
        await late.hear(listening, "on_chain_start", ({}, {}), {"name": "late"})
        await late.accept()
        await second.hear(listening, "on_chain_start", ({}, {}), {"name": "second"})
        assert listening.heard == []
        await second.show()
        with pytest.raises(IncompleteStream):
            audience.turn()
        await second.hear(listening, "on_chain_start", ({}, {}), {"name": "too late"})

    both.run(follow())
    assert listening.heard == ["second"]


@pytest.mark.row("M5")
@pytest.mark.case("case-T01")
@pytest.mark.case("case-T02")
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("make", ["chat_model", "runnable"])
def test_half_a_call_of_a_model_that_always_streams_is_given_up(
    wire: Wire, lines: Lines, make: str, is_async: bool
) -> None:
    wire.script(main=sse([*HALF_A_CALL, _chunk({}, "tool_calls")]), backup=completion(ANSWER))
    main = lines.clients["main"].model_copy(update={"streaming": True})
    members = [model.bind_tools([get_order]) for model in (main, lines.clients["backup"])]
    tiers = [Tier("main", main), wire.tier("backup")]
    chain: Any = (
        wire.degrader.runnable([TALK | one for one in members])
        if make == "runnable"
        else TALK | wire.degrader.chat_model(tiers).bind_tools([get_order])
    )
    asked = {"messages": [("user", "hi")]}
    got = asyncio.run(chain.ainvoke(asked)) if is_async else chain.invoke(asked)
    assert (got.text, got.tool_calls) == (ANSWER, [])
    assert wire.kinds[0][0] == "malformed_call"


@pytest.mark.row("M5")
@pytest.mark.case("case-T01")
@pytest.mark.case("case-T02")
@pytest.mark.parametrize("way", ["messages", "amessages", "events", "invoke"])
def test_half_a_call_that_is_watched_in_an_agent_is_never_run(wire: Wire, lines: Lines, way: str) -> None:
    ran: list[str] = []

    @tool
    def refund(amount: int) -> str:
        """Give money back."""
        ran.append(str(amount))
        return "done"

    half = {"index": 0, "id": "c1", "type": "function", "function": {"name": "refund", "arguments": '{"amount": 12'}}
    wire.script(main=sse([ROLE, _chunk({"tool_calls": [half]}), _chunk({}, "tool_calls")]))
    main = lines.clients["main"].model_copy(update={"streaming": True} if way == "invoke" else {})
    seen = Seen()
    seen.run(create_agent(main, [refund], middleware=[wire.degrader.middleware()]), way)
    assert ran == []
    assert seen.state["messages"][-1].response_metadata["degraded"] is True
    assert wire.kinds[0][0] == "malformed_call"


@pytest.mark.parametrize("way", WATCHING)
def test_whoever_does_not_stream_hears_everything(wire: Wire, lines: Lines, way: str) -> None:
    """Tokens of a failed member were paid for, and its run is in the trace."""
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    counted = {**_chunk({}), "choices": [], "usage": usage}
    good = [_chunk({"role": "assistant", "content": ANSWER}), _chunk({}, "stop"), counted]
    wire.script(main=sse([ROLE, _chunk({}, "content_filter"), counted]), backup=sse(good))
    models = [model.model_copy(update={"stream_usage": True}) for model in lines.clients.values()]
    heard = UsageMetadataCallbackHandler()
    watch = Watch(wire.degrader.runnable([TALK | model for model in models]), way)
    watch.run(callbacks=[heard])
    assert watch.shown == [ANSWER]
    assert sum(used["total_tokens"] for used in heard.usage_metadata.values()) == 10


@pytest.mark.parametrize("way", ["messages", "amessages"])
def test_what_a_graph_shows_to_nobody_shows_nothing(wire: Wire, lines: Lines, way: str) -> None:
    wire.script(main=sse(HEL, "cut"), backup=saying("stream", ANSWER))
    chain = wire.degrader.runnable([TALK | model for model in lines.clients.values()]).with_config(tags=["nostream"])
    Watch(chain, way).run()
    assert wire.kinds[0][2] == "ok"
