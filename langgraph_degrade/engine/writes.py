"""Writes (spec E4): claimed before they are sent, never sent twice on a doubt, never said to be done unless known."""

from __future__ import annotations

import logging
import os
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from uuid import uuid4

from langgraph_degrade.context import Event
from langgraph_degrade.engine import ambient
from langgraph_degrade.engine.attempt import certainly_not_done
from langgraph_degrade.engine.hooks import read_back
from langgraph_degrade.engine.items import item_id
from langgraph_degrade.engine.keys import canonical, scope_key
from langgraph_degrade.engine.ladder import bury, walk
from langgraph_degrade.engine.logs import frames
from langgraph_degrade.engine.plan import Outcome
from langgraph_degrade.engine.store import Claim, ClaimKey, Settled, Store
from langgraph_degrade.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from langgraph_degrade.engine.errand import Errand
    from langgraph_degrade.engine.plan import Call
    from langgraph_degrade.engine.scope import Scope

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


async def write(errand: Errand, ledger: Ledger) -> Outcome:
    """Walk the ladder for something that changes the world, at most once per intent as far as anybody can know."""
    claimed = await ledger.claim(errand)
    if claimed is None:
        return await walk(errand)
    claim = claimed.claim
    if claim.state == "done" and errand.plan.target.policy.effect == "write":
        bury(errand)
        return Outcome("ok", claim.result, claim.result, source="replay")
    if claim.state in {"unknown", "late"}:
        return await _sent_before(errand, ledger, claimed)
    doubt = await ledger.in_doubt(errand)
    settled = None if doubt is None else await _look_first(errand, ledger, claimed, doubt)
    if settled is not None:
        return settled
    return await _send(errand, ledger, claimed)


async def _look_first(errand: Errand, ledger: Ledger, claimed: Claimed, doubt: Mapping[str, Any]) -> Outcome | None:
    """The same was asked in an earlier turn and nobody knew what came of it: look before sending it again.

    None: it is known not to have been done, or doing it twice does no harm.
    """
    came_late = doubt.get("state") == "late"
    seen = True if came_late else await read_back(errand)
    if seen is False and ledger.is_running(claimed.claim.key):
        seen = None  # it may be done yet: the call that was given up is still at work in this process
    if seen is False or (seen is None and errand.plan.target.policy.idempotent):
        return None
    await ledger.settle(errand, claimed, "done" if seen else "failed")
    reason = f"same write sent in turn {doubt.get('turn')}, {'reply came late' if came_late else 'outcome unknown'}"
    return await _told(errand, ledger, seen=bool(seen), reason=reason)


async def _send(errand: Errand, ledger: Ledger, claimed: Claimed) -> Outcome:
    """Send a claimed write, and say how it ended, whatever ended it."""
    errand.call.on_late = partial(_came_late, errand, claimed)
    open_before = bool(errand.scope.context.unfinished)
    token = CURRENT_KEY.set(claimed.claim.idempotency_key)
    try:
        outcome = await walk(errand)
    except BaseException:
        await _leave_off(errand, ledger, claimed)
        raise
    finally:
        CURRENT_KEY.reset(token)
    if errand.call.running:
        ledger.keep_running(claimed.claim.key, errand.call)
    known = await ledger.settle(errand, claimed, _state(outcome), outcome.data)
    if known.state == "late":  # its reply came in while we looked
        return await _sent_before(errand, ledger, Claimed(known, claimed.store))
    if open_before or outcome.status != "ok":
        await ledger.note(errand, outcome)
    return outcome


async def _leave_off(errand: Errand, ledger: Ledger, claimed: Claimed) -> None:
    """Note how far a write had come when the run was interrupted, cancelled or killed around it."""
    if not errand.call.sent:
        await ledger.settle(errand, claimed, "failed")
        return
    await ledger.settle(errand, claimed, "unknown")
    errand.scope.leave(errand.plan.target, errand.call, is_unknown=True, at=errand.ground.wall())
    await ledger.note(errand, Outcome("unknown"))


