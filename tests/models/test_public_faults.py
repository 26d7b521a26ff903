"""Faults that were reported in public, of chains of models and of tool calls on the wire, told again over real HTTP."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from langgraph_degrade import Degrader, IncompleteStream, LadderExhausted, Tier
from tests.models import wire
from tests.models.wire import STREAMS, WAYS, Lines, Wire, ask, call, calling, completion, error, parts, saying
from tests.selecting import HOURS, ORDER, REFUND

TOOLS = [ORDER, REFUND, HOURS]
ARGUMENTS = '{"order_id": "SO-1001"}'
RIGHT = call("get_order", ARGUMENTS, "b1")
"""What the backup calls."""
BY_NUMBER = json.dumps({"tool": "get_order", "number": 1, "arguments": {"order_id": "SO-1001"}})
both_ways = pytest.mark.parametrize("way", WAYS)
streamed = pytest.mark.parametrize("way", STREAMS)
T01, T02, T04, T05, T07 = (pytest.mark.case(f"case-{name}") for name in ("T01", "T02", "T04", "T05", "T07"))


@pytest.fixture(scope="module")
def lines() -> Iterator[Lines]:
    with Lines("main", "backup", "last") as lines:
        yield lines


@pytest.fixture
def tiers(lines: Lines) -> Wire:
    return Wire(lines, "main", "backup")


@pytest.fixture
def three(lines: Lines) -> Wire:
    return Wire(lines, "main", "backup", "last")


def made(message: AIMessage) -> list[tuple[str, Any]]:
    return [(one["name"], one["args"]) for one in message.tool_calls]


# --- calls that must not be run --------------------------------------------------------------------------------


@both_ways
@pytest.mark.row("M4")
@pytest.mark.parametrize(
    ("name", "arguments", "finish"),
    [
        pytest.param("refund", '{"order_id":"SO-1001","amount":12', "length", marks=T01, id="cut in a number"),
        pytest.param("get_order", '{"order_id":"SO-10', "length", marks=T01, id="cut in an id"),
        pytest.param("get_order", ARGUMENTS, "length", marks=T01, id="whole, in a cut message"),
        pytest.param("refund", '{"order_id":"SO-1001","amount":12', "tool_calls", marks=T02, id="reason rewritten"),
        pytest.param("get_order", '{"order_id":"SO-10', "tool_calls", marks=T02, id="id cut, reason rewritten"),
        pytest.param("", "{}}", "tool_calls", marks=T04, id="no name"),
        pytest.param("查订单 tool", ARGUMENTS, "tool_calls", marks=T04, id="illegal name"),
        pytest.param("get_order", ARGUMENTS * 2, "tool_calls", marks=T04, id="extra data"),
        pytest.param("get_order", "", "tool_calls", marks=T05, id="nothing, but required"),
        pytest.param("get_order", "null", "tool_calls", marks=T05, id="null, but required"),
        pytest.param("get_order", "[1,2]", "tool_calls", marks=T05, id="a list"),
        pytest.param("get_order", "42", "tool_calls", marks=T05, id="a number"),
    ],
)
def test_a_call_that_is_none_is_never_given_out_and_the_next_tier_makes_its_own(
    tiers: Wire, way: str, name: str, arguments: str, finish: str
) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 300, "total_tokens": 303}
    tiers.script(main=calling(way, call(name, arguments), finish=finish, usage=usage), backup=calling(way, RIGHT))
    answer = ask(tiers.model().bind_tools(TOOLS, max_tokens=300), way)
    assert made(answer) == [("get_order", {"order_id": "SO-1001"})]
    assert (answer.invalid_tool_calls, answer.response_metadata["tier"]) == ([], "backup")
    assert tiers.kinds[0][0] == "malformed_call"
    assert tiers.kinds[-1][1:] == ("backup", "ok")
    assert len(tiers.bodies("backup")) == 1


@both_ways
@T01
@T02
@pytest.mark.parametrize("finish", ["length", "tool_calls"])
def test_a_model_is_told_of_its_cut_call_and_gets_nothing_back_that_poisons_the_request(
    tiers: Wire, way: str, finish: str
) -> None:
    cut = calling(way, call("refund", '{"order_id":"SO-1001","amount":12'), finish=finish)
    tiers.script(main=[cut, calling(way, call("refund", '{"order_id":"SO-1001","amount":1299}'))])
    answer = ask(tiers.model().bind_tools(TOOLS), way, "Refund 1299 for SO-1001.")
    assert made(answer) == [("refund", {"order_id": "SO-1001", "amount": 1299})]
    *_, sent, result = tiers.bodies("main")[1]["messages"]
    assert sent["tool_calls"][0]["function"] == {"name": "refund", "arguments": "{}"}
    assert (result["role"], result["tool_call_id"]) == ("tool", "c1")
    assert "cut off" in result["content"]
    assert tiers.kinds == [("malformed_call", "main, told", "ok")]


@streamed
@T01
def test_a_call_cut_behind_text_that_was_shown_ends_the_stream_and_is_not_shown(tiers: Wire, way: str) -> None:
    half = parts(call("refund", '{"order_id":"SO-1001","amount":12'))
    tiers.script(main=wire.stream(["One ", "moment."], "tool_calls", *half))
    got: list[AIMessageChunk] = []
    with pytest.raises(IncompleteStream):
        wire.listen(tiers.model().bind_tools(TOOLS), way, "Refund 1299 for SO-1001.", got)
    assert "".join(str(chunk.text) for chunk in got) == "One moment."
    assert not any(chunk.tool_call_chunks for chunk in got)
    assert tiers.kinds == [("malformed_call", "main", "cut")]
    assert tiers.bodies("backup") == []


@both_ways
@T05
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # openai's, of an object where a text belongs
@pytest.mark.parametrize("arguments", [{"order_id": "SO-1001"}, [1, 2], 42])
def test_arguments_that_are_no_text_end_no_turn(tiers: Wire, way: str, arguments: Any) -> None:
    wrong = call("get_order", arguments)
    wrongly = wire.stream([], "tool_calls", {"index": 0, **wrong}) if way in STREAMS else calling(way, wrong)
    tiers.script(main=[wrongly, saying(way, BY_NUMBER)])
    answer = ask(tiers.model().bind_tools(TOOLS), way)
    assert made(answer) == [("get_order", {"order_id": "SO-1001"})]
    assert tiers.kinds == [("malformed_call", "main, numbered", "ok")]


@both_ways
@pytest.mark.row("M1")
def test_a_promise_of_calls_without_any_is_an_empty_answer(tiers: Wire, way: str) -> None:
    nothing = wire.stream([], "tool_calls") if way in STREAMS else completion(None, "tool_calls")
    tiers.script(main=nothing, backup=calling(way, RIGHT))
    assert ask(tiers.model().bind_tools(TOOLS), way).response_metadata["tier"] == "backup"
    assert tiers.kinds == [("empty", "backup", "ok")]


# --- calls that are written another way ---------------------------------------------------------------------------


@both_ways
@pytest.mark.row("L1")
@pytest.mark.parametrize(
    ("name", "arguments", "args"),
    [
        pytest.param("functions.get_order", ARGUMENTS, {"order_id": "SO-1001"}, id="prefix"),
        pytest.param("opening_hours", "", {}, marks=T05, id="nothing, and nothing required"),
        pytest.param("opening_hours", "null", {}, marks=T05, id="null, and nothing required"),
        pytest.param(
            "get_order",
            '{"order_id": 1917043659912705296}',
            {"order_id": "1917043659912705296"},
            marks=pytest.mark.case("case-T14"),
            id="an id without its quotes",
        ),
    ],
)
def test_a_call_that_says_it_another_way_is_the_main_tiers_own(
    tiers: Wire, way: str, name: str, arguments: str, args: Any
) -> None:
    tiers.script(main=calling(way, call(name, arguments)))
    answer = ask(tiers.model().bind_tools(TOOLS), way)
    assert made(answer) == [(name.removeprefix("functions."), args)]
    assert answer.response_metadata["tier"] == "main"
    assert tiers.events == []


@T05
@both_ways
def test_arguments_that_were_encoded_twice_are_run_once(tiers: Wire, way: str) -> None:
    tiers.script(main=[calling(way, call("get_order", json.dumps(ARGUMENTS))), saying(way, BY_NUMBER)])
    assert made(ask(tiers.model().bind_tools(TOOLS), way)) == [("get_order", {"order_id": "SO-1001"})]


@both_ways
@T07
@pytest.mark.parametrize("ids", [("c1", "c1"), (None, None), ("", "c1")])
def test_calls_get_ids_of_their_own(tiers: Wire, way: str, ids: tuple[str | None, str | None]) -> None:
    calls = [call("get_order", json.dumps({"order_id": order}), id) for order, id in zip("AB", ids, strict=True)]
    tiers.script(main=calling(way, *calls))
    answer = ask(tiers.model().bind_tools(TOOLS), way)
    assert made(answer) == [("get_order", {"order_id": "A"}), ("get_order", {"order_id": "B"})]
    given = [one["id"] for one in answer.tool_calls]
    assert all(given)
    assert len(set(given)) == 2


A, B = (call("get_order", json.dumps({"order_id": order}), f"c{order}") for order in "AB")


@streamed
@pytest.mark.row("M5")
@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(
            [piece for pair in zip(parts(A, 0), parts(B, 1), strict=True) for piece in pair], id="interleaved"
        ),
        pytest.param([*parts(A, 0, whole=True), *parts(B, 0, whole=True)], id="one index for both"),
        pytest.param([*parts(A, None, whole=True), *parts(B, None, whole=True)], id="no index"),
    ],
)
def test_parallel_calls_of_a_stream_are_told_apart(tiers: Wire, way: str, pieces: list[Any]) -> None:
    tiers.script(main=wire.stream([], "tool_calls", *pieces))
    answer = ask(tiers.model().bind_tools(TOOLS), way)
    assert made(answer) == [("get_order", {"order_id": "A"}), ("get_order", {"order_id": "B"})]
    assert [one["id"] for one in answer.tool_calls] == ["cA", "cB"]


def _named(made: Any) -> list[dict[str, Any]]:
    """Its parts without an index, each under the call's id."""
    return [{**part, "id": made["id"]} for part in parts(made, None)]


