"""A callback handler that stands before another, which it tells what it hears only when that may be known."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, Protocol

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler

from langgraph_degrade.engine.ports import complete
from langgraph_degrade.stages.models.calling import END

MARKS = ("_StreamingCallbackHandler", "_V2StreamingCallbackHandler")
"""Classes by which LangChain and LangGraph know who is to be streamed to."""
TAP = "tap"
"""An event of ours: one more chunk of a run's output."""


class Hears(Protocol):
    """Takes in what a handler is to be told; in sync code it never suspends."""

    async def hear(
        self, handler: BaseCallbackHandler, name: str, args: tuple[Any, ...], told: dict[str, Any], /
    ) -> None: ...


def curtain(handler: BaseCallbackHandler, stage: Hears, *, is_async: bool) -> BaseCallbackHandler:
    """Stand in for a handler, of the same marks."""
    base = _AsyncCurtain if is_async else _Curtain
    marks = tuple(kind for kind in type(handler).__mro__ if kind.__name__ in MARKS)
    made: Any = type("Curtain", (base, *marks), {})
    before: BaseCallbackHandler = made(handler, stage)
    return before


class _Behind:
    """What both curtains are."""

    run_inline = True
    """In the order things happen in."""

    def __init__(self, handler: BaseCallbackHandler, stage: Hears) -> None:
        self.handler = handler
        self.stage = stage
        self.raise_error = handler.raise_error

    def tap_output_iter(self, run_id: Any, output: Iterator[Any]) -> Iterator[Any]:
        for chunk in output:
            complete(self.stage.hear(self.handler, TAP, (run_id, chunk), {}))
            yield chunk
        complete(self.stage.hear(self.handler, TAP, (run_id, END), {}))

    async def tap_output_aiter(self, run_id: Any, output: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for chunk in output:
            await self.stage.hear(self.handler, TAP, (run_id, chunk), {})
            yield chunk
        await self.stage.hear(self.handler, TAP, (run_id, END), {})


class _Curtain(_Behind, BaseCallbackHandler):
    """Before a handler, in sync code."""


class _AsyncCurtain(_Behind, AsyncCallbackHandler):
    """Before a handler, in async code."""


def _relay(name: str) -> Any:
    def relay(self: _Behind, *args: Any, **told: Any) -> None:
        complete(self.stage.hear(self.handler, name, args, told))

    return relay


def _arelay(name: str) -> Any:
    async def relay(self: _Behind, *args: Any, **told: Any) -> None:
        await self.stage.hear(self.handler, name, args, told)

    return relay


def _same(name: str) -> Any:
    def same(self: _Behind) -> Any:
        return getattr(self.handler, name)

    return same


for _name in dir(BaseCallbackHandler):
    if _name.startswith("on_"):
        setattr(_Curtain, _name, _relay(_name))
        setattr(_AsyncCurtain, _name, _arelay(_name))
    elif _name.startswith("ignore_"):
        setattr(_Behind, _name, property(_same(_name)))
