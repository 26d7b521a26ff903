"""`Target`: what a call goes to, and all that is known about it in this process (breakers, quotas, last good values)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Literal

from langgraph_degrade.context import Stage
from langgraph_degrade.engine.breaker import COUNTED, Breaker, Permit
from langgraph_degrade.engine.bulkhead import Bulkhead
from langgraph_degrade.engine.cache import LastGood, ReadThrough
from langgraph_degrade.engine.quota import Quota
from langgraph_degrade.failures import ANSWERS, Failure

if TYPE_CHECKING:
    from langgraph_degrade.engine.plan import Call
    from langgraph_degrade.engine.scope import QueryClass
    from langgraph_degrade.policy import TargetPolicy

log = logging.getLogger("langgraph_degrade")

LONGEST_CLOSE = 86_400.0
"""A `Retry-After` beyond a day ○ is not believed (case-P10)."""
QUOTA_CLOSE = 300.0
"""An account without money is left alone for this long ○ when it names no time itself (case-P01)."""

Permits = tuple[Permit, ...]


class Target:
    """One target. Told what happened; runs nobody's code; no lock is held across a call."""

    def __init__(
        self, name: str, policy: TargetPolicy, *, source: Literal["tool", "model"] = "tool", main: Target | None = None
    ) -> None:
        self.name = name
        self.policy = policy
        self.source = source
        """Whose words the classifier reads."""
        self.breakers = tuple(Breaker(rule, capacity=policy.capacity) for rule in policy.breakers)
        self.cache = LastGood(policy.cache) if policy.cache else None
        self.read_through = ReadThrough(policy.read_through) if policy.read_through else None
        self.main = main
        """The path this one stands in for: its traffic sets this one's quota (spec S1)."""
        self.quota = Quota(capacity=policy.capacity) if main is not None else None
        self.backups: list[Target] = []
        self.bulkhead = Bulkhead(policy.max_abandoned)
        self.blocked = 0.0
        """Seconds the event loop was held by this target's blocking `async def`s."""
        self.closed_until = 0.0
        if main is not None:
            main.backups.append(self)

    @property
    def stage(self) -> Stage:
        return self.policy.stage

    @property
    def is_read(self) -> bool:
        """Declared to change nothing; what is not declared is taken for a write (design section 2)."""
        return self.policy.effect == "read"

    def admit(self, now: float) -> Permits | Failure:
        """Ask for a place: the permits, or why not."""
        for backup in self.backups:
            backup.quota.offered(now)  # type: ignore[union-attr]
        if now < self.closed_until:
            return Failure("open", retry_after=self.closed_until - now, reason="asked to be left alone", unsent=True)
        if self.quota is not None and not self.quota.admit(now):
            return Failure("shed", reason="quota of the backup path", unsent=True)
        return self._permits(now)

    def _permits(self, now: float) -> Permits | Failure:
        if len(self.breakers) == 1:
            permit = self.breakers[0].acquire(now)
            return (permit,) if permit is not None else self._open(self.breakers[0], now)
        held: list[Permit] = []
        for breaker in self.breakers:
            permit = breaker.acquire(now)
            if permit is None:
                self.release(tuple(held), now)
                return self._open(breaker, now)
            held.append(permit)
        return tuple(held)

    def tell(self, permits: Permits, failure: Failure | None, now: float) -> None:
        """The verdict on one call. A business "no" is a target that works (spec F3)."""
        if failure is not None:
            self._heed(failure, now)
        if failure is None or failure.kind in ANSWERS:
            for breaker, permit in zip(self.breakers, permits, strict=False):
                breaker.succeed(permit, now)
        elif failure.kind in COUNTED:
            for breaker, permit in zip(self.breakers, permits, strict=False):
                breaker.fail(permit, failure.kind, now)
        else:
            self.release(permits, now)

    def release(self, permits: Permits, now: float) -> None:
        """No verdict: cancelled, interrupted, or nobody's fault."""
        for breaker, permit in zip(self.breakers, permits, strict=False):
            breaker.release(permit, now)

    def configured(self, call: Call, query: QueryClass) -> float | None:
        """Seconds the policy gives this call by its query class (spec T6); None where it gives none."""
        own = self.policy.timeout
        if own is None:
            return None
        is_complex = query == "complex" or (own.complex_when and any(call.named.get(name) for name in own.complex_when))
        return own.complex if is_complex else own.basic

    def limit(self, call: Call, query: QueryClass, remaining: float | None) -> tuple[float | None, bool, bool]:
        """(seconds this call may take, in the caller's own thread, it is the request's time that limits it)."""
        wanted = self.configured(call, query)
        if wanted is None and self.policy.timeout is not None:
            return None, True, False
        if wanted is None or (remaining is not None and remaining < wanted):
            return remaining, remaining is None, True
        return wanted, False, False

    def held_the_loop(self, seconds: float) -> None:
        """A blocking `async def` was seen; nobody can cut it, so it is said (spec T5)."""
        self.blocked += seconds
        log.warning("%s blocked the event loop for %.3g s: its `async def` does not await", self.name, seconds)

    def _heed(self, failure: Failure, now: float) -> None:
        wait = failure.retry_after
        if wait is None and failure.kind == "quota":
            wait = QUOTA_CLOSE
        if wait:
            self.closed_until = max(self.closed_until, now + min(wait, LONGEST_CLOSE))

    @staticmethod
    def _open(breaker: Breaker, now: float) -> Failure:
        return Failure("open", retry_after=breaker.retry_after(now), reason="breaker open", unsent=True)
