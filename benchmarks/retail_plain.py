"""The same day without a degrader: the tools as they are, and as `with_retry` makes them."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from langchain_core.messages import ToolCall
from langchain_core.runnables import Runnable

from benchmarks.retail_door import Door
from benchmarks.retail_faults import SPOILED, Weather, WeatherKind
from benchmarks.retail_shop import gold_tasks, open_shop
from langgraph_degrade.testing import FakeClock, Stuck

Way = Literal["plain", "with_retry"]
THINK = 2.0
"""Seconds between two calls."""


def plain_day(seed: int, weather: WeatherKind, way: Way) -> Counter[str]:
    """Replay the gold calls and count what the agent's code is left with."""
    clock = FakeClock()
    door = Door(open_shop(), Weather(seed, weather), clock)
    tools = {tool.name: _dressed(tool, way) for tool in door.tools("sync")}
    counts: Counter[str] = Counter()
    actions = [action for task in gold_tasks() for action in task.actions]
    for number, action in enumerate(actions, start=1):
        clock.sleep(THINK)
        door.expect(number)
        call = ToolCall(name=action.name, args=dict(action.arguments), id=f"call-{number}", type="tool_call")
        ending = _ending(tools[action.name], call)
        attempts = door.attempts(number)
        if ending == "answered" and attempts[-1].fault in SPOILED:
            ending = "garbage taken for an answer"
        counts[ending] += 1
        if not action.is_read:
            was_done = any(served.was_executed for served in attempts)
            counts["writes done, and nobody told"] += was_done and ending != "answered"
            first = next((place for place, served in enumerate(attempts) if served.was_executed), len(attempts))
            counts["writes sent again after they were done"] += first < len(attempts) - 1
    counts["calls"] = len(actions)
    return counts


def _dressed(tool: Runnable[Any, Any], way: Way) -> Runnable[Any, Any]:
    if way == "plain":
        return tool
    return tool.with_retry(stop_after_attempt=3, wait_exponential_jitter=False)


def _ending(tool: Runnable[Any, Any], call: ToolCall) -> str:
    try:
        tool.invoke(call)
    except ValueError as error:
        return "the shop's “no”, as an exception" if type(error) is ValueError else "exceptions"
    except Stuck:
        return "hang for ever"
    except Exception:
        return "exceptions"
    return "answered"
