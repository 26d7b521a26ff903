"""`DegradingRunnable`: prompt and model swapped together, where LangChain's `.with_fallbacks` was (spec M1, M7)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.base import RunnableBindingBase, RunnableLike, coerce_to_runnable
from langchain_core.runnables.utils import ConfigurableFieldSpec, get_unique_config_specs

from langgraph_degrade.adapters.audience import Audience
from langgraph_degrade.adapters.chat_model import NO_PICKLE, nameless
from langgraph_degrade.adapters.guard import value_or_raise
from langgraph_degrade.adapters.members import Members, targets
from langgraph_degrade.adapters.rest import Rest, a_request
from langgraph_degrade.engine import ambient
from langgraph_degrade.engine.plan import Call
from langgraph_degrade.engine.ports import complete
from langgraph_degrade.engine.scope import ACTIVE
from langgraph_degrade.errors import IncompleteStream
from langgraph_degrade.stages.models.calling import END

if TYPE_CHECKING:
    from langgraph_degrade.adapters.members import Opened
    from langgraph_degrade.engine.engine import Engine
    from langgraph_degrade.engine.plan import Outcome, Plan
    from langgraph_degrade.engine.scope import Scope


class DegradingRunnable(Runnable[Any, Any]):
    """A runnable of several, best first; `degrader.runnable([...])` makes one.

    With nothing left it raises: the original error where nothing was tried instead of it, `CircuitOpen` where it was
    refused, `LadderExhausted` otherwise; `IncompleteStream` where a stream broke after a part of it was shown.
    """

    def __init__(self, members: Members, name: str) -> None:
        self.name = name
        self._members = members

    def __deepcopy__(self, memo: Any = None) -> DegradingRunnable:
        return self  # as the chat model

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(NO_PICKLE.format("a runnable"))

    @property
    def runnables(self) -> Sequence[Runnable[Any, Any]]:
        """What it steps down through."""
        return [member.runnable for member in self._members.all]

    @property
    def InputType(self) -> Any:  # noqa: N802 - LangChain's name
        """As the first takes it."""
        return self.runnables[0].InputType

    @property
    def OutputType(self) -> Any:  # noqa: N802 - LangChain's name
        """As the first gives it."""
        return self.runnables[0].OutputType

    def get_input_schema(self, config: RunnableConfig | None = None) -> Any:
        """As the first takes it."""
        return self.runnables[0].get_input_schema(config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> Any:
        """As the first gives it."""
        return self.runnables[0].get_output_schema(config)

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What any of them can be configured with."""
        return get_unique_config_specs(spec for one in self.runnables for spec in one.config_specs)

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> DegradingRunnable:
        """Bind tools to every one of them (case-F08)."""
        return self._each("bind_tools", tools, **kwargs)

    def with_structured_output(self, schema: Any, **kwargs: Any) -> DegradingRunnable:
        """Give every one of them a form to answer in (case-F08)."""
        for one in self.runnables:
            if isinstance(one, RunnableBindingBase) and "tools" in one.kwargs:
                raise TypeError(
                    f"{self.name}: with_structured_output would drop the tools bound before; bind one of both"
                )
        return self._each("with_structured_output", schema, **kwargs)

    def _each(self, method: str, *args: Any, **kwargs: Any) -> DegradingRunnable:
        changed: list[Runnable[Any, Any]] = []
        for place, one in enumerate(self.runnables):
            change: Callable[..., Any] | None = getattr(one, method, None)
            if change is None:
                raise TypeError(
                    f"{self.name}: number {place}, {one.get_name()}, has no {method}; "
                    f"call it on the model inside, before degrader.runnable: prompt | model.{method}(...)"
                )
            changed.append(change(*args, **kwargs))
        return DegradingRunnable(self._members.replaced(changed), cast("str", self.name))

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """Ask the first; where it fails, the next."""
        return self._call_with_config(_own(self._ask), input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """See `invoke`."""
        return await self._acall_with_config(_own(self._aask), input, config, **kwargs)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:  # noqa: A002
        """Ask the first; where it fails before anything could be shown, the next. Nobody goes on where another broke."""
        return self._transform_stream_with_config(iter((input,)), _own(self._tell), config, **kwargs)

    async def astream(
        self,
        input: Any,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """See `stream`."""
        async for chunk in self._atransform_stream_with_config(_only(input), _own(self._atell), config, **kwargs):
            yield chunk

    def batch(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Ask with many inputs at once; each steps down on its own. An interrupt is raised, whatever is returned."""
        return _passed(super().batch(*args, **kwargs))

    async def abatch(self, *args: Any, **kwargs: Any) -> list[Any]:
        """See `batch`."""
        return _passed(await super().abatch(*args, **kwargs))

    def _ask(self, asked: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        plan, engine = self._members.plan(is_async=False, is_streamed=False), self._members.engine
        with a_request(engine) as scope, _inside(scope), _watched(asked, is_async=False) as audience:
            return _value(engine.run(plan, Call((asked, config, audience), kwargs, nameless), scope), plan, audience)

    async def _aask(self, asked: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        plan, engine = self._members.plan(is_async=True, is_streamed=False), self._members.engine
        with a_request(engine) as scope, _inside(scope), _watched(asked, is_async=True) as audience:
            call = Call((asked, config, audience), kwargs, nameless)
            return _value(await engine.arun(plan, call, scope), plan, audience)

    def _tell(self, inputs: Iterator[Any], config: RunnableConfig, **kwargs: Any) -> Iterator[Any]:
        plan, engine = self._members.plan(is_async=False, is_streamed=True), self._members.engine
        asked = next(inputs)
        with a_request(engine) as scope, _watched(asked, is_async=False) as audience:
            with _inside(scope):
                outcome = engine.run(plan, Call((asked, config, audience), kwargs, nameless), scope)
            telling = self._telling(_value(outcome, plan, audience), scope)
            try:
                while (chunk := complete(telling.next())) is not END:
                    yield chunk
            finally:
                complete(telling.close())

    async def _atell(self, inputs: AsyncIterator[Any], config: RunnableConfig, **kwargs: Any) -> AsyncIterator[Any]:
        plan, engine = self._members.plan(is_async=True, is_streamed=True), self._members.engine
        asked = await anext(inputs)
        with a_request(engine) as scope, _watched(asked, is_async=True) as audience:
            with _inside(scope):
                outcome = await engine.arun(plan, Call((asked, config, audience), kwargs, nameless), scope)
            telling = self._telling(_value(outcome, plan, audience), scope)
            try:
                while (chunk := await telling.next()) is not END:
                    yield chunk
            finally:
                await telling.close()

    def _telling(self, opened: Opened, scope: Scope) -> _Telling:
        main = self._members.first.target
        if opened.rest is None:
            return _Telling(opened, None)
        at = opened.member
        rest = Rest(opened.rest, self._members.engine, scope, main=main, at=at.target, source=at.source)
        return _Telling(opened, rest)


class _Telling:
    """The chunks of one stream, shown as they may be."""

    def __init__(self, opened: Opened, rest: Rest | None) -> None:
        self._said = opened.said
        self._stage = opened.stage
        self._ready = opened.held
        self._held: list[Any] = []
        self._rest = rest

    async def next(self) -> Any:
        """The next chunk to show, or `END`."""
        if self._rest is None:
            await self._stage.accept()
        while not self._ready and self._rest is not None:
            await self._pull(self._rest)
        return self._ready.popleft() if self._ready else END

    async def close(self) -> None:
        """Let go of a stream that was not listened to until its end."""
        rest, self._rest = self._rest, None
        if rest is not None:
            await rest.close()

    async def _pull(self, rest: Rest) -> None:
        chunk = await rest.next()
        if chunk is END:
            self._rest = None
            failure = self._said.failure()
            if failure is not None:
                raise rest.cut(failure)
            rest.done()
            await self._stage.accept()
        else:
            self._held.append(chunk)
        if chunk is END or self._said.may_show(chunk):
            self._ready.extend(self._held)
            self._held.clear()


def degrading(engine: Engine, runnables: Sequence[RunnableLike[Any, Any]], name: str | None) -> DegradingRunnable:
    """Make one; without a name it is called as the first is, and shares its breakers with none of the same name."""
    ready: list[Runnable[Any, Any]] = [coerce_to_runnable(one) for one in runnables]
    if not ready:
        raise ValueError("runnable: one at least is wanted, best first")
    called = name or ready[0].get_name()
    twin = "" if name else engine.scopes.new_id()
    return DegradingRunnable(Members(engine, ready, targets(engine, called, len(ready), twin=twin)), called)


@contextmanager
def _watched(asked: Any, *, is_async: bool) -> Generator[Audience]:
    """Those who watch the models inside; when it is over, nobody is heard any more."""
    audience = Audience(asked, is_async=is_async)
    try:
        yield audience
    finally:
        audience.leave()


def _value(outcome: Outcome, plan: Plan, audience: Audience) -> Any:
    failure = outcome.failure
    if not outcome.has_value and failure is not None and audience.has_seen:
        reason = failure.reason or failure.kind
        cause = outcome.causes[-1] if outcome.causes else None
        raise IncompleteStream(f"{plan.target.name}: {reason} after a part of it was shown") from cause
    return value_or_raise(outcome, plan.target)


@contextmanager
def _inside(scope: Scope) -> Generator[None]:
    """What is guarded inside belongs to the same request. Not around a `yield`: it is left in another context."""
    token = ACTIVE.set(scope)
    try:
        yield
    finally:
        ACTIVE.reset(token)


def _passed(results: list[Any]) -> list[Any]:
    for one in results:
        if isinstance(one, BaseException) and ambient.is_control_flow(one):
            raise one
    return results


def _own(way: Any) -> Any:
    """LangChain gives a callable the config of the child run by name, which its type hints do not say."""
    return way


async def _only(value: Any) -> AsyncIterator[Any]:
    yield value
