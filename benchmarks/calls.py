"""What one guarded call costs, and the parts of it: the breaker, the hand-over to a worker, the schema check."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextvars import copy_context
from itertools import count
from queue import SimpleQueue
from statistics import median
from threading import Thread
from typing import Any

from benchmarks.rows import MICRO, Row
from benchmarks.timing import more, time_awaits, time_calls, times

POLICY = {
    "targets": {
        "plain": {"effect": "read", "timeout": "none"},
        "timed": {"effect": "read", "timeout": "3s"},
    }
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["order", "status", "lines", "address"],
    "properties": {
        "order": {"type": "string", "pattern": "^#[0-9]{6}$"},
        "status": {"enum": ["open", "sent", "delivered"]},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["sku", "pieces", "price"],
                "properties": {
                    "sku": {"type": "string", "minLength": 3},
                    "pieces": {"type": "integer", "minimum": 1},
                    "price": {"type": "number", "minimum": 0},
                    "note": {"type": ["string", "null"]},
                },
            },
        },
        "address": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}},
    },
}
RESULT: dict[str, Any] = {
    "order": "#204187",
    "status": "sent",
    "lines": [
        {"sku": f"kettle-{number}", "pieces": number, "price": 29.9, "note": "gift wrapping, please"}
        for number in range(1, 13)
    ],
    "address": {"city": "Hangzhou", "street": "18 Lakeside Road"},
}


def breaker(rounds: int) -> Iterator[Row]:
    from langgraph_degrade.engine.breaker import Breaker
    from langgraph_degrade.policy import BreakerRule

    one, ticks = Breaker(BreakerRule()), count()

    def admit_and_record() -> None:
        now = next(ticks) * 1e-3
        permit = one.acquire(now)
        assert permit is not None
        one.succeed(permit, now)

    taken = time_calls({"empty": lambda: next(ticks) * 1e-3, "breaker": admit_and_record}, batch=250, rounds=rounds)
    yield Row("breaker: admit + record", more(taken, "breaker", "empty") * MICRO, budget=1)


def guard_sync(rounds: int) -> Iterator[Row]:
    from langgraph_degrade import Degrader, Policy

    degrader = Degrader(Policy.model_validate(POLICY))
    variants = {
        "bare": answer,
        "plain": degrader.guard("plain")(answer),
        "undeclared": Degrader().guard("undeclared")(answer),
        "tenacity + pybreaker": tenacity_and_pybreaker(),
    }
    taken = time_calls(variants, batch=250, rounds=rounds)
    guarded = more(taken, "plain", "bare")
    yield Row(
        "guard, sync, no timeout",
        guarded * MICRO,
        budget=5,
        note=f"{times(taken, 'plain', 'bare'):.0f} × the bare call",
    )
    ratio = guarded / more(taken, "tenacity + pybreaker", "bare")
    yield Row(
        "… against tenacity + pybreaker, stacked",
        ratio,
        "×",
        note="retry and breaker only; no deadline, budget or events",
    )
    yield Row(
        "guard, sync, nothing declared",
        more(taken, "undeclared", "bare") * MICRO,
        note="`Degrader()`: no limit outside a request",
    )
    hand_over = worker()
    limited = {"bare": answer, "timed": degrader.guard("timed")(answer), "hand-over": lambda: hand_over(answer)}
    taken = time_calls(limited, batch=25, rounds=rounds)
    bare = more(taken, "hand-over", "bare") * MICRO
    yield Row(
        "guard, sync, timeout",
        times(taken, "timed", "hand-over"),
        "×",
        2,
        f"of a bare hand-over to a worker ({bare:.0f} µs)",
    )


def guard_async(rounds: int) -> Iterator[Row]:
    from langgraph_degrade import Degrader, Policy

    degrader = Degrader(Policy.model_validate(POLICY))

    async def limited() -> int:
        async with asyncio.timeout(3):
            return await asyncio.ensure_future(aanswer())

    variants = {
        "bare": aanswer,
        "plain": degrader.guard("plain")(aanswer),
        "timed": degrader.guard("timed")(aanswer),
        "own task": limited,
    }
    taken = asyncio.run(time_awaits(variants, batch=100, rounds=rounds))
    ratio = f"{times(taken, 'plain', 'bare'):.0f} × the bare call"
    yield Row("guard, async, no timeout", more(taken, "plain", "bare") * MICRO, budget=10, note=ratio)
    task = more(taken, "own task", "bare") * MICRO
    note = f"of a bare task under `asyncio.timeout` ({task:.1f} µs)"
    yield Row("guard, async, timeout", times(taken, "timed", "own task"), "×", 2, note)


def validation(rounds: int) -> Iterator[Row]:
    import jsonschema

    from langgraph_degrade.stages.tools.validation import Validator

    ours, theirs = Validator(SCHEMA), jsonschema.Draft202012Validator(SCHEMA)
    assert ours.check(RESULT) is None
    variants = {"ours": lambda: ours.check(RESULT), "theirs": lambda: theirs.is_valid(RESULT)}
    taken = time_calls(variants, batch=2, rounds=rounds)
    note = f"of `jsonschema`: {median(taken['ours']) * MICRO:.1f} against {median(taken['theirs']) * MICRO:.0f} µs"
    yield Row("result validation, 1 KB", times(taken, "ours", "theirs"), "×", 1 / 25, note)


def answer() -> int:
    return 7


async def aanswer() -> int:
    return 7


def worker() -> Callable[[Callable[[], Any]], Any]:
    """The least a timeout can cost a sync call: to another thread and back, in the caller's context."""
    jobs: SimpleQueue[tuple[Any, Callable[[], Any]]] = SimpleQueue()
    answers: SimpleQueue[Any] = SimpleQueue()

    def serve() -> None:
        while True:
            context, call = jobs.get()
            answers.put(context.run(call))

    Thread(target=serve, daemon=True).start()

    def hand_over(call: Callable[[], Any]) -> Any:
        jobs.put((copy_context(), call))
        return answers.get(timeout=3)

    return hand_over


def tenacity_and_pybreaker() -> Callable[[], int]:
    import pybreaker
    import tenacity

    return pybreaker.CircuitBreaker(fail_max=3)(tenacity.retry(stop=tenacity.stop_after_attempt(2))(answer))
