"""The report in the terminal: first what happened to a customer, then the numbers side by side."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from examples.customer_service.conversations import NEEDS
from examples.customer_service.day import Day, Exchange, Visited
from examples.customer_service.faults import MODELS, SCALE, Outage
from examples.customer_service.judge import OUTCOMES

ROWS = {
    "answered": "answered",
    "partial": "partly answered, and said so",
    "failed": "failed",
    "wrong": "wrong (stale as fresh, false, done twice)",
    "lost_writes": "writes lost",
    "double_writes": "writes done twice",
    "p50_s": "waiting time p50, s",
    "p95_s": "waiting time p95, s",
    "backend_calls": "calls that reached the back ends",
}
WIDTH = 180
NAMES = {"plain": "plain", "langchain": "LangChain's middleware", "degraded": "langgraph-degrade"}


def headline(seed: int, outage: Outage | None, stand_in: str) -> str:
    """Say what day it is, and what the numbers rest on."""
    down = "nothing is down all day"
    if outage:
        down = f"{outage} {'is' if len(outage.services) == 1 else 'are'} down from question {outage.first + 1} to {outage.last + 1} of the day's {len(NEEDS)}"
    return (
        f"Day {seed}: {down}; everything else fails in 1 % of its calls (the model in 2 %).\n"
        f"Answers come from: {stand_in}. One second in production lasts {SCALE:g} s here, for all agents alike."
    )


def story(days: Sequence[Day]) -> str:
    """Tell the most telling conversation: what the customer said, and what each agent made of it."""
    number = most_telling(days)
    visits = {day.agent: day.visits[number] for day in days}
    conversation = next(iter(visits.values())).conversation
    lines = [f"What happened to the customer ({conversation.name}: {conversation.title})", ""]
    lines += [f'  The customer: "{turn.text}"' for turn in conversation.turns]
    for agent, visit in visits.items():
        lines += ["", f"  {NAMES[agent]}: {visit.settlement.outcome}"]
        lines += [f"    {line}" for exchange in visit.exchanges for line in _told(exchange)]
        lines += [f"    => {line}" for line in consequences(visit)]
    return "\n".join(lines)


def most_telling(days: Sequence[Day]) -> int:
    """Return the place of the conversation in which the agents differ most, writes before questions."""
    best = days[-1]

    def telling(number: int) -> tuple[int, int, int]:
        ranks = [_rank(day.visits[number]) for day in days]
        writes = sum(len(turn.writes) for turn in best.visits[number].conversation.turns)
        return sum(ranks) - len(ranks) * _rank(best.visits[number]), sum(ranks), writes

    return max(range(len(best.visits)), key=telling)


def consequences(visit: Visited) -> Iterator[str]:
    """Yield what the customer is left with."""
    for write in visit.settlement.lost:
        yield f'lost: "{write.wording}" was never done, and the customer does not know'
    if visit.settlement.double:
        yield "done twice: the customer asked again, because the first reply said it had failed"
    findings = [finding for exchange in visit.exchanges for finding in exchange.verdict.findings]
    for why in dict.fromkeys(why for outcome, why in findings if outcome == "wrong"):
        yield f"false: {why}"


def table(totals: Mapping[str, Mapping[str, int | float]]) -> str:
    """Set the numbers side by side."""
    wide = max(map(len, ROWS.values()))
    columns = {agent: max(12, len(NAMES[agent])) for agent in totals}
    lines = [" " * wide + "".join(f"  {NAMES[agent]:>{width}}" for agent, width in columns.items())]
    for key, label in ROWS.items():
        cells = (f"  {_figure(totals[agent][key]):>{width}}" for agent, width in columns.items())
        lines.append(f"{label:<{wide}}" + "".join(cells))
    return "\n".join(lines)


def model_calls(days: Sequence[Day]) -> str:
    """Count the calls to the model endpoints, which the table leaves out."""
    counts = {
        day.agent: sum(e.service in MODELS for v in day.visits for x in v.exchanges for e in x.entries) for day in days
    }
    return "Calls to the model endpoints: " + ", ".join(f"{NAMES[agent]} {count}" for agent, count in counts.items())


def seeds_table(totals: Mapping[int, Mapping[str, Mapping[str, int | float]]], outages: Mapping[int, str]) -> str:
    """Set many days under each other: answered/partial/failed/wrong, then lost and double writes."""
    agents = list(next(iter(totals.values())))
    lines = ["seed  down         " + "".join(f"{NAMES[agent]:<26}" for agent in agents)]
    for seed, columns in totals.items():
        lines.append(f"{seed:>4}  {outages[seed]:<13}" + "".join(f"{_short(columns[agent]):<26}" for agent in agents))
    sums = {agent: {key: sum(columns[agent][key] for columns in totals.values()) for key in ROWS} for agent in agents}
    lines.append(f"{'all':>4}  {'':<13}" + "".join(f"{_short(sums[agent]):<26}" for agent in agents))
    return "\n".join([*lines, "      (answered/partial/failed/wrong, L writes lost, D done twice)"])


def clip(text: str, width: int = WIDTH) -> str:
    """Put a text on one line and cut it to `width` terminal columns; Chinese characters take two."""
    taken, text = 0, " ".join(text.split())
    for index, character in enumerate(text):
        taken += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if taken > width:
            return text[:index] + "…"
    return text


def _told(exchange: Exchange) -> Iterator[str]:
    yield f"> {clip(exchange.said)}"
    if exchange.crash:
        yield f"< nothing: {exchange.crash} ({exchange.seconds:.1f} s)"
    else:
        yield f"< {clip(exchange.reply) or 'an empty message'} ({exchange.seconds:.1f} s)"


def _rank(visit: Visited) -> int:
    return OUTCOMES.index(visit.settlement.outcome)


def _figure(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.2f}"


def _short(columns: Mapping[str, int | float]) -> str:
    counts = "/".join(str(columns[outcome]) for outcome in OUTCOMES)
    return f"{counts}  L{columns['lost_writes']} D{columns['double_writes']}"
