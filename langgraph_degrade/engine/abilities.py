"""`AbilityTarget`: a target whose one ability may be gone while the rest of it works (spec M4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph_degrade.engine.target import Target
from langgraph_degrade.failures import Failure, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

OWN: frozenset[Kind] = frozenset({"malformed_call"})
"""Failures of the ability alone: the target did answer."""


class AbilityTarget(Target):
    """Calls that need an ability of another target: admitted by both; each is told what is its own to know.

    A model whose tool calls have been malformed too often is not asked for any, and still asked for text.
    """

    def __init__(self, whole: Target, ability: str) -> None:
        super().__init__(f"{whole.name}/{ability}", whole.policy, source=whole.source)
        self.whole = whole
        self.bulkhead = whole.bulkhead

    def admit(self, now: float, fn: Callable[..., object]) -> Any:
        """Ask both for a place."""
        permit = self.whole.admit(now, fn)
        if permit.__class__ is Failure:
            return permit
        own = super().admit(now, fn)
        if own.__class__ is Failure:
            self.whole.release(permit, now)
            return own
        return permit, own

    def tell(self, permit: Any, failure: Failure | None, now: float) -> None:
        """The verdict: the whole target worked where only the ability failed."""
        whole, own = permit
        is_own = failure is not None and failure.kind in OWN
        self.whole.tell(whole, None if is_own else failure, now)
        if failure is None or is_own:
            super().tell(own, failure, now)
        else:
            super().release(own, now)

    def release(self, permit: Any, now: float) -> None:
        """No verdict."""
        whole, own = permit
        self.whole.release(whole, now)
        super().release(own, now)
