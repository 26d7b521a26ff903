"""`Engine`: what one application has one of: targets, requests, claims, listeners; and the two ways to run a plan."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from langgraph_degrade.context import STAGES, Event, Stage
from langgraph_degrade.engine import ambient
from langgraph_degrade.engine.attempt import is_kept
from langgraph_degrade.engine.cache import Hit, Lead, ReadThrough, is_empty
from langgraph_degrade.engine.errand import Errand, Ground
from langgraph_degrade.engine.keys import canonical, scope_key
from langgraph_degrade.engine.ladder import walk
from langgraph_degrade.engine.plan import Outcome
from langgraph_degrade.engine.ports import AsyncPorts, CallTimedOut, SyncPorts, complete
from langgraph_degrade.engine.probes import Probes
from langgraph_degrade.engine.scope import ACTIVE, Scope, Scopes
from langgraph_degrade.engine.target import Target
from langgraph_degrade.engine.workers import Workers
from langgraph_degrade.engine.writes import Ledger, write

if TYPE_CHECKING:
    from random import Random

    from langgraph_degrade.engine.clock import Clock
    from langgraph_degrade.engine.patrol import Leases
    from langgraph_degrade.engine.plan import Call, Plan
    from langgraph_degrade.engine.pybreaker_face import PybreakerFace
    from langgraph_degrade.engine.store import Store
    from langgraph_degrade.policy import CachePolicy, Policy

log = logging.getLogger("langgraph_degrade")

SHORTEST_SESSION, LONGEST_SESSION = 30.0, 60.0
"""Seconds: the session tier of spec T3, within which `session: auto` moves."""
SESSION_FACTOR = 1.5
"""`auto` gives this many times the mean time of the requests seen (spec T3)."""
SMOOTHING = 0.05
"""Weight of the newest request in that mean ○."""

MOST_TWINS = 16
"""Different things of one name that are kept apart ○; more share the last one's breakers."""

Listener = Callable[[Event], None]


