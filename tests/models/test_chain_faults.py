"""A main model that fails in every way a model can, over real HTTP: the right next tier answers, and the cause is told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_openai import ChatOpenAI

from langgraph_degrade import Degrader, Event, Policy, Tier
from tests.servers.faults import FaultServer, Reply, json_reply, sse

POLICY = {"targets": {"model:main": {"timeout": "600ms"}}}
"""What hangs is cut soon."""


def _completion(text: str, finish: str = "stop", **message: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def _streamed(*texts: str, finish: str | None = "stop") -> list[Any]:
    chunks = [_chunk({"role": "assistant", "content": text}) for text in texts]
    return [*chunks, _chunk({}, finish)] if finish else chunks


def _error(status: int, code: str, message: str, **headers: str) -> Reply:
    return json_reply({"error": {"message": message, "type": code, "code": code}}, status, headers)


OVERFLOW = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."
BOTH_WAYS: dict[str, tuple[Reply, str]] = {
    "429": (_error(429, "rate_limit_exceeded", "slow down"), "rate_limit"),
    "429 with Retry-After": (_error(429, "rate_limit_exceeded", "slow down", **{"Retry-After": "30"}), "rate_limit"),
    "500": (_error(500, "server_error", "oops"), "server_error"),
    "503": (_error(503, "overloaded", "busy"), "overloaded"),
    "hang": (Reply(end="hang"), "timeout"),
    "reset": (Reply(end="reset"), "connection"),
    "overflow": (_error(400, "context_length_exceeded", OVERFLOW), "context_overflow"),
}
WHOLE: dict[str, tuple[Reply, str]] = {
    "html with 200": (Reply(200, {"Content-Type": "text/html"}, b"<html><body>login</body></html>"), "schema"),
    "empty choices": (json_reply({**_completion(""), "choices": []}), "schema"),
    "content_filter": (json_reply(_completion("", "content_filter")), "content_filter"),
    "length": (json_reply(_completion("Your order is on its", "length")), "schema"),
    "silence": (json_reply(_completion("")), "empty"),
}
STREAMED: dict[str, tuple[Reply, str]] = {
    "empty choices": (sse([{**_chunk({}), "choices": []}]), "empty"),
    "content_filter": (
        sse([_chunk({"role": "assistant", "content": ""}), _chunk({}, "content_filter")]),
        "content_filter",
    ),
    "cut before any text": (sse([_chunk({"role": "assistant", "content": ""})], "cut"), "connection"),
}
ANSWER = "Your order is on its way."


class Ways:
    """Asks a chain sync or async, whole or streamed."""

    def __init__(self, way: str) -> None:
        self.way = way

    @property
    def is_streamed(self) -> bool:
        return "stream" in self.way

    def ask(self, model: Any, messages: Any) -> AIMessage:
        if self.way == "invoke":
            return model.invoke(messages)
        if self.way == "ainvoke":
            return asyncio.run(model.ainvoke(messages))
        if self.way == "stream":
            return _summed(list(model.stream(messages)))
        return asyncio.run(self._astream(model, messages))

    @staticmethod
    async def _astream(model: Any, messages: Any) -> AIMessage:
        return _summed([chunk async for chunk in model.astream(messages)])


def _summed(chunks: list[Any]) -> AIMessage:
    whole: AIMessageChunk = chunks[0]
    for chunk in chunks[1:]:
        whole = whole + chunk  # type: ignore[assignment]
    return whole


class Chained:
    """Three tiers behind three servers, and what was recorded."""

    def __init__(self) -> None:
        self.servers = {name: FaultServer().__enter__() for name in ("main", "backup", "large")}
        self.events: list[Event] = []
        self.degrader = Degrader(Policy.model_validate(POLICY), listeners=[self.events.append])

    def model(self, way: Ways, fault: Reply, **options: Any) -> Any:
        good = sse(_streamed(ANSWER)) if way.is_streamed else json_reply(_completion(ANSWER))
        self.servers["main"].script(fault)
        self.servers["backup"].script(good)
        self.servers["large"].script(good)
        windows = {"main": 8_192, "backup": 8_192, "large": 128_000}
        tiers = [
            Tier(name, self.chat(name), window=windows[name], first_token=0.3, between_tokens=0.3)
            for name in self.servers
        ]
        return self.degrader.chat_model(tiers, **options)

    def chat(self, name: str) -> ChatOpenAI:
        return ChatOpenAI(model="m", base_url=f"{self.servers[name].url}/v1", api_key="sk-x", timeout=20)  # type: ignore[arg-type]

    def told(self) -> list[tuple[str, str | None, str | None, str | None]]:
        return [(event.kind, event.direction, event.source, event.outcome) for event in self.events]


@pytest.fixture
def chained() -> Iterator[Chained]:
    made = Chained()
    yield made
    for server in made.servers.values():
        server.__exit__()


@pytest.fixture(params=["invoke", "ainvoke", "stream", "astream"])
def way(request: pytest.FixtureRequest) -> Ways:
    return Ways(request.param)


def _cases() -> Iterator[Any]:
    for way in ("invoke", "ainvoke", "stream", "astream"):
        extra = STREAMED if "stream" in way else WHOLE
        for name, (fault, kind) in {**BOTH_WAYS, **extra}.items():
            yield pytest.param(Ways(way), fault, kind, id=f"{way}-{name}")


@pytest.mark.row("M1")
@pytest.mark.row("F1")
@pytest.mark.parametrize(("way", "fault", "kind"), list(_cases()))
def test_the_right_next_tier_answers_and_the_cause_is_told(
    way: Ways, fault: Reply, kind: str, chained: Chained
) -> None:
    answer = way.ask(chained.model(way, fault), [("user", "Where is my order?")])
    tier = "large" if kind == "context_overflow" else "backup"
    assert answer.content == ANSWER
    assert answer.response_metadata["tier"] == tier
    assert chained.told() == [(kind, "model", tier, "ok")]
    assert len(chained.servers["main"].requests) == 1  # the SDK's own retries are off
