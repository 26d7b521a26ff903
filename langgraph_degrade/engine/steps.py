"""From a policy's ladder to the steps of a plan (spec D1, D2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from langgraph_degrade.engine.plan import Step, is_async_callable
from langgraph_degrade.errors import PolicyError

if TYPE_CHECKING:
    from langgraph_degrade.engine.engine import Engine
    from langgraph_degrade.engine.target import Target
    from langgraph_degrade.policy import ParamsPolicy, TargetPolicy

Callables = Mapping[str, Callable[..., Any]]


def check_names(target: str, policy: TargetPolicy, callables: Callables) -> None:
    """Raise `PolicyError` where the policy names a callable that nobody registered."""
    wanted = [policy.verify, policy.refresh, policy.offline, policy.probe, *policy.endpoints[1:]]
    missing = [name for name in wanted if name and name not in callables]
    if missing:
        raise PolicyError(
            f"{target}: the policy names {', '.join(missing)}, which nobody registered; "
            f"call degrader.register({missing[0]}=...) before making the adapter"
        )


def watch(engine: Engine, target: Target, callables: Callables) -> None:
    """Have a target probed that declares how (spec M3)."""
    if target.policy.probe is not None:
        rule = engine.policy.models.probe
        probe = callables[target.policy.probe]
        engine.probes.watch(target, probe, every=rule.every, switch_below=rule.switch_below)


def policy_steps(
    engine: Engine, target: Target, fn: Callable[..., Any], callables: Callables, *, is_async: bool
) -> list[Step]:
    """The declared rungs in ladder order; those that don't apply to `target` are left out.

    `params` and `data` are for reads only: a write is never sent again, elsewhere, or answered from a cache.
    """
    steps: list[Step] = []
    for direction in target.policy.ladder:
        if direction == "params" and target.policy.params is not None and target.is_read:
            steps.append(
                Step("params", "params", None, fn, is_async, status="partial", rewrite=_rewrite(target.policy.params))
            )
        elif direction == "data" and target.is_read:
            steps.extend(_data(engine, target, callables))
        elif direction in ("function", "chain"):
            steps.append(Step(direction, "none"))
    return steps


def _data(engine: Engine, target: Target, callables: Callables) -> Iterator[Step]:
    """A live value from elsewhere costs the user least, then the last good one, then one worked out offline."""
    for name in target.policy.endpoints[1:]:  # the first is the target itself
        yield _elsewhere(engine, target, name, callables)
    if target.cache is not None:
        yield Step("data", "last_good", status="stale", is_last_good=True)
    if target.policy.offline is not None:
        step = _elsewhere(engine, target, target.policy.offline, callables)
        step.source, step.status = "offline", "partial"
        yield step


def _elsewhere(engine: Engine, target: Target, name: str, callables: Callables) -> Step:
    fn = callables[name]
    policy = target.policy
    override = {
        "effect": "read",
        "timeout": policy.timeout,
        "result_schema": policy.result_schema,
        "envelope": policy.envelope,
        "breakers": policy.breakers,
        "declared": True,
    }
    own = engine.target(f"{target.name}@{name}", stage=target.stage, main=target, override=override)
    return Step("data", name, own, fn, is_async_callable(fn))


def _rewrite(params: ParamsPolicy) -> Callable[[Mapping[str, Any]], Mapping[str, Any] | None]:
    def simpler(kwargs: Mapping[str, Any]) -> Mapping[str, Any] | None:
        kept = {name: value for name, value in kwargs.items() if name not in params.drop} | dict(params.set)
        return None if kept == dict(kwargs) else kept

    return simpler