class Engine:
    """One per Degrader."""

    def __init__(  # noqa: PLR0913 - what an application is made of
        self,
        policy: Policy,
        *,
        store: Store,
        local: Store,
        clock: Clock,
        rng: Random,
        listeners: Iterable[Listener] = (),
        leases: Leases | None = None,
    ) -> None:
        self.policy = policy
        self.clock = clock
        self.random = rng
        self.listeners = tuple(listeners)
        self.workers = Workers()
        self.scopes = Scopes(self._make_scope, self._notify, self._end, rng)
        self.ledger = Ledger(store, local)
        self.store = store
        self.sync_ports = SyncPorts(clock, self.workers)
        self.probes = Probes(clock, rng, self.workers, leases=leases)
        self.async_ports = AsyncPorts(clock, self.workers)
        self._sync = Ground(self.sync_ports, rng, clock.monotonic, clock.time)
        self._async = Ground(self.async_ports, rng, clock.monotonic, clock.time)
        self._targets: dict[str, Target] = {}
        self._twins: dict[str, dict[str, str]] = {}
        self._lock = threading.Lock()
        self._mean: float | None = None

    def target(  # noqa: PLR0913 - all but the name are what one adapter or another knows
        self,
        name: str,
        *,
        stage: Stage = "execute",
        scene: str | None = None,
        source: Literal["tool", "model"] = "tool",
        main: Target | None = None,
        override: Mapping[str, Any] | None = None,
        twin: str = "",
    ) -> Target:
        """The target of this name, made on first sight; `override` is what code or metadata declares about it.

        `twin` tells things of one name apart (two tools `search` of two servers): the first keeps the name, the policy
        is the same, everything learned is kept apart.
        """
        if stage not in STAGES:
            raise ValueError(f"{name}: no stage is called {stage!r}; they are {', '.join(STAGES)}")
        with self._lock:
            called = self._called(name, twin)
            target = self._targets.get(called)
            if target is not None and not target.is_provisional:
                return target
            policy = self.policy.target(name, stage=stage, scene=scene)
            if override:
                policy = policy.model_copy(update=dict(override))
            if target is None:
                target = self._targets[called] = Target(called, policy, source=source, main=main)
            else:
                target.define(policy, source)
                target.is_provisional = False
            return target

    def breaker(self, name: str) -> PybreakerFace:
        """The breaker of a target that is known, or will be."""
        target = self._targets.get(name)
        if target is None:
            target = self.target(name)
            target.is_provisional = True
        return target.face(self.clock)

    def _called(self, name: str, twin: str) -> str:
        if not twin:
            return name
        twins = self._twins.setdefault(name, {})
        if twin not in twins and len(twins) < MOST_TWINS:
            twins[twin] = f"{name}#{len(twins) + 1}" if twins else name
        return twins.get(twin, f"{name}#{MOST_TWINS}")

    def targets(self) -> Mapping[str, Target]:
        """Every target seen so far, by name."""
        return dict(self._targets)

    def run(self, plan: Plan, call: Call, scope: Scope | None = None) -> Outcome:
        """Run a plan in the caller's thread."""
        if plan.is_async:
            raise TypeError(f"{plan.target.name} is async: call it from async code")
        scope = scope or self.scopes.find()
        if scope is None:
            return self._alone(plan, call)
        return complete(self._perform(Errand(plan, call, scope, self._sync)))

    def arun(self, plan: Plan, call: Call, scope: Scope | None = None) -> Coroutine[Any, Any, Outcome]:
        """Run a plan in the caller's event loop; to be awaited at once."""
        scope = scope or self.scopes.find()
        if scope is None:
            return self._alone_async(plan, call)
        return self._perform(Errand(plan, call, scope, self._async))

    def language(self) -> Literal["zh", "en"]:
        """The language to speak in the request this code is in."""
        configured = self.policy.language
        if configured != "auto":
            return configured
        scope = self.scopes.find()
        return "en" if scope is None or scope.find_language is None else scope.find_language()

    def session_time(self) -> float:
        """Seconds of the session tier for a request that begins now."""
        configured = self.policy.timeouts.session
        if configured != "auto":
            return configured
        if self._mean is None:
            return LONGEST_SESSION
        return min(max(self._mean * SESSION_FACTOR, SHORTEST_SESSION), LONGEST_SESSION)

    def _perform(self, errand: Errand) -> Coroutine[Any, Any, Outcome]:
        target = errand.plan.target
        if errand.plan.claims:
            return write(errand, self.ledger)
        if target.cache is not None:
            errand.call.key = self._key(target.policy.cache, errand)
        if target.read_through is not None:
            key = self._key(target.policy.read_through, errand)
            if key is not None:
                return self._through(errand, target.read_through, key)
        return walk(errand)

    async def _through(self, errand: Errand, cache: ReadThrough, key: Hashable) -> Outcome:
        """Use a normal cache with single flight: one caller asks, the others wait for it within their own time."""
        ground = errand.ground
        limit, _, _ = errand.plan.target.limit(errand.call, errand.scope, ground.now())
        until = None if limit is None else ground.now() + limit
        while True:
            found = cache.claim(key, ground.now())
            if isinstance(found, Hit):
                value, data = found.value
                return Outcome("ok", value, data, source="cache", age=found.age)
            if isinstance(found, Lead):
                return await self._lead(errand, found)
            try:
                await ground.ports.wait(found, None if until is None else max(0.0, until - ground.now()))
            except CallTimedOut:  # the leaders are slow: ask without them
                return await walk(errand)

    @staticmethod
    async def _lead(errand: Errand, lead: Lead) -> Outcome:
        asked_at = errand.ground.now()
        with lead:
            outcome = await walk(errand)
            if outcome.status == "ok" and outcome.direction is None and is_kept(errand, outcome.value):
                lead.fulfil((outcome.value, outcome.data), asked_at, empty=is_empty(outcome.data))
            return outcome

    def _key(self, policy: CachePolicy | None, errand: Errand) -> Hashable:
        call, scope = errand.call, errand.scope
        if policy is None or not (errand.plan.is_cacheable and call.is_cacheable):
            return None
        here = ambient.runtime()
        who = ambient.configurable() or scope.identity
        look_up = partial(scope_key, configurable=who, context=here.context if here is not None else None)
        whose = look_up(policy.scope, thread_id=scope.thread or who.get("thread_id"))
        text = None if whose is None else canonical(call.named)
        if text is None:
            return None
        tenant = () if policy.scope == "shared" else look_up(("tenant_id",), thread_id=None)
        return (tenant, whose, errand.plan.owner, text)

    def _alone(self, plan: Plan, call: Call) -> Outcome:
        """Outside of every request: this call is one, without a limit; calls inside it join it."""
        scope = Scope(self.scopes, self.policy.request, 0.0, None)
        token = ACTIVE.set(scope)
        try:
            return complete(self._perform(Errand(plan, call, scope, self._sync)))
        finally:
            ACTIVE.reset(token)
            if scope.touched:
                self._end(scope)

    # Written twice: one coroutine for both made the sync guard 0.2 to 1 µs slower, of its 5 (noisy measurements).
    async def _alone_async(self, plan: Plan, call: Call) -> Outcome:
        scope = Scope(self.scopes, self.policy.request, 0.0, None)
        token = ACTIVE.set(scope)
        try:
            return await self._perform(Errand(plan, call, scope, self._async))
        finally:
            ACTIVE.reset(token)
            if scope.touched:
                self._end(scope)

    def _make_scope(self) -> Scope:
        now = self.clock.monotonic()
        return Scope(self.scopes, self.policy.request, now, now + self.session_time())

    def _notify(self, event: Event) -> None:
        for listener in self.listeners:
            try:
                listener(event)
            except Exception:  # a listener never fails a call
                log.exception("a listener failed")

    def _end(self, scope: Scope) -> None:
        """One structured record per degraded request, holding the whole chain (spec R2)."""
        if scope.deadline is not None:
            elapsed = self.clock.monotonic() - scope.started
            self._mean = elapsed if self._mean is None else self._mean + SMOOTHING * (elapsed - self._mean)
        if scope.touched and scope.context.events:
            chain = _chain(scope)
            level = logging.WARNING if scope.degraded else logging.INFO
            log.log(
                level,
                "degraded request: %s",
                json.dumps(chain, ensure_ascii=False, default=str),
                extra={"degrade": chain},
            )


def _chain(scope: Scope) -> dict[str, Any]:
    """The whole context for a log: without the words of what was asked, which are the user's."""
    told = scope.context.plain()
    items = {
        name: {field: value for field, value in item.items() if field != "what"}
        for name, item in told["unfinished"].items()
    }
    return told | {"unfinished": items, "request": scope.id, "thread": scope.thread}