@streamed
@pytest.mark.row("M5")
@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([*parts(A, None), *parts(B, None)], id="one after the other"),
        pytest.param([*_named(A), *_named(B)], id="every piece with its id"),
        pytest.param(
            [piece for pair in zip(_named(A), _named(B), strict=True) for piece in pair], id="interleaved, with ids"
        ),
        pytest.param([*parts(A, None), *parts(B, None, whole=True)], id="a whole one after one in pieces"),
    ],
)
def test_pieces_without_an_index_belong_to_the_only_call_they_can(tiers: Wire, way: str, pieces: list[Any]) -> None:
    tiers.script(main=wire.stream([], "tool_calls", *pieces))
    answer = ask(tiers.model().bind_tools(TOOLS), way)
    assert made(answer) == [("get_order", {"order_id": "A"}), ("get_order", {"order_id": "B"})]
    assert [one["id"] for one in answer.tool_calls] == ["cA", "cB"]
    assert tiers.events == []


@streamed
@pytest.mark.row("M5")
def test_words_before_pieces_without_an_index_are_kept(tiers: Wire, way: str) -> None:
    tiers.script(main=wire.stream(["One moment."], "tool_calls", *parts(A, None)))
    answer = ask(tiers.model().bind_tools(TOOLS), way)
    assert (answer.text, made(answer)) == ("One moment.", [("get_order", {"order_id": "A"})])


