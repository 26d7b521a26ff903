"""The report as one HTML page: no scripts, nothing loaded from elsewhere, every text escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from examples.customer_service.day import Day, Exchange, Visited
from examples.customer_service.faults import Entry
from examples.customer_service.report import NAMES, ROWS, consequences, most_telling

STYLE = """
:root { --ink: #1d2430; --soft: #5c6675; --line: #d9dee6; --paper: #fff; --desk: #f4f6f9; --ok: #2f855a; --meh: #b7791f;
  --bad: #c05621; --worst: #c53030; --bar: #8fb3dc; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #9aa5b4; --line: #38414e; --paper: #1b2028;
  --desk: #12161c; --ok: #68d391; --meh: #f6c667; --bad: #f6ad74; --worst: #fc8181; --bar: #4a6f9c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--desk); color: var(--ink); font: 15px/1.5 system-ui, "Noto Sans CJK SC", sans-serif; }
main { max-width: 1280px; margin: 0 auto; padding: 24px; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 36px 0 10px; } h3 { font-size: 15px; margin: 0 0 8px; }
p.lead { color: var(--soft); max-width: 90ch; margin: 4px 0; white-space: pre-line; }
table { border-collapse: collapse; background: var(--paper); margin: 16px 0; }
th, td { border: 1px solid var(--line); padding: 5px 14px; text-align: right; } th:first-child { text-align: left; font-weight: 400; }
.agents { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 12px; align-items: start; }
.agent { background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 12px; min-width: 0; }
.tag { float: right; font-size: 12px; padding: 1px 8px; border-radius: 9px; border: 1px solid currentColor; }
.answered { color: var(--ok); } .partial { color: var(--meh); } .failed { color: var(--bad); } .wrong { color: var(--worst); }
.said, .reply { margin: 6px 0; padding: 6px 10px; border-radius: 8px; overflow-wrap: anywhere; }
.said { background: var(--desk); margin-left: 12%; } .reply { border: 1px solid var(--line); margin-right: 12%; }
.reply.failed, .reply.wrong { border-color: currentColor; } .crash { font-style: italic; }
.why, .after, .events { font-size: 12px; color: var(--soft); margin: 2px 0 8px; overflow-wrap: anywhere; } .after { color: var(--worst); font-weight: 600; }
.time { margin: 4px 0 10px; font-size: 11px; color: var(--soft); }
.call { display: grid; grid-template-columns: 11em 1fr 6.5em; gap: 6px; align-items: center; }
.track { position: relative; height: 8px; background: var(--desk); border-radius: 4px; }
.span { position: absolute; top: 0; height: 8px; min-width: 2px; border-radius: 4px; background: var(--bar); } .span.fault { background: var(--worst); }
nav { display: flex; flex-wrap: wrap; gap: 2px 14px; } nav a { color: inherit; }
"""


def render(days: Sequence[Day], headline: str) -> str:
    """Return the page for one day of every agent."""
    first = most_telling(days)
    count = len(days[0].visits)
    order = [first, *(number for number in range(count) if number != first)]
    body = "".join(_conversation(days, number, telling=number == first) for number in order)
    links = "".join(_link(days, number) for number in range(count))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>A shop on a bad day</title><style>{STYLE}</style><main><h1>A shop on a bad day</h1>"
        f'<p class="lead">{escape(headline)}</p>{_table({day.agent: day.totals() for day in days})}<nav>{links}</nav>'
        f"{body}</main></html>\n"
    )


def _table(totals: Mapping[str, Mapping[str, int | float]]) -> str:
    head = "".join(f"<th>{escape(NAMES[agent])}</th>" for agent in totals)
    rows = "".join(
        f"<tr><th>{escape(label)}</th>{''.join(f'<td>{columns[key]}</td>' for columns in totals.values())}</tr>"
        for key, label in ROWS.items()
    )
    return f"<table><tr><th></th>{head}</tr>{rows}</table>"


def _link(days: Sequence[Day], number: int) -> str:
    conversation = days[0].visits[number].conversation
    return f'<a href="#c{escape(conversation.name)}">{escape(conversation.name)} {escape(conversation.title)}</a>'


def _conversation(days: Sequence[Day], number: int, *, telling: bool) -> str:
    conversation = days[0].visits[number].conversation
    longest = max(exchange.seconds for day in days for exchange in day.visits[number].exchanges)
    agents = "".join(_agent(day.agent, day.visits[number], longest) for day in days)
    title = f"{conversation.name} {conversation.title}"
    title = f"What happened to the customer: {title}" if telling else title
    return f'<section id="c{escape(conversation.name)}"><h2>{escape(title)}</h2><div class="agents">{agents}</div></section>'


def _agent(agent: str, visit: Visited, longest: float) -> str:
    outcome = visit.settlement.outcome
    exchanges = "".join(_exchange(exchange, longest) for exchange in visit.exchanges)
    after = "".join(f'<div class="after">{escape(line)}</div>' for line in consequences(visit))
    tag = f'<span class="tag {outcome}">{outcome}</span>'
    return f'<div class="agent"><h3>{tag}{escape(NAMES[agent])}</h3>{exchanges}{after}</div>'


def _exchange(exchange: Exchange, longest: float) -> str:
    verdict = exchange.verdict
    nothing = f'<span class="crash">nothing: {escape(exchange.crash or "an empty message")}</span>'
    return (
        f'<div class="said">{escape(exchange.said)}</div>'
        f'<div class="reply {verdict.outcome}">{escape(exchange.reply) or nothing}</div>'
        f'<div class="why">{verdict.outcome} after {exchange.seconds:.2f} s: {escape("; ".join(why for _, why in verdict.findings))}</div>'
        f'<div class="time">{"".join(_calls(exchange.entries, longest))}</div>{_events(exchange)}'
    )


def _calls(entries: Sequence[Entry], longest: float) -> Iterator[str]:
    for entry in entries:
        left = min(99.0, 100 * entry.began / longest)
        width = max(0.5, min(100 - left, 100 * (entry.ended - entry.began) / longest))
        result = _result(entry)
        kind = "span" if result == "ok" else "span fault"
        span = f'<span class="{kind}" style="left:{left:.1f}%;width:{width:.1f}%"></span>'
        title = f"{entry.what}, {entry.began:.2f} to {entry.ended:.2f} s"
        yield (
            f'<div class="call" title="{escape(title)}"><span>{escape(entry.service)} {escape(entry.what.split()[0])}</span>'
            f'<span class="track">{span}</span><span>{escape(result)}</span></div>'
        )


def _result(entry: Entry) -> str:
    """Say how a call went; "done": the service did what was asked, and the caller could not know."""
    if entry.fault:
        return f"{entry.fault}, done" if entry.executed else entry.fault
    return "ok" if entry.status is None or entry.status < 400 else f"refused, {entry.status}"


def _events(exchange: Exchange) -> str:
    return "".join(f'<div class="events">{escape(event)}</div>' for event in exchange.events)
