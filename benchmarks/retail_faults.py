"""Faults: which there are, when they come, and what the tool's caller gets. Seeded; a fifth of the calls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

import httpx

Fault = Literal[
    "hang", "hang, done", "late", "reset before", "reset after", "429", "503", "cut JSON", "null", "wrong types"
]
FAMILIES: tuple[tuple[Fault, ...], ...] = (
    ("hang", "hang, done", "late"), ("reset before",), ("reset after",), ("429",), ("503",), ("cut JSON",), ("null",),
    ("wrong types",),
)  # fmt: skip
"""Each family is as likely as the next; a hang has three: nothing was done, it was, and it will be."""
KINDS: Mapping[Fault, frozenset[str]] = {
    "hang": frozenset({"timeout"}), "hang, done": frozenset({"timeout"}), "late": frozenset({"timeout"}),
    "reset before": frozenset({"connection"}), "reset after": frozenset({"connection"}),
    "429": frozenset({"rate_limit"}), "503": frozenset({"overloaded"}),
    "cut JSON": frozenset({"schema"}), "null": frozenset({"schema", "empty"}), "wrong types": frozenset({"schema"}),
}  # fmt: skip
"""What each must be recorded as (spec F2)."""
HANGS: frozenset[Fault] = frozenset({"hang", "hang, done", "late"})
EARLY: frozenset[Fault] = frozenset({"hang", "reset before", "429", "503"})
"""The shop never hears of the call."""
SPOILED: frozenset[Fault] = frozenset({"cut JSON", "null", "wrong types"})
"""The shop did its part, and the answer arrives in no state to be used."""
SHARE = 0.2
FRONT = 10
"""Calls a front of a storm lasts; one of every five fronts brings down everything, in one and the same way."""
WeatherKind = Literal["showers", "storm", "fair"]
"""Showers: a fifth of the calls, each on its own. Storm: all calls, a fifth of the time."""


@dataclass(frozen=True)
class Weather:
    """When it fails, and how."""

    seed: int
    kind: WeatherKind

    def fault(self, number: int, attempt: int, side: str = "") -> tuple[Fault | None, Random]:
        """Tell what befalls an attempt of call `number`, and hand out the chance for the rest of it."""
        chance = Random(f"{self.seed}/{number}/{attempt}/{side}")
        if self.kind == "storm":
            front = number // FRONT
            is_bad = Random(f"{self.seed}/{front // 5}").randrange(5) == front % 5
            return (_one(Random(f"{self.seed}/front {front}")) if is_bad else None), chance
        return (_one(chance) if self.kind == "showers" and chance.random() < SHARE else None), chance


def error_of(fault: Fault, chance: Random) -> Exception:
    """Make what a client library raises."""
    if fault not in ("429", "503"):
        resets = (ConnectionResetError(104, "reset by peer"), httpx.ReadError(""), httpx.RemoteProtocolError("cut off"))
        return chance.choice(resets)
    wait = {"Retry-After": "5"} if chance.random() < 0.5 else {}
    request = httpx.Request("POST", "http://shop.test/tools")
    return httpx.HTTPStatusError(
        f"status {fault}", request=request, response=httpx.Response(int(fault), headers=wait, request=request)
    )


def spoiled(fault: Fault, data: Any, chance: Random) -> Any:
    """Make the body that arrives of `data`."""
    if fault == "cut JSON":
        text = json.dumps(data)
        return text[: max(1, int(len(text) * chance.uniform(0.2, 0.9)))]
    return None if fault == "null" else _mistyped(data, chance)


def _mistyped(data: Any, chance: Random) -> Any:
    """Put one field of the answer into another type than it is declared to have."""
    if not isinstance(data, dict):
        return [data]
    field = chance.choice([name for name, value in data.items() if value is not None])
    return {**data, field: 7 if isinstance(data[field], str) else "none"}


def _one(chance: Random) -> Fault:
    return chance.choice(chance.choice(FAMILIES))
