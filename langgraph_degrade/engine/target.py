"""`Target`: what a call goes to, and all that is known about it in this process (breakers, quotas, last good values)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from langgraph_degrade.context import Stage
from langgraph_degrade.engine.breaker import COUNTED, LEASE, Breaker
from langgraph_degrade.engine.bulkhead import Bulkhead
from langgraph_degrade.engine.cache import LastGood, ReadThrough
from langgraph_degrade.engine.gate import Gate, Gates
from langgraph_degrade.engine.quota import Quota
from langgraph_degrade.failures import ANSWERS, Failure

if TYPE_CHECKING:
    from langgraph_degrade.engine.clock import Clock
    from langgraph_degrade.engine.health import Health
    from langgraph_degrade.engine.plan import Call
    from langgraph_degrade.engine.pybreaker_face import PybreakerFace
    from langgraph_degrade.engine.scope import QueryClass, Scope
    from langgraph_degrade.policy import TargetPolicy

log = logging.getLogger("langgraph_degrade")

LONGEST_CLOSE = 86_400.0
"""A `Retry-After` beyond a day ○ is not believed (case-P10)."""
NO_LIMIT = (None, True, False)
"""What `Target.limit` says of a call that may take as long as it takes."""
QUOTA_CLOSE = 300.0
"""An account without money is left alone for this long ○ when it names no time itself (case-P01)."""


class Target:
    """One target. Told what happened; runs nobody's code; no lock is held across a call."""

    def __init__(
        self, name: str, policy: TargetPolicy, *, source: Literal["tool", "model"] = "tool", main: Target | None = None
    ) -> None:
        self.name = name
        self.main = main
        """The path this one stands in for: its traffic sets this one's quota (spec S1)."""
        self.backups: list[Target] = []
        self.blocked = 0.0
        """Seconds the event loop was held by this target's blocking `async def`s."""
        self.closed_until = 0.0
        self.health: Health | None = None
        """What its probes say, while somebody probes it (spec M3)."""
        self.is_provisional = False
        """Known by name only so far: somebody asked for its breaker before it was made."""
        self._face: PybreakerFace | None = None
        self.define(policy, source)
        lease = max((LEASE, *self._longest()))
        self.breakers = tuple(Breaker(rule, capacity=policy.capacity, lease=lease) for rule in policy.breakers)
        self.gate: Gate = self.breakers[0] if len(self.breakers) == 1 else Gates(self.breakers)
        if main is not None:
            main.backups.append(self)

    def define(self, policy: TargetPolicy, source: Literal["tool", "model"]) -> None:
        """Say what is allowed with it, and whose words the classifier reads."""
        self.policy = policy
        self._has_no_limit = policy.timeout is not None and policy.timeout.basic is policy.timeout.complex is None
        self.source: Literal["tool", "model"] = source
        self.cache = LastGood(policy.cache) if policy.cache else None
        self.read_through = ReadThrough(policy.read_through) if policy.read_through else None
        self.quota = Quota(capacity=policy.capacity) if self.main is not None else None
        self.bulkhead = Bulkhead(policy.max_abandoned, interruptible=policy.interruptible)

    @property
    def stage(self) -> Stage:
        return self.policy.stage

    @property
    def is_read(self) -> bool:
        """Declared to change nothing; what is not declared is taken for a write (design section 2)."""
        return self.policy.effect == "read"

    def _longest(self) -> tuple[float, ...]:
        """Seconds this target's slowest good calls may take: a probe must not expire before them."""
        own = self.policy.timeout
        return () if own is None else tuple(limit for limit in (own.basic, own.complex) if limit is not None)

    def admit(self, now: float, fn: Callable[..., object]) -> Any:
        """Ask for a place: a permit, or the `Failure` that says why not."""
        for backup in self.backups:
            backup.offered(now)
        if (self.health is not None or now < self.closed_until) and (refusal := self._shut(now)) is not None:
            return refusal
        if self.quota is not None and not self.quota.admit(now):
            return Failure("shed", reason="quota of the backup path", unsent=True)
        permit = self.gate.acquire(now)
        if permit is None:
            return Failure("open", retry_after=self.gate.retry_after(now), reason="breaker open", unsent=True)
        if self._face is not None:
            self._face.before_call(fn)
        return permit

    def _shut(self, now: float) -> Failure | None:
        """Why no call may even ask the breakers: the target's own wish, or what its probes say."""
        if now < self.closed_until:
            return Failure("open", retry_after=self.closed_until - now, reason="asked to be left alone", unsent=True)
        return None if self.health is None else self.health.refusal(now)

    def face(self, clock: Clock) -> PybreakerFace:
        """Show the breaker as a `pybreaker.CircuitBreaker`, made on first use (spec B8)."""
        if self._face is None:
            from langgraph_degrade.engine.pybreaker_face import PybreakerFace

            rules = self.policy.breakers
            open_for = max((rule.open_for for rule in rules), default=0.0)
            self._face = PybreakerFace(self.name, self.gate, clock, open_for=open_for)
            for breaker in self.breakers:
                breaker.on_change = self._face.changed
        return self._face

    def close_face(self) -> None:
        """End the threads of listeners and storages."""
        if self._face is not None:
            self._face.stop()

    def offered(self, now: float) -> None:
        """Count a call offered to the main path: this path's quota is a share of those."""
        if self.quota is not None:
            self.quota.offered(now)

    def tell(self, permit: Any, failure: Failure | None, now: float) -> None:
        """The verdict on one call. A business "no" is a target that works (spec F3)."""
        if self._face is not None:
            _tell_listeners(self._face, failure)
        if failure is None:
            self.gate.succeed(permit, now)
            return
        self._heed(failure, now)
        if failure.kind in ANSWERS:
            self.gate.succeed(permit, now)
        elif failure.kind in COUNTED:
            self.gate.fail(permit, failure.kind, now)
        else:
            self.gate.release(permit, now)

    def release(self, permit: Any, now: float) -> None:
        """No verdict: cancelled, interrupted, or nobody's fault."""
        self.gate.release(permit, now)

    def intent(self, call: Call) -> Mapping[str, Any]:
        """The arguments that make two calls the same wish: those the policy names, else all of them (case-W01)."""
        names = self.policy.intent
        return {name: call.named.get(name) for name in names} if names else call.named

    def configured(self, call: Call, query: QueryClass) -> float | None:
        """Seconds the policy gives this call by its query class (spec T6); None where it gives none."""
        own = self.policy.timeout
        if own is None:
            return None
        if query == "complex" or (own.complex_when and any(call.named.get(name) for name in own.complex_when)):
            return own.complex
        return own.basic

    def limit(self, call: Call, scope: Scope, now: float) -> tuple[float | None, bool, bool]:
        """(seconds this call may take, in the caller's own thread, it is the request's time that limits it)."""
        if self._has_no_limit:
            return NO_LIMIT
        remaining = None if scope.deadline is None else scope.deadline - now
        if self.policy.timeout is None:
            return remaining, remaining is None, True
        wanted = self.configured(call, scope.query)
        if wanted is None:
            return NO_LIMIT
        if remaining is not None and remaining < wanted:
            return remaining, False, True
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


def _tell_listeners(face: PybreakerFace, failure: Failure | None) -> None:
    """As pybreaker would: a business "no" is a success, what is nobody's fault is not told."""
    if failure is None or failure.kind in ANSWERS:
        face.success()
    elif failure.kind in COUNTED:
        face.failure(failure.cause or RuntimeError(failure.reason))
