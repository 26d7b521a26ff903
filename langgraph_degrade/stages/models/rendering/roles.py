"""Messages of roles only some providers know, put into the four that all know."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
)

from langgraph_degrade.stages.models.rendering.reader import Reader
from langgraph_degrade.stages.models.rendering.records import Record, quoted

_ROLES: Mapping[str, Callable[[BaseMessage], BaseMessage]] = {
    "user": lambda message: HumanMessage(message.content),
    "human": lambda message: HumanMessage(message.content),
    "assistant": lambda message: AIMessage(message.content),
    "ai": lambda message: AIMessage(message.content),
    "system": lambda message: SystemMessage(message.content),
    "developer": lambda message: SystemMessage(
        message.content, additional_kwargs={"__openai_role__": "developer"}
    ),  # the role goes by this name in langchain-openai; others read it as `system`
}


def spoken(message: BaseMessage, reader: Reader) -> BaseMessage:
    """The message under one of the common roles; of a role nobody knows it is only said, by the user's side."""
    if isinstance(message, ChatMessage):
        return _ROLES.get(message.role, _ROLES["user"])(message)
    if isinstance(message, FunctionMessage):
        said = [reader.say("render.found"), reader.say("render.result", name=message.name), quoted(str(message.text))]
        return Record(content="\n".join(said))
    return message


def is_system(message: BaseMessage) -> bool:
    """Whether the message is part of the system's words, under whatever role."""
    return message.type == "system" or (isinstance(message, ChatMessage) and message.role in ("system", "developer"))
