"""The three agents: the same model, the same tools, the same prompt, and what each does about failure."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    ToolCallRequest,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from examples.customer_service.endpoint import model_name, patience
from examples.customer_service.faults import seconds
from examples.customer_service.tools import READS, ShopTools
from langgraph_degrade import Degrader, KeywordTemplate, Policy, Tier

PROMPT = (
    "You are the customer service agent of a small shop. Answer in the customer's language, briefly, and only with what "
    "the tools say. Look things up every time you are asked: they change. Never guess."
)
SORRY = (
    "Sorry, I cannot process your request at the moment. Please try again later or call 400-000-0000. "
    "抱歉，暂时无法处理您的请求，请稍后再试或致电 400-000-0000。"
)
POLICY = Path(__file__).with_name("degrade.yaml")
LOCAL_TIME = 60.0
"""Seconds a small local model may take: it lives in real time, on a processor that others use."""
MOST_TOKENS = 256
ORDER, ARTICLE = re.compile(r"\b(DD\d{4})\b"), re.compile(r"\b(P-\d{3})\b")
KEYWORDS = (
    KeywordTemplate("get_order", ["status of order", "订单状态", "的状态"], {"order_id": ORDER}),
    KeywordTemplate("get_logistics", ["parcel", "包裹", "物流"], {"order_id": ORDER}),
    KeywordTemplate("get_stock", ["in stock", "how many", "库存", "有货", "剩多少"], {"sku": ARTICLE}),
)
"""How code looks things up where no model can choose; it never writes."""
Agent = Runnable[Any, Any]


@dataclass(frozen=True, slots=True)
class Services:
    """Where the services of one agent listen; what is opened for them is closed with `exits`."""

    shop: str
    model: str
    backup: str
    local: str | None
    """A small local model, where the day has one."""
    is_backup_weak: bool
    """The backup is a small local model too."""
    exits: ExitStack

    def shop_tools(self, timeout: float) -> ShopTools:
        """Make the shop's tools; the shop has `timeout` seconds to answer."""
        return ShopTools(self.exits.enter_context(httpx.Client(base_url=self.shop, timeout=timeout)))

    def chat_model(self, url: str, **settings: Any) -> ChatOpenAI:
        """Make the chat model behind `url`."""
        return ChatOpenAI(model=model_name(), base_url=url, api_key=SecretStr("local"), **settings)

    def chat_models(self) -> tuple[ChatOpenAI, ChatOpenAI, ChatOpenAI | None]:
        """Make the main, the backup and the local one, each with one request a call and as much time as it takes."""
        main = self.chat_model(self.model, timeout=patience(), max_retries=0)
        time = LOCAL_TIME if self.is_backup_weak else patience()
        backup = self.chat_model(self.backup, timeout=time, max_retries=0, max_tokens=MOST_TOKENS)
        if self.local is None:
            return main, backup, None
        return main, backup, self.chat_model(self.local, timeout=LOCAL_TIME, max_retries=0, max_tokens=MOST_TOKENS)


def plain(services: Services) -> Agent:
    """Build the agent of the first tutorial: libraries' defaults (the SDK retries twice, httpx gives up after 5 s)."""
    tools = services.shop_tools(timeout=seconds(5)).tools()
    model = services.chat_model(services.model)
    return create_agent(model, tools, system_prompt=PROMPT, checkpointer=InMemorySaver())


def langchain(services: Services) -> Agent:
    """Build the agent of a careful engineer with LangChain's own middleware.

    A tighter tool timeout; a second model endpoint, tried at once, then the pair again; reads and the refund (which
    carries an idempotency key) are retried twice, the other writes never; whatever still fails is told to the model.
    """
    tools = services.shop_tools(timeout=seconds(3)).tools()
    main, *others = services.chat_models()
    first, longest = seconds(1), seconds(10)  # between attempts: the middleware's own default, and a cap
    retried: list[BaseTool | str] = [*READS, "refund_order"]
    middleware: list[AgentMiddleware[Any, Any, Any]] = [
        ModelRetryMiddleware(max_retries=1, on_failure=lambda _: SORRY, initial_delay=first, max_delay=longest),
        ModelFallbackMiddleware(*(model for model in others if model is not None)),
        ToolErrorMiddleware(on_error=_tool_failed),
        ToolRetryMiddleware(tools=retried, on_failure="error", initial_delay=first, max_delay=longest),
    ]
    return create_agent(main, tools, system_prompt=PROMPT, middleware=middleware, checkpointer=InMemorySaver())


def _tool_failed(_: Exception, request: ToolCallRequest) -> str:
    return f"{request.tool_call['name']} failed: the service is temporarily unavailable."


def degraded(services: Services) -> Agent:
    """Build the agent that degrades: one middleware, one policy file, and three look-ups of whether a write was done.

    The tools stay as they are in `plain`; the model steps down through the same endpoints as in `langchain`, each asked
    in the way it can answer: a weak backup by numbers, the smallest for words alone.
    """
    shop = services.shop_tools(timeout=seconds(5))
    main, backup, local = services.chat_models()
    tiers = [Tier("main", main), Tier("backup", backup, prompt="numbered" if services.is_backup_weak else None)]
    if local is not None:
        tiers.append(Tier("minimal", local, use="wording"))
    degrader = Degrader(Policy.load(POLICY))
    degrader.register(shop.ticket_exists, shop.refund_exists, shop.shipment_exists)
    middleware = [degrader.middleware(tiers, keywords=KEYWORDS)]
    agent = create_agent(main, shop.tools(), system_prompt=PROMPT, middleware=middleware, checkpointer=InMemorySaver())
    return degrader.wrap(agent)


AGENTS: dict[str, Callable[[Services], Agent]] = {"plain": plain, "langchain": langchain, "degraded": degraded}
