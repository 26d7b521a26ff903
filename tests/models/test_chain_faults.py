"""A main model that fails in every way a model can, over real HTTP: the right next tier answers, and the cause is told.

Asked alone in four ways and inside an agent in five: once each step, every token once, inside the request's time.
"""

from __future__ import annotations

import asyncio
import json
import socketserver
import threading
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from langgraph_degrade import DegradeContext, IncompleteStream, Tier
from langgraph_degrade.engine.clock import SystemClock
from tests.models.wire import WAYS, Lines, Wire, ask, completion, listen, saying
from tests.servers.faults import Reply, json_reply, sse

LIMIT, IDLE = 0.6, 0.3
"""Seconds after which what hangs is cut; whatever does not hang has as long as a busy machine needs."""
WINDOWS = {"main": 8_192, "backup": 8_192, "large": 1_000_000}
NOW = SystemClock().monotonic
SOON = 5.0
"""Seconds within which a request ends whose main tier fails; its session would have 30."""
QUESTION = "Where is my order?"
ANSWER = "Your order is on its way."
JSON = {"Content-Type": "application/json"}
HTML = {"Content-Type": "text/html"}


def _error(status: int, code: str | None, message: str, kind: str | None = None, **headers: str) -> Reply:
    return json_reply(
        {"error": {"message": message, "type": kind or code, "param": None, "code": code}}, status, headers
    )


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def _failing(message: str, code: str) -> str:
    return f"data: {json.dumps({'error': {'message': message, 'type': code, 'code': code}})}"


def _hanging(reply: Reply) -> Reply:
    return Reply(reply.status, {**reply.headers, "Content-Length": str(len(reply.body) + 100)}, reply.body, "hang")


def _slowly(reply: Reply, drip: float) -> Reply:
    return Reply(reply.status, reply.headers, reply.body, drip=drip)


ROLE = _chunk({"role": "assistant", "content": ""})
CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "get_order", "arguments": '{"order": "SO-1'}}
HALF_A_CALL = [ROLE, _chunk({"tool_calls": [CALL]})]
AN_HOUR = formatdate(SystemClock().time() + 3600, usegmt=True)
BEGUN = Reply(200, JSON, b'{"id": "c1", "object": "chat.completion", "choi')

