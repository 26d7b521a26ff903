"""Tool calls as LangGraph's `ToolNode` makes them: the tool swapped for its guarded self, siblings kept apart (spec E6)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from langchain_core.messages import ToolMessage
from langgraph.types import Command

from langgraph_degrade.adapters.results import attach
from langgraph_degrade.adapters.tool_guard import MADE, AsyncOnly, Made
from langgraph_degrade.adapters.tools import target_of
from langgraph_degrade.context import Event, turn_of
from langgraph_degrade.engine import ambient
from langgraph_degrade.engine.ladder import FLAGS
from langgraph_degrade.engine.logs import frames
from langgraph_degrade.engine.plan import Call, Outcome
from langgraph_degrade.failures import Failure, classify
from langgraph_degrade.stages.messages import language_of, maker_of, messages_of
from langgraph_degrade.stages.tools.result import ToolResult
from langgraph_degrade.texts import text

if TYPE_CHECKING:
    from langgraph.prebuilt.tool_node import ToolCallRequest

    from langgraph_degrade.adapters.tools import ToolGuard
    from langgraph_degrade.engine.engine import Engine
    from langgraph_degrade.engine.scope import Scope
    from langgraph_degrade.engine.target import Target

log = logging.getLogger("langgraph_degrade")

Result = Any  # declared `ToolMessage | Command`; really also lists of both


class ToolCalls:
    """Wraps every tool call of one node; sync and async differ by one `await`."""

    def __init__(self, engine: Engine, guard: ToolGuard, *, messages_key: str = "messages") -> None:
        self.engine = engine
        self.guard = guard
        self.messages_key = messages_key

    def wrap(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]) -> Result:
        with _One(self, request) as call:
            call.result = handler(call.request)
        return call.update()

    async def awrap(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]) -> Result:
        with _One(self, request) as call:
            call.result = await handler(call.request)
        return call.update()


class _One:
    """One call: joins the request's scope, runs the guarded tool, and never ends the run of its siblings."""

    def __init__(self, calls: ToolCalls, request: ToolCallRequest) -> None:
        self._engine = calls.engine
        self._key = calls.messages_key
        self._state = request.state
        self._call = request.tool_call
        self.scope = enter(calls.engine, request.state, self._key)
        self._mark = self.scope.revision if self.scope else 0
        self._guarded = None if request.tool is None else calls.guard(request.tool)
        self.request = request if self._guarded is None else request.override(tool=self._guarded)
        id = request.tool_call["id"]
        self._made = Made(id, maker_of(messages_of(request.state, self._key), id), self.scope)
        self.result: Any = None

    def __enter__(self) -> Self:
        self._token = MADE.set(self._made)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        MADE.reset(self._token)
        if not isinstance(error, Exception) or isinstance(error, AsyncOnly) or ambient.is_control_flow(error):
            return False
        # Not the tool's own failure (the engine has those): something around it, or a tool another middleware brought.
        log.error(
            "tool call %s failed outside its tool: %s\n%s", self._call["name"], type(error).__name__, frames(error)
        )
        failure = classify(error) or Failure("unknown", reason=type(error).__name__, cause=error)
        outcome = self._lost(failure)
        words = text(_words(outcome, self._target), self._engine.language(), self._engine.policy.texts)
        message = ToolMessage(words, name=self._call["name"], tool_call_id=self._call["id"])
        self.result = attach(message, outcome)
        self._note(outcome, failure)
        return True

    def update(self) -> Any:
        """What the node writes: the message, and the context where something was recorded and the graph keeps it."""
        self._say_what_it_is()
        if self.scope is None or self.scope.revision == self._mark or not keeps_context(self._state):
            return self.result
        return with_context(self.result, self.scope, self._key)

    @property
    def _target(self) -> Target:
        if self._guarded is not None:
            return target_of(self._guarded)
        return self._engine.target(f"tool:{self._call['name']}")

    def _lost(self, failure: Failure) -> Outcome:
        """What is left to say without the answer, which whoever raised may have meant to hold back."""
        known = self._made.outcome
        if self._target.is_read:
            return Outcome("unavailable", failure=failure)
        if known is None or known.status == "unknown":
            return Outcome("unknown", failure=failure)
        if known.status == "ok":
            return Outcome("ok", failure=failure, source="verified")
        return Outcome("unavailable", failure=failure)

    def _note(self, outcome: Outcome, failure: Failure) -> None:
        """Write down what the engine never saw."""
        scope, target, at = self.scope, self._target, self._engine.clock.time()
        if scope is None:
            return
        is_lost = outcome.status != "ok"
        if is_lost:
            scope.reach(target.stage, "function")
        event = Event.of(
            failure,
            id=scope.next_id(),
            target=target.name,
            stage=target.stage,
            scene=target.policy.scene,
            direction="function" if is_lost else None,
            outcome=outcome.status if is_lost else "verified",
            at=at,
        )
        scope.record(event, (FLAGS[outcome.status],) if is_lost else ())
        if is_lost:
            call = self._made.call or Call((), self._call["args"])
            scope.leave(target, call, is_unknown=outcome.status == "unknown", at=at)

    def _say_what_it_is(self) -> None:
        """Error messages of others carry a typed result too (spec E1): no offered tool was meant, or nobody knows."""
        message = self.result
        if not isinstance(message, ToolMessage) or message.status != "error" or ToolResult.of(message) is not None:
            return
        if self._guarded is not None:
            failure = Failure("unknown", reason="error message of another middleware")
            attach(message, Outcome("unavailable" if self._target.is_read else "unknown", failure=failure))
        else:
            failure = Failure("malformed_call", reason="not a call of an offered tool", unsent=True)
            attach(message, Outcome("rejected", failure=failure))


def _words(outcome: Outcome, target: Target) -> str:
    """The sentence for a call whose own answer is not to be had."""
    if outcome.status == "ok":
        return "repaired.done"
    return "tool.not_done" if outcome.status == "unavailable" and not target.is_read else "repaired.failed"


def enter(engine: Engine, state: object, messages_key: str = "messages") -> Scope | None:
    """The request this node runs in, told its turn, its thread, and where to find its language."""
    scope = engine.scopes.find()
    if scope is None or scope.is_met:
        return scope
    messages = messages_of(state, messages_key)
    if scope.find_language is None:
        scope.find_language = partial(language_of, messages)
    thread = ambient.configurable().get("thread_id")
    scope.adopt(state, turn_of(messages), None if thread is None else str(thread))
    return scope


def keeps_context(state: object) -> bool:
    """The graph declares the `degrade` key (else there is nowhere to write)."""
    return "degrade" in state if isinstance(state, dict) else hasattr(state, "degrade")


def with_context(result: Any, scope: Scope, messages_key: str = "messages") -> Any:
    """`result` with the request's context added to what it writes."""
    change = {"degrade": scope.context.plain()}
    if isinstance(result, Command):
        if result.graph is None and (result.update is None or isinstance(result.update, dict)):
            return Command(update={**(result.update or {}), **change}, goto=result.goto, resume=result.resume)
        return result
    if isinstance(result, list):
        return [*result, Command(update=change)]
    return Command(update={messages_key: [result], **change})
