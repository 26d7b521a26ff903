"""A chain of model tiers as plans for the engine: one for each colour, streamed or not, with tools or without."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph_degrade.adapters.known_models import KnownModels
from langgraph_degrade.engine.abilities import AbilityTarget
from langgraph_degrade.engine.plan import Plan
from langgraph_degrade.engine.ports import complete
from langgraph_degrade.policy import BreakerRule, QueryTimeouts
from langgraph_degrade.stages.models.calling import TierCalls, awaits
from langgraph_degrade.stages.models.choosing import asked, by_keywords
from langgraph_degrade.stages.models.dispatch import Dispatch, TierStep
from langgraph_degrade.stages.models.request import read
from langgraph_degrade.stages.models.tier import Tier, check_tiers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langgraph_degrade.engine.engine import Engine
    from langgraph_degrade.engine.target import Target
    from langgraph_degrade.stages.models.dispatch import Role
    from langgraph_degrade.stages.models.prompts import Manner
    from langgraph_degrade.stages.models.request import Reply, Request
    from langgraph_degrade.stages.selecting import KeywordTemplate

MODEL_TIME = 30.0
"""Seconds a model call may take where the policy does not say ○ (design section 2)."""
SLOW_PROBE = 5.0
"""Seconds after which a probe of a few tokens is a bad one ○."""
FEWEST_CALLS = 3
"""Calls in the window before a model's breaker may open ○: a user waits long for each."""


class Chain:
    """The tiers of one chat model, each with breakers and, but for the first, a quota of its own."""

    def __init__(
        self,
        engine: Engine,
        tiers: Sequence[Tier],
        *,
        keywords: Sequence[KeywordTemplate] = (),
        on_refusal: Sequence[str] | None = None,
    ) -> None:
        check_tiers(tiers)
        models = KnownModels()
        self.tiers = tuple(tiers)
        self.engine = engine
        self._calls = {tier.name: TierCalls(tier, models.look_up(tier.model)[0]) for tier in tiers}
        self._dispatch = Dispatch(on_refusal)
        self._keywords = tuple(keywords)
        main = model_target(engine, f"model:{tiers[0].name}")
        self._targets = {tiers[0].name: main}
        for tier in tiers[1:]:
            self._targets[tier.name] = model_target(engine, f"model:{tier.name}", main=main)
        self._with_tools = {name: AbilityTarget(target, "tools") for name, target in self._targets.items()}
        self._watch()
        no_limit = QueryTimeouts(basic=None, complex=None)
        self._code = engine.target("select:code", stage="select", override={"effect": "read", "timeout": no_limit})
        self._plans: dict[tuple[bool, bool, bool], Plan] = {}

    def _watch(self) -> None:
        """Have every tier probed that decides something, while the application has probes run (spec M3)."""
        rule = self.engine.policy.models.probe
        for tier in self.tiers:
            slow = min(SLOW_PROBE, rule.every / 2)
            probe = partial(self._calls[tier.name].probe, slow)
            target = self._targets[tier.name]
            self.engine.probes.watch(target, probe, every=rule.every, switch_below=rule.switch_below, slow=slow)

    def plan(self, *, is_async: bool, is_streamed: bool, has_tools: bool) -> Plan:
        """What may be done about a request of this sort."""
        key = (is_async, is_streamed, has_tools)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._plan(*key)
        return plan

    def target(self, tier: Tier, *, has_tools: bool) -> Target:
        """Whose breakers a call to this tier stands behind."""
        return (self._with_tools if has_tools else self._targets)[tier.name]

    def _plan(self, is_async: bool, is_streamed: bool, has_tools: bool) -> Plan:  # noqa: FBT001 - the parts of a key
        make = partial(self._call, is_async=is_async, is_streamed=is_streamed)
        first, *others = self.tiers
        steps = [*self._again(first, make, is_async=is_async)] if has_tools else []
        for tier in others:
            steps.append(self._step(tier, "tier", make(tier, "own"), is_async=is_async, has_tools=has_tools))
            if has_tools:
                steps.extend(self._again(tier, make, is_async=is_async))
        return Plan(
            target=self.target(first, has_tools=has_tools),
            fn=make(first, "own"),
            is_async=is_async,
            steps=[*steps, *(self._without_model() if has_tools else ())],
            choose=self._dispatch,
            waits=True,
            reader=read,
            awaits=awaits if is_streamed else None,
            is_cacheable=False,
            heeds_no=False,
            leaves_items=False,
            answers=False,
        )

    def _again(self, tier: Tier, make: Callable[..., Any], *, is_async: bool) -> Sequence[TierStep]:
        """What a tier gets besides its first chance, where its tool calls were malformed."""
        if tier.use == "wording":
            return ()
        manners: tuple[Manner, ...] = () if tier.prompt == "numbered" else ("told", "numbered")
        return [
            self._step(tier, manner, make(tier, manner), is_async=is_async, has_tools=True)  # type: ignore[arg-type]
            for manner in manners
        ]

    def _without_model(self) -> Sequence[TierStep]:
        """What code does where no model chose well (spec L1)."""
        roles: dict[Role, Callable[[Request], Reply]] = {"ask": asked}
        if self._keywords:
            roles = {"keywords": partial(by_keywords, templates=self._keywords), **roles}
        return [
            TierStep("function", role, self._code, fn, status="partial", is_makeshift=True, role=role)
            for role, fn in roles.items()
        ]

    def _step(self, tier: Tier, role: Role, fn: Callable[..., Any], *, is_async: bool, has_tools: bool) -> TierStep:
        source = tier.name if role == "tier" else f"{tier.name}, {role}"
        target = self.target(tier, has_tools=has_tools)
        return TierStep("model", source, target, fn, is_async, tier=tier, role=role)

    def _call(self, tier: Tier, manner: Manner, *, is_async: bool, is_streamed: bool) -> Callable[[Request], Any]:
        calls = self._calls[tier.name]
        how = calls.listen if is_streamed else calls.ask
        ports = self.engine.async_ports if is_async else self.engine.sync_ports
        put = partial(how, manner=manner, ports=ports, is_async=is_async)
        return put if is_async else lambda request: complete(put(request))


def model_target(engine: Engine, name: str, *, main: Target | None = None, twin: str = "") -> Target:
    """The target of a model: read, with a limit, and breakers for calls that are few and slow."""
    override: dict[str, Any] = {"effect": "read"}
    declared = engine.policy.target(name, stage="answer")
    if declared.timeout is None:
        override["timeout"] = QueryTimeouts(basic=MODEL_TIME, complex=MODEL_TIME)
    if "breakers" not in declared.model_fields_set:
        limit = MODEL_TIME if declared.timeout is None else declared.timeout.basic or 0.0
        window = max(BreakerRule().window, (FEWEST_CALLS + 1) * limit)  # or hung calls, one by one, never fill it
        override["breakers"] = (BreakerRule(min_calls=FEWEST_CALLS, window=window),)
    return engine.target(name, stage="answer", source="model", main=main, override=override, twin=twin)