BOTH_WAYS: dict[str, tuple[Reply, str]] = {
    "429": (_error(429, "rate_limit_exceeded", "slow down"), "rate_limit"),
    "429 with Retry-After": (_error(429, "rate_limit_exceeded", "slow down", **{"Retry-After": "30"}), "rate_limit"),
    "429 with a date": (_error(429, "rate_limit_exceeded", "slow down", **{"Retry-After": AN_HOUR}), "rate_limit"),
    "429 out of quota": (_error(429, "insufficient_quota", "You exceeded your current quota."), "quota"),
    "402": (_error(402, "invalid_request_error", "Insufficient Balance"), "quota"),
    "401 expired key": (_error(401, "invalid_api_key", "Incorrect API key provided: sk-made-up."), "auth"),
    "403": (_error(403, "access_denied", "no access to this model"), "auth"),
    "404": (_error(404, "model_not_found", "The model `m` does not exist."), "not_found"),
    "500": (_error(500, "server_error", "oops"), "server_error"),
    "502 of a proxy": (Reply(502, HTML, b"<html>502 Bad Gateway</html>"), "server_error"),
    "503": (_error(503, "overloaded", "busy"), "overloaded"),
    "504 of a proxy": (Reply(504, HTML, b"<html>504 Gateway Time-out</html>"), "timeout"),
    "529": (
        json_reply({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, 529),
        "overloaded",
    ),
    "hang": (Reply(end="hang"), "timeout"),
    "reset": (Reply(end="reset"), "connection"),
    "html with 200": (Reply(200, HTML, b"<html><body>login</body></html>"), "schema"),
    "no json": (json_reply('{"id": "c1", "choices": [{"mess'), "schema"),
    "a text with 200": (Reply(200, {"Content-Type": "text/plain"}, b"upstream ok"), "schema"),
    "bytes with 200": (Reply(200, {"Content-Type": "application/octet-stream"}, b"\x00\x01\xff"), "schema"),
    "nothing with 200": (Reply(200), "schema"),
    "204": (Reply(204), "schema"),
}
OVERFLOWS: dict[str, Reply] = {
    "openai": _error(
        400,
        "context_length_exceeded",
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    ),
    "openai, responses": _error(400, "context_length_exceeded", "Your input exceeds the context window of this model."),
    "anthropic": json_reply(
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "prompt is too long: 208310 tokens > 200000 maximum"},
        },
        400,
    ),
    "anthropic 413": json_reply(
        {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}, 413
    ),
    "deepseek": _error(
        400,
        None,
        "This model's maximum context length is 65536 tokens. However, you requested 70012 tokens (66012 in the messages, "
        "4000 in the completion). Please reduce the length of the messages or completion.",
        "invalid_request_error",
    ),
    "qwen": _error(
        400,
        "invalid_parameter_error",
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
    ),
    "vllm": json_reply(
        {
            "object": "error",
            "message": "The decoder prompt (length 9001) is longer than the maximum model length of 8192. Make sure that "
            "`max_model_len` is no smaller than the number of text tokens.",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
        400,
    ),
    "azure": _error(
        400,
        None,
        "This model's maximum context length is 8192 tokens, however you requested 9001 tokens (8001 in your prompt; 1000 "
        "for the completion). Please reduce your prompt; or completion length.",
        "invalid_request_error",
    ),
    "llama.cpp": json_reply(
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size, try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 9001,
                "n_ctx": 8192,
            }
        },
        400,
    ),
    "gemini": json_reply(
        {
            "error": {
                "code": 400,
                "message": "The input token count (9001) exceeds the maximum number of tokens allowed (8192).",
            }
        },
        400,
    ),
    "glm": json_reply({"error": {"code": "1261", "message": "Prompt 超长"}}, 400),
    "kimi": _error(
        400, None, "Invalid request: Your request exceeded model token limit: 8192", "invalid_request_error"
    ),
}
WHOLE: dict[str, tuple[Reply, str]] = {
    "empty choices": (completion("", choices=[]), "schema"),
    "null choices": (completion("", choices=None), "schema"),
    "null message": (completion("", choices=[{"index": 0, "finish_reason": "stop", "message": None}]), "schema"),
    "null content": (completion(None), "empty"),
    "silence": (completion(""), "empty"),
    "content_filter": (completion("", "content_filter"), "content_filter"),
    "half an answer": (completion("Your order is on its", "length"), "schema"),
    "refusal field": (
        completion(
            None,
            choices=[
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": None, "refusal": "I cannot help with that."},
                }
            ],
        ),
        "refusal",
    ),
    "an error with 200": (
        json_reply({"error": {"message": "upstream failed", "type": "server_error", "code": 500}}),
        "server_error",
    ),
    "cut": (Reply(200, JSON, BEGUN.body, "cut"), "connection"),
    "reset in the middle": (
        Reply(200, {**JSON, "Content-Length": "900"}, BEGUN.body, "reset"),
        "connection",
    ),
    "hang in the middle": (_hanging(BEGUN), "timeout"),
    "slow trickle": (_slowly(completion(ANSWER), 0.05), "timeout"),
}
STREAMED: dict[str, tuple[Reply, str]] = {
    "empty choices": (sse([{**_chunk({}), "choices": []}]), "empty"),
    "null content": (sse([_chunk({"role": "assistant", "content": None}), _chunk({}, "stop")]), "empty"),
    "only done": (sse([]), "schema"),
    "content_filter": (sse([ROLE, _chunk({}, "content_filter")]), "content_filter"),
    "length before any text": (sse([ROLE, _chunk({}, "length")]), "schema"),
    "error at once": (sse([_failing("The server had an error.", "server_error")]), "server_error"),
    "error before any text": (sse([ROLE, _failing("Rate limit reached.", "rate_limit_exceeded")]), "rate_limit"),
    "error event before any text": (
        sse([ROLE, 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}']),
        "overloaded",
    ),
    "half an event": (sse([ROLE, 'data: {"id": "c1", "cho']), "schema"),
    "cut before any text": (sse([ROLE], "cut"), "connection"),
    "ended before any text": (sse([ROLE], "close"), "connection"),
    "reset before any text": (sse([ROLE], "reset"), "connection"),
    "hang before any text": (Reply(200, sse([]).headers, sse([ROLE], "close").body, "hang"), "timeout"),
    "slow trickle before any text": (_slowly(sse([ROLE] * 20), 0.1), "timeout"),
    "cut inside a call": (sse(HALF_A_CALL, "cut"), "connection"),
    "ended inside a call": (sse(HALF_A_CALL, "close"), "connection"),
    "reset inside a call": (sse(HALF_A_CALL, "reset"), "connection"),
    "hang inside a call": (Reply(200, sse([]).headers, sse(HALF_A_CALL, "close").body, "hang"), "timeout"),
    "error inside a call": (sse([*HALF_A_CALL, _failing("oops", "server_error")]), "server_error"),
}
HEL = [ROLE, _chunk({"content": "Hel"})]
MIDWAY: dict[str, tuple[Reply, str]] = {
    "cut": (sse(HEL, "cut"), "connection"),
    "ended": (sse(HEL, "close"), "connection"),
    "reset": (sse(HEL, "reset"), "connection"),
    "error": (sse([*HEL, _failing("The server had an error.", "server_error")]), "server_error"),
    "half an event": (sse([*HEL, 'data: {"id": "c1", "cho']), "schema"),
    "content_filter": (sse([*HEL, _chunk({}, "content_filter")]), "content_filter"),
    "length": (sse([*HEL, _chunk({}, "length")]), "schema"),
    "hang": (Reply(200, sse([]).headers, sse(HEL, "close").body, "hang"), "timeout"),
    "cut inside a call": (sse([*HEL, *HALF_A_CALL[1:]], "cut"), "connection"),
    "ended inside a call": (sse([*HEL, *HALF_A_CALL[1:]], "close"), "connection"),
}
STREAMS = ("stream", "astream")
IN_AGENT = ("invoke", "ainvoke", "messages", "amessages", "events")


@pytest.fixture(scope="module")
def lines() -> Iterator[Lines]:
    with Lines(*WINDOWS) as lines:
        yield lines


@pytest.fixture
def three(lines: Lines, request: pytest.FixtureRequest) -> Wire:
    hangs = request.node.callspec.params.get("kind") == "timeout" if hasattr(request.node, "callspec") else False
    wire = Wire(lines, *WINDOWS, policy={"targets": {"model:main": {"timeout": LIMIT if hangs else 10}}})
    wire.idle = IDLE if hangs else wire.idle
    return wire


@tool
def get_order(order: str) -> str:
    """Look an order up."""
    return f"{order}: packed"


def _tiers(three: Wire) -> list[Tier]:
    return [
        three.tier(name, window=WINDOWS[name], first_token=three.idle, between_tokens=three.idle)
        for name in three.names
    ]


def _is_streamed(way: str) -> bool:
    return way not in ("invoke", "ainvoke")


def _script(three: Wire, way: str, fault: Reply) -> None:
    good = saying("stream" if _is_streamed(way) else "invoke", ANSWER)
    three.script(main=fault, backup=good, large=good)


def _cases(ways: tuple[str, ...]) -> Iterator[Any]:
    overflows = {f"overflow, {name}": (reply, "context_overflow") for name, reply in OVERFLOWS.items()}
    for way in ways:
        own = STREAMED if _is_streamed(way) else WHOLE
        for name, (fault, kind) in {**BOTH_WAYS, **overflows, **own}.items():
            yield pytest.param(way, fault, kind, id=f"{way}-{name}")


def _told(three: Wire) -> list[tuple[Any, ...]]:
    return [(event.kind, event.direction, event.source, event.outcome) for event in three.events]


@pytest.mark.row("M1")
@pytest.mark.row("F1")
@pytest.mark.row("T3")
@pytest.mark.parametrize(("way", "fault", "kind"), list(_cases(WAYS)))
def test_the_right_next_tier_answers_and_the_cause_is_told(way: str, fault: Reply, kind: str, three: Wire) -> None:
    _script(three, way, fault)
    began = NOW()
    answer = ask(three.degrader.chat_model(_tiers(three)), way, QUESTION)
    assert NOW() - began < SOON
    tier = "large" if kind == "context_overflow" else "backup"
    assert answer.content == ANSWER
    assert answer.response_metadata["tier"] == tier
    assert _told(three) == [(kind, "model", tier, "ok")]
    assert len(three.bodies("main")) == 1  # the SDK's own retries are off


class Seen:
    """What a run of an agent showed, and what it ended with."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.state: dict[str, Any] = {}

    def run(self, agent: Any, way: str) -> None:
        asked = {"messages": [("user", QUESTION)]}
        if way == "invoke":
            self.state = agent.invoke(asked)
        elif way == "ainvoke":
            self.state = asyncio.run(agent.ainvoke(asked))
        elif way == "messages":
            for mode, part in agent.stream(asked, stream_mode=["messages", "values"]):
                self._note(mode, part)
        else:
            asyncio.run(self._listen(agent, asked, way))

    async def _listen(self, agent: Any, asked: Any, way: str) -> None:
        if way == "amessages":
            async for mode, part in agent.astream(asked, stream_mode=["messages", "values"]):
                self._note(mode, part)
            return
        async for event in agent.astream_events(asked, version="v2"):
            if event["event"] == "on_chat_model_stream":
                self.tokens.append(event["data"]["chunk"].text)
            if event["event"] == "on_chain_end" and not event["parent_ids"]:
                self.state = event["data"]["output"]

    def _note(self, mode: str, part: Any) -> None:
        if mode == "values":
            self.state = part
        elif isinstance(part[0], AIMessage | AIMessageChunk):
            self.tokens.append(part[0].text)

    @property
    def shown(self) -> list[str]:
        return [token for token in self.tokens if token]


def _agent(three: Wire) -> Any:
    bare: Any = ChatOpenAI(model="never asked", api_key="made-up", base_url="http://127.0.0.1:9")  # type: ignore[arg-type]
    return create_agent(bare, [get_order], middleware=[three.degrader.middleware(_tiers(three))])


@pytest.mark.row("M5")
@pytest.mark.row("X2")
@pytest.mark.parametrize(("way", "fault", "kind"), list(_cases(IN_AGENT)))
def test_an_agent_gets_the_same_answer_and_shows_each_token_once(
    way: str, fault: Reply, kind: str, three: Wire
) -> None:
    _script(three, way, fault)
    seen = Seen()
    began = NOW()
    seen.run(_agent(three), way)
    assert NOW() - began < SOON
    tier = "large" if kind == "context_overflow" else "backup"
    assert [message.text for message in seen.state["messages"]] == [QUESTION, ANSWER]
    assert seen.state["messages"][-1].response_metadata["tier"] == tier
    if _is_streamed(way):
        assert seen.shown == [ANSWER[: len(ANSWER) // 2], ANSWER[len(ANSWER) // 2 :]]
    assert _told(three) == [(kind, "model", tier, "ok")]
    kept = [(e["kind"], e["source"], e["outcome"]) for e in DegradeContext.of(seen.state).events]
    assert kept == [(kind, tier, "ok")]
    assert len(three.bodies("main")) == 1


@pytest.mark.row("M5")
@pytest.mark.parametrize("way", STREAMS)
@pytest.mark.parametrize(("fault", "kind"), MIDWAY.values(), ids=MIDWAY.keys())
def test_after_the_first_token_nobody_else_goes_on(way: str, fault: Reply, kind: str, three: Wire) -> None:
    _script(three, way, fault)
    got: list[AIMessageChunk] = []
    with pytest.raises(IncompleteStream):
        listen(three.degrader.chat_model(_tiers(three)), way, QUESTION, got)
    assert [chunk.text for chunk in got if chunk.text] == ["Hel"]
    assert not any(chunk.tool_call_chunks for chunk in got)
    assert _told(three) == [(kind, None, "main", "cut")]
    assert three.bodies("backup") == []


@pytest.mark.row("M5")
@pytest.mark.parametrize("way", ["messages", "amessages", "events"])
@pytest.mark.parametrize(("fault", "kind"), MIDWAY.values(), ids=MIDWAY.keys())
def test_an_agent_closes_honestly_what_broke_after_its_first_token(
    way: str, fault: Reply, kind: str, three: Wire
) -> None:
    _script(three, way, fault)
    seen = Seen()
    seen.run(_agent(three), way)
    closing = seen.state["messages"][-1]
    assert closing.response_metadata["degraded"] is True
    assert [message.text for message in seen.state["messages"]] == [QUESTION, closing.text]
    assert closing.text.startswith("Sorry, something on our side broke")
    assert seen.shown[0] == "Hel"
    assert seen.shown[1:] in ([], [closing.text])  # events are of models, and no model said it
    assert _told(three) == [(kind, None, "main", "cut")]
    assert three.bodies("backup") == []


class Plain(socketserver.BaseRequestHandler):
    """A port that speaks no TLS, as it answers whoever does."""

    def handle(self) -> None:
        self.request.recv(1024)
        self.request.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")


@pytest.fixture(params=["dns", "tls"])
def unreachable(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a model nobody gets through to."""
    if request.param == "dns":
        yield "http://no-such-host.invalid/v1"
        return
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Plain) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"https://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


@pytest.mark.row("F1")
@pytest.mark.parametrize("way", WAYS)
def test_a_name_nobody_knows_and_a_port_without_tls_are_lost_connections(
    way: str, unreachable: str, three: Wire
) -> None:
    _script(three, way, Reply(400))
    bare: Any = ChatOpenAI(model="m", api_key="made-up", base_url=unreachable)  # type: ignore[arg-type]
    answer = ask(three.degrader.chat_model([Tier("main", bare), three.tier("backup")]), way, QUESTION)
    assert (answer.content, answer.response_metadata["tier"]) == (ANSWER, "backup")
    assert _told(three) == [("connection", "model", "backup", "ok")]
