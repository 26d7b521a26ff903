"""Tool calls as LangGraph's `ToolNode` makes them: the tool swapped for its guarded self, siblings kept apart (spec E6)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from langchain_core.messages import ToolMessage
from langgraph.types import Command

from langgraph_degrade.adapters.tools import attach
from langgraph_degrade.context import turn_of
from langgraph_degrade.engine import ambient
from langgraph_degrade.engine.plan import Outcome
from langgraph_degrade.failures import Failure
from langgraph_degrade.stages.messages import language_of, last_question, messages_of
from langgraph_degrade.stages.tools.result import ToolResult
from langgraph_degrade.texts import text

if TYPE_CHECKING:
    from langgraph.prebuilt.tool_node import ToolCallRequest

    from langgraph_degrade.adapters.tools import ToolGuard
    from langgraph_degrade.engine.engine import Engine
    from langgraph_degrade.engine.scope import Scope

log = logging.getLogger("langgraph_degrade")

Result = Any  # declared `ToolMessage | Command`; really also lists of both


class ToolCalls:
    """Wraps every tool call of one node; sync and async differ by one `await`."""

    def __init__(self, engine: Engine, guard: ToolGuard) -> None:
        self._engine = engine
        self._guard = guard

    def wrap(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]) -> Result:
        with _One(self._engine, self._guard, request) as call:
            call.result = handler(call.request)
        return call.update()

    async def awrap(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]) -> Result:
        with _One(self._engine, self._guard, request) as call:
            call.result = await handler(call.request)
        return call.update()


class _One:
    """One call: joins the request's scope, runs the guarded tool, and never ends the run of its siblings."""

    def __init__(self, engine: Engine, guard: ToolGuard, request: ToolCallRequest) -> None:
        self._engine = engine
        self._state = request.state
        self._call = request.tool_call
        self.scope = enter(engine, request.state)
        self._mark = self.scope.revision if self.scope else 0
        self.request = request if request.tool is None else request.override(tool=guard(request.tool))
        self.result: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None:
            return False
        if not isinstance(error, Exception) or ambient.is_control_flow(error):
            return False
        # Not the tool's own failure (the engine has those): something around it, e.g. another middleware.
        log.error("tool call %s failed outside its tool", self._call["name"], exc_info=error)
        outcome = Outcome("unknown", failure=Failure("unknown", reason=type(error).__name__, cause=error))
        words = text("repaired.failed", self._engine.language(), self._engine.policy.texts)
        message = ToolMessage(words, name=self._call["name"], tool_call_id=self._call["id"], status="error")
        self.result = attach(message, outcome, own_artifact=False)
        return True

    def update(self) -> Any:
        """What the node writes: the message, and the context where something was recorded and the graph keeps it."""
        self._say_rejected()
        if self.scope is None or self.scope.revision == self._mark or not keeps_context(self._state):
            return self.result
        return with_context(self.result, self.scope)

    def _say_rejected(self) -> None:
        """LangGraph's own error messages (unknown tool, bad arguments) carry a typed result too (spec E1)."""
        message = self.result
        if isinstance(message, ToolMessage) and message.status == "error" and ToolResult.of(message) is None:
            failure = Failure("malformed_call", reason="not a call of an offered tool", unsent=True)
            attach(message, Outcome("rejected", failure=failure), own_artifact=message.artifact is not None)


def enter(engine: Engine, state: object) -> Scope | None:
    """The request this node runs in, told which turn, thread and language it is."""
    scope = engine.scopes.find()
    if scope is None:
        return None
    messages = messages_of(state)
    question = last_question(messages)
    if scope.language is None:
        configured = engine.policy.language
        scope.language = language_of(question) if configured == "auto" else configured
    thread = ambient.configurable().get("thread_id")
    scope.adopt(state, turn_of(messages), None if thread is None else str(thread))
    return scope


def keeps_context(state: object) -> bool:
    """The graph declares the `degrade` key (else there is nowhere to write)."""
    return "degrade" in state if isinstance(state, dict) else hasattr(state, "degrade")


def with_context(result: Any, scope: Scope) -> Any:
    """`result` with the request's context added to what it writes."""
    change = {"degrade": scope.context.plain()}
    if isinstance(result, Command):
        if result.graph is None and (result.update is None or isinstance(result.update, dict)):
            return Command(update={**(result.update or {}), **change}, goto=result.goto, resume=result.resume)
        return result
    if isinstance(result, list):
        return [*result, Command(update=change)]
    return Command(update={"messages": [result], **change})