@streamed
@pytest.mark.row("M5")
@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([*parts(A, 0), *parts(B, 0)], id="one index for both"),
        pytest.param(
            [piece for pair in zip(parts(A, None), parts(B, None), strict=True) for piece in pair], id="mixed"
        ),
        pytest.param([*parts(A, None, whole=True), parts(B, None)[1]], id="a piece of a call that never began"),
        pytest.param([parts(A, None)[0], {**parts(A, None)[1], "id": "cB"}], id="a piece under another id"),
        pytest.param(parts(A, None)[:1], id="cut"),
    ],
)
def test_pieces_that_nobody_can_put_together_are_no_calls(tiers: Wire, way: str, pieces: list[Any]) -> None:
    tiers.script(main=wire.stream([], "tool_calls", *pieces), backup=calling(way, RIGHT))
    answer = ask(tiers.model().bind_tools(TOOLS), way)
    assert (made(answer), answer.response_metadata["tier"]) == ([("get_order", {"order_id": "SO-1001"})], "backup")
    assert tiers.kinds[0][0] == "malformed_call"


# --- calls written as text ------------------------------------------------------------------------------------------

AS_TEXT = pytest.mark.parametrize(
    "text",
    [
        '[{"name":"get_order","arguments":{"id":"A"}}]',
        '<tool_call>{"name":"get_order","arguments":{"id":"A"}',
        '{"tool_name":"get_order","tool_input":{"id":"A"}}',
        '```json\n{"name": "get_order", "arguments": {"order_id": "A"}}\n```',
        '<tool_code>print(get_order(order_id="A"))</tool_code>',
    ],
)


