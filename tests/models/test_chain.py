"""A chain of tiers within agents, streams and outages: what is asked of whom, what is shown, what is kept in mind."""

from __future__ import annotations

import asyncio
import copy
import pickle  # noqa: TID251 - to see that it is refused
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool

from langgraph_degrade import DegradeContext, Degrader, IncompleteStream, KeywordTemplate, LadderExhausted, Policy, Tier
from langgraph_degrade.testing import FakeClock, run_virtual
from tests.conftest import Both

QUESTION = {"messages": [("user", "Where is order SO-1001?")]}


class Speaker(BaseChatModel):
    """Says its lines in order, the last one for ever: a text, a message, chunks, or an error to raise."""

    lines: list[Any]
    asked: list[Any] = []
    given: list[dict[str, Any]] = []

    @property
    def _llm_type(self) -> str:
        return "speaker"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=tools, **kwargs)

    def _line(self, messages: Any, given: dict[str, Any]) -> Any:
        line = self.lines[min(len(self.asked), len(self.lines) - 1)]
        self.asked.append(list(messages))
        self.given.append(given)
        if isinstance(line, Exception):
            raise line
        return line

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        line = self._line(messages, kwargs)
        message = line if isinstance(line, AIMessage) else AIMessage(str(line))
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Iterator[Any]:
        line = self._line(messages, kwargs)
        for part in line if isinstance(line, list) else [line]:
            if isinstance(part, Exception):
                raise part
            yield ChatGenerationChunk(message=_chunk(part))


def _chunk(part: Any) -> AIMessageChunk:
    if isinstance(part, AIMessageChunk):
        return part
    return _chunked(part) if isinstance(part, AIMessage) else AIMessageChunk(content=str(part))


def _chunked(message: AIMessage) -> AIMessageChunk:
    calls = [
        tool_call_chunk(name=c["name"], args='{"order": "SO-1001"}', id=c["id"], index=0) for c in message.tool_calls
    ]
    return AIMessageChunk(content=message.content, tool_call_chunks=calls)


def speaker(*lines: Any) -> Speaker:
    return Speaker(lines=list(lines), asked=[], given=[])


@tool
def get_order(order: str) -> dict[str, Any]:
    """Look an order up.

    Args:
        order: The order's number, like SO-1001.
    """
    return {"order": order, "status": "packed"}


def calls_it(**args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "get_order", "args": args or {"order": "SO-1001"}, "id": "c1"}])


def told(out: Any) -> list[tuple[Any, ...]]:
    return [(e["kind"], e.get("direction"), e.get("source"), e["outcome"]) for e in DegradeContext.of(out).events]


