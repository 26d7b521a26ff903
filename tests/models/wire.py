"""What an OpenAI-compatible server puts on the wire, and a chain of real clients that reads it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Self

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_openai import ChatOpenAI

from langgraph_degrade import Degrader, Event, Policy, Tier
from tests.servers.faults import FaultServer, Reply, json_reply, sse

WAYS = ("invoke", "ainvoke", "stream", "astream")
STREAMS = ("stream", "astream")

Script = Sequence[Reply] | Reply


def completion(text: str | None, finish: str = "stop", *calls: Mapping[str, Any], **more: Any) -> Reply:
    """A whole answer."""
    message = {"role": "assistant", "content": text, **({"tool_calls": list(calls)} if calls else {})}
    choice = {"index": 0, "finish_reason": finish, "message": message}
    head = {"id": "m1", "object": "chat.completion", "created": 1, "model": "m"}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    return json_reply({**head, "choices": [choice], "usage": usage, **more})


def stream(texts: Sequence[str], finish: str = "stop", *calls: Mapping[str, Any]) -> Reply:
    """The same in chunks: the texts, then the parts of calls one by one."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": text} for text in texts]
    deltas += [{"tool_calls": [dict(call)]} for call in calls]
    choices = [*({"index": 0, "delta": delta} for delta in deltas), {"index": 0, "delta": {}, "finish_reason": finish}]
    head = {"id": "m1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return sse([{**head, "choices": [choice]} for choice in choices])


def error(status: int, message: str, code: str = "invalid_request_error") -> Reply:
    return json_reply({"error": {"message": message, "type": code, "param": None, "code": code}}, status)


def call(name: str, arguments: Any, id: str | None = "c1") -> dict[str, Any]:
    """A call as it stands in a whole answer."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def parts(made: Mapping[str, Any], index: int | None = 0, *, whole: bool = False) -> list[dict[str, Any]]:
    """A call as it comes in a stream: its head with half of its arguments, then the rest; or all at once."""
    place = {} if index is None else {"index": index}
    arguments = made["function"]["arguments"]
    half = len(arguments) if whole else len(arguments) // 2
    head = {**place, **made, "function": {**made["function"], "arguments": arguments[:half]}}
    return [head] if whole else [head, {**place, "function": {"arguments": arguments[half:]}}]


def calling(way: str, *calls: Mapping[str, Any], finish: str = "tool_calls", **more: Any) -> Reply:
    """An answer that calls tools, as this way of asking gets it."""
    if way not in STREAMS:
        return completion(None, finish, *calls, **more)
    return stream([], finish, *(part for index, made in enumerate(calls) for part in parts(made, index)))


def saying(way: str, text: str) -> Reply:
    return stream([text[: len(text) // 2], text[len(text) // 2 :]]) if way in STREAMS else completion(text)


class Lines:
    """Loopback servers and their clients, for as many tests as like: making them takes longer than asking."""

    def __init__(self, *names: str) -> None:
        self.servers = {name: FaultServer() for name in names}
        self.clients = {
            name: ChatOpenAI(model=name, base_url=f"{server.url}/v1", api_key="made-up")  # type: ignore[arg-type]
            for name, server in self.servers.items()
        }

    def __enter__(self) -> Self:
        for server in self.servers.values():
            server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        for server in self.servers.values():
            server.__exit__()


class Wire:
    """One test's tiers, a server behind each, and what was recorded."""

    idle = 10.0
    """Seconds a stream may be silent; a busy machine needs them."""

    def __init__(self, lines: Lines, *names: str, policy: Any = None) -> None:
        self.names = names
        self._lines = lines
        self.events: list[Event] = []
        self.degrader = Degrader(Policy.model_validate(policy or {}), listeners=[self.events.append])
        self.script(**dict.fromkeys(names, Reply()))

    def script(self, **replies: Script) -> None:
        for name, script in replies.items():
            self._lines.servers[name].script(*([script] if isinstance(script, Reply) else script))

    def tier(self, name: str, **options: Any) -> Tier:
        return Tier(name, self._lines.clients[name], **options)

    def model(self, **options: Any) -> Any:
        return self.degrader.chat_model([self.tier(name) for name in self.names], **options)

    def bodies(self, name: str) -> list[Any]:
        return [request.json() for request in self._lines.servers[name].requests]

    @property
    def kinds(self) -> list[tuple[str, str | None, str | None]]:
        return [(event.kind, event.source, event.outcome) for event in self.events]


def ask(model: Any, way: str, asked: Any = "Where is order SO-1001?") -> AIMessage:
    """One question; the chunks of a stream are added up as LangChain does it."""
    if way == "invoke":
        return model.invoke(asked)  # type: ignore[no-any-return]
    if way == "ainvoke":
        return asyncio.run(model.ainvoke(asked))  # type: ignore[no-any-return]
    got: list[AIMessageChunk] = []
    listen(model, way, asked, got)
    return got[0] + got[1:] if len(got) > 1 else got[0]


def listen(model: Any, way: str, asked: Any, got: list[AIMessageChunk]) -> None:
    """Put every chunk into `got` as it is shown, whatever comes after it."""

    async def gather() -> None:
        async for chunk in model.astream(asked):
            got.append(chunk)  # noqa: PERF401 - what came before an error is kept

    if way == "astream":
        asyncio.run(gather())
        return
    for chunk in model.stream(asked):
        got.append(chunk)  # noqa: PERF402 - as above
