"""`Health`: whether small requests show a target fit for traffic (spec M3, M4). A breaker judges users' calls, this probes.

Success is counted on a scale of `DEPTH` steps. Each good probe is a step up and each bad one a step down, weighed so that
the walk stands still where exactly `switch_below` of the probes are good: above it the scale stays full, below it runs out.

    well ──── the scale has run out: traffic moves away ────> away
      ^                                                         │ here a bad probe costs three steps (at 0.5), so that
      └──── it is full again: at least DEPTH good ones ─────────┘ the way back is steeper than the way out (hysteresis)

Why not "below half of the last four": with 60 % success four probes show less than half 18 times in a hundred, and traffic
would move a dozen times an hour. How long noise must last to be believed grows exponentially with the steps; what makes
so many steps quick is that a doubted target (its last probe contradicts the verdict on it) is asked ten times as often.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import NamedTuple

from langgraph_degrade.failures import Failure

DEPTH = 8
"""Bad probes in a row that move traffic away, good ones that bring it back ○."""
HASTE = 10
"""How many times as often a doubted target is probed ○: 8 probes fit into two intervals with it, and not without."""
BELIEVED = 3
"""Intervals a verdict holds without a new one ○. A prober that died, or a hung probe, must not keep a target away."""
SLOW = 3.0
"""Seconds of a slow probe where the target has no timeout of its own ○ (spec T3)."""
RECENT = 8
"""Probes that the reason speaks of."""


@dataclass(frozen=True, slots=True)
class ProbeRule:
    """How a target is probed.

    Example:
        >>> ProbeRule(every=30.0, switch_below=0.5).back_at
        0.75
    """

    every: float = 30.0
    """Seconds from one probe's start to the next one's (spec M3)."""
    switch_below: float = 0.5
    """Share of good probes below which traffic moves away, and half-way from which to 1 it comes back."""
    slow: float = SLOW
    """Seconds after which a probe is given up and is a bad one, wholly: a target of which every probe were half a failure
    would sit on the 50 % line for ever, and users' calls are cut at the same limit (spec M4)."""

    def __post_init__(self) -> None:
        if not (self.every > 0 and self.slow > 0):
            raise ValueError(f"every={self.every!r}, slow={self.slow!r}: both are seconds above 0")
        if not 0 < self.switch_below < 1:
            raise ValueError(f"switch_below={self.switch_below!r}: a share between 0 and 1, such as 0.5")

    @property
    def back_at(self) -> float:
        """Share of good probes that must be exceeded for traffic to come back."""
        return (1 + self.switch_below) / 2

    @property
    def hasty(self) -> float:
        """Seconds between two probes in doubt."""
        return self.every / HASTE


class _Verdict(NamedTuple):
    is_well: bool = True
    balance: float = DEPTH
    recent: str = ""
    """The last probes, `1` for a good one, the newest last."""


class Health:
    """One target's health, in one process. Told what probes found; asked, without a lock, whether traffic may go.

    Health and breaker are two reasons to refuse, and neither moves the other. A good probe does not close an open breaker:
    that one opened on what users really asked for (the long prompts, the writes, the one ability that is gone), which a
    small request can't disprove; it finds back by itself within `open_for`, and by a ramp instead of all at once. As no call
    reaches it while the health refuses, an opened breaker meets the first calls afterwards in half-open: they ramp up.

    Example:
        >>> health = Health(ProbeRule(every=30.0))
        >>> for second in range(8):
        ...     health.told(False, 0.2, now=second)
        >>> health.refusal(now=8.0).reason, health.retry_after(now=8.0)
        ('probes: 0 of 8 well', 29.0)
    """

    __slots__ = ("_lock", "_told_at", "_verdict", "next_at", "rule")

    def __init__(self, rule: ProbeRule) -> None:
        self.rule = rule
        self.next_at = 0.0
        """When the next probe is due; whoever probes may know it better than `told` does (jitter)."""
        self._told_at = 0.0
        self._verdict = _Verdict()  # replaced, never changed: what reads it needs no lock
        self._lock = threading.Lock()  # one teller at a time

    @property
    def is_well(self) -> bool:
        """The last verdict; a target nobody has probed yet is well."""
        return self._verdict.is_well

    @property
    def reason(self) -> str:
        """What the last probes were like, for operators."""
        recent = self._verdict.recent
        return f"probes: {recent.count('1')} of {len(recent)} well"

    @property
    def pause(self) -> float:
        """Seconds from one probe's start to the next one's, now: a tenth while the last one contradicts the verdict."""
        is_well, _, recent = self._verdict
        in_doubt = recent[-1:] == ("0" if is_well else "1")
        return self.rule.hasty if in_doubt else self.rule.every

    def told(self, ok: bool, seconds: float, now: float) -> None:  # noqa: FBT001 - what one probe found
        """Take in one probe: whether it succeeded, and how long it took; a slow success is none."""
        with self._lock:
            good = ok and seconds <= self.rule.slow
            self._verdict = self._after(self._verdict, good=good)
            self._told_at, self.next_at = now, now + self.pause

    def retry_after(self, now: float) -> float:
        """Seconds until the next probe; 0.0 where it is due or under way."""
        return max(0.0, self.next_at - now)

    def refusal(self, now: float) -> Failure | None:
        """Why no traffic may go; None: it may. Unknown is well: a verdict that is not renewed lapses."""
        if self._verdict.is_well or now - self._told_at > BELIEVED * self.rule.every + self.rule.slow:
            return None
        return Failure("open", retry_after=self.retry_after(now), reason=self.reason, unsent=True)

    def note(self) -> str:
        """The verdict as text, for the processes that don't probe themselves."""
        return json.dumps(self._verdict)

    def adopt(self, note: str, age: float, now: float) -> None:
        """Take over another process's verdict, `age` seconds old. Raises `ValueError` or `TypeError` where it is none."""
        is_well, balance, recent = json.loads(note)
        verdict = _Verdict(bool(is_well), min(max(0.0, float(balance)), DEPTH), str(recent)[-RECENT:])
        with self._lock:
            self._verdict, self._told_at = verdict, now - max(0.0, age)

    def _after(self, verdict: _Verdict, *, good: bool) -> _Verdict:
        is_well, balance, recent = verdict
        balance = min(max(0.0, balance + self._step(is_well, good=good)), DEPTH)
        turned = balance == (0.0 if is_well else DEPTH)
        return _Verdict(is_well != turned, balance, (recent + "01"[good])[-RECENT:])

    def _step(self, is_well: bool, *, good: bool) -> float:  # noqa: FBT001 - the verdict so far
        """Where the share is exactly what the rule says, the steps cancel out; `DEPTH` in a row always suffice."""
        if is_well:
            share = self.rule.switch_below
            return (1 - share) / share if good else -1.0
        share = self.rule.back_at
        return 1.0 if good else -share / (1 - share)
