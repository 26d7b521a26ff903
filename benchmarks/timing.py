"""Ratios that hold on a busy machine: variants take turns in batches shorter than a time slice, and the median is told."""

from __future__ import annotations

import gc
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import TypeVar

WARM_UP = 3
"""Rounds thrown away: the first ones fill caches and specialise byte code."""

T = TypeVar("T")
Batches = Mapping[str, Sequence[float]]
"""Seconds a call, one figure a round, by variant."""


def take_turns(variants: Mapping[str, T], rounds: int) -> Iterator[tuple[str, T]]:
    """Yield each variant once a round, so that what disturbs the machine disturbs them all."""
    for _ in range(rounds + WARM_UP):
        for name, variant in variants.items():
            gc.collect(0)
            yield name, variant


def time_calls(variants: Mapping[str, Callable[[], object]], *, batch: int, rounds: int) -> Batches:
    """Time sync calls, `batch` of them at a time."""
    taken: dict[str, list[float]] = defaultdict(list)
    for name, call in take_turns(variants, rounds):
        begin = time.perf_counter()
        for _ in range(batch):
            call()
        taken[name].append((time.perf_counter() - begin) / batch)
    return settled(taken)


async def time_awaits(variants: Mapping[str, Callable[[], Awaitable[object]]], *, batch: int, rounds: int) -> Batches:
    """Time awaited calls on the running loop, `batch` of them at a time."""
    taken: dict[str, list[float]] = defaultdict(list)
    for name, call in take_turns(variants, rounds):
        begin = time.perf_counter()
        for _ in range(batch):
            await call()
        taken[name].append((time.perf_counter() - begin) / batch)
    return settled(taken)


def settled(taken: Batches) -> Batches:
    """Drop the warm-up rounds."""
    return {name: seconds[WARM_UP:] for name, seconds in taken.items()}


def more(batches: Batches, variant: str, than: str) -> float:
    """Seconds `variant` takes longer, round by round."""
    return median(one - other for one, other in zip(batches[variant], batches[than], strict=True))


def times(batches: Batches, variant: str, than: str) -> float:
    """How many times as long `variant` takes, round by round."""
    return median(one / other for one, other in zip(batches[variant], batches[than], strict=True))