@both_ways
@pytest.mark.case("case-T10")
@AS_TEXT
def test_a_call_written_as_text_is_asked_for_by_number_and_then_goes_to_the_next_tier(
    tiers: Wire, way: str, text: str
) -> None:
    tiers.script(main=saying(way, text), backup=calling(way, RIGHT))
    answer = ask(tiers.model().bind_tools(TOOLS), way)
    assert (answer.text, made(answer)) == ("", [("get_order", {"order_id": "SO-1001"})])
    assert [told[1:] for told in tiers.kinds] == [("main, numbered", "failed"), ("backup", "ok")]
    assert (len(tiers.bodies("main")), len(tiers.bodies("backup"))) == (2, 1)


@both_ways
@pytest.mark.case("case-T10")
@AS_TEXT
def test_a_call_written_as_text_is_malformed_and_made_by_number(tiers: Wire, way: str, text: str) -> None:
    tiers.script(main=[saying(way, text), saying(way, BY_NUMBER)])
    answer = ask(tiers.model().bind_tools(TOOLS), way)
    assert (answer.text, made(answer)) == ("", [("get_order", {"order_id": "SO-1001"})])
    assert tiers.kinds == [("malformed_call", "main, numbered", "ok")]


@both_ways
@pytest.mark.case("case-T10")
@AS_TEXT
def test_a_customer_may_paste_such_text_and_an_answer_may_look_like_it(tiers: Wire, way: str, text: str) -> None:
    answers = ["That is a tool call.", '{"name": "Ada", "arguments": "none"}', "[1] Your order is packed.", "<b>Hi</b>"]
    for said in answers:
        tiers.script(main=saying(way, said))
        assert ask(tiers.model().bind_tools(TOOLS), way, f"What is this? {text}").text == said
    tiers.script(main=saying(way, text))
    assert ask(tiers.model(), way, "Show me a tool call.").text == text  # no tools: nothing to call
    assert tiers.events == []


# --- what is sent ---------------------------------------------------------------------------------------------------

OLD = "get_order:0"
THREADS: dict[str, list[Any]] = {
    "T04": [
        HumanMessage("hi"),
        AIMessage("", tool_calls=[{"name": "查订单 tool", "args": {}, "id": "c1"}]),
        ToolMessage("tool not found", tool_call_id="c1", name=""),
    ],
    "T07": [
        HumanMessage("A?"),
        AIMessage("", tool_calls=[{"name": "get_order", "args": {"order_id": "A"}, "id": OLD}]),
        ToolMessage("A ok", tool_call_id=OLD),
        AIMessage("", tool_calls=[{"name": "get_order", "args": {"order_id": "B"}, "id": OLD}]),
        ToolMessage("B ok", tool_call_id=OLD),
    ],
    "T08": [
        AIMessage("", tool_calls=[{"name": "get_order", "args": {}, "id": "b9"}]),
        ToolMessage("r", tool_call_id="b9"),
        AIMessage("", tool_calls=[{"name": "get_order", "args": {}, "id": "b9"}]),
        HumanMessage("在吗"),
    ],
    "T11": [
        AIMessage("", tool_calls=[{"name": "get_order", "args": {}, "id": "c1"}]),
        HumanMessage("[LOOP DETECTED] stop"),
        ToolMessage("r", tool_call_id="c1"),
    ],
}


