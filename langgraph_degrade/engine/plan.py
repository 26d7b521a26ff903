"""What may be done about one guarded thing: `Plan`, its `Step`s, one `Call` of it, and the `Outcome`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

from langgraph_degrade.context import Direction
from langgraph_degrade.failures import Failure

if TYPE_CHECKING:
    from langgraph_degrade.engine.target import Target
    from langgraph_degrade.engine.verdict import Verdict

Status = Literal["ok", "stale", "partial", "unavailable", "unknown", "rejected"]


class Reading(Protocol):
    """What a returned value turned out to be; `stages.tools.reading` makes them."""

    @property
    def value(self) -> Any: ...
    @property
    def data(self) -> Any: ...
    @property
    def failure(self) -> Failure | None: ...


Reader = Callable[[Any], Reading]


@dataclass(slots=True)
class Step:
    """One rung as it was wired: a call to make, the last good value, or an honest end."""

    direction: Direction
    source: str
    """What stands in, for `ToolResult.source`: `last_good`, `backup`, `offline`, a callable's name, `none`."""
    target: Target | None = None
    """Whose breakers and quota admit the call; None for steps that call nobody."""
    fn: Callable[..., Any] | None = None
    is_async: bool = False
    status: Status = "ok"
    """What a value from here is: an alternative endpoint's is `ok`, an offline computation's `partial`."""
    rewrite: Callable[[Mapping[str, Any]], Mapping[str, Any] | None] | None = None
    """`params`: simpler arguments, or None where there is nothing to simplify."""

    is_last_good: bool = False
    """Stands in with the last good value; calls nobody."""
    is_makeshift: bool = False
    """Less than any of the others would give: first these get their last chance, where they asked to be asked later."""

    @property
    def is_end(self) -> bool:
        """Gives no value: it says that there is none."""
        return self.fn is None and not self.is_last_good


Chooser = Callable[["list[Step]", Failure, "Call", "list[str]"], "Step | None"]
"""(steps left, why the last call failed, the call, notes) -> the next step, or None. It takes out of the list what it
gives, and what is no use for this call, and notes why for the next event."""


@dataclass(slots=True)
class Plan:
    """Everything about a guarded thing that does not change from call to call."""

    target: Target
    fn: Callable[..., Any]
    is_async: bool
    steps: Sequence[Step] = ()
    """In ladder order; `handoff` always follows."""
    choose: Chooser | None = None
    """Which of the steps left is next, by why the last call failed; None: the next in order."""
    waits: bool = False
    """Where only a `Retry-After` stands between the last step and its answer, wait for it, inside the request's time."""
    reader: Reader | None = None
    awaits: Callable[[Any, Verdict], bool] | None = None
    """Takes over the verdict on a value that has only begun, and tells it when the rest is there; False where the value
    is whole."""
    refresh: Callable[[], Any] | None = None
    """Gets a new token; called once where the target says `auth`."""
    verify: Callable[..., Any] | None = None
    """Reads back whether a write happened: `(args, config)` -> True, False, None (can't tell)."""
    keeps: Callable[[Any], bool] | None = None
    """False for values that belong to one call and must not be kept for another."""
    is_cacheable: bool = True
    """False where results hang on more than the arguments: on the object of a method, on a model's messages."""
    owner: Hashable = None
    """The object whose bound method this is: its results are no other's."""
    claims: bool = False
    """A write of which nobody may lose track: claimed in the store before it is sent."""
    heeds_no: bool = True
    """A business "no" is the outcome, not a failure to be degraded; nodes have no such thing to say."""
    repeats: bool = True
    """May be tried again; not so where what it gave was shown as it came (a streamed answer)."""
    is_shown: Callable[[Call], bool] | None = None
    """A part of an answer was shown to somebody, though the call has failed: then nobody else is asked (spec M5)."""
    leaves_items: bool = True
    """What it fails to do is something the user asked for: noted as unfinished."""
    answers: bool = True
    """Whoever stands behind it faces a model or a user and says what happened; else the caller gets the error."""


class Call:
    """One call of a plan."""

    key: Hashable = None
    """Where this call's result may be cached; None: nowhere."""
    on_late: Callable[[Any, Failure | None], None] | None = None
    """Told what an abandoned call finally gave, as plain data, or why it failed."""
    id: str | None = None
    """The tool call's id, where a model made it."""
    is_cacheable: bool = True
    """False where this one's result hangs on more than the arguments: on injected state."""
    asked: Mapping[str, Any] | None = None
    """What an alternative is asked with, where that is not the call's own arguments (LangChain adds some to a tool's)."""
    sent: int = 0
    """Attempts after which something came back, or nothing did in time: the target may have acted on them."""
    running: int = 0
    """Attempts given up that may still be at work."""
    _named: Mapping[str, Any] | None = None

    def __init__(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], bind: Callable[..., Mapping[str, Any]] | None = None
    ) -> None:
        self.args = args
        self.kwargs = kwargs
        self._bind = bind

    @property
    def named(self) -> Mapping[str, Any]:
        """The arguments by name, bound on first use: for cache keys, `params`, `verify`, unfinished items."""
        if self._named is None:
            self._named = self._bind(*self.args, **self.kwargs) if self._bind else dict(self.kwargs)
        return self._named


@dataclass(slots=True)
class Outcome:
    """What came of a call. Refusals and failures are values inside the package; adapters decide what to raise."""

    status: Status
    value: Any = None
    data: Any = None
    """The value as plain JSON where the plan has a reader."""
    failure: Failure | None = None
    """Why it is not `ok`: the first failure, the one the user's wait began with."""
    direction: Direction | None = None
    source: str | None = None
    age: float | None = None
    """Seconds since a `stale` value was fresh."""
    causes: Sequence[Exception] = ()
    """Every original error, in order."""
    tried: int = 0
    """Rungs that called something in its stead."""

    @property
    def has_value(self) -> bool:
        """There is something to hand to the caller, fresh or openly less."""
        return self.status in ("ok", "stale", "partial")


def is_async_callable(fn: Callable[..., Any]) -> bool:
    """Calling `fn` gives an awaitable: a coroutine function, a partial of one, an object with an async `__call__`."""
    while isinstance(fn, partial):
        fn = fn.func
    return any(map(inspect.iscoroutinefunction, (fn, called_by(fn))))


def called_by(fn: Callable[..., Any]) -> object:
    """Return the function that calling the object `fn` runs."""
    return getattr(type(fn), "__call__", None)  # noqa: B004 - the function itself is wanted
