"""The members of a runnable that steps down, as plans for the engine: one for each colour, streamed or not."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import Runnable, RunnableSequence
from langchain_core.runnables.base import RunnableBindingBase

from langgraph_degrade.adapters.chain import model_target
from langgraph_degrade.adapters.quiet import models_in, quiet
from langgraph_degrade.adapters.said import Said, judged
from langgraph_degrade.engine.plan import Plan, Step
from langgraph_degrade.engine.ports import complete
from langgraph_degrade.stages.models.calling import END, Chunks, Idle, awaits, streams
from langgraph_degrade.stages.tools.reading import Reading

if TYPE_CHECKING:
    from langgraph_degrade.adapters.audience import Audience, Stage
    from langgraph_degrade.engine.engine import Engine
    from langgraph_degrade.engine.plan import Call
    from langgraph_degrade.engine.target import Target

KIND = "runnable:"
NO_HASTE = Idle(float("inf"), float("inf"))
"""For what says nothing before it has said everything: only the whole of it has a limit."""


@dataclass(slots=True)
class Opened:
    """A stream whose beginning may be shown, or which has ended before any of it could be."""

    member: Member
    rest: Chunks | None
    """None where it has ended."""
    stage: Stage
    """Where its words wait for those who watch the models inside."""
    said: Said = field(default_factory=Said)
    held: deque[Any] = field(default_factory=deque[Any])
    """Chunks nobody has seen yet."""


class Member:
    """One of the runnables, and whose breakers it stands behind."""

    def __init__(self, runnable: Runnable[Any, Any], target: Target, engine: Engine) -> None:
        self.runnable = runnable
        self.target = target
        self._engine = engine
        self._asked: Runnable[Any, Any] = quiet(runnable)
        self._streams = any(map(streams, models_in(runnable)))
        self._idle = Idle() if _speaks_at_once(runnable) else NO_HASTE

    @property
    def is_quiet(self) -> bool:
        """A model inside would have tried again by itself."""
        return self._asked is not self.runnable

    @property
    def source(self) -> str:
        """How events call it."""
        return self.target.name.removeprefix(KIND)

    def way(self, *, is_async: bool, is_streamed: bool) -> Callable[..., Any]:
        """How it is asked: `(input, config, audience, **kwargs)`."""
        if is_streamed:
            return self._alisten if is_async else self._listen
        return self._aask if is_async else self._ask

    def _ask(self, asked: Any, config: Any, audience: Audience, /, **kwargs: Any) -> Any:
        stage = audience.turn()
        value = self._asked.invoke(asked, audience.config(config, stage, streams=self._streams), **kwargs)
        complete(_accepted(stage, value))
        return value

    async def _aask(self, asked: Any, config: Any, audience: Audience, /, **kwargs: Any) -> Any:
        stage = audience.turn()
        value = await self._asked.ainvoke(asked, audience.config(config, stage, streams=self._streams), **kwargs)
        await _accepted(stage, value)
        return value

    def _listen(self, asked: Any, config: Any, audience: Audience, /, **kwargs: Any) -> Opened:
        stage = audience.turn()
        steps = self._asked.stream(asked, audience.config(config, stage), **kwargs)
        chunks = Chunks(steps, self._engine.sync_ports, is_async=False, idle=self._idle)
        return complete(self._open(Opened(self, chunks, stage), chunks, is_held=audience.is_held))

    async def _alisten(self, asked: Any, config: Any, audience: Audience, /, **kwargs: Any) -> Opened:
        stage = audience.turn()
        steps = self._asked.astream(asked, audience.config(config, stage), **kwargs)
        chunks = Chunks(steps, self._engine.async_ports, is_async=True, idle=self._idle)
        return await self._open(Opened(self, chunks, stage), chunks, is_held=audience.is_held)

    @staticmethod
    async def _open(opened: Opened, chunks: Chunks, *, is_held: bool) -> Opened:
        try:
            while (chunk := await chunks.next(has_begun=bool(opened.held))) is not END:
                opened.held.append(chunk)
                if opened.said.may_show(chunk) and not is_held:
                    await opened.stage.show()
                    return opened
        except BaseException:
            await chunks.close()
            raise
        opened.rest = None
        return opened


class Members:
    """The runnables, best first; each has breakers of its own and, but for the first, a quota."""

    def __init__(self, engine: Engine, runnables: Sequence[Runnable[Any, Any]], targets: Sequence[Target]) -> None:
        self.engine = engine
        self.all = [Member(one, target, engine) for one, target in zip(runnables, targets, strict=True)]
        self.first = self.all[0]
        self._plans: dict[tuple[bool, bool], Plan] = {}

    def replaced(self, runnables: Sequence[Runnable[Any, Any]]) -> Members:
        """Other runnables behind the same breakers: the same ones, with tools say."""
        return Members(self.engine, runnables, [member.target for member in self.all])

    def plan(self, *, is_async: bool, is_streamed: bool) -> Plan:
        """What may be done in this colour."""
        key = (is_async, is_streamed)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._plan(*key)
        return plan

    def _plan(self, is_async: bool, is_streamed: bool) -> Plan:  # noqa: FBT001 - the parts of a key
        first, *others = self.all
        way = partial(Member.way, is_async=is_async, is_streamed=is_streamed)
        return Plan(
            target=first.target,
            fn=way(first),
            is_async=is_async,
            steps=[Step("model", one.source, one.target, way(one), is_async) for one in others],
            reader=_read_opened if is_streamed else _read,
            awaits=awaits if is_streamed else None,
            is_cacheable=False,
            heeds_no=False,
            repeats=False,  # what a member does may be more than asking
            waits=self.all[-1].is_quiet,
            is_shown=_is_shown,
            leaves_items=False,
            answers=False,
        )


def targets(engine: Engine, name: str, count: int, *, twin: str) -> list[Target]:
    """`runnable:NAME`, `runnable:NAME/1`, …"""
    main = model_target(engine, f"{KIND}{name}", twin=twin)
    others = [model_target(engine, f"{KIND}{name}/{place}", main=main, twin=twin) for place in range(1, count)]
    return [main, *others]


def _read(value: Any) -> Reading:
    return Reading(value, None, judged(value))


def _read_opened(opened: Opened) -> Reading:
    return Reading(opened, None, opened.said.failure() if opened.rest is None else None)


async def _accepted(stage: Stage, value: Any) -> None:
    """Show a whole answer, if it is one."""
    if judged(value) is None:
        await stage.accept()


def _is_shown(call: Call) -> bool:
    audience: Audience = call.args[2]
    return audience.has_seen


def _speaks_at_once(runnable: Any) -> bool:
    """It hands on what a model says as the model says it, so that silence means something."""
    while isinstance(runnable, RunnableSequence | RunnableBindingBase):
        runnable = runnable.last if isinstance(runnable, RunnableSequence) else runnable.bound
    return isinstance(runnable, BaseChatModel | StrOutputParser)