@both_ways
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.case(f"case-{name}"), id=name) for name in THREADS]
)
def test_a_poisoned_thread_goes_out_with_every_call_answered_once_next_to_it(tiers: Wire, way: str, name: str) -> None:
    tiers.script(main=saying(way, "Yes."))
    ask(tiers.model().bind_tools(TOOLS), way, [*THREADS[name], HumanMessage("And now?")])
    sent = tiers.bodies("main")[0]["messages"]
    ids: list[str] = []
    for place, message in enumerate(sent):
        calls = message.get("tool_calls", [])
        results = sent[place + 1 : place + 1 + len(calls)]
        assert [one["id"] for one in calls] == [result.get("tool_call_id") for result in results]
        assert all(one["function"]["name"].isascii() and " " not in one["function"]["name"] for one in calls)
        ids += [one["id"] for one in calls]
    assert len(set(ids)) == len(ids) == sum(message["role"] == "tool" for message in sent)
    wanted = [message.text for message in THREADS[name] if isinstance(message, HumanMessage)]
    said = [message["content"] for message in sent if message["role"] == "user"]
    assert "\n\n".join(said) == "\n\n".join([*wanted, "And now?"])


@both_ways
@pytest.mark.case("case-F08")
def test_every_member_gets_the_tools_whoever_answers(three: Wire, way: str) -> None:
    three.script(main=error(500, "oops"), backup=error(500, "oops"), last=calling(way, RIGHT))
    answer = ask(three.model().bind_tools(TOOLS), way)
    assert answer.response_metadata["tier"] == "last"
    for name in three.names:
        (body,) = three.bodies(name)
        assert body["model"] == name
        assert [tool["function"]["name"] for tool in body["tools"]] == ["get_order", "refund", "opening_hours"]


class Wish(BaseModel):
    """What the customer wants."""

    order_id: str


@pytest.mark.case("case-F07")
@pytest.mark.case("case-F08")
def test_structured_output_reaches_every_member_in_the_form_it_takes(tiers: Wire) -> None:
    told = call("Wish", ARGUMENTS)
    tiers.script(main=error(400, "This response_format type is unavailable now"), backup=calling("invoke", told))
    assert tiers.model().with_structured_output(Wish).invoke("SO-1001?") == Wish(order_id="SO-1001")
    for name in tiers.names:
        (body,) = tiers.bodies(name)
        assert "response_format" not in body
        assert [tool["function"]["name"] for tool in body["tools"]] == ["Wish"]


@pytest.mark.case("case-F08")
@pytest.mark.parametrize("include_raw", [False, True])
def test_tools_bound_before_a_form_to_answer_in_go_along(tiers: Wire, include_raw: bool) -> None:
    elsewhere, right = call("get_order", ARGUMENTS, "c0"), call("Wish", ARGUMENTS)
    tiers.script(main=[calling("invoke", elsewhere)] * 3, backup=calling("invoke", right))
    model = tiers.model().bind_tools(TOOLS, parallel_tool_calls=False)
    got = model.with_structured_output(Wish, include_raw=include_raw).invoke("SO-1001?")
    assert (got["parsed"] if include_raw else got) == Wish(order_id="SO-1001")
    for name in tiers.names:
        body = tiers.bodies(name)[0]
        assert [tool["function"]["name"] for tool in body["tools"]] == ["get_order", "refund", "opening_hours", "Wish"]
        assert body["tool_choice"] == {"type": "function", "function": {"name": "Wish"}}
    menu = tiers.bodies("main")[-1]["messages"][0]["content"]
    assert "Wish" in menu  # asked by number, there is one thing to choose
    assert "get_order" not in menu
    assert [told[1:] for told in tiers.kinds] == [("main, numbered", "failed"), ("backup", "ok")]


