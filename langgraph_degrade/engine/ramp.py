"""`Ramp`: how a target that was down gets its traffic back (spec B4)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

from langgraph_degrade.engine.quota import Pace

if TYPE_CHECKING:
    from langgraph_degrade.failures import Kind
    from langgraph_degrade.policy import BreakerRule

State = Literal["closed", "open", "half_open"]

SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Parts of the traffic admitted, step by step (spec B4: 10 % to 100 % ○). The last step is the closed breaker; where a
capacity is declared it is a step of its own, all that the capacity takes, for as long as more is offered."""
MOSTLY = 0.5
"""A step in which so many calls fail, of whatever kinds, is no success, even if no single kind reaches the rule's rate ○."""
PATIENCE = 5
"""Probes in a row that may end without a verdict before the breaker opens again (case-B02), or 2 × `probes` ○."""


class Lease:
    """The right to one call in half-open, lent for a time: a probe nobody reports gives its place back."""

    __slots__ = ("since",)

    def __init__(self, since: float) -> None:
        self.since = since


class Ramp:
    """One half-open period: who may call, and when that is proof enough. Not locked: its `Breaker` does that.

    Time is cut into slices of `ramp / 5`. In a slice the share of the running step is admitted, measured against the
    traffic of the slice before (or of the open time), so that a burst on a quiet target meets `probes` places, not a
    share of itself; `probes` calls are admitted in any case, so that a quiet target is not starved. A step lasts until
    a slice has ended in it and its own results are enough to judge: then the next one begins, or the breaker opens.

    `admit` grants or refuses. Every other method returns the state to go to, or None to stay.
    """

    def __init__(
        self, rule: BreakerRule, now: float, *, due: float, demand: float, lease: float, capacity: float | None = None
    ) -> None:
        """Begin now, with the first call.

        Args:
            rule: how to come back.
            now: seconds.
            due: when the open time was over.
            demand: calls a second that came while it was open.
            lease: seconds a probe may stay silent.
            capacity: calls a second at most.
        """
        self._rule = rule
        self._demand = demand
        self._lease = lease
        self._pace = None if capacity is None else Pace(capacity)
        self._last_step = len(SHARES) - (2 if capacity is None else 1)
        self._width = rule.ramp / len(SHARES)
        self._started = due if now - due < self._width else now  # of the running slice
        self._offered = self._admitted = 0  # in it
        self._exceeded = False  # more was offered in it than the capacity takes
        self._fitted = True  # nothing was, in the slice before
        self._step = 0
        self._ripe = False  # a whole slice has ended in this step
        self._good = 0  # results of the running step
        self._bad: Counter[Kind] = Counter()
        self._proven = 0  # successes of the steps before, remembered up to `min_calls`
        self._neutral = 0  # probes in a row that ended without a verdict
        self._out: set[Lease] = set()

    def turn(self, now: float) -> State | None:
        """Let time pass: silent probes lose their places, a slice may end, a step be passed."""
        elapsed = now - self._started
        if elapsed < 0:
            self._step_back(now)
        if self._step == 0 or elapsed >= self._width:
            self._expire(now)
        if self._worn_out():
            return "open"
        if elapsed >= self._width:
            self._next_slice(now, elapsed)
        return self._judge() if self._ripe else None

    def admit(self, now: float) -> Lease | None:
        """One more call wants to go. None: not now."""
        self._offered += 1
        if not self._has_room():
            return None
        if self._pace is not None and not self._pace.take(now):
            self._exceeded = True
            return None
        self._admitted += 1
        lease = Lease(now)
        self._out.add(lease)
        return lease

    def succeed(self, lease: Lease, now: float) -> State | None:
        """Take a good result."""
        if not self._returned(lease, now):
            return None
        self._good += 1
        self._neutral = 0
        return self.turn(now)

    def fail(self, lease: Lease, kind: Kind, now: float) -> State | None:
        """Take a bad result: opens where failing is the rule, not where it is one among many."""
        if not self._returned(lease, now):
            return None
        self._bad[kind] += 1
        self._neutral = 0
        return "open" if self._fails_among(self._results + self._proven) else self.turn(now)

    def release(self, lease: Lease, now: float) -> State | None:
        """Take the place back; nothing was learnt."""
        if not self._returned(lease, now):
            return None
        self._give_back(lease)
        return self.turn(now)

    def retry_after(self, now: float) -> float:
        """Seconds until the next slice."""
        return max(0.0, self._width - max(0.0, now - self._started))

    @property
    def _results(self) -> int:
        return self._good + self._bad.total()

    def _has_room(self) -> bool:
        probes = self._rule.probes
        if self._step == 0:
            # Until one call went well, failed probes keep their places: a dead target is hit `probes` times at most.
            failed = 0 if self._good else self._bad.total()
            if len(self._out) + failed >= probes:
                return False
        share = SHARES[self._step]
        due = share * min(self._offered, self._demand * self._width)
        return share == 1 or self._admitted < max(probes, int(due))

    def _fails_among(self, results: int) -> bool:
        rate, results = self._rule.rate, max(results, self._rule.probes)
        worst = max(self._bad.values(), default=0)
        return worst / results >= rate or self._bad.total() / results >= max(rate, MOSTLY)

    def _next_slice(self, now: float, elapsed: float) -> None:
        # A slice ends with the first call after its time; the next one keeps the beat unless that was a slice later.
        late = elapsed - self._width
        self._started = now - late if late < self._width else now
        self._demand = self._offered / elapsed if elapsed > 0 else 0.0
        self._offered = self._admitted = 0
        self._fitted, self._exceeded = not self._exceeded, False
        self._ripe = True

    def _judge(self) -> State | None:
        """Pass the step on its results, never on time alone and never on one lucky call."""
        if self._results < self._enough():
            return None
        if self._fails_among(self._results):
            return "open" if self._results >= self._rule.min_calls else None
        if self._step == self._last_step and self._fitted:
            return "closed"
        self._step = min(self._step + 1, self._last_step)
        self._proven = min(self._proven + self._good, self._rule.min_calls)
        self._good = 0
        self._bad.clear()
        self._ripe = False
        return None

    def _enough(self) -> int:
        # `probes` results. On a quiet target, where fewer calls come, those that came, on top of the first step's.
        enough = max(2, self._rule.probes)
        return enough if self._step == 0 else max(1, min(enough, int(self._demand * self._width)))

    def _returned(self, lease: Lease, now: float) -> bool:
        """Whether the lease was still good. A result that comes after it is nobody's any more."""
        if lease not in self._out:
            return False
        self._out.remove(lease)
        if self._is_over(lease, now):
            self._give_back(lease)
            return False
        return True

    def _is_over(self, lease: Lease, now: float) -> bool:
        return now - lease.since >= self._lease

    def _expire(self, now: float) -> None:
        for lease in [lease for lease in self._out if self._is_over(lease, now)]:
            self._out.remove(lease)
            self._give_back(lease)

    def _give_back(self, lease: Lease) -> None:
        self._neutral += 1
        if self._step == 0 and lease.since >= self._started:
            self._admitted -= 1

    def _worn_out(self) -> bool:
        return self._step == 0 and self._neutral >= max(PATIENCE, 2 * self._rule.probes)

    def _step_back(self, now: float) -> None:
        """The clock ran backwards: what had begun begins now (case-B13)."""
        self._started = now
        for lease in self._out:
            lease.since = min(lease.since, now)
