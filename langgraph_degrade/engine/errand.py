"""`Errand`: one call on its way: what is to be done, for whom, and what it stands on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from langgraph_degrade.engine.plan import Call, Plan
    from langgraph_degrade.engine.ports import Ports
    from langgraph_degrade.engine.scope import Scope


@dataclass(slots=True)  # both classes: made or read on every call, and named tuples are slower at either
class Ground:
    """What errands of one colour stand on: how calls are run, chance, and time."""

    ports: Ports
    random: Random
    now: Callable[[], float]
    """Monotonic seconds, for decisions."""
    wall: Callable[[], float]
    """Unix time, for records."""


@dataclass(slots=True)
class Errand:
    """One call of one plan in one request."""

    plan: Plan
    call: Call
    scope: Scope
    ground: Ground