@pytest.mark.case("case-F08")
def test_a_form_alone_is_bound_alone_whatever_was_bound_elsewhere(tiers: Wire) -> None:
    model = tiers.model()
    model.bind_tools(TOOLS).with_structured_output(Wish)
    tiers.script(main=calling("invoke", call("Wish", ARGUMENTS)))
    assert model.with_structured_output(Wish).invoke("SO-1001?") == Wish(order_id="SO-1001")
    assert [tool["function"]["name"] for tool in tiers.bodies("main")[0]["tools"]] == ["Wish"]


@both_ways
@pytest.mark.case("case-F07")
@pytest.mark.parametrize("takes", [True, False])
def test_a_tier_asked_by_number_gets_a_form_only_where_its_server_keeps_to_one(
    tiers: Wire, way: str, takes: bool
) -> None:
    tier = tiers.tier("main", prompt="numbered", abilities=["json_schema"] if takes else [])
    tiers.script(main=saying(way, BY_NUMBER))
    ask(tiers.degrader.chat_model([tier]).bind_tools(TOOLS), way)
    assert ("response_format" in tiers.bodies("main")[0]) is takes


# --- requests a tier does not take --------------------------------------------------------------------------------

REFUSED = {
    "T13": "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "F04": "Thinking mode does not support this tool_choice",
    "F04, DashScope": "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set "
    "to required or object in thinking mode",
    "F05": "parameter.enable_thinking must be set to false for non-streaming calls",
    "F07": "This response_format type is unavailable now",
}


@both_ways
@pytest.mark.row("F1")
@pytest.mark.parametrize(
    "message", [pytest.param(REFUSED[name], marks=pytest.mark.case(f"case-{name[:3]}"), id=name) for name in REFUSED]
)
def test_a_request_a_tier_does_not_take_is_not_repeated_and_goes_on_without_opening_a_breaker(
    tiers: Wire, way: str, message: str
) -> None:
    tiers.script(main=error(400, message), backup=calling(way, RIGHT))
    model = tiers.model().bind_tools(TOOLS, tool_choice="any")
    for _ in range(5):
        assert ask(model, way).response_metadata["tier"] == "backup"
    assert len(tiers.bodies("main")) == 5
    assert set(tiers.kinds) == {("bad_request", "backup", "ok")}
    assert all(body["tool_choice"] == "required" for body in tiers.bodies("backup"))


@both_ways
@pytest.mark.case("case-T13")
@pytest.mark.case("case-F05")
@pytest.mark.row("M7")
def test_the_same_model_with_thinking_off_is_a_tier_of_its_own(tiers: Wire, way: str) -> None:
    off = {"extra_body": {"enable_thinking": False}}
    tiers.script(main=error(400, REFUSED["F05"]), backup=calling(way, RIGHT))
    chain = [tiers.tier("main"), tiers.tier("backup", settings=off)]
    assert made(ask(tiers.degrader.chat_model(chain).bind_tools(TOOLS), way)) == [
        ("get_order", {"order_id": "SO-1001"})
    ]
    assert "enable_thinking" not in tiers.bodies("main")[0]
    assert tiers.bodies("backup")[0]["enable_thinking"] is False


@both_ways
@pytest.mark.case("case-F04")
def test_a_tier_that_cannot_be_forced_is_asked_freely_and_must_call_all_the_same(three: Wire, way: str) -> None:
    three.script(main=error(503, "busy"), backup=saying(way, "It is packed."), last=calling(way, RIGHT))
    free = three.tier("backup", settings={"tool_choice": "auto"})
    chain = [three.tier("main"), free, three.tier("last")]
    answer = ask(three.degrader.chat_model(chain).bind_tools(TOOLS, tool_choice="any"), way)
    assert (answer.text, answer.response_metadata["tier"]) == ("", "last")
    freely, by_number = three.bodies("backup")
    assert freely["tool_choice"] == "auto"
    assert "tool_choice" not in by_number
    assert three.kinds[0] == ("malformed_call", "backup", "failed")


