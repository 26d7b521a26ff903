"""Answers of models that look like successes: the public cases over real sockets, and the rest of their kind."""

from __future__ import annotations

import json
import logging
from typing import Any

import httpx
import httpx2
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult, Generation, LLMResult
from openai.types.chat import ChatCompletion

from langgraph_degrade.failures import Failure, Kind, classify
from tests.servers.clients import CHATS, ask
from tests.servers.faults import FaultServer, Reply, json_reply, sse

pytestmark = pytest.mark.row("F1")


def failure_of(outcome: object, **terms: Any) -> Failure:
    failure = classify(outcome, **{"source": "model", **terms})
    assert failure is not None
    return failure


def kind_of(outcome: object, **terms: Any) -> Kind | None:
    failure = classify(outcome, **{"source": "model", **terms})
    return failure and failure.kind


def completion(content: Any = "", reason: str | None = "stop", **message: Any) -> dict[str, Any]:
    return {
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": reason}
        ]
    }


def call(arguments: Any, name: str = "refund") -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


def delta(content: Any = None, reason: str | None = None, **more: Any) -> dict[str, Any]:
    part = {"content": content} if content is not None else {}
    return {"choices": [{"index": 0, "delta": {**part, **more}, "finish_reason": reason}]}


def fetched(server: FaultServer) -> list[Any]:
    """The same answer as the plain HTTP clients see it."""
    clients = (httpx.get, httpx2.get)
    return [*(get(server.url, verify=False) for get in clients), requests.get(server.url, timeout=10)]


CUT_ARGUMENTS = '{"order_id":"SO-1001","amount":12'
GBK = json.dumps(completion("您好"), ensure_ascii=False).encode("gbk")
CUT_JSON = json.dumps(completion("您的订单已经发出，请注意查收")).encode()[:60]
JSON = {"Content-Type": "application/json"}


@pytest.mark.case("case-S01")
@pytest.mark.parametrize(
    ("body", "through_chat", "through_http"),
    [
        ({"choices": None}, "schema", "schema"),
        ({"choices": []}, "schema", "schema"),
        ({"error": {"code": 429, "message": "limited"}}, "rate_limit", "rate_limit"),
        ({"error": "boom"}, "schema", "schema"),
        # LangChain drops the body and keeps its keys only; where the body is still there, it tells more.
        ({"code": 20012, "message": "Model does not exist", "data": None}, "schema", "not_found"),
        (b"<html>login</html>", "schema", "schema"),
        (CUT_JSON, "schema", "schema"),
        # UTF-8 is what the client insists on; the text itself can be read (cleaning results is another room's business).
        (GBK, "schema", None),
    ],
    ids=["null", "none", "error-429", "error-text", "envelope", "html", "cut", "gbk"],
)
def test_a_200_without_an_answer_is_a_bad_answer(
    server: FaultServer, model: Any, body: Any, through_chat: Kind, through_http: Kind | None
):
    server.script(Reply(200, JSON, body) if isinstance(body, bytes) else json_reply(body))
    assert {kind_of(ask(model, way)) for way in ("invoke", "ainvoke")} == {through_chat}
    assert {kind_of(response) for response in fetched(server)} == {through_http}


@pytest.mark.row("F2")
@pytest.mark.case("case-S01")
def test_an_error_inside_a_200_is_classified_like_its_status(server: FaultServer, model: Any):
    server.script(json_reply({"error": {"code": 429, "message": "limited, retry after 7 seconds"}}))
    failures = [failure_of(outcome) for outcome in (ask(model, "invoke"), *fetched(server))]
    assert {(failure.kind, failure.status, failure.reason) for failure in failures} == {("rate_limit", 429, "http 429")}
    assert {failure.retry_after for failure in failures} == {7.0}


