"""What a main model costs that is dead for ten minutes: customers' waits, and requests that still reach it.

`python -m benchmarks.dead_model`. Real time, real HTTP, the real `ChatOpenAI`; every duration is a thirtieth of the
default (`SCALE`), so that ten minutes take twenty seconds. Customers come one after the other, five seconds (scaled) apart
or as soon as the one before has an answer, in each of the four ways at once, each with a `Degrader` of its own. The main endpoint takes requests and never answers. The backup
declares its capacity: by default it may take half of the traffic (spec S1), and six customers a second are no quiet
deployment.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from benchmarks import report
from langgraph_degrade import Degrader, Policy, Tier
from langgraph_degrade.adapters import chain

SCALE = 30
DEAD = 600 / SCALE
"""Seconds the main model is dead."""
EVERY = 5 / SCALE
"""Seconds between two customers."""
LIMIT = 30 / SCALE
"""Seconds a model call may take."""
FIRST_FEW = 3
"""Calls that find out; a model's breaker opens after so many."""
WAYS = ("invoke", "ainvoke", "stream", "astream")
BREAKER = {"window": 120 / SCALE, "open_for": 30 / SCALE, "ramp": 30 / SCALE, "min_calls": FIRST_FEW}
POLICY = Policy.model_validate(
    {
        "request": {"retry_time": 8 / SCALE},
        "models": {"probe": {"every": 30 / SCALE}},
        "targets": {"model:main": {"timeout": LIMIT, "breakers": [BREAKER]}, "model:backup": {"capacity": "100/s"}},
    }
)


@dataclass
class Endpoint:
    """An OpenAI-compatible endpoint that answers at once, or never."""

    is_dead: bool
    asked: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        """Serve; the base URL."""
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.asked += 1
                if endpoint.is_dead:
                    endpoint._over.wait()
                else:
                    self._answer(is_streamed=bool(body.get("stream")))

            def _answer(self, *, is_streamed: bool) -> None:
                choice = {"index": 0, "finish_reason": "stop"}
                said = {"role": "assistant", "content": "Yes, seven."}
                whole = {"id": "c", "object": "chat.completion", "created": 0, "model": "m"}
                if is_streamed:
                    chunk = {**whole, "object": "chat.completion.chunk", "choices": [{**choice, "delta": said}]}
                    text, kind = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n", "text/event-stream"
                else:
                    text, kind = json.dumps({**whole, "choices": [{**choice, "message": said}]}), "application/json"
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: Any) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            self._over.set()
            server.shutdown()
            server.server_close()


@dataclass(frozen=True)
class Story:
    """Ten minutes of one way of asking."""

    way: str
    has_probes: bool
    waits: list[float]
    """Seconds of each customer, in order."""
    reached: int
    """Requests that came to the dead model, probes included."""

    @property
    def later(self) -> list[float]:
        """The customers after the first few."""
        return self.waits[FIRST_FEW:]

    @property
    def waited(self) -> int:
        """Later customers who waited for the dead model."""
        return sum(wait > LIMIT / 2 for wait in self.later)

    def cells(self) -> tuple[str, ...]:
        """Lay it out."""
        return (
            self.way,
            "yes" if self.has_probes else "no",
            str(len(self.waits)),
            str(self.reached),
            str(sum(wait > LIMIT / 2 for wait in self.waits[:FIRST_FEW])),
            f"{self.waited} of {len(self.later)}",
            f"{statistics.median(self.later) * 1e3:.0f}",
            f"{max(self.later) * 1e3:.0f}",
        )


def story(way: str, *, has_probes: bool) -> Story:
    """Let customers ask, one every five seconds (scaled), for as long as the main model is dead."""
    dead, alive = Endpoint(is_dead=True), Endpoint(is_dead=False)
    degrader = Degrader(POLICY)
    chain.SLOW_PROBE = 5 / SCALE  # the one duration no policy sets
    with dead.serving() as main, alive.serving() as backup:
        model = degrader.chat_model([Tier("main", _model(main)), Tier("backup", _model(backup))])
        with degrader if has_probes else contextlib.nullcontext():
            waits = _ask_async(model, way) if way.startswith("a") else _ask_sync(model, way)
        return Story(way, has_probes, waits, dead.asked)


def _model(url: str) -> ChatOpenAI:
    return ChatOpenAI(base_url=url, api_key=SecretStr("none"), model="m")


def _ask_sync(model: Any, way: str) -> list[float]:
    ask: Callable[[], Any] = (
        (lambda: model.invoke("In stock?").content)
        if way == "invoke"
        else lambda: "".join(chunk.content for chunk in model.stream("In stock?"))
    )
    waits = []
    end = time.perf_counter() + DEAD
    while (began := time.perf_counter()) < end:
        _check(ask())
        waits.append(time.perf_counter() - began)
        time.sleep(max(0.0, EVERY - waits[-1]))
    return waits


def _ask_async(model: Any, way: str) -> list[float]:
    async def ask() -> Any:
        if way == "ainvoke":
            return (await model.ainvoke("In stock?")).content
        return "".join([chunk.content async for chunk in model.astream("In stock?")])

    async def customers() -> list[float]:
        waits = []
        end = time.perf_counter() + DEAD
        while (began := time.perf_counter()) < end:
            _check(await ask())
            waits.append(time.perf_counter() - began)
            await asyncio.sleep(max(0.0, EVERY - waits[-1]))
        return waits

    return asyncio.run(customers())


def _check(answer: str) -> None:
    if answer != "Yes, seven.":
        raise AssertionError(f"a customer was told {answer!r}")


def main() -> int:
    """Measure, print, publish; 1 where a later customer waited though probes run, or one a half-open call each does not explain."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dead_model", description=__doc__)
    parser.add_argument("--folder", type=Path, default=report.FOLDER, help="where RESULTS.md and results/ are")
    folder = parser.parse_args().folder
    stories: list[Story] = []
    for has_probes in (False, True):
        print(f"{DEAD:.0f} s, probes: {has_probes}", file=sys.stderr)
        with ThreadPoolExecutor(len(WAYS)) as pool:
            stories += pool.map(lambda way, probes=has_probes: story(way, has_probes=probes), WAYS)
    head = (
        "way",
        "probes",
        "customers",
        "reached it",
        "first 3 who waited",
        "later who waited",
        "median ms",
        "worst ms",
    )
    text = report.table(head, [one.cells() for one in stories])
    text += (
        f"\n\nTen minutes in {DEAD:.0f} s: all durations are a thirtieth of the defaults (a model call {LIMIT:.0f} s, open for"
        f" {BREAKER['open_for']:.0f} s, a probe every second, customers {EVERY * 1e3:.0f} ms apart). “Waited”: longer than half"
        " a model call's limit. Without probes the half-open calls are customers'; with probes (`with degrader:`) none is."
    )
    print(text)
    data = {
        "stories": [{"way": s.way, "probes": s.has_probes, "waits": s.waits, "reached": s.reached} for s in stories]
    }
    report.publish("dead_model", "A main model dead for ten minutes", text, data, folder=folder)
    openings = DEAD / BREAKER["open_for"]
    return int(any(one.waited > (0 if one.has_probes else openings) for one in stories))


if __name__ == "__main__":
    sys.exit(main())
