"""Which tier is next, by why the last one failed (design section 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from langgraph_degrade.engine.plan import Step
from langgraph_degrade.stages.models.prompts import unfit

if TYPE_CHECKING:
    from langgraph_degrade.engine.plan import Call
    from langgraph_degrade.failures import Failure, Kind
    from langgraph_degrade.stages.models.request import Request
    from langgraph_degrade.stages.models.tier import Tier

ACCOUNT: frozenset[Kind] = frozenset({"auth", "quota", "rate_limit"})
"""What strikes everybody behind the same address with the same key: another provider first."""
REFUSED: frozenset[Kind] = frozenset({"content_filter", "refusal"})
"""What the model will not say; the next one is the application's choice, where it made one."""

Role = Literal["tier", "told", "numbered", "keywords", "ask"]


@dataclass(slots=True)
class TierStep(Step):
    """One rung of a chain of models."""

    tier: Tier | None = None
    role: Role = "tier"


class Dispatch:
    """Chooses the next step of a chain."""

    def __init__(self, on_refusal: Sequence[str] | None = None) -> None:
        """`on_refusal`: the names of the tiers a refused or filtered request may go to; None: all."""
        self._on_refusal = None if on_refusal is None else frozenset(on_refusal)

    def __call__(self, left: list[Any], failure: Failure, call: Call, notes: list[str]) -> TierStep | None:
        """See `engine.plan.Chooser`."""
        request: Request = call.args[0]
        step = self._second_chance(left, failure, request) or self._tier(left, failure, request, notes)
        step = step or _without_model(left, request)
        if step is not None:
            left.remove(step)
        return step

    def _second_chance(self, left: list[TierStep], failure: Failure, request: Request) -> TierStep | None:
        """A malformed call: told once, then by number, before anybody else is asked (spec L1)."""
        if failure.kind != "malformed_call" or not request.tools:
            return None
        roles = ("told", "numbered") if request.wrong is not None else ("numbered",)
        own = [step for step in left if step.tier is request.tier and step.role in roles]
        return own[0] if own else None

    def _tier(self, left: list[TierStep], failure: Failure, request: Request, notes: list[str]) -> TierStep | None:
        suited = [step for step in left if step.role == "tier" and self._is_suited(step, failure, request, notes)]
        for step in [step for step in left if step.role == "tier" and step not in suited]:
            left.remove(step)
        if failure.kind in ACCOUNT and request.tier is not None:
            origin = request.tier.origin
            suited.sort(key=lambda step: step.tier is not None and step.tier.origin == origin)
        return suited[0] if suited else None

    def _is_suited(self, step: TierStep, failure: Failure, request: Request, notes: list[str]) -> bool:
        tier = step.tier
        if tier is None:
            return False
        reason: str | None = None
        if failure.kind in REFUSED and self._on_refusal is not None and tier.name not in self._on_refusal:
            reason = "not for refused requests"
        elif failure.kind == "context_overflow" and not _is_larger(tier, failure, request):
            reason = "window not known to be larger"
        elif (lacks := unfit(tier, request)) is not None:
            reason = lacks.reason
        if reason is not None:
            notes.append(f"{tier.name} skipped: {reason}")
        return reason is None


def _is_larger(tier: Tier, failure: Failure, request: Request) -> bool:
    """Case-F02: after an overflow only a window known to be larger is worth a try."""
    overflowed = failure.limit or (request.tier.most_tokens if request.tier is not None else None)
    return tier.most_tokens is not None and (overflowed is None or tier.most_tokens > overflowed)


def _without_model(left: list[TierStep], request: Request) -> TierStep | None:
    """What code can still do: recognise a wish by its words; ask for what is missing."""
    if not request.tools or request.must_hold:
        return None
    wanted = ("keywords", "ask") if request.wrong is not None and not request.must_call else ("keywords",)
    return next((step for step in left if step.role in wanted), None)