FILTERED = completion("", "content_filter")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        pytest.param(FILTERED, "content_filter", marks=pytest.mark.case("case-P14")),
        pytest.param(completion("partial", "content_filter"), "content_filter", marks=pytest.mark.case("case-P14")),
        pytest.param(completion("您的退款申请已", "insufficient_system_resource"), "overloaded", marks=pytest.mark.case("case-P16")),
        pytest.param(completion(None), "empty", marks=pytest.mark.case("case-S02")),
        pytest.param(completion("  \n\u200b", reasoning_content="..."), "empty", marks=pytest.mark.case("case-S11")),
        pytest.param(completion(None, "length", tool_calls=[call(CUT_ARGUMENTS)]), "malformed_call", marks=pytest.mark.case("case-S10")),
        pytest.param(
            completion(None, "tool_calls", tool_calls=[call('{"title":"物流异常","desc":"客户反馈')]), "malformed_call",
            marks=pytest.mark.case("case-T02"),
        ),
        pytest.param(completion(None, "tool_calls", tool_calls=[call("{}", name="")]), "malformed_call", marks=pytest.mark.case("case-T04")),
        pytest.param(completion("", "model_context_window_exceeded"), "context_overflow", marks=pytest.mark.case("case-C08")),
        (completion("half an ans", "length"), "schema"),
        (completion(None, "length", tool_calls=[call('{"order_id":"SO-1001"}')]), "malformed_call"),
        (completion(None, "stop", refusal="I can't help with that"), "refusal"),
        (completion("Hello"), None),
        (completion("Hello", None), None),
        (completion(None, "tool_calls", tool_calls=[call('{"order_id":"SO-1001"}')]), None),
        (completion(None, "tool_calls", tool_calls=[call("")]), None),
        (completion(None, "stop", tool_calls=[call("{}")]), None),
    ],
)  # fmt: skip
def test_an_answer_is_judged_alike_as_a_message_and_as_json(
    server: FaultServer, model: Any, body: Any, kind: Kind | None
):
    server.script(json_reply(body))
    outcomes = [ask(model, "invoke"), ask(model, "ainvoke"), *fetched(server), body]
    assert {kind_of(outcome) for outcome in outcomes} == {kind}


REASONS: list[tuple[str, Kind]] = [
    ("insufficient_system_resource", "overloaded"), ("network_error", "server_error"), ("error", "server_error"),
    ("sensitive", "content_filter"), ("content_filter", "content_filter"), ("SAFETY", "content_filter"),
    ("RECITATION", "content_filter"), ("PROHIBITED_CONTENT", "content_filter"), ("guardrail_intervened", "content_filter"),
    ("refusal", "refusal"), ("MALFORMED_FUNCTION_CALL", "malformed_call"), ("UNEXPECTED_TOOL_CALL", "malformed_call"),
    ("model_context_window_exceeded", "context_overflow"), ("length", "schema"), ("MAX_TOKENS", "schema"),
    ("max_output_tokens", "schema"),
]  # fmt: skip


@pytest.mark.case("case-P16")
@pytest.mark.parametrize(("reason", "kind"), REASONS)
@pytest.mark.parametrize("content", ["您的退款申请已", ""])
@pytest.mark.parametrize("key", ["finish_reason", "stop_reason", "done_reason", "stopReason"])
def test_a_reason_that_is_no_success_is_a_failure(reason: str, kind: Kind, content: str, key: str):
    failure = failure_of(AIMessage(content, response_metadata={key: reason}))
    assert failure.kind == kind
    assert failure.transient is False  # P16 wants some of these retried; spec T1 says timeouts and connections only


@pytest.mark.case("case-P16")
@pytest.mark.parametrize(
    "reason", ["stop", "tool_calls", "end_turn", "STOP", "eos_token", "stop_sequence", "COMPLETE", "stopstop", "normal"]
)
def test_a_known_good_reason_is_a_success(reason: str):
    assert kind_of(AIMessage("Hello", response_metadata={"finish_reason": reason})) is None


