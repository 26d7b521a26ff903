"""One day of the retail shop: every gold call of every even-numbered task, through the degrader, under the weather."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from langchain_core.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph

from benchmarks.retail_door import Colour, Door
from benchmarks.retail_faults import Weather, WeatherKind
from benchmarks.retail_judge import Ask, Book, Judge
from benchmarks.retail_shop import TRACES, Task, gold_tasks, open_shop, policy
from langgraph_degrade import Degrader, DegradeState, Policy
from langgraph_degrade.engine.ports import complete
from langgraph_degrade.store import MemoryStore
from langgraph_degrade.testing import FakeClock, run_virtual

THINK = 2.0
"""Seconds the agent's model takes before each call."""
BETWEEN = 5.0
"""Seconds between two customers."""


@dataclass(frozen=True)
class Setting:
    """What one replay is run under."""

    seed: int
    colour: Colour = "sync"
    entry: Literal["scope", "graph"] = "scope"
    """`degrader.tool` invoked with tool calls inside `degrader.scope`, or `degrader.tool_node` in a graph."""
    verify: bool = False
    """The policy names a read-back for writes."""
    insists: bool = False
    """The agent asks once more for every write that was not done, or may not have been."""
    weather: WeatherKind = "showers"


class State(MessagesState, DegradeState):
    """What the graph keeps."""


class Clerk:
    """The agent: does the task's gold calls one by one, whatever it hears."""

    def __init__(self, task: Task, *, insists: bool) -> None:
        self.task = task
        self.asked: Ask | None = None
        self._ahead = iter(task.actions)
        self._insists = insists

    def next(self, number: int) -> Ask | None:
        """Decide on the next call; None when all were made."""
        last, action = self.asked, None
        is_again = last is not None and self._insists and self._is_open(last)
        action = last.action if last is not None and is_again else next(self._ahead, None)
        self.asked = None if action is None else Ask(number, self.task, action, is_again=is_again)
        return self.asked

    @staticmethod
    def _is_open(last: Ask) -> bool:
        return not (last.is_again or last.action.is_read) and last.result.status in ("unavailable", "unknown")


class Replay:
    """One day under one setting."""

    def __init__(self, setting: Setting, rules: Policy | None = None) -> None:
        """`rules`: another policy than the one the setting names."""
        self.setting = setting
        self.clock = FakeClock()
        self.door = Door(open_shop(), Weather(setting.seed, setting.weather), self.clock)
        store = MemoryStore()
        self.judge = Judge(self.door, store)
        self.degrader = Degrader(
            rules or policy(verify=setting.verify), store=store, clock=self.clock, rng=Random(setting.seed)
        )
        self.degrader.register(**{name: self.door.read_back(name) for name in TRACES})
        self._tools = {tool.name: self.degrader.tool(tool) for tool in self.door.tools(setting.colour)}
        self._serve: Callable[[Clerk], Awaitable[None]] = (
            self._in_scope if setting.entry == "scope" else self._in_graph()
        )
        self._number = 0
        self._clerk: Clerk | None = None
        self._open_before = False

    def run(self) -> Book:
        """Live through the day, then look through what is left."""
        if self.setting.colour == "sync":
            complete(self._day())
        else:
            run_virtual(self._day(), self.clock)
        book = self.judge.close()
        book.counts |= self.door.looks
        self.clock.advance_to(math.inf)  # what hangs in a thread ends with the day
        return book

    async def _day(self) -> None:
        for task in gold_tasks():
            await self._serve(Clerk(task, insists=self.setting.insists))
            await self._pause(BETWEEN)

    async def _in_scope(self, clerk: Clerk) -> None:
        with self.degrader.scope(thread=f"task-{clerk.task.id}", identity={"user_id": clerk.task.user}):
            call = await self._turn(clerk, None)
            while call is not None:
                call = await self._turn(clerk, await self._invoke(self._tools[call["name"]], call))

    def _in_graph(self) -> Callable[[Clerk], Awaitable[None]]:
        graph = self._graph()

        async def serve(clerk: Clerk) -> None:
            self._clerk = clerk
            where = {"thread_id": f"task-{clerk.task.id}", "user_id": clerk.task.user}
            state = {"messages": [HumanMessage("Please see to it.", id=f"question-{clerk.task.id}")]}
            await self._invoke(graph, state, {"configurable": where, "recursion_limit": 100})

        return serve

    def _graph(self) -> Any:
        async def model(state: State) -> dict[str, Any]:
            last = state["messages"][-1]
            assert self._clerk is not None
            call = await self._turn(self._clerk, last if isinstance(last, ToolMessage) else None)
            return {"messages": [AIMessage("That is all.") if call is None else AIMessage("", tool_calls=[call])]}

        def blocking(state: State) -> dict[str, Any]:
            return complete(model(state))

        def where(state: State) -> str:
            return "tools" if state["messages"][-1].tool_calls else "__end__"

        builder = StateGraph(State)
        builder.add_node("model", blocking if self.setting.colour == "sync" else model)
        builder.add_node("tools", self.degrader.tool_node(self.door.tools(self.setting.colour)))
        builder.add_edge(START, "model")
        builder.add_conditional_edges("model", where, ["tools", "__end__"])
        builder.add_edge("tools", "model")
        return builder.compile()

    async def _turn(self, clerk: Clerk, heard: ToolMessage | None) -> ToolCall | None:
        """Let the agent think; by then the late calls have landed, and what it heard can be judged."""
        asked, now = clerk.asked, self.clock.monotonic()
        opened = asked is not None and self._is_open(asked) and not self._open_before
        await self._pause(THINK)
        if asked is not None:
            asked.message, asked.at = heard, now
            self.judge.hear(asked, opened=opened)
        self._number += 1
        ask = clerk.next(self._number)
        if ask is None:
            return None
        self._open_before = self._is_open(ask)
        self.door.expect(ask.number)
        return ToolCall(
            name=ask.action.name, args=dict(ask.action.arguments), id=f"call-{ask.number}", type="tool_call"
        )

    def _is_open(self, ask: Ask) -> bool:
        return self.degrader.breaker(f"tool:{ask.action.name}").current_state == "open"

    async def _pause(self, seconds: float) -> None:
        if self.setting.colour == "sync":
            self.clock.sleep(seconds)
        else:
            await self.clock.asleep(seconds)
        self.door.land()

    async def _invoke(self, thing: Any, *args: Any) -> Any:
        if self.setting.colour == "sync":
            return thing.invoke(*args)
        return await thing.ainvoke(*args)
