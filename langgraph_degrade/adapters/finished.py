"""Whether a run had reached its end when something other than a node failed (a saver, say), and with what state.

Only LangGraph knows what would have come next: edges, conditions, commands and sends decide. So it is asked, on a copy
of the graph whose saver is in memory: the state before the last step, then what the step's nodes returned. Conditions
of the graph are evaluated once more for it; a node never is.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.constants import END
from langgraph.types import StateUpdate

if TYPE_CHECKING:
    from langgraph_degrade.adapters.watch import Result
    from langgraph_degrade.engine.clock import Clock
    from langgraph_degrade.engine.ports import Ports

log = logging.getLogger("langgraph_degrade")

LIMIT = 2.0
"""Seconds for everything an ending asks of a graph and its saver ○: its user has waited long enough."""
PLACES = ("thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map")


class Hurry:
    """Calls a graph's methods in either colour, all of them within `LIMIT` seconds; then `CallTimedOut`."""

    def __init__(self, ports: Ports, clock: Clock, *, is_async: bool) -> None:
        self._ports, self._now, self._is_async = ports, clock.monotonic, is_async
        self._ends: float | None = None

    async def call(self, graph: Any, method: str, *args: Any) -> Any:
        """`graph.method(*args)`, or its async twin."""
        if self._ends is None:
            self._ends = self._now() + LIMIT
        made = getattr(graph, f"a{method}" if self._is_async else method)
        left = max(0.0, self._ends - self._now())
        return await self._ports.call(partial(made, *args), is_async=self._is_async, timeout=left, own_thread=False)


async def final_state(
    hurry: Hurry, graph: Any, config: Any, before: Mapping[str, Any], results: Sequence[Result]
) -> dict[str, Any] | None:
    """The state the run ends in if nothing comes after `results`; None if something does, or nobody can tell."""
    probe = copy.copy(graph)
    probe.checkpointer = InMemorySaver()
    told = {name: value for name, value in configurable(config).items() if name not in PLACES}
    place = {"configurable": {**told, "thread_id": "degrade"}}
    known = {name: value for name, value in before.items() if name in graph.channels}
    steps = [
        [StateUpdate(known, author(graph))],
        [StateUpdate(None, END)],
        [StateUpdate(result.output, result.node) for result in results],
    ]
    try:
        await hurry.call(probe, "bulk_update_state", place, steps)
        reached = await hurry.call(probe, "get_state", place)
    except Exception as error:  # a condition that can't be asked again: no final answer is claimed
        log.info("whether a run was finished could not be told (%s)", type(error).__name__)
        return None
    return None if reached.next else dict(reached.values)


def author(graph: Any) -> str:
    """A node to write in the name of: one without conditions of its own, if there is one."""
    nodes: list[str] = [name for name in graph.nodes if not name.startswith("__")]
    builder = getattr(graph, "builder", None)
    without = [name for name in nodes if builder is None or not builder.branches.get(name)]
    return (without or nodes)[0]


def configurable(config: Any) -> Mapping[str, Any]:
    """`config["configurable"]`, or nothing."""
    return (config or {}).get("configurable") or {}
