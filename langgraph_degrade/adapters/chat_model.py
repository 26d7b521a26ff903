"""`TieredChatModel`: a chat model that steps down with its prompt (spec M1-M7). Still a `BaseChatModel`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import add_usage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from langgraph_degrade.adapters.bound import WithTools
from langgraph_degrade.adapters.guard import value_or_raise
from langgraph_degrade.adapters.rest import a_request
from langgraph_degrade.adapters.shown import Shown
from langgraph_degrade.engine.plan import Call
from langgraph_degrade.engine.ports import complete
from langgraph_degrade.stages.messages import language_of
from langgraph_degrade.stages.models.calling import END
from langgraph_degrade.stages.models.request import Reply, Request
from langgraph_degrade.stages.models.wording import NO_TIER

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from langgraph_degrade.adapters.chain import Chain
    from langgraph_degrade.engine.plan import Outcome, Plan
    from langgraph_degrade.texts import Language

NO_PICKLE = (
    "{} made by a Degrader cannot be pickled: it stands behind the breakers of its application. "
    "In another process make it from a Degrader of that process's own, with the same policy and store"
)


class TieredChatModel(BaseChatModel):
    """A chat model of several tiers; `degrader.chat_model([...])` makes one.

    With nothing left it raises: the original error where nothing was tried instead of it, `CircuitOpen` where it was
    refused, `LadderExhausted` otherwise; `IncompleteStream` where a stream broke after text was shown.
    """

    cache: Literal[False] = False  # pyright: ignore[reportIncompatibleVariableOverride]
    """Never: a global cache would keep a backup's answer after the outage."""
    tier_names: tuple[str, ...] = ()
    _chain: Chain = PrivateAttr()
    _beside: tuple[dict[str, Any], ...] = PrivateAttr(())

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
        converted = [convert_to_openai_tool(tool) for tool in tools]
        if self._beside and kwargs.get("tool_choice") == "any":  # `with_structured_output` means the one it binds
            kwargs["tool_choice"] = converted[0]["function"]["name"]
        return WithTools(bound=self, kwargs={"tools": [*self._beside, *converted], **kwargs}, config={})

    def beside(self, tools: Sequence[dict[str, Any]]) -> TieredChatModel:
        """The same model, which has these tools beside whatever is bound to it."""
        made = self.model_copy()
        made._beside = tuple(tools)  # noqa: SLF001 - our own
        return made

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, *_: Any, **kwargs: Any
    ) -> ChatResult:
        chain = self._chain
        plan, call = _question(chain, messages, stop, kwargs, is_async=False, is_streamed=False)
        with a_request(chain.engine) as scope:
            return _result(_reply(chain.engine.run(plan, call, scope), plan))

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, *_: Any, **kwargs: Any
    ) -> ChatResult:
        chain = self._chain
        plan, call = _question(chain, messages, stop, kwargs, is_async=True, is_streamed=False)
        with a_request(chain.engine) as scope:
            return _result(_reply(await chain.engine.arun(plan, call, scope), plan))

    def _stream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, *_: Any, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        chain = self._chain
        plan, call = _question(chain, messages, stop, kwargs, is_async=False, is_streamed=True)
        with a_request(chain.engine) as scope:
            shown = Shown(_reply(chain.engine.run(plan, call, scope), plan), chain, scope)
            try:
                while (chunk := complete(shown.next())) is not END:
                    yield ChatGenerationChunk(message=chunk)
            finally:
                complete(shown.close())

    async def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, *_: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        chain = self._chain
        plan, call = _question(chain, messages, stop, kwargs, is_async=True, is_streamed=True)
        with a_request(chain.engine) as scope:
            shown = Shown(_reply(await chain.engine.arun(plan, call, scope), plan), chain, scope)
            try:
                while (chunk := await shown.next()) is not END:
                    yield ChatGenerationChunk(message=chunk)
            finally:
                await shown.close()

    def __deepcopy__(self, memo: Any = None) -> TieredChatModel:
        return self  # a chain holds its application's breakers

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(NO_PICKLE.format("a chat model"))


for _method in (TieredChatModel._generate, TieredChatModel._agenerate):  # noqa: SLF001 - our own
    # LangChain asks for it before every call, and working it out takes as long as a third of ours.
    setattr(_method, "__signature__", signature(_method))  # noqa: B010 - no attribute a type checker knows


def _question(
    chain: Chain,
    messages: list[BaseMessage],
    stop: list[str] | None,
    options: dict[str, Any],
    *,
    is_async: bool,
    is_streamed: bool,
) -> tuple[Plan, Call]:
    """The plan for a request, and the request as the plan's call."""
    if stop is not None:
        options["stop"] = stop
    tools = options.pop("tools", None) or ()
    if options.get("tool_choice") == "none":
        tools = ()
        del options["tool_choice"]
    policy = chain.engine.policy
    request = Request(messages, tools, options, partial(_language, policy.language, messages), policy.texts)
    plan = chain.plan(is_async=is_async, is_streamed=is_streamed, has_tools=bool(tools))
    return plan, Call((request,), {}, nameless)


def _reply(outcome: Outcome, plan: Plan) -> Reply:
    reply: Reply = value_or_raise(outcome, plan.target)
    return reply


def _result(reply: Reply) -> ChatResult:
    message, tier = reply.message, reply.request.tier
    told = {"response_metadata": {**message.response_metadata, "tier": tier.name if tier is not None else NO_TIER}}
    if reply.request.usage is not None:
        told["usage_metadata"] = add_usage(reply.request.usage, message.usage_metadata)  # type: ignore[assignment]
    return ChatResult(generations=[ChatGeneration(message=message.model_copy(update=told))])


def _language(configured: Language | Literal["auto"], messages: Sequence[BaseMessage]) -> Language:
    return language_of(messages) if configured == "auto" else configured


def nameless(*_: Any) -> dict[str, Any]:
    """A model call has no arguments that a policy could name."""
    return {}
