"""Model calls of an agent: mended history, breaker and time limit, and an honest answer where the model has none."""

from __future__ import annotations

import logging
import operator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from langchain.agents.middleware.types import ExtendedModelResponse, ModelResponse
from langchain_core.messages import AIMessage
from langgraph.types import Command

from langgraph_degrade.adapters.chain import model_target
from langgraph_degrade.adapters.chat_model import TieredChatModel, nameless
from langgraph_degrade.adapters.hearing import hearing
from langgraph_degrade.adapters.known_models import KnownModels
from langgraph_degrade.adapters.tool_calls import enter, keeps_context
from langgraph_degrade.context import DegradeContext, Event
from langgraph_degrade.engine import ambient
from langgraph_degrade.engine.logs import frames
from langgraph_degrade.engine.plan import Call, Outcome, Plan, Step
from langgraph_degrade.failures import Failure, classify
from langgraph_degrade.stages.closing import closing
from langgraph_degrade.stages.messages import is_whole, repair
from langgraph_degrade.stages.models.calling import streams
from langgraph_degrade.stages.models.request import is_plainly_good
from langgraph_degrade.stages.tools.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Iterable

    from langchain.agents.middleware.types import ModelRequest
    from langchain_core.language_models import BaseChatModel

    from langgraph_degrade.engine.engine import Engine
    from langgraph_degrade.engine.scope import Scope

log = logging.getLogger("langgraph_degrade")

STEPS = (Step("function", "none"),)
"""A model that has no answer is said to have none; tiers come with a later release."""
Response = Any


class ModelCalls:
    """Wraps every model call of one agent; sync and async differ by one `await`."""

    def __init__(self, engine: Engine, model: BaseChatModel | None = None) -> None:
        """`model` is asked in place of the agent's own."""
        self._engine = engine
        self._model = model
        self._models = KnownModels()
        self._plans: dict[tuple[str, bool, bool, bool], Plan] = {}

    def wrap(self, request: ModelRequest, handler: Callable[[ModelRequest], Response]) -> Response:
        one, plan = self._begin(request, is_async=False)
        if plan is None:
            with one.ending():
                one.value = handler(one.request)
            return one.update(one.value)
        return one.response(self._engine.run(plan, one.call(handler), one.scope))

    async def awrap(self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Response]]) -> Response:
        one, plan = self._begin(request, is_async=True)
        if plan is None:
            with one.ending():
                one.value = await handler(one.request)
            return one.update(one.value)
        return one.response(await self._engine.arun(plan, one.call(handler), one.scope))

    def _begin(self, request: ModelRequest, *, is_async: bool) -> tuple[_One, Plan | None]:
        """The call, and the plan for it; None where the model degrades by itself."""
        if self._model is not None:
            request = request.override(model=self._model)
        if isinstance(request.model, TieredChatModel):
            return _One(self._engine, request), None
        quiet, name = self._models.look_up(request.model)
        one = _One(self._engine, request if quiet is request.model else request.override(model=quiet))
        is_streamed = _is_streamed()
        key = (name, is_async, is_streamed, is_streamed or streams(quiet))
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._plan(*key)
        return one, plan

    def _plan(self, name: str, is_async: bool, is_streamed: bool, is_heard: bool) -> Plan:  # noqa: FBT001 - the parts of a key
        return Plan(
            target=model_target(self._engine, name),
            fn=(_aheard if is_async else _heard) if is_heard else operator.call,
            is_async=is_async,
            steps=STEPS,
            reader=_read,
            is_cacheable=False,
            leaves_items=False,
            waits=True,
            repeats=not is_streamed,
        )


class _One:
    """One model call."""

    def __init__(self, engine: Engine, request: ModelRequest) -> None:
        self._engine = engine
        self.scope = enter(engine, request.state)
        self._mark = self.scope.revision if self.scope else 0
        self.request = self._mended(request)
        self.value: Any = None

    @contextmanager
    def ending(self) -> Generator[None]:
        """What a model that degrades by itself raises has been recorded: nothing was left."""
        try:
            yield
        except Exception as error:
            if ambient.is_control_flow(error):
                raise
            log.warning("no model answered: %s\n%s", type(error).__name__, frames(error))
            if self.scope is not None and self.scope.revision == self._mark:
                self._note(error, self.scope)
            self.value = self._closing()

    def _note(self, error: Exception, scope: Scope) -> None:
        """Write down what the chain never saw: the failure of another middleware, or of a model it brought."""
        failure = classify(error, source="model") or Failure("unknown", reason=type(error).__name__)
        event = Event.of(
            failure,
            id=scope.next_id(),
            target="model:agent",
            stage="answer",
            direction="function",
            outcome="unavailable",
            at=self._engine.clock.time(),
        )
        scope.reach("answer", "function")
        scope.record(event)

    def call(self, handler: Callable[[ModelRequest], Any]) -> Call:
        return Call((handler, self.request), {}, nameless)

    def response(self, outcome: Outcome) -> Response:
        return self.update(outcome.value if outcome.status == "ok" else self._closing())

    def update(self, value: Response) -> Response:
        """What the node writes: the answer, and the context where something was recorded and the graph keeps it."""
        if self.scope is None or self.scope.revision == self._mark or not keeps_context(self.request.state):
            return value
        change = {"degrade": self.scope.context.plain()}
        if isinstance(value, ExtendedModelResponse):
            old = value.command.update if value.command is not None and isinstance(value.command.update, dict) else {}
            return ExtendedModelResponse(value.model_response, Command(update={**old, **change}))
        if isinstance(value, AIMessage):
            value = ModelResponse(result=[value])
        return ExtendedModelResponse(value, Command(update=change))

    def _mended(self, request: ModelRequest) -> ModelRequest:
        if is_whole(request.messages):
            return request
        mended: Any = repair(request.messages, self._engine.language(), self._engine.policy.texts)
        return request.override(messages=mended)

    def _closing(self) -> AIMessage:
        """The model has no answer: say what is known, what is not done, and what to do next."""
        context = self.scope.context if self.scope is not None else DegradeContext()
        language, texts = self._engine.language(), self._engine.policy.texts
        words = closing("answer.crash", self.request.messages, context, language, texts)
        return AIMessage(words, id=str(uuid4()), response_metadata={"degraded": True})


def _heard(handler: Callable[[ModelRequest], Response], request: ModelRequest) -> Response:
    with hearing():
        return handler(request)


async def _aheard(handler: Callable[[ModelRequest], Awaitable[Response]], request: ModelRequest) -> Response:
    with hearing():
        return await handler(request)


def _is_streamed() -> bool:
    """Somebody sees the tokens as they come: asking again would show them twice (spec M5)."""
    callbacks = ambient.config().get("callbacks")
    handlers: Iterable[object] = getattr(callbacks, "handlers", callbacks) or ()
    return any(
        "Streaming" in kind.__name__ or "StreamMessages" in kind.__name__
        for one in handlers
        for kind in type(one).__mro__
    )


def _read(value: Any) -> Reading:
    """A response is as good as its message: empty, cut, filtered or malformed ones are failures."""
    response = value.model_response if isinstance(value, ExtendedModelResponse) else value
    message = response.result[-1] if isinstance(response, ModelResponse) and response.result else response
    if isinstance(response, ModelResponse) and response.structured_response is not None:
        return Reading(value, None, None)
    if is_plainly_good(message):
        return Reading(value, None, None)
    return Reading(value, None, classify(message, source="model"))