@pytest.mark.row("M1")
@pytest.mark.row("M7")
def test_an_agents_middleware_swaps_model_prompt_and_settings_together(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    main = speaker(ConnectionResetError())
    backup = speaker(calls_it(), "It is packed.")
    prompt = ChatPromptTemplate([("system", "You are the backup. Be brief."), ("placeholder", "{messages}")])
    tiers = [Tier("main", main), Tier("backup", backup, prompt=prompt, settings={"reasoning_effort": "low"})]
    agent = create_agent(
        speaker("never asked"), [get_order], system_prompt="You are the best.", middleware=[degrader.middleware(tiers)]
    )
    out = both.call(agent, "invoke", QUESTION)
    assert out["messages"][-1].content == "It is packed."
    assert [message.content for message in backup.asked[0]] == [
        "You are the backup. Be brief.",
        "Where is order SO-1001?",
    ]
    assert backup.given[0]["reasoning_effort"] == "low"
    assert backup.given[0]["tools"][0]["function"]["name"] == "get_order"
    assert main.asked[0][0].content == "You are the best."
    assert told(out) == [("connection", "model", "backup", "ok")] * 2


@pytest.mark.row("M4")
@pytest.mark.row("L1")
def test_a_malformed_call_is_told_once_and_then_asked_by_number(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    wrong = AIMessage("", tool_calls=[{"name": "find_order", "args": {"order": "SO-1001"}, "id": "c1"}])
    numbered = '{"tool": "get_order", "number": 1, "arguments": {"order": "SO-1001"}}'
    main = speaker(wrong, calls_it(colour="red"), numbered, "It is packed.")
    agent = create_agent(main, [get_order], middleware=[degrader.middleware([Tier("main", main)])])
    out = both.call(agent, "invoke", QUESTION)
    assert out["messages"][-1].content == "It is packed."
    assert isinstance(main.asked[1][-1], ToolMessage)
    assert told(out) == [
        ("malformed_call", "model", "main, told", "failed"),
        ("malformed_call", "model", "main, numbered", "ok"),
    ]


@pytest.mark.row("L1")
def test_the_customers_words_choose_where_no_model_can(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    words = KeywordTemplate("get_order", ["order", "订单"], {"order": re.compile(r"(SO-\d{4})")})
    model = degrader.chat_model([Tier("main", speaker(ConnectionResetError()))], keywords=[words]).bind_tools(
        [get_order]
    )
    answer = both.call(model, "invoke", "Where is my order SO-1001?")
    assert [(call["name"], call["args"]) for call in answer.tool_calls] == [("get_order", {"order": "SO-1001"})]


@pytest.mark.row("L1")
def test_the_customer_is_asked_for_what_is_missing(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    main = speaker(calls_it(order=7))
    model = degrader.chat_model([Tier("main", main)]).bind_tools([get_order])
    answer = both.call(model, "invoke", "Where is my order?")
    assert answer.tool_calls == []
    assert "still need from you" in str(answer.content)
    assert answer.response_metadata["degraded"] is True


@pytest.mark.row("M1")
def test_a_wording_tier_puts_facts_into_a_sentence_and_decides_nothing(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    wording = speaker("Your order is packed.")
    tiers = [Tier("main", speaker(calls_it(), ConnectionResetError())), Tier("minimal", wording, use="wording")]
    agent = create_agent(speaker("x"), [get_order], middleware=[degrader.middleware(tiers)])
    out = both.call(agent, "invoke", QUESTION)
    assert out["messages"][-1].content == "Your order is packed."
    assert "packed" in str(wording.asked[0][-1].content)
    assert "tools" not in wording.given[0]


@pytest.mark.row("M6")
def test_a_tier_that_cannot_decide_is_skipped_with_a_reason(both: Both, clock: FakeClock) -> None:
    events: list[Any] = []
    degrader = Degrader(clock=clock, listeners=[events.append])
    minimal = speaker("never asked")
    tiers = [Tier("main", speaker(ConnectionResetError())), Tier("minimal", minimal, use="wording")]
    model = degrader.chat_model(tiers).bind_tools([get_order])
    with pytest.raises((LadderExhausted, ConnectionResetError)):
        both.call(model, "invoke", "Where is SO-1001?")
    assert minimal.asked == []
    assert "minimal skipped: words only" in events[-1].reason


@pytest.mark.row("M1")
@pytest.mark.row("A1")
def test_what_a_wording_tier_makes_up_is_never_shown(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    minimal = speaker("Your order is packed, and it was refunded.")
    tiers = [Tier("main", speaker(calls_it(), ConnectionResetError())), Tier("minimal", minimal, use="wording")]
    agent = create_agent(speaker("never asked"), [get_order], middleware=[degrader.middleware(tiers)])
    out = both.call(agent, "invoke", QUESTION)
    answer = str(out["messages"][-1].content)
    assert "refunded" not in answer
    assert "status: packed" in answer  # the facts themselves
    [event] = [e for e in DegradeContext.of(out).events if e.get("source") == "minimal"]
    assert (event["kind"], event["outcome"]) == ("schema", "failed")
    assert "'refunded' is not among the facts" in str([e["reason"] for e in DegradeContext.of(out).events])


@pytest.mark.row("L1")
@pytest.mark.row("A3")
def test_with_every_model_down_but_the_smallest_the_answer_says_how_it_was_come_by(
    both: Both, clock: FakeClock
) -> None:
    degrader = Degrader(clock=clock)
    words = KeywordTemplate("get_order", ["order"], {"order": re.compile(r"(SO-\d{4})")})
    tiers = [Tier("main", speaker(ConnectionResetError())), Tier("minimal", speaker("It is packed."), use="wording")]
    agent = create_agent(speaker("x"), [get_order], middleware=[degrader.middleware(tiers, keywords=[words])])
    out = both.call(agent, "invoke", QUESTION)
    first, rest = str(out["messages"][-1].content).split("\n")
    assert first == "It is packed."
    assert "by the words of your question alone" in rest


@pytest.mark.row("E4")
@pytest.mark.row("M2")
def test_a_weak_model_that_calls_the_same_again_is_not_followed(both: Both, clock: FakeClock) -> None:
    sent: list[int] = []

    @tool
    def refund(amount: int) -> str:
        """Refund an amount, in yuan."""
        sent.append(amount)
        return f"refunded {amount}"

    again = '{"tool": "refund", "number": 1, "arguments": {"amount": 50}}'
    degrader = Degrader(Policy.model_validate({"tools": {"refund": {"effect": "write"}}}), clock=clock)
    tiers = [Tier("main", speaker(again), prompt="numbered"), Tier("backup", speaker("Refunded 50."), use="wording")]
    agent = create_agent(speaker("x"), [refund], middleware=[degrader.middleware(tiers)])
    out = both.call(agent, "invoke", {"messages": [("user", "Please refund 50 yuan.")]})
    assert sent == [50]
    assert out["messages"][-1].content == "Refunded 50."


@pytest.mark.row("M2")
def test_a_weak_model_that_only_repeats_the_question_gives_no_answer(both: Both, clock: FakeClock) -> None:
    replies = [
        '{"tool": "get_order", "number": 1, "arguments": {"order": "SO-1001"}}',
        '{"tool": "none", "number": 0, "text": "Where is order SO-1001?"}',
    ]
    degrader = Degrader(clock=clock)
    agent = create_agent(
        speaker("x"),
        [get_order],
        middleware=[degrader.middleware([Tier("main", speaker(*replies), prompt="numbered")])],
    )
    out = both.call(agent, "invoke", QUESTION)
    assert "status: packed" in str(out["messages"][-1].content)


@pytest.mark.row("M1")
@pytest.mark.row("A4")
def test_a_wording_tier_is_not_asked_where_something_is_missing(both: Both, clock: FakeClock) -> None:
    @tool
    def get_weather(city: str) -> str:
        """Look up the weather."""
        raise ConnectionResetError

    degrader = Degrader(Policy.model_validate({"tools": {"get_weather": {"effect": "read"}}}), clock=clock)
    minimal = speaker("never asked")
    asks = AIMessage("", tool_calls=[{"name": "get_weather", "args": {"city": "Oslo"}, "id": "c1"}])
    tiers = [Tier("main", speaker(asks, ConnectionResetError())), Tier("minimal", minimal, use="wording")]
    agent = create_agent(speaker("never asked"), [get_weather], middleware=[degrader.middleware(tiers)])
    out = both.call(agent, "invoke", QUESTION)
    assert minimal.asked == []
    assert "Not available at the moment: “get_weather" in str(out["messages"][-1].content)


@pytest.mark.row("M5")
def test_after_text_was_shown_no_other_tier_goes_on(both: Both, clock: FakeClock) -> None:
    events: list[Any] = []
    degrader = Degrader(clock=clock, listeners=[events.append])
    backup = speaker("never shown")
    model = degrader.chat_model(
        [Tier("main", speaker(["Your ", "order ", ConnectionResetError()])), Tier("backup", backup)]
    )
    shown: list[str] = []
    with pytest.raises(IncompleteStream):
        both.run(_collect(both, model, "hi", shown))
    assert "".join(shown) == "Your order "
    assert backup.asked == []
    assert [(event.kind, event.outcome) for event in events] == [("connection", "cut")]


async def _collect(both: Both, model: Any, asked: Any, shown: list[str]) -> None:
    if both.colour == "sync":
        for chunk in model.stream(asked):
            shown.append(str(chunk.text))  # noqa: PERF401 - what came before an error is kept
        return
    async for chunk in model.astream(asked):
        shown.append(str(chunk.text))  # noqa: PERF401


@pytest.mark.row("M5")
@pytest.mark.case("case-T01")
def test_half_a_call_is_never_shown_and_the_next_tier_makes_its_own(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    half = AIMessageChunk(
        content="", tool_call_chunks=[tool_call_chunk(name="get_order", args='{"order": "SO-1', id="c1", index=0)]
    )
    tiers = [Tier("main", speaker([half, ConnectionResetError()])), Tier("backup", speaker([calls_it()]))]
    model = degrader.chat_model(tiers).bind_tools([get_order])
    got: list[Any] = []
    both.run(_gather(both, model, "Where is SO-1001?", got))
    whole = got[0]
    for chunk in got[1:]:
        whole = whole + chunk
    assert [call["args"] for call in whole.tool_calls] == [{"order": "SO-1001"}]


async def _gather(both: Both, model: Any, asked: Any, got: list[Any]) -> None:
    if both.colour == "sync":
        got.extend(model.stream(asked))
        return
    got.extend([chunk async for chunk in model.astream(asked)])


@pytest.mark.row("M5")
def test_an_answer_with_facts_is_shown_whole_or_not_at_all(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    tiers = [Tier("main", speaker(["It was ", ConnectionResetError()])), Tier("backup", speaker(["It is ", "packed."]))]
    history = [HumanMessage("Where is it?"), calls_it(), ToolMessage('{"status": "packed"}', tool_call_id="c1")]
    shown: list[str] = []
    both.run(_collect(both, degrader.chat_model(tiers), history, shown))
    assert "".join(shown) == "It is packed."


@pytest.mark.row("M5")
@pytest.mark.row("M7")
@pytest.mark.parametrize("is_async", [False, True])
def test_every_token_reaches_the_graphs_stream_exactly_once(is_async: bool) -> None:
    degrader = Degrader()
    tiers = [Tier("main", speaker(ConnectionResetError())), Tier("backup", speaker(["It ", "is ", "packed."]))]
    agent = create_agent(speaker("x"), [], middleware=[degrader.middleware(tiers)])

    async def stream() -> list[Any]:
        return [part async for part in agent.astream(QUESTION, stream_mode="messages")]

    parts = asyncio.run(stream()) if is_async else list(agent.stream(QUESTION, stream_mode="messages"))
    assert [message.content for message, _ in parts if message.content] == ["It ", "is ", "packed."]


@pytest.mark.row("M3")
@pytest.mark.row("B2")
@pytest.mark.case("case-F10")
def test_a_main_model_dead_for_ten_minutes_costs_the_half_open_calls_only(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    main = speaker(TimeoutError())
    model = degrader.chat_model([Tier("main", main), Tier("backup", speaker("Here."))])
    for _ in range(120):
        assert both.call(model, "invoke", "hi").content == "Here."
        clock.sleep(5)
    assert len(main.asked) <= 3 + 600 / 30


@pytest.mark.row("M1")
def test_a_main_model_that_hangs_is_left_alone_though_its_users_come_one_by_one(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    main = speaker(TimeoutError())
    model = degrader.chat_model([Tier("main", main), Tier("backup", speaker("Here."))])
    for seconds in (30, 30, *[1] * 20):  # the first calls hang for so long
        assert both.call(model, "invoke", "hi").content == "Here."
        clock.sleep(seconds)
    assert len(main.asked) == 3


@pytest.mark.row("S1")
def test_tokens_of_replies_nobody_sees_are_counted(both: Both, clock: FakeClock) -> None:
    usage = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    degrader = Degrader(clock=clock)
    blank = AIMessage("", usage_metadata=usage)  # type: ignore[arg-type]
    good = AIMessage("Here.", usage_metadata=usage)  # type: ignore[arg-type]
    answer = both.call(
        degrader.chat_model([Tier("main", speaker(blank)), Tier("backup", speaker(good))]), "invoke", "hi"
    )
    assert answer.usage_metadata["total_tokens"] == 14


@pytest.mark.row("F1")
@pytest.mark.row("M1")
def test_a_refused_request_goes_where_the_application_says(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    refused = AIMessage("", response_metadata={"finish_reason": "content_filter"})
    other, chosen = speaker("never asked"), speaker("Certainly.")
    tiers = [Tier("main", speaker(refused)), Tier("other", other), Tier("chosen", chosen)]
    answer = both.call(degrader.chat_model(tiers, on_refusal=["chosen"]), "invoke", "hi")
    assert answer.content == "Certainly."
    assert other.asked == []


@pytest.mark.row("T1")
def test_only_the_last_tier_waits_for_its_retry_after(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(Policy(), clock=clock)

    class Busy(Exception):
        status_code = 429
        retry_after = 4.0

    last = speaker(Busy(), "Here.")
    before = clock.monotonic()
    answer = both.call(
        degrader.chat_model([Tier("main", speaker(ConnectionResetError())), Tier("last", last)]), "invoke", "hi"
    )
    assert answer.content == "Here."
    assert clock.monotonic() - before >= 0.5


@pytest.mark.row("T1")
@pytest.mark.parametrize("is_known_to_be_down", [False, True])
def test_the_last_tier_is_waited_for_before_words_alone_decide(
    both: Both, clock: FakeClock, is_known_to_be_down: bool
) -> None:
    degrader = Degrader(clock=clock)

    class Busy(Exception):
        status_code = 429
        retry_after = 4.0

    words = KeywordTemplate("get_order", ["order"], {"order": re.compile(r"(SO-\d{4})")})
    last = speaker(Busy(), "It is packed.")
    model = degrader.chat_model([Tier("main", last)], keywords=[words]).bind_tools([get_order])
    if is_known_to_be_down:
        degrader.breaker("model:main").open()
    answer = both.call(model, "invoke", "Where is my order SO-1001?")
    assert bool(answer.tool_calls) is is_known_to_be_down
    assert (answer.content == "It is packed.") is not is_known_to_be_down


@pytest.mark.row("B2")
@pytest.mark.row("M5")
@pytest.mark.parametrize("tools", [[], [get_order]])
def test_streams_cut_after_their_first_words_open_the_breaker_as_soon_as_any_failure(
    both: Both, clock: FakeClock, tools: list[Any]
) -> None:
    main = speaker(*[["It is ", ConnectionResetError()]] * 4, ["It is ", "sent."])
    model: Any = Degrader(clock=clock).chat_model([Tier("main", main), Tier("backup", speaker("It is packed."))])
    model = model.bind_tools(tools) if tools else model
    for _ in range(3):
        with pytest.raises(IncompleteStream):
            both.run(_collect(both, model, "Where?", []))
    assert _said(both, model) == "It is packed."
    assert len(main.asked) == 3
    clock.sleep(31)  # half-open: a stream that begins well has proved nothing yet
    with pytest.raises(IncompleteStream):
        both.run(_collect(both, model, "Where?", []))
    assert _said(both, model) == "It is packed."
    clock.sleep(31)
    assert _said(both, model) == "It is sent."


@pytest.mark.row("B4")
def test_who_stops_listening_proves_nothing_about_a_model(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    main = speaker(*[ConnectionResetError()] * 3, ["It is ", "sent."])
    model = degrader.chat_model([Tier("main", main), Tier("backup", speaker("It is packed."))])
    for _ in range(4):
        assert _said(both, model) == "It is packed."
    clock.sleep(31)

    async def leave() -> None:
        steps: Any = model.stream("Where?") if both.colour == "sync" else model.astream("Where?")
        assert (next(steps) if both.colour == "sync" else await anext(steps)).content == "It is "
        steps.close() if both.colour == "sync" else await steps.aclose()

    both.run(leave())
    assert degrader.breaker("model:main").current_state == "half-open"
    assert _said(both, model) == "It is sent."  # the permit was given back


def _said(both: Both, model: Any) -> str:
    shown: list[str] = []
    both.run(_collect(both, model, "Where?", shown))
    return "".join(shown)


@pytest.mark.row("T1")
def test_where_no_words_match_the_last_tier_is_waited_for_by_whoever_comes_later_too(
    both: Both, clock: FakeClock
) -> None:
    degrader = Degrader(clock=clock)
    busy = httpx.Response(429, headers={"Retry-After": "4"}, request=httpx.Request("POST", "http://model"))
    words = KeywordTemplate("get_order", ["order"], {"order": re.compile(r"(SO-\d{4})")})
    last = speaker(httpx.HTTPStatusError("busy", request=busy.request, response=busy), "It is packed.")
    model = degrader.chat_model([Tier("main", last)], keywords=[words]).bind_tools([get_order])
    with degrader.scope(retries=0), pytest.raises(LadderExhausted):
        both.call(model, "invoke", "Hello?")
    began = clock.monotonic()
    assert both.call(model, "invoke", "Hello?").content == "It is packed."  # it is known to be busy by now
    assert clock.monotonic() - began >= 3.9


@pytest.mark.row("M7")
@pytest.mark.parametrize("make", ["chat_model", "runnable"])
def test_what_holds_breakers_is_not_pickled_and_its_copy_is_itself(make: str) -> None:
    degrader = Degrader()
    made: Any = (
        degrader.chat_model([Tier("main", speaker("x"))])
        if make == "chat_model"
        else degrader.runnable([speaker("x")], name="main")
    )
    for one in (made, made.bind_tools([get_order])):
        with pytest.raises(TypeError, match="cannot be pickled: it stands behind the breakers"):
            pickle.dumps(one)
    assert copy.deepcopy(made) is made
    assert copy.deepcopy({"model": made.bind_tools([get_order])})["model"].invoke("Hi").content == "x"


def test_a_chain_says_what_is_wrong_with_it() -> None:
    degrader = Degrader()
    with pytest.raises(ValueError, match="names of their own"):
        degrader.chat_model([Tier("a", speaker("x")), Tier("a", speaker("x"))])
    with pytest.raises(ValueError, match="the first tier decides"):
        degrader.chat_model([Tier("a", speaker("x"), use="wording")])
    with pytest.raises(ValueError, match="'numbered'"):
        Tier("a", speaker("x"), prompt="by number")  # type: ignore[arg-type]


@pytest.mark.row("M3")
def test_probes_move_traffic_before_users_notice_and_back(clock: FakeClock) -> None:
    degrader = Degrader(clock=clock)
    main = speaker("Main.")
    model = degrader.chat_model([Tier("main", main), Tier("backup", speaker("Backup."))])

    async def ask() -> str:
        return str((await model.ainvoke("hi")).content)

    async def day() -> list[str]:
        answers = [await ask()]
        async with degrader:
            main.lines[:] = [ConnectionResetError()]
            await asyncio.sleep(120)
            answers.append(await ask())
            main.lines[:] = ["Main."]
            await asyncio.sleep(120)
            answers.append(await ask())
        return answers

    assert run_virtual(day(), clock) == ["Main.", "Backup.", "Main."]
    assert [one[-1].content for one in main.asked].count("hi") == 2  # no user waited for a dead model


@pytest.mark.row("M5")
@pytest.mark.row("T3")
def test_a_slow_listener_is_not_the_models_slowness(both: Both, clock: FakeClock) -> None:
    degrader = Degrader(Policy.model_validate({"targets": {"model:main": {"timeout": "1s"}}}), clock=clock)
    model = degrader.chat_model([Tier("main", speaker(["a ", "b ", "c"]))])
    shown: list[str] = []

    async def listen() -> None:
        if both.colour == "sync":
            for chunk in model.stream("hi"):
                shown.append(str(chunk.text))
                clock.sleep(5)
            return
        async for chunk in model.astream("hi"):
            shown.append(str(chunk.text))
            await asyncio.sleep(5)

    both.run(listen())
    assert "".join(shown) == "a b c"


@pytest.mark.row("L1")
def test_who_may_not_call_is_given_no_tools_and_no_keywords(both: Both, clock: FakeClock) -> None:
    main = speaker("Just words.")
    words = KeywordTemplate("get_order", ["order"], {"order": re.compile(r"(SO-\d{4})")})
    model = Degrader(clock=clock).chat_model([Tier("main", main, prompt="numbered")], keywords=[words])
    answer = both.call(model.bind_tools([get_order], tool_choice="none"), "invoke", "Where is order SO-1001?")
    assert (answer.content, answer.tool_calls) == ("Just words.", [])
    assert "tools" not in main.given[0]


class Strict(Speaker):
    """Puts `strict` into its own words, as providers' models do, and takes it no other way."""

    def bind_tools(self, tools: Any, *, strict: bool | None = None, **kwargs: Any) -> Any:
        return self.bind(tools=[{**one, "strictly": strict} for one in tools], **kwargs)


@pytest.mark.row("M7")
@pytest.mark.case("case-F08")
def test_options_about_tools_go_through_the_models_own_binding(both: Both, clock: FakeClock) -> None:
    main = Strict(lines=[calls_it()], asked=[], given=[])
    model = Degrader(clock=clock).chat_model([Tier("main", main)]).bind_tools([get_order], strict=True)
    assert both.call(model, "invoke", "Where is SO-1001?").tool_calls
    assert main.given[0]["tools"][0]["strictly"] is True
    assert "strict" not in main.given[0]


@pytest.mark.row("R2")
def test_the_failure_of_a_model_another_middleware_brought_is_recorded(both: Both, clock: FakeClock) -> None:
    class Swap(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(model=speaker(ConnectionResetError())))

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return await handler(request.override(model=speaker(ConnectionResetError())))

    ours = Degrader(clock=clock).middleware([Tier("main", speaker("never asked"))])
    out = both.call(create_agent(speaker("x"), [], middleware=[ours, Swap()]), "invoke", QUESTION)
    assert out["messages"][-1].response_metadata["degraded"] is True
    assert told(out) == [("connection", "function", None, "unavailable")]
