"""Writes (spec E4): claimed before they are sent, never sent twice on a doubt, never said to be done unless known."""

from __future__ import annotations

import logging
import os
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from langgraph_degrade.context import Event, Unfinished
from langgraph_degrade.engine import ambient
from langgraph_degrade.engine.items import describe, item_id
from langgraph_degrade.engine.keys import canonical, scope_key
from langgraph_degrade.engine.ladder import bury, certainly_not_done, read_back, walk
from langgraph_degrade.engine.plan import Outcome
from langgraph_degrade.engine.store import ClaimKey
from langgraph_degrade.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from langgraph_degrade.engine.ladder import Ground
    from langgraph_degrade.engine.plan import Call, Plan
    from langgraph_degrade.engine.ports import Late
    from langgraph_degrade.engine.scope import Scope
    from langgraph_degrade.engine.store import Claim, Settled, Store

log = logging.getLogger("langgraph_degrade")

T = TypeVar("T")

STORE_TIME = 2.0
"""Seconds a durable store may take ○; then memory stands in."""

CURRENT_KEY: ContextVar[str | None] = ContextVar("langgraph_degrade_idempotency_key", default=None)


def idempotency_key() -> str | None:
    """The key to send with the write this code is part of; None outside of one.

    Equal for every retry, replay and read-back of one intent, different for an intentional second write (case-W01).
    A key can be made where the thread is known: in a graph with a checkpointer, or under `degrader.scope(thread=…)`.

    Example:
        >>> idempotency_key() is None
        True
    """
    return CURRENT_KEY.get()


async def write(plan: Plan, call: Call, scope: Scope, ground: Ground, ledger: Ledger) -> Outcome:
    """Walk the ladder for something that changes the world, at most once per intent as far as anybody can know."""
    claim, store = await ledger.claim(plan, call, scope, ground)
    if claim is None:
        return await walk(plan, call, scope, ground)
    if claim.state == "done" and plan.target.policy.effect == "write":
        bury(plan, call, scope)
        return Outcome("ok", claim.result, claim.result, source="replay")
    if claim.state == "unknown":
        return await _doubt(plan, call, scope, ground, ledger, claim, store)
    call.on_late = partial(ledger.came_late, claim, store, plan, call, scope)
    open_before = bool(scope.context.unfinished)
    token = CURRENT_KEY.set(claim.idempotency_key)
    try:
        outcome = await walk(plan, call, scope, ground)
    except BaseException as error:
        await ledger.settle(claim, "failed" if ambient.is_control_flow(error) else "unknown", None, store, ground)
        raise
    finally:
        CURRENT_KEY.reset(token)
    await ledger.settle(claim, _state(outcome), outcome.data, store, ground)
    if open_before or outcome.status != "ok":
        await ledger.note(plan, call, scope, outcome, ground)
    return outcome


async def _doubt(
    plan: Plan, call: Call, scope: Scope, ground: Ground, ledger: Ledger, claim: Claim, store: Store
) -> Outcome:
    """The same write was sent before and nobody knows what came of it: look, and send nothing."""
    seen = await read_back(plan, call, scope, ground)
    policy = plan.target.policy
    failure = Failure("unknown", reason="same write sent before, outcome unknown", unsent=True)
    outcome = "verified" if seen else "unknown"
    event = Event(
        id=scope.next_id(), target=plan.target.name, stage=policy.stage, scene=policy.scene, kind="unknown",
        reason=failure.reason, outcome=outcome, at=ground.wall(),
    )
    scope.record(event, () if seen else ("write_unknown",))
    if seen:
        bury(plan, call, scope)
        await ledger.settle(claim, "done", None, store, ground)
        return Outcome("ok", source="verified", failure=failure)
    item = Unfinished(
        id=item_id(plan.target.name, call.named), target=plan.target.name, what=describe(plan.target.name, call.named),
        state="unknown", turn=scope.context.turn[1], at=ground.wall(),
    )
    scope.context.add_unfinished(item)
    return Outcome("unknown", failure=failure, source="already_sent")


def _state(outcome: Outcome) -> Settled:
    if outcome.status == "ok":
        return "done"
    return "unknown" if outcome.status == "unknown" else "failed"


class Ledger:
    """The claims of one application, over its store; a store that fails is stood in for by this process's memory."""

    def __init__(self, store: Store, local: Store) -> None:
        self._store = store
        self._local = local
        self._life = uuid4().hex  # of this object: two processes must never take each other's claims for their own

    async def claim(self, plan: Plan, call: Call, scope: Scope, ground: Ground) -> tuple[Claim | None, Store]:
        """Claim this write, or find what stands in its way; None where nothing tells one request from another."""
        thread = scope.thread or ambient.configurable().get("thread_id")
        if thread is None:
            return None, self._store
        args = canonical(call.named)
        key = ClaimKey(
            thread=str(thread),
            turn=scope.context.turn[1],
            target=plan.target.name,
            args=args,
            tool_call_id=call.id or scope.call_id(plan.target.name, args),
            tenant=_tenant(scope),
        )
        owner = f"{self._life}/{os.getpid()}"
        ask = partial(_claimed, key=key, owner=owner, now=ground.wall())
        return await self._on_store(self._store, ask, ground)

    async def settle(self, claim: Claim, state: Settled, result: Any, store: Store, ground: Ground) -> None:
        """Say how it ended, where it was claimed."""
        await self._on_store(store, lambda place: place.settle(claim, state, result), ground)

    async def note(self, plan: Plan, call: Call, scope: Scope, outcome: Outcome, ground: Ground) -> None:
        """Keep the list of what is unfinished: an item for what was left, none for what is done now."""
        name = item_id(plan.target.name, call.named)
        thread = scope.thread
        if thread is None:
            return
        if outcome.status == "ok":
            await self._on_store(self._store, lambda store: store.resolve(name, thread=thread), ground)
            return
        left = next((item for item in scope.context.unfinished if item["id"] == name), None)
        if left is not None:
            item = {**left, "thread": thread, "priority": plan.target.policy.priority}
            await self._on_store(self._store, lambda store: store.add(item, now=ground.wall()), ground)

    def came_late(
        self, claim: Claim, store: Store, plan: Plan, call: Call, scope: Scope, late: Late, failure: Failure | None
    ) -> None:
        """An abandoned write came home after all: now it is known."""
        if failure is not None and not certainly_not_done(failure):
            return
        store.settle(claim, "failed" if failure else "done", None)
        if failure is None:
            scope.context.finish(item_id(plan.target.name, call.named))
            log.warning("%s: the write given up after its timeout was done, %.3g s after it began", plan.target.name, late.elapsed)

    async def _on_store(self, store: Store, ask: Callable[[Store], T], ground: Ground) -> T:
        """Ask the store; one that can't answer is stood in for by memory: a store never fails a call (spec S3)."""
        try:
            if not store.durable:
                return ask(store)
            return await ground.ports.call(partial(ask, store), is_async=False, timeout=STORE_TIME, own_thread=False)
        except Exception as error:
            log.error("the store of claims failed (%s): this process's memory stands in", type(error).__name__)
            return ask(self._local)


def _claimed(store: Store, *, key: ClaimKey, owner: str, now: float) -> tuple[Claim, Store]:
    return store.claim(key, owner=owner, now=now), store


def _tenant(scope: Scope) -> str:
    """Typed, so that tenant 0, tenant "" and no tenant are three (case-K02)."""
    whose = scope_key(("tenant_id",), configurable=ambient.configurable() or scope.identity, context=None, thread_id=None)
    return "" if whose is None else whose[0]