# --- which tier, and how often --------------------------------------------------------------------------------------


@both_ways
@pytest.mark.case("case-F01")
def test_a_backup_whose_window_is_too_small_is_not_asked(three: Wire, way: str) -> None:
    three.script(main=error(503, "busy"), last=saying(way, "It is packed."))
    windows = {"main": 1_000_000, "backup": 8_192, "last": 131_072}
    model = three.degrader.chat_model([three.tier(name, window=size) for name, size in windows.items()])
    history = [HumanMessage("Where is order SO-1001? " * 3_000)]
    assert ask(model, way, history).response_metadata["tier"] == "last"
    assert three.bodies("backup") == []
    assert "backup skipped" in three.events[0].reason


@both_ways
@pytest.mark.case("case-F02")
@pytest.mark.parametrize("window", [8_192, None], ids=["no larger", "unknown"])
def test_after_an_overflow_only_a_window_known_to_be_larger_is_tried(tiers: Wire, way: str, window: int | None) -> None:
    overflow = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."
    tiers.script(main=error(400, overflow, "context_length_exceeded"))
    chain = [tiers.tier("main", window=8_192), tiers.tier("backup", window=window)]
    with pytest.raises(Exception, match="8192"):
        ask(tiers.degrader.chat_model(chain), way)
    assert (len(tiers.bodies("main")), tiers.bodies("backup")) == (1, [])
    assert [event.kind for event in tiers.events] == ["context_overflow"]


@both_ways
@pytest.mark.case("case-F10")
@pytest.mark.row("B2")
def test_a_dead_main_tier_is_asked_once_a_request_and_three_times_in_all(tiers: Wire, way: str) -> None:
    tiers.script(main=error(500, "oops"), backup=saying(way, "It is packed."))
    model = tiers.model()
    for turn in range(8):
        assert ask(model, way).response_metadata["tier"] == "backup"
        assert len(tiers.bodies("main")) == min(turn + 1, 3)
    assert len(tiers.bodies("backup")) == 8


@both_ways
@pytest.mark.case("case-F13")
def test_a_mistake_in_a_tiers_template_is_told_as_what_it_is(tiers: Wire, way: str) -> None:
    mistaken = ChatPromptTemplate([("system", "You serve {shop}."), ("placeholder", "{messages}")])
    tiers.script(backup=saying(way, "It is packed."))
    chain = [tiers.tier("main", prompt=mistaken), tiers.tier("backup")]
    assert ask(tiers.degrader.chat_model(chain), way).response_metadata["tier"] == "backup"
    assert tiers.bodies("main") == []
    assert [(event.kind, event.reason) for event in tiers.events] == [("unknown", "KeyError")]


@pytest.mark.case("case-F14")
@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_retries_of_layers_do_not_multiply(three: Wire, way: str) -> None:
    three.script(**{name: error(401, "no", "invalid_api_key") for name in three.names})
    with pytest.raises(LadderExhausted):
        ask(three.model(), way)
    assert [len(three.bodies(name)) for name in three.names] == [1, 1, 1]


@pytest.mark.case("case-F14")
def test_tiers_that_share_an_address_and_a_key_are_warned_of_without_the_key(caplog: pytest.LogCaptureFixture) -> None:
    def tier(name: str, host: str, key: str) -> Tier:
        return Tier(name, ChatOpenAI(model=name, base_url=f"http://{host}/v1", api_key=key))  # type: ignore[arg-type]

    caplog.set_level(logging.WARNING, logger="langgraph_degrade")
    Degrader().chat_model([tier("a", "one", "key-1"), tier("b", "two", "key-1"), tier("c", "one", "key-2")])
    assert caplog.records == []
    Degrader().chat_model([tier("a", "one", "key-1"), tier("b", "two", "key-1"), tier("c", "one", "key-1")])
    (record,) = caplog.records
    assert "['a', 'c'] share an address and a key" in record.getMessage()
    assert "key-1" not in record.getMessage()
