"""An OpenAI-compatible chat endpoint: the rule-driven stand-in, or a real model behind the same fault board."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx

from examples.customer_service.faults import seconds
from examples.customer_service.rules import Call, Dialogue, next_calls
from examples.customer_service.server import Reply, Request, Service
from examples.customer_service.wording import compose

NAME = "rule-driven-stand-in-not-a-model"
ORPHANED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: "
)


def endpoint(dependency: str) -> Service:
    """Make the endpoint called `dependency`: a real model's where OPENAI_API_KEY is set, else the stand-in's."""
    key = os.environ.get("OPENAI_API_KEY")
    base = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
    return RealModel(dependency, base, key) if key else StandIn(dependency)


def model_name() -> str:
    """Name of the model the agents ask for."""
    return os.environ.get("OPENAI_MODEL", "gpt-4o-mini") if os.environ.get("OPENAI_API_KEY") else NAME


def patience() -> float:
    """Return the seconds a careful agent waits for its model: 15 in production, and a real model lives in real time."""
    return 60.0 if os.environ.get("OPENAI_API_KEY") else seconds(15)


class StandIn:
    """Answers chat completions by rules, streamed or whole; refuses what OpenAI refuses."""

    def __init__(self, dependency: str) -> None:
        self._dependency = dependency

    def name(self, request: Request) -> str:  # noqa: ARG002 - one dependency, whatever is asked
        """Say which dependency this is."""
        return self._dependency

    def asked(self, request: Request) -> str:
        """Say what is asked: whatever the messages, it is the same."""
        return f"{request.method} {request.path}"

    def handle(self, request: Request) -> Reply:
        """Answer one chat completion request."""
        messages: Sequence[Mapping[str, Any]] = request.body["messages"]
        if orphans := _unanswered(messages):
            error = {"message": ORPHANED + ", ".join(orphans), "type": "invalid_request_error", "param": "messages"}
            return Reply({"error": {**error, "code": None}}, 400)
        dialogue = Dialogue.read(messages)
        calls = next_calls(dialogue) if request.body.get("tools") else []
        return _completion(request, _message(calls, "" if calls else compose(dialogue)))

    def empty(self, request: Request) -> Reply:
        """Answer with a message that says nothing."""
        return _completion(request, {"role": "assistant", "content": ""})


class RealModel(StandIn):
    """Passes requests on to a real endpoint."""

    def __init__(self, dependency: str, base: str, key: str = "none") -> None:
        super().__init__(dependency)
        self._client = httpx.Client(base_url=base, headers={"Authorization": f"Bearer {key}"}, timeout=120)

    def handle(self, request: Request) -> Reply:
        """Return what the real endpoint says."""
        response = self._client.post("/chat/completions", json=request.body)
        return Reply(response.text, response.status_code, response.headers.get("Content-Type", "application/json"))


def _unanswered(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    answered = {message.get("tool_call_id") for message in messages}
    calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    return [call for call in calls if call not in answered]


def _message(calls: Sequence[Call], content: str) -> dict[str, Any]:
    made = [
        {
            "id": f"call_{uuid.uuid4().hex[:24]}",
            "type": "function",
            "function": {"name": call.tool, "arguments": json.dumps(dict(call.args), ensure_ascii=False)},
        }
        for call in calls
    ]
    return {"role": "assistant", "content": content or None, **({"tool_calls": made} if made else {})}


def _completion(request: Request, message: Mapping[str, Any]) -> Reply:
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    head = {"id": f"chatcmpl-{uuid.uuid4().hex[:24]}", "created": 0, "model": request.body.get("model", NAME)}
    if request.body.get("stream"):
        return Reply("".join(_events(head, message, reason)), content_type="text/event-stream")
    usage = {"prompt_tokens": len(json.dumps(request.body)) // 4, "completion_tokens": 20, "total_tokens": 0}
    usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return Reply({**head, "object": "chat.completion", "choices": [choice], "usage": usage})


def _events(head: Mapping[str, Any], message: Mapping[str, Any], reason: str) -> Iterator[str]:
    def event(delta: Mapping[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {**head, "object": "chat.completion.chunk", "choices": [choice]}
        return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"

    yield event({"role": "assistant", "content": ""})
    for index, call in enumerate(message.get("tool_calls", ())):
        yield event({"tool_calls": [{"index": index, **call}]})
    content = str(message.get("content") or "")
    for start in range(0, len(content), 12):
        yield event({"content": content[start : start + 12]})
    yield event({}, reason)
    yield "data: [DONE]\n\n"