@pytest.mark.case("case-P16")
def test_an_unknown_reason_is_trusted_only_with_text(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, "langgraph_degrade"):
        assert kind_of(AIMessage("Hello", response_metadata={"finish_reason": "because"})) is None
    assert [record.args for record in caplog.records] == [("because",)]
    assert kind_of(AIMessage("", response_metadata={"finish_reason": "because"})) == "empty"


class TestStreams:
    S04 = (
        'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":"您的订单"}}',
        'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    )
    S05 = (delta("您的订单", role="assistant"), delta("已退款"))
    S07 = (
        'event: message_start\ndata: {"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}',
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":0}}',
        'event: message_stop\ndata: {"type":"message_stop"}',
    )
    S08 = (
        {"id": "", "choices": [], "prompt_filter_results": []},
        delta("A"),
        delta(reason="stop"),
        {"choices": [], "usage": {"total_tokens": 2}},
    )
    T01 = (delta(tool_calls=[{"index": 0, **call(CUT_ARGUMENTS)}]), delta(reason="length"))
    T01_REWRITTEN = (delta(tool_calls=[{"index": 0, **call(CUT_ARGUMENTS)}]), delta(reason="tool_calls"))
    WHOLE_CALL = (
        delta(tool_calls=[{"index": 0, **call('{"order_id":')}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": '"SO-1001"}'}}]),
        delta(reason="tool_calls"),
    )

    @pytest.mark.parametrize(
        ("events", "end", "kind"),
        [
            pytest.param(S04, "close", "overloaded", marks=pytest.mark.case("case-S04")),
            pytest.param(S05, "close", "connection", marks=pytest.mark.case("case-S05")),
            pytest.param(S07, "done", "empty", marks=pytest.mark.case("case-S07")),
            pytest.param(S08, "done", None, marks=pytest.mark.case("case-S08")),
            pytest.param(T01, "done", "malformed_call", marks=pytest.mark.case("case-T01")),
            pytest.param(T01_REWRITTEN, "done", "malformed_call", marks=pytest.mark.case("case-T02")),
            (WHOLE_CALL, "done", None),
            ((delta("A"), delta(reason="content_filter")), "done", "content_filter"),
            ((delta("A"), delta(reason="length")), "done", "schema"),
            ((delta(""), delta(reason="stop")), "done", "empty"),
            ((delta("A"), {"error": {"code": "rate_limit_exceeded", "message": "x", "type": "requests"}}), "close", "rate_limit"),
            ((delta("A"), {"error": {"code": 502, "message": "upstream"}}), "close", "server_error"),
        ],
    )  # fmt: skip
    def test_a_stream_is_judged_alike_added_up_and_as_text(
        self, server: FaultServer, model: Any, events: Any, end: Any, kind: Kind | None
    ):
        server.script(sse(events, end))
        outcomes = [*(ask(model, way) for way in ("stream", "astream")), *fetched(server)]
        assert {kind_of(outcome) for outcome in outcomes} == {kind}

    @pytest.mark.case("case-S04")
    def test_an_error_in_an_open_stream_is_not_a_200(self, server: FaultServer, model: Any):
        server.script(sse(self.S04, "close"))
        assert {failure_of(ask(model, way)).status for way in ("stream", "astream")} == {None}

    @pytest.mark.case("case-S05")
    def test_a_cut_stream_is_a_lost_connection_and_transient(self, server: FaultServer, model: Any):
        server.script(sse(self.S05, "close"))
        failure = failure_of(ask(model, "stream"))
        assert (failure.reason, failure.transient) == ("stream ended early", True)

    @pytest.mark.case("case-S05")
    def test_a_host_that_never_gives_a_reason_is_complete_with_its_done(self, server: FaultServer, model: Any):
        """On the wire `[DONE]` tells; LangChain swallows it, so there the host has to be declared."""
        server.script(sse(self.S05, "done"))
        assert {kind_of(response) for response in fetched(server)} == {None}
        assert kind_of(ask(model, "stream")) == "connection"
        assert kind_of(ask(model, "stream"), expects_finish=False) is None

    def test_a_stream_of_nothing_is_a_bad_answer(self, server: FaultServer, model: Any):
        server.script(sse([], "close"))
        assert kind_of(ask(model, "stream")) == "schema"

    @pytest.mark.row("F3")
    @pytest.mark.case("case-S08")
    def test_a_chunk_of_a_running_stream_is_not_yet_anything(self, server: FaultServer, model: Any):
        server.script(sse(self.S08))
        *running, _ = model.stream("hi")
        assert [kind_of(chunk) for chunk in running] == [None] * 4
        assert kind_of(AIMessageChunk("")) is None

    def test_anthropic_gemini_and_responses_streams_are_read(self):
        def text(*events: dict[str, Any]) -> str:
            return "".join(f"event: {event.get('type')}\ndata: {json.dumps(event)}\n\n" for event in events)

        started = {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "name": "refund", "input": {}},
        }
        half = {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"a": 1'},
        }
        rest = {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "}"}}
        used = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
        said = {"type": "response.output_text.delta", "delta": "Hello"}
        failed = {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "x"}}}
        assert kind_of(text(started, half, rest, used)) is None
        assert kind_of(text(started, half, used)) == "malformed_call"
        assert kind_of(text(started, half)) == "malformed_call"
        assert kind_of(text(said, {"type": "response.completed"})) is None
        assert kind_of(text(said)) == "connection"
        assert kind_of(text(said, failed)) == "server_error"
        assert kind_of(text({"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]})) is None


class TestMessages:
    @pytest.mark.case("case-S10")
    def test_one_broken_call_among_good_ones_is_a_malformed_turn(self):
        broken = {"type": "invalid_tool_call", "id": "c2", "name": "refund", "args": "{", "error": "x"}
        good = {"name": "get_order", "args": {}, "id": "c1"}
        assert kind_of(AIMessage("", tool_calls=[good], invalid_tool_calls=[broken])) == "malformed_call"
        assert kind_of(AIMessage("", tool_calls=[good])) is None

    @pytest.mark.case("case-T01")
    @pytest.mark.case("case-T05")
    @pytest.mark.parametrize(
        ("arguments", "kind"),
        [("", None), ("{}", None), ('{"a": 1}', None), (CUT_ARGUMENTS, "malformed_call"), ("[1,2]", "malformed_call"),
         ("42", "malformed_call"), ("{}}", "malformed_call")],
    )  # fmt: skip
    def test_the_raw_text_of_a_call_decides_not_what_a_parser_made_of_it(self, arguments: str, kind: Kind | None):
        chunk = {"name": "refund", "args": arguments, "id": "c1", "index": 0}
        message = AIMessageChunk(
            "", tool_call_chunks=[chunk], chunk_position="last", response_metadata={"finish_reason": "stop"}
        )
        assert kind_of(message) == kind

    @pytest.mark.case("case-T05")
    @pytest.mark.parametrize("arguments", ["[1,2]", "42", {"order_id": 1}])
    def test_arguments_that_kill_the_client_are_a_bad_answer(self, server: FaultServer, model: Any, arguments: Any):
        server.script(json_reply(completion(None, "tool_calls", tool_calls=[call(arguments)])))
        assert kind_of(ask(model, "invoke")) == "schema"

    @pytest.mark.row("F3")
    @pytest.mark.case("case-S11")
    def test_an_empty_closing_turn_after_a_tool_has_delivered_is_a_success(self):
        closing = AIMessage("", response_metadata={"finish_reason": "stop"})
        assert kind_of(closing) == "empty"
        assert kind_of(closing, allow_empty=True) is None
        assert (
            kind_of(AIMessage("", response_metadata={"finish_reason": "content_filter"}), allow_empty=True)
            == "content_filter"
        )

    @pytest.mark.row("F3")
    @pytest.mark.parametrize(
        "message",
        [
            AIMessage("Hello"),
            AIMessage([{"type": "text", "text": "Hello"}]),
            AIMessage([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "Hello"}]),
            AIMessage([{"type": "image", "url": "https://shop.test/a.png"}]),
            AIMessage("", additional_kwargs={"audio": {"id": "a", "data": "AAAA"}}),
            AIMessage("", additional_kwargs={"function_call": {"name": "f", "arguments": "{}"}}),
            AIMessage("An error occurred: 503 Service Unavailable", response_metadata={"finish_reason": "stop"}),
            AIMessage('{"error": {"code": 429}}', response_metadata={"finish_reason": "stop"}),
            AIMessage("Hello", response_metadata={"model_provider": "openai", "finish_reason": None}),
            AIMessage("Hello", response_metadata={"model_provider": "openai", "status": "completed"}),
        ],
    )
    def test_a_message_with_something_to_show_is_a_success(self, message: AIMessage):
        assert kind_of(message) is None

    @pytest.mark.parametrize(
        "message",
        [
            AIMessage(""),
            AIMessage(" \u3000\n"),
            AIMessage([]),
            AIMessage([{"type": "text", "text": " "}]),
            AIMessage([{"type": "reasoning", "reasoning": "I should answer"}]),
            AIMessage([{"type": "thinking", "thinking": "hm", "signature": "s"}]),
        ],
    )
    def test_a_message_with_nothing_to_show_is_empty(self, message: AIMessage):
        assert kind_of(message) == "empty"

    def test_a_refusal_block_is_a_refusal(self):
        assert kind_of(AIMessage([{"type": "refusal", "refusal": "No."}])) == "refusal"

    @pytest.mark.parametrize(
        ("metadata", "kind"),
        [
            ({"status": "completed"}, None),
            ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "schema"),
            ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "content_filter"),
            ({"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "x"}}, "rate_limit"),
        ],
    )
    def test_the_responses_api_says_it_in_its_status(self, metadata: dict[str, Any], kind: Kind | None):
        assert kind_of(AIMessage("Hello", response_metadata={"model_provider": "openai", **metadata})) == kind

    def test_results_are_judged_by_their_first_message(self):
        empty, hello = (ChatGeneration(message=AIMessage(text)) for text in ("", "Hello"))
        filtered = ChatGeneration(message=AIMessage("Hel"), generation_info={"finish_reason": "content_filter"})
        kinds = [
            kind_of(outcome)
            for outcome in (empty, hello, filtered, ChatResult(generations=[hello]), ChatResult(generations=[empty]))
        ]
        assert kinds == ["empty", None, "content_filter", None, "empty"]
        assert kind_of(ChatResult(generations=[])) == "schema"
        assert kind_of(LLMResult(generations=[[Generation(text=" ")]])) == "empty"
        assert kind_of(LLMResult(generations=[[Generation(text="Hello")]])) is None

    def test_a_fake_models_messages_are_successes(self):
        fake = GenericFakeChatModel(messages=iter(["Hello there"]))
        chunks = list(fake.stream("hi"))
        assert kind_of(chunks[0] + chunks[1:]) is None

    def test_a_text_is_an_answer_and_a_blank_one_is_none(self):
        assert [kind_of(text) for text in ("Hello", "", " \n", None)] == [None, "empty", "empty", "empty"]
        assert kind_of("<html>login</html>") == "schema"

    def test_a_tool_message_that_says_error_is_the_tools_no(self):
        failed = ToolMessage("Order not found", tool_call_id="c1", status="error")
        unknown = ToolMessage("Error: pay is not a valid tool, try one of [refund].", tool_call_id="c1", status="error")
        timed_out = ToolMessage(
            "Error: ReadTimeout('slow')\n Please fix your mistakes.", tool_call_id="c1", status="error"
        )
        assert [kind_of(message, source="tool") for message in (failed, unknown, timed_out)] == [
            "business",
            "malformed_call",
            "timeout",
        ]
        assert classify(ToolMessage("Error: nobody says so", tool_call_id="c1")) is None


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}, None),
        ({"type": "message", "content": [], "stop_reason": "end_turn"}, "empty"),
        ({"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "max_tokens"}, "schema"),
        ({"type": "message", "content": [], "stop_reason": "refusal"}, "refusal"),
        ({"type": "message", "content": [{"type": "tool_use", "name": "f", "input": {}}], "stop_reason": "tool_use"}, None),
        ({"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}, None),
        ({"candidates": [{"finishReason": "SAFETY"}]}, "content_filter"),
        ({"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": {}}}]}, "finishReason": "STOP"}]}, None),
        ({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, "content_filter"),
        ({"candidates": []}, "schema"),
        ({"object": "response", "status": "completed", "error": None, "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}]}, None),
        ({"object": "response", "status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []}, "content_filter"),
        ({"object": "response", "status": "completed", "output": [{"type": "function_call", "name": "f", "arguments": '{"a":'}]}, "malformed_call"),
        ({"message": {"role": "assistant", "content": "Hi"}, "done": True, "done_reason": "stop"}, None),
        ({"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "load"}, "server_error"),
        ({"output": {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Hi"}}]}, "request_id": "r"}, None),
        ({"output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}}, "stopReason": "guardrail_intervened"}, "content_filter"),
        ({"output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}}, "stopReason": "end_turn"}, None),
        ({"choices": [{"error": {"code": 502, "message": "Provider returned error"}, "message": {"content": "par"}, "finish_reason": "error"}]}, "server_error"),
        ({"choices": [{"text": "Hi", "finish_reason": "stop"}]}, None),
        ({"choices": [{"finish_reason": "stop", "message": None}]}, "schema"),
        ({"id": "chatcmpl-1", "error": {"message": "x", "code": "insufficient_quota"}, "choices": []}, "quota"),
        ({"embedding": [0.1]}, None),
    ],
)  # fmt: skip
def test_the_vendors_own_shapes_are_read(body: Any, kind: Kind | None):
    assert kind_of(body) == kind
    assert kind_of(httpx.Response(200, json=body)) == kind


@pytest.mark.row("F3")
@pytest.mark.parametrize(
    "body",
    [
        {"question": "Where is it?", "choices": []},
        {"question": "Where is it?", "choices": ["A", "B"]},
        {"choices": ["A", "B"]},
        {"choices": [{"text": "A", "correct": True}]},
        {"candidates": [{"name": "Li", "score": 0.5}]},
        {"answer": "", "error": "order id missing"},
        {"intent": "refund", "error": None, "data": None},
        {"output": ["a", "b"]},
        {"output": {"message": "Hi"}},
        {"message": {"text": ""}, "tone": "kind"},
        {"stop_reason": "customer hung up"},
        {"code": "SAVE10", "message": "10 % off"},
    ],
)
def test_structured_output_is_what_was_asked_for(body: Any):
    assert kind_of(body) is None
    assert kind_of(json.dumps(body)) is None


def test_an_sdks_own_answer_is_read():
    body = {"id": "x", "created": 0, "model": "m", "object": "chat.completion", **completion("", "content_filter")}
    assert kind_of(ChatCompletion.model_validate(body)) == "content_filter"


def test_every_way_to_ask_gives_the_same_kind(server: FaultServer, model: Any):
    server.script(json_reply({"error": {"code": "invalid_api_key"}}, 401))
    assert {kind_of(ask(model, way)) for way in CHATS} == {"auth"}


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["choices", "message", "content", "error", "delta", "tool_calls", "function", "finish_reason", "output", "parts", "code"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON_VALUES, st.sampled_from(["tool", "model"]))
def test_no_json_is_too_strange(value: Any, source: Any):
    for outcome in (value, json.dumps(value), f"data: {json.dumps(value)}\n\n"):
        failure = classify(outcome, source=source)
        assert failure is None or failure.kind
