"""The members of a runnable that steps down, as plans for the engine: one for each colour, streamed or not."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import Runnable, RunnableSequence
from langchain_core.runnables.base import RunnableBindingBase

from langgraph_degrade.adapters.chain import model_target
from langgraph_degrade.engine.plan import Plan, Step
from langgraph_degrade.engine.ports import complete
from langgraph_degrade.failures import Failure, classify
from langgraph_degrade.stages.models.calling import END, Chunks, Idle, is_free, whole_of
from langgraph_degrade.stages.models.request import is_plainly_good
from langgraph_degrade.stages.tools.reading import Reading

if TYPE_CHECKING:
    from langgraph_degrade.engine.engine import Engine
    from langgraph_degrade.engine.target import Target
    from langgraph_degrade.engine.verdict import Verdict

KIND = "runnable:"
NO_HASTE = Idle(float("inf"), float("inf"))
"""For what says nothing before it has said everything: only the whole of it has a limit."""


class Said:
    """What a stream has given so far, and whether it may be shown yet."""

    def __init__(self) -> None:
        self._whole: AIMessage | None = None
        self._is_empty = True
        self._has_spoken = False

    def may_show(self, chunk: Any) -> bool:
        """Take in one more chunk; True where it, and all before it, may be shown at once.

        A message begins with its first words, and goes no further than to its first call: half a call must not be
        shown. Of anything else the first chunk that is not blank counts.
        """
        self._is_empty = False
        if isinstance(chunk, AIMessage):
            self._whole = _joined(self._whole, chunk)
            return isinstance(self._whole, AIMessageChunk) and is_free(self._whole)
        self._has_spoken = self._has_spoken or not isinstance(chunk, str) or not (chunk == "" or chunk.isspace())
        return self._has_spoken

    def failure(self) -> Failure | None:
        """Say of a stream that has ended why it was no answer."""
        return Failure("empty", reason="no chunk") if self._is_empty else judged(self._whole)


@dataclass(slots=True)
class Opened:
    """A stream whose beginning may be shown, or which has ended before any of it could be."""

    member: Member
    rest: Chunks | None
    """None where it has ended."""
    said: Said = field(default_factory=Said)
    held: deque[Any] = field(default_factory=deque[Any])
    """Chunks nobody has seen yet."""


class Member:
    """One of the runnables, and whose breakers it stands behind."""

    def __init__(self, runnable: Runnable[Any, Any], target: Target, engine: Engine) -> None:
        self.runnable = runnable
        self.target = target
        self._engine = engine
        self._idle = Idle() if _speaks_at_once(runnable) else NO_HASTE

    @property
    def source(self) -> str:
        """How events call it."""
        return self.target.name.removeprefix(KIND)

    def way(self, *, is_async: bool, is_streamed: bool) -> Callable[..., Any]:
        """How it is asked: `(input, config, **kwargs)`."""
        if is_streamed:
            return self._alisten if is_async else self._listen
        return self.runnable.ainvoke if is_async else self.runnable.invoke

    def _listen(self, asked: Any, config: Any, /, **kwargs: Any) -> Opened:
        steps = self.runnable.stream(asked, config, **kwargs)
        return complete(self._open(Chunks(steps, self._engine.sync_ports, is_async=False, idle=self._idle)))

    async def _alisten(self, asked: Any, config: Any, /, **kwargs: Any) -> Opened:
        steps = self.runnable.astream(asked, config, **kwargs)
        return await self._open(Chunks(steps, self._engine.async_ports, is_async=True, idle=self._idle))

    async def _open(self, chunks: Chunks) -> Opened:
        opened = Opened(self, chunks)
        try:
            while (chunk := await chunks.next(has_begun=bool(opened.held))) is not END:
                opened.held.append(chunk)
                if opened.said.may_show(chunk):
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
            awaits=_awaits if is_streamed else None,
            is_cacheable=False,
            heeds_no=False,
            repeats=False,  # the models inside have retries of their own, and layers never multiply (spec T2)
            leaves_items=False,
            answers=False,
        )


def targets(engine: Engine, name: str, count: int, *, twin: str) -> list[Target]:
    """`runnable:NAME`, `runnable:NAME/1`, …"""
    main = model_target(engine, f"{KIND}{name}", twin=twin)
    others = [model_target(engine, f"{KIND}{name}/{place}", main=main, twin=twin) for place in range(1, count)]
    return [main, *others]


def judged(value: Any) -> Failure | None:
    """Why it is no answer: a model's message is looked at closely, anything else is as it is."""
    if not isinstance(value, AIMessage) or is_plainly_good(value):
        return None
    return classify(whole_of(value) if isinstance(value, AIMessageChunk) else value, source="model")


def _read(value: Any) -> Reading:
    return Reading(value, None, judged(value))


def _read_opened(opened: Opened) -> Reading:
    return Reading(opened, None, opened.said.failure() if opened.rest is None else None)


def _awaits(opened: Opened, verdict: Verdict) -> bool:
    if opened.rest is None:
        return False
    opened.rest.verdict = verdict
    return True


def _joined(whole: AIMessage | None, chunk: AIMessage) -> AIMessage:
    if isinstance(whole, AIMessageChunk) and isinstance(chunk, AIMessageChunk):
        return whole + chunk
    return chunk


def _speaks_at_once(runnable: Any) -> bool:
    """It hands on what a model says as the model says it, so that silence means something."""
    while isinstance(runnable, RunnableSequence | RunnableBindingBase):
        runnable = runnable.last if isinstance(runnable, RunnableSequence) else runnable.bound
    return isinstance(runnable, BaseChatModel | StrOutputParser)
