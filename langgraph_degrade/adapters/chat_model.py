"""`TieredChatModel`: a chat model that steps down with its prompt (spec M1-M7). Still a `BaseChatModel`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import add_usage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from langgraph_degrade.adapters.guard import value_or_raise
from langgraph_degrade.adapters.rest import a_request
from langgraph_degrade.adapters.shown import Shown
from langgraph_degrade.engine.plan import Call
from langgraph_degrade.engine.ports import complete
from langgraph_degrade.stages.messages import language_of
from langgraph_degrade.stages.models.calling import END
from langgraph_degrade.stages.models.request import Reply, Request

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from langgraph_degrade.adapters.chain import Chain
    from langgraph_degrade.engine.plan import Plan
    from langgraph_degrade.engine.scope import Scope


class TieredChatModel(BaseChatModel):
    """A chat model of several tiers; `degrader.chat_model([...])` makes one.

    With nothing left it raises: the original error where nothing was tried instead of it, `CircuitOpen` where it was
    refused, `LadderExhausted` otherwise; `IncompleteStream` where a stream broke after text was shown.
    """

    cache: Literal[False] = False  # pyright: ignore[reportIncompatibleVariableOverride]
    """Never: a global cache would keep a backup's answer after the outage."""
    tier_names: tuple[str, ...] = ()
    _chain: Chain = PrivateAttr()

    @property
    def chain(self) -> Chain:
        """What it steps down through."""
        return self._chain

    def __init__(self, chain: Chain, **fields: Any) -> None:
        main = chain.tiers[0].model
        fields.setdefault("profile", main.profile)
        super().__init__(**fields)
        self.tier_names = tuple(tier.name for tier in chain.tiers)
        self._chain = chain

    @property
    def _llm_type(self) -> str:
        return "degrade-tiers"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"tiers": list(self.tier_names)}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return self._chain.tiers[0].model._get_ls_params(stop=stop, **kwargs)  # noqa: SLF001 - a chat model's own hook

    def get_num_tokens_from_messages(self, messages: list[BaseMessage], tools: Sequence[Any] | None = None) -> int:
        """As the first tier's model counts."""
        return self._chain.tiers[0].model.get_num_tokens_from_messages(messages, tools)

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools; each tier gets them in the form it takes, when it is asked."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, *_: Any, **kwargs: Any
    ) -> ChatResult:
        with self._asked(messages, stop, kwargs, is_async=False, is_streamed=False) as (plan, call, scope):
            return self._result(self._reply(self._chain.engine.run(plan, call, scope), plan))

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, *_: Any, **kwargs: Any
    ) -> ChatResult:
        with self._asked(messages, stop, kwargs, is_async=True, is_streamed=False) as (plan, call, scope):
            return self._result(self._reply(await self._chain.engine.arun(plan, call, scope), plan))

    def _stream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, *_: Any, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        with self._asked(messages, stop, kwargs, is_async=False, is_streamed=True) as (plan, call, scope):
            reply = self._reply(self._chain.engine.run(plan, call, scope), plan)
            shown = Shown(reply, self._chain, scope)
            try:
                while (chunk := complete(shown.next())) is not END:
                    yield ChatGenerationChunk(message=chunk)
            finally:
                complete(shown.close())

    async def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, *_: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        with self._asked(messages, stop, kwargs, is_async=True, is_streamed=True) as (plan, call, scope):
            reply = self._reply(await self._chain.engine.arun(plan, call, scope), plan)
            shown = Shown(reply, self._chain, scope)
            try:
                while (chunk := await shown.next()) is not END:
                    yield ChatGenerationChunk(message=chunk)
            finally:
                await shown.close()

    @contextmanager
    def _asked(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        options: dict[str, Any],
        *,
        is_async: bool,
        is_streamed: bool,
    ) -> Generator[tuple[Plan, Call, Scope]]:
        """The plan for a request, and the scope it is part of or makes."""
        engine = self._chain.engine
        options = options if stop is None else {**options, "stop": stop}
        may_call = options.get("tool_choice") != "none"
        tools = (options.get("tools") or ()) if may_call else ()
        options = {
            name: value for name, value in options.items() if name != "tools" and (may_call or name != "tool_choice")
        }
        configured = engine.policy.language
        find = partial(language_of, messages) if configured == "auto" else lambda: configured
        request = Request(messages, tools, options, find, engine.policy.texts)
        plan = self._chain.plan(is_async=is_async, is_streamed=is_streamed, has_tools=bool(tools))
        with a_request(engine) as scope:
            yield plan, Call((request,), {}, nameless), scope

    def _reply(self, outcome: Any, plan: Plan) -> Reply:
        reply: Reply = value_or_raise(outcome, plan.target)
        return reply

    def _result(self, reply: Reply) -> ChatResult:
        message, tier = reply.message, reply.request.tier
        told = {"response_metadata": {**message.response_metadata, "tier": tier.name if tier is not None else "none"}}
        if reply.request.usage is not None:
            told["usage_metadata"] = add_usage(reply.request.usage, message.usage_metadata)  # type: ignore[assignment]
        return ChatResult(generations=[ChatGeneration(message=message.model_copy(update=told))])

    def __deepcopy__(self, memo: Any = None) -> TieredChatModel:
        return self  # a chain holds its application's breakers


def nameless(*_: Any) -> dict[str, Any]:
    """A model call has no arguments that a policy could name."""
    return {}
