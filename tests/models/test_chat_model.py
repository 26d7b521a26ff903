"""LangChain's own standard tests for chat models."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_tests.unit_tests import ChatModelUnitTests

from langgraph_degrade import Degrader, Tier
from langgraph_degrade.adapters.chat_model import TieredChatModel


class Parrot(BaseChatModel):
    """Says what it was asked."""

    model_name: str = "parrot"
    temperature: float | None = None
    max_tokens: int | None = None
    stop: list[str] | None = None

    @property
    def _llm_type(self) -> str:
        return "parrot"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=tools, **kwargs)

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(str(messages[-1].content)))])


class Tiered(TieredChatModel):
    """Made the way LangChain's tests make models."""

    def __init__(self, **fields: Any) -> None:
        standard = {name: fields.pop(name) for name in ("temperature", "max_tokens", "stop") if name in fields}
        model = Degrader().chat_model([Tier("main", Parrot(**standard)), Tier("backup", Parrot())])
        super().__init__(model.chain, **fields)


class TestStandard(ChatModelUnitTests):
    @property
    def chat_model_class(self) -> Any:
        return Tiered

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {}

    @property
    def has_tool_calling(self) -> bool:
        return True

    @property
    def has_structured_output(self) -> bool:
        return True
