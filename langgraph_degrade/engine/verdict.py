"""`Verdict`: what is still to be told of a call whose value has only begun, a stream whose first words were good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph_degrade.engine.target import Target
    from langgraph_degrade.failures import Failure


class Verdict:
    """Told once: a second word changes nothing. Until then the call's permit is out, as a lease of its breaker."""

    __slots__ = ("_permit", "_target")

    def __init__(self, target: Target, permit: Any) -> None:
        self._target: Target | None = target
        self._permit = permit

    def tell(self, failure: Failure | None, now: float) -> None:
        """It has ended: well, or not."""
        target, self._target = self._target, None
        if target is not None:
            target.tell(self._permit, failure, now)

    def release(self, now: float) -> None:
        """Nobody wanted the rest, which says nothing about the target."""
        target, self._target = self._target, None
        if target is not None:
            target.release(self._permit, now)
