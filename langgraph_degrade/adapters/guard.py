"""Any callable, sync or async: `@degrader.guard("inventory", fallbacks=[cached_stock])`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from langgraph_degrade.adapters.readers import declared_reader
from langgraph_degrade.engine.plan import Call, Outcome, Plan, Step, called_by, is_async_callable
from langgraph_degrade.engine.steps import Callables, check_names, policy_steps, watch
from langgraph_degrade.errors import LadderExhausted, UnknownOutcome

if TYPE_CHECKING:
    from langgraph_degrade.engine.engine import Engine
    from langgraph_degrade.engine.target import Target

F = TypeVar("F", bound=Callable[..., Any])


def guarded(
    engine: Engine, target: Target, fn: F, *, callables: Callables, fallbacks: Sequence[Callable[..., Any]] = ()
) -> F:
    """`fn` behind the engine: same signature, same colour; what is left when nothing works is raised."""
    is_async = is_async_callable(fn)
    refuse_generators(fn)
    check_names(target.name, target.policy, callables)
    watch(engine, target, callables)
    steps = [
        *policy_steps(engine, target, fn, callables, is_async=is_async),
        *fallback_steps(engine, target, fallbacks, is_async=is_async),
    ]
    plan = Plan(
        target=target,
        fn=fn,
        is_async=is_async,
        steps=[step for step in steps if step.fn is not None or step.is_last_good],
        reader=declared_reader(target),
        refresh=callables.get(target.policy.refresh or ""),
        verify=callables.get(target.policy.verify or ""),
        claims=target.policy.effect == "write",
        answers=False,
        is_cacheable=not takes_self(fn),
        owner=Itself(fn.__self__) if inspect.ismethod(fn) else None,
    )
    bind = binder(fn)

    if is_async:

        @functools.wraps(fn)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            outcome = await engine.arun(plan, Call(args, kwargs, bind))
            return outcome.value if outcome.status == "ok" else value_or_raise(outcome, target)

        return cast("F", call_async)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        outcome = engine.run(plan, Call(args, kwargs, bind))
        return outcome.value if outcome.status == "ok" else value_or_raise(outcome, target)

    return cast("F", call)


def fallback_steps(
    engine: Engine, target: Target, fallbacks: Sequence[Callable[..., Any]], *, is_async: bool
) -> list[Step]:
    """The caller's own fallbacks, each a target of its own with its own breakers and quota (spec B6, S1)."""
    steps: list[Step] = []
    for fallback in fallbacks:
        refuse_generators(fallback)
        if is_async_callable(fallback) and not is_async:
            raise TypeError(
                f"{target.name}: an async fallback ({name_of(fallback)}) behind a sync callable could never be awaited"
            )
        name = name_of(fallback)
        own = engine.target(
            f"{target.name}/{name}", stage=target.stage, main=target, override={"effect": target.policy.effect}
        )
        steps.append(Step("data", name, own, fallback, is_async_callable(fallback)))
    return steps


def value_or_raise(outcome: Outcome, target: Target) -> Any:
    """The value; or the original error where nothing was tried instead of it, else all of them."""
    if outcome.has_value:
        return outcome.value
    causes = outcome.causes
    if outcome.status == "unknown" and target.policy.effect == "write":
        raise UnknownOutcome(
            f"{target.name}: may or may not have happened ({outcome.failure.kind if outcome.failure else 'unknown'}); look before repeating it",
            target=target.name,
        ) from (causes[0] if causes else None)
    if outcome.status == "rejected" and outcome.failure is not None and outcome.failure.cause is None:
        return outcome.value  # the target's own "no", as the value it gave
    if outcome.tried == 0:
        raise causes[0]
    raise LadderExhausted(f"{target.name}: every rung failed", causes)


def name_of(fn: Callable[..., Any]) -> str:
    """How a callable is called in events."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return getattr(fn, "__name__", type(fn).__name__)


def code_of(fn: object) -> str:
    """Where a callable is written; it tells apart what bears the same name."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    code = getattr(fn, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else type(fn).__qualname__


def refuse_generators(fn: Callable[..., Any]) -> None:
    """A generator has not done anything when its call returns: there would be nothing to judge (case-B08)."""
    inner = fn
    while isinstance(inner, functools.partial):
        inner = inner.func
    for candidate in (inner, called_by(inner)):
        if inspect.isgeneratorfunction(candidate) or inspect.isasyncgenfunction(candidate):
            raise TypeError(f"{name_of(fn)} is a generator: guard what it calls, or the function that consumes it")


class Itself:
    """An object as a part of a key: equal to itself alone, whatever it thinks of others, and kept alive by the key."""

    __slots__ = ("_it",)

    def __init__(self, it: object) -> None:
        self._it = it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and other._it is self._it

    def __hash__(self) -> int:
        return id(self._it)


def takes_self(fn: Callable[..., Any]) -> bool:
    """A method guarded in its class: the result hangs on an object that is no argument to be told apart by."""
    try:
        return next(iter(inspect.signature(fn).parameters), None) in ("self", "cls")
    except (TypeError, ValueError):
        return False


def binder(fn: Callable[..., Any]) -> Callable[..., Mapping[str, Any]] | None:
    """Names a call's arguments, defaults filled in; None where the signature can't be read."""
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return None

    parameters = signature.parameters.values()
    keywords = next((item.name for item in parameters if item.kind is inspect.Parameter.VAR_KEYWORD), None)

    def bind(*args: Any, **kwargs: Any) -> Mapping[str, Any]:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:  # the call itself will say so
            return kwargs
        bound.apply_defaults()
        named = {name: value for name, value in bound.arguments.items() if name not in ("self", "cls")}
        return named | named.pop(keywords, {}) if keywords else named

    return bind