async def _sent_before(errand: Errand, ledger: Ledger, claimed: Claimed) -> Outcome:
    """The same write was sent before, and whoever asked knows no outcome: say it if there is one by now, and send nothing."""
    came_late = claimed.claim.state == "late"
    seen = came_late or bool(await read_back(errand))
    result = claimed.claim.result
    if seen:
        await ledger.settle(errand, claimed, "done", result)
    reason = f"same write sent before, {'reply came late' if came_late else 'outcome unknown'}"
    return await _told(errand, ledger, seen=seen, reason=reason, result=result)


async def _told(errand: Errand, ledger: Ledger, *, seen: bool, reason: str, result: Any = None) -> Outcome:
    """Answer for a write that was sent before: done, or still nobody knows."""
    scope, target, at = errand.scope, errand.plan.target, errand.ground.wall()
    failure = Failure("unknown", reason=reason, unsent=True)
    event = Event.of(
        failure,
        id=scope.next_id(),
        target=target.name,
        stage=target.stage,
        scene=target.policy.scene,
        outcome="verified" if seen else "unknown",
        at=at,
    )
    scope.record(event, () if seen else ("write_unknown",))
    if not seen:
        scope.leave(target, errand.call, is_unknown=True, at=at)
        return Outcome("unknown", failure=failure, source="already_sent")
    bury(errand)
    done = Outcome("ok", result, result, source="verified", failure=failure)
    await ledger.note(errand, done)
    return done


def _came_late(errand: Errand, claimed: Claimed, data: Any, failure: Failure | None) -> None:
    """An abandoned write came home after all: now it is known."""
    target, scope = errand.plan.target, errand.scope
    if failure is not None and (errand.call.sent > 1 or not certainly_not_done(failure, target)):
        return  # one attempt was refused; another may have done it
    claimed.store.settle(claimed.claim, "failed" if failure else "late", data)
    if failure is not None:
        scope.leave(target, errand.call, is_unknown=False, at=errand.ground.wall())
        return
    item = item_id(target.name, target.intent(errand.call))
    scope.context.finish(item)
    left = claimed.store.recall(item, thread=scope.thread)
    if left is not None:  # who asked was told that nobody knows: asked again, it is said to be done
        claimed.store.add({**left, "state": "late"}, now=errand.ground.wall())
    log.warning("%s: the write given up after its timeout was done after all", target.name)


def _state(outcome: Outcome) -> Settled:
    if outcome.status == "ok":
        return "done"
    return "unknown" if outcome.status == "unknown" else "failed"


class Claimed(NamedTuple):
    """A claim, and the store it was made in."""

    claim: Claim
    store: Store


