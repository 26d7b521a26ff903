"""One agent's day: opens the shop, lets the twelve customers in one after the other, and writes everything down."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from examples.customer_service.agents import AGENTS, Agent, Services
from examples.customer_service.conversations import CONVERSATIONS, Conversation, Turn, Write
from examples.customer_service.database import Database
from examples.customer_service.endpoint import RealModel, endpoint
from examples.customer_service.faults import MODELS, Board, Entry, Visit, Weather
from examples.customer_service.judge import Settlement, Verdict, judge_turn, settle
from examples.customer_service.server import Server, Service
from examples.customer_service.shop import Shop
from langgraph_degrade import DegradeContext


@dataclass(frozen=True, slots=True)
class Exchange:
    """One thing said and what came back. `crash` names the exception where one came out of the agent."""

    said: str
    reply: str
    crash: str
    seconds: float
    verdict: Verdict
    entries: Sequence[Entry]
    events: Sequence[str]


@dataclass(frozen=True, slots=True)
class Visited:
    """One conversation as it went."""

    conversation: Conversation
    exchanges: Sequence[Exchange]
    settlement: Settlement


@dataclass(frozen=True, slots=True)
class Day:
    """One agent's day."""

    agent: str
    visits: Sequence[Visited]

    def totals(self) -> dict[str, int | float]:
        """Count what the table shows; times in this demo's seconds, `backend_calls` without the model's."""
        outcomes = [visit.settlement.outcome for visit in self.visits]
        exchanges = [exchange for visit in self.visits for exchange in visit.exchanges]
        times = sorted(exchange.seconds for exchange in exchanges)
        calls = [entry for exchange in exchanges for entry in exchange.entries if entry.service not in MODELS]
        return {
            **{outcome: outcomes.count(outcome) for outcome in ("answered", "partial", "failed", "wrong")},
            "lost_writes": sum(len(visit.settlement.lost) for visit in self.visits),
            "double_writes": sum(visit.settlement.double for visit in self.visits),
            "p50_s": round(_percentile(times, 0.50), 3),
            "p95_s": round(_percentile(times, 0.95), 3),
            "backend_calls": len(calls),
        }


class Desk:
    """Where one agent serves customers: its own shop, its own board, the day's weather."""

    def __init__(self, agent: Agent, database: Database, board: Board) -> None:
        self._agent = agent
        self._database = database
        self._board = board

    def serve(self, conversation: Conversation, first_turn: int) -> Visited:
        """Hold one conversation; `first_turn` is its first turn's place in the day."""
        exchanges: list[Exchange] = []
        for offset, turn in enumerate(conversation.turns):
            if turn.before:
                turn.before(self._database)
            visit = Visit(first_turn + offset, f"{conversation.name}.{offset + 1}")
            exchanges.append(self._exchange(conversation, turn, visit))
            if again := exchanges[-1].verdict.to_repeat(turn):
                exchanges.append(self._exchange(conversation, _repeated(conversation, turn, again), visit))
        settlement = settle(conversation, [exchange.verdict for exchange in exchanges], self._database)
        return Visited(conversation, exchanges, settlement)

    def _exchange(self, conversation: Conversation, turn: Turn, visit: Visit) -> Exchange:
        ids = {"thread_id": conversation.name, "user_id": conversation.customer}
        message = {"messages": [{"role": "user", "content": turn.text}]}
        entries, began, since = self._board.begin(visit), time.perf_counter(), time.time()
        reply, crash, events = "", "", list[str]()
        try:
            state = self._agent.invoke(message, {"configurable": ids})
            reply, events = state["messages"][-1].text, _events(state, since)
        except Exception as error:
            crash = f"{type(error).__module__}.{type(error).__qualname__}"
        took = time.perf_counter() - began
        verdict = judge_turn(turn, reply, self._database)
        return Exchange(turn.text, reply, crash, took, verdict, entries, events)


@dataclass(frozen=True, slots=True)
class LocalModels:
    """Real models on this machine, by the addresses of their servers."""

    minimal: str
    """The smallest: it may word an answer, and no more."""
    backup: str | None = None
    """In place of the backup endpoint."""


def run_day(
    agent: str, weather: Weather, *, local: LocalModels | None = None, progress: Callable[[], None] = lambda: None
) -> Day:
    """Run one agent through the day; `progress` is called after each conversation.

    The conversations run one after the other: caches and breakers then see the day in its order.
    """
    board = Board(weather)
    with ExitStack() as exits:
        folder = exits.enter_context(tempfile.TemporaryDirectory(prefix="customer-service-"))
        database = exits.enter_context(closing(Database(Path(folder) / "shop.db")))
        behind: dict[str, Service] = {"/shop": Shop(database), "/model/v1": endpoint("model")}
        weak = local.backup if local is not None else None
        behind["/backup/v1"] = endpoint("backup model") if weak is None else RealModel("backup model", weak)
        if local is not None:
            behind["/local/v1"] = RealModel("local model", local.minimal)
        url = exits.enter_context(Server(behind, board)).url
        here = None if local is None else url + "/local/v1"
        services = Services(url + "/shop", url + "/model/v1", url + "/backup/v1", here, weak is not None, exits)
        return Day(agent, list(_visits(Desk(AGENTS[agent](services), database, board), progress)))


def _visits(desk: Desk, progress: Callable[[], None]) -> Iterator[Visited]:
    turn = 0
    for conversation in CONVERSATIONS:
        yield desk.serve(conversation, turn)
        turn += len(conversation.turns)
        progress()


def _repeated(conversation: Conversation, turn: Turn, again: Sequence[Write]) -> Turn:
    text = conversation.again + "; ".join(write.wording for write in again)
    return replace(turn, text=text, facts=(), writes=tuple(again), asked=(), before=None)


def _events(state: Any, since: float) -> list[str]:
    """Say in a line each what the degrading agent did from `since` on; other agents leave no such record."""
    context = DegradeContext.of(state)
    events = [
        f"{event['target']}: {event['reason']} → {event.get('direction', 'again')}, {event.get('outcome', '')}"
        for event in context.events
        if event["at"] >= since
    ]
    return events + [f"open: {item['what']} ({item['state']})" for item in context.unfinished]


def _percentile(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, round(share * (len(values) - 1)))] if values else 0.0
