"""`degrader.middleware()`: one line for `create_agent`. Only `wrap_*` hooks: others add nodes to the graph."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from langchain.agents.middleware.types import AgentMiddleware, AgentState, ModelRequest
from langgraph.prebuilt.tool_node import ToolCallRequest

from langgraph_degrade.adapters.model_calls import ModelCalls
from langgraph_degrade.adapters.tool_calls import ToolCalls
from langgraph_degrade.context import merge

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from langgraph_degrade.adapters.tools import ToolGuard
    from langgraph_degrade.engine.engine import Engine


class DegradeAgentState(AgentState[Any]):
    """An agent's state with the `degrade` key."""

    degrade: NotRequired[Annotated[dict[str, Any], merge]]


class DegradeMiddleware(AgentMiddleware[Any, Any, Any]):
    """Tools that say honestly what came of them; a model that is not asked while it is known to be down."""

    state_schema = DegradeAgentState

    def __init__(
        self, engine: Engine, guard: ToolGuard, *, model: BaseChatModel | None = None, name: str = "degrade"
    ) -> None:
        """`model` is asked in place of the agent's own; `name` must be unique among an agent's middleware."""
        super().__init__()
        self._name = name
        self._tools = ToolCalls(engine, guard)
        self._models = ModelCalls(engine, model)

    @property
    def name(self) -> str:
        """The middleware's name in the agent."""
        return self._name

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """See `ToolCalls`."""
        return self._tools.wrap(request, handler)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """See `ToolCalls`."""
        return await self._tools.awrap(request, handler)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """See `ModelCalls`."""
        return self._models.wrap(request, handler)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """See `ModelCalls`."""
        return await self._models.awrap(request, handler)