class Ledger:
    """The claims of one application, over its store; a store that fails is stood in for by this process's memory."""

    def __init__(self, store: Store, local: Store) -> None:
        self._store = store
        self._local = local
        self._in_doubt: set[str] = set()
        self._running: dict[tuple[str, ...], list[Call]] = {}
        self._life = uuid4().hex  # of this object: two processes must never take each other's claims for their own

    async def claim(self, errand: Errand) -> Claimed | None:
        """Claim this write, or find what stands in its way; None where nothing tells one request from another."""
        plan, call, scope, ground = errand.plan, errand.call, errand.scope, errand.ground
        thread = scope.thread = scope.thread or _thread()
        if thread is None:
            return None
        args = canonical(plan.target.intent(call))
        key = ClaimKey(
            thread=thread,
            turn=scope.turn_of_write(is_tool_call=call.id is not None),
            target=plan.target.name,
            args=args,
            tool_call_id=call.id or scope.call_id(plan.target.name, args),
            tenant=_tenant(scope),
        )
        owner = f"{self._life}/{os.getpid()}"
        claimed = await self._ask(
            errand, self._store, lambda store: Claimed(store.claim(key, owner=owner, now=ground.wall()), store)
        )
        if claimed.claim.state == "claimed" and key.intent in self._in_doubt:
            # The store could not be told how the last one ended; this process still knows that nobody knows.
            return Claimed(replace(claimed.claim, state="unknown"), claimed.store)
        return claimed

    async def settle(self, errand: Errand, claimed: Claimed, state: Settled, result: Any = None) -> Claim:
        """Say how it ended, where it was claimed; the claim as it stands now may know more."""
        claim = await self._ask(errand, claimed.store, lambda store: store.settle(claimed.claim, state, result))
        if state == "unknown":
            self._in_doubt.add(claimed.claim.key.intent)
        else:
            self._in_doubt.discard(claimed.claim.key.intent)
        return claim

    async def in_doubt(self, errand: Errand) -> Mapping[str, Any] | None:
        """The item of the same write left in doubt in an earlier turn, `late` where its reply came since; else None.

        Only for what is declared a write: anything else would be refused for the rest of the conversation.
        """
        target, scope = errand.plan.target, errand.scope
        if target.policy.effect != "write":
            return None
        name = item_id(target.name, target.intent(errand.call))
        kept = await self._ask(errand, self._store, lambda store: store.recall(name, thread=scope.thread))
        told = [item for item in scope.context.unfinished if item.get("id") == name]
        earlier = [item for item in (kept, *told) if item is not None and item.get("turn") != scope.context.turn[1]]
        return next((item for item in earlier if item.get("state") in ("late", "unknown")), None)

    def keep_running(self, key: ClaimKey, call: Call) -> None:
        """Remember a call that was given up and is at work still."""
        self._running = {wish: calls for wish, calls in self._running.items() if any(one.running for one in calls)}
        self._running.setdefault(_wish(key), []).append(call)

    def is_running(self, key: ClaimKey) -> bool:
        """Whether a call for the same, from whatever turn, is still at work in this process."""
        return any(call.running for call in self._running.get(_wish(key), ()))

    async def note(self, errand: Errand, outcome: Outcome) -> None:
        """Keep the list of what is unfinished: an item for what was left, none for what is done now."""
        plan, call, scope, ground = errand.plan, errand.call, errand.scope, errand.ground
        name, thread = item_id(plan.target.name, plan.target.intent(call)), scope.thread
        if thread is None:
            return
        if outcome.status == "ok":
            await self._ask(errand, self._store, lambda store: store.resolve(name, thread=thread))
            return
        left = next((item for item in scope.context.unfinished if item["id"] == name), None)
        if left is not None:
            item = {**left, "thread": thread, "priority": plan.target.policy.priority}
            await self._ask(errand, self._store, lambda store: store.add(item, now=ground.wall()))

    async def _ask(self, errand: Errand, store: Store, question: Callable[[Store], T]) -> T:
        """Ask the store; one that can't answer is stood in for by memory: a store never fails a call (spec S3)."""
        try:
            if not store.durable:
                return question(store)
            answer: T = await errand.ground.ports.call(
                partial(question, store), is_async=False, timeout=STORE_TIME, own_thread=False
            )
        except Exception as error:
            log.error("the store of claims failed, memory stands in: %s\n%s", type(error).__name__, frames(error))  # noqa: TRY400
            return question(self._local)
        return answer


def _wish(key: ClaimKey) -> tuple[str, ...]:
    return key.tenant, key.thread, key.target, str(key.args)


def _thread() -> str | None:
    found = ambient.configurable().get("thread_id")
    return None if found is None else str(found)


def _tenant(scope: Scope) -> str:
    """Typed, so that tenant 0, tenant "" and no tenant are three (case-K02)."""
    known, here = ambient.configurable() or scope.identity, ambient.runtime()
    context = here.context if here is not None else None
    whose = scope_key(("tenant_id",), configurable=known, context=context, thread_id=None)
    return "" if whose is None else whose[0]
