"""A scripted chat model and tool calls for tests of agents: only the model's words are made up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool


class ScriptedModel(GenericFakeChatModel):
    """Says its messages in order; remembers what it was asked. An exception among them is raised."""

    asked: list[Any] = []
    disable_streaming: bool = True  # the fake's own streaming loses tool calls

    @classmethod
    def saying(cls, *messages: AIMessage | str | Exception) -> ScriptedModel:
        return cls(messages=_spoken(messages), asked=[])

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedModel:
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        self.asked.append(list(messages))
        return super()._generate(messages, *args, **kwargs)


def _spoken(messages: Iterable[AIMessage | str | Exception]) -> Any:
    for message in messages:
        if isinstance(message, Exception):
            raise message
        yield AIMessage(message) if isinstance(message, str) else message


def asks(*calls: tuple[str, dict[str, Any]], start: int = 1) -> AIMessage:
    """A message that calls tools."""
    made = [
        {"name": name, "args": args, "id": f"c{place}", "type": "tool_call"}
        for place, (name, args) in enumerate(calls, start)
    ]
    return AIMessage("", tool_calls=made)


def call_of(tool: BaseTool, id: str = "c1", /, **args: Any) -> dict[str, Any]:
    """A tool call as a model makes it."""
    return {"name": tool.name, "args": args, "id": id, "type": "tool_call"}


def tool_messages(state: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]
