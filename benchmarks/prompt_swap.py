"""Native tool calling against the numbered menu, on a real model of yours.

`python -m benchmarks.prompt_swap --model FILE.gguf [--questions N]`. Every way asks the same questions of the same
server at temperature 0, one block after the other, so that each keeps its own prompt in the server's cache and pays for
it once. A question counts as right with the right tool, and with the right arguments.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, SystemMessage
from langchain_openai import ChatOpenAI

from benchmarks import report
from benchmarks.questions import SEEN, SETS, Question, load
from examples.local_model import serving
from langgraph_degrade.failures import Failure
from langgraph_degrade.stages.models.numbered import menu, read_reply, reply_format

MAIN_PROMPT = {
    "en": "You are a helpful service assistant. Use the tools to answer. If something a tool needs is missing, ask for it.",
    "zh": "你是服务助手。请使用工具回答用户的问题。缺少工具所需的信息时，请向用户询问。",
}
WAYS = ("auto", "auto, text read", "required", "numbered")
MOST_TOKENS = 128
REQUIRED_OF = 8
"""`required` is asked every eighth question only: small models never stop talking under it."""


@dataclass
class Outcome:
    """What came of one question."""

    part: str
    tools: int
    way: str
    is_tool: bool
    is_right: bool
    seconds: float
    failure: str = ""
    invented: bool = False
    """A call of a tool that was not on offer."""


def ask(
    model: ChatOpenAI, question: Question, tools: list[dict[str, Any]], way: str
) -> tuple[AIMessage | Failure, str]:
    """Ask in one way; the reply, and its bare text."""
    try:
        if way == "numbered":
            form = reply_format(tools, question.messages)
            asked: Any = menu(tools, question.messages, language=question.language)
            message = model.invoke(asked, response_format=form)
            reason = message.response_metadata.get("finish_reason")
            read = read_reply(str(message.text), tools, finish_reason=reason, messages=question.messages)
            return read, str(message.text)
        asked = [SystemMessage(MAIN_PROMPT[question.language]), *question.messages]
        message = model.bind_tools(tools, tool_choice=way).invoke(asked)
    except Exception as error:  # an HTTP 500 over a code fence is an outcome, too
        return Failure("server_error", reason=type(error).__name__), ""
    return message, str(message.text)


def block(model: ChatOpenAI, name: str, size: int, way: str, most: int) -> Iterator[Outcome]:
    """One set, one number of tools, one way."""
    tools, questions = load(name, size)
    questions = _spread(questions, most)[:: REQUIRED_OF if way == "required" else 1]
    for question in questions:
        began = time.perf_counter()
        reply, text = ask(model, question, tools, way)
        seconds = time.perf_counter() - began
        yield _judged(reply, question, tools, Outcome(name, size, way, is_tool=False, is_right=False, seconds=seconds))
        if way == "auto":
            lenient = reply
            if text.lstrip().startswith(("{", "[", "```", "<tool_call>")):
                lenient = read_reply(text, tools, messages=question.messages)
            told = Outcome(name, size, "auto, text read", is_tool=False, is_right=False, seconds=seconds)
            yield _judged(lenient, question, tools, told)


def _judged(reply: AIMessage | Failure, question: Question, tools: list[dict[str, Any]], outcome: Outcome) -> Outcome:
    if isinstance(reply, Failure):
        outcome.failure = reply.kind
        return outcome
    calls = reply.tool_calls
    names = {tool["function"]["name"] for tool in tools}
    outcome.invented = any(call["name"] not in names for call in calls)
    if not calls:  # words are right where words were wanted, and no call in the shape of text
        outcome.is_tool = outcome.is_right = question.tool is None and not str(reply.text).lstrip().startswith("{")
    elif len(calls) == 1 and calls[0]["name"] == question.tool:
        outcome.is_tool = True
        outcome.is_right = question.is_right(calls[0]["args"])
    return outcome


def _spread(questions: list[Question], most: int) -> list[Question]:
    step = max(1, math.ceil(len(questions) / most)) if most else 1
    return questions[::step]


def wilson(right: int, of: int) -> tuple[float, float]:
    """The 95 % confidence interval of a rate (Wilson 1927), in percent."""
    if not of:
        return 0.0, 100.0
    z, rate = 1.96, right / of
    middle, spread = rate + z * z / (2 * of), z * math.sqrt(rate * (1 - rate) / of + z * z / (4 * of * of))
    return max(0.0, 100 * (middle - spread) / (1 + z * z / of)), 100 * (middle + spread) / (1 + z * z / of)


def rows(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, ...]]:
    """One line of the table a set, number of tools and way."""
    for name, size, way in dict.fromkeys((one.part, one.tools, one.way) for one in outcomes):
        found = [one for one in outcomes if (one.part, one.tools, one.way) == (name, size, way)]
        shares = [
            _share(sum(flags), len(found))
            for flags in zip(*((one.is_tool, one.is_right) for one in found), strict=True)
        ]
        times = [one.seconds for one in found]
        failures = sum(bool(one.failure) for one in found)
        invented = sum(one.invented for one in found)
        seen = "" if name in SEEN else " (held out)"
        spent = (f"{statistics.mean(times):.2f}", f"{statistics.median(times):.2f}")
        yield (name + seen, str(size), way, *shares, *spent, str(failures), str(invented))


def _share(right: int, of: int) -> str:
    low, high = wilson(right, of)
    return f"{right}/{of} = {100 * right / of:.0f} % [{low:.0f}, {high:.0f}]"


def verdict(outcomes: Sequence[Outcome]) -> str:
    """Which prompt to use for this model, and what it costs."""
    ways = {way: [one for one in outcomes if one.way == way] for way in WAYS}
    choices = {way: found for way, found in ways.items() if found and way != "auto, text read"}  # no client reads it so
    rates = {way: statistics.mean(one.is_right for one in found) for way, found in choices.items()}
    best = max(rates, key=lambda way: (rates[way], way == "auto"))
    ratio = statistics.mean(one.seconds for one in ways["numbered"]) / statistics.mean(
        one.seconds for one in ways["auto"]
    )
    use = 'prompt="numbered"' if best == "numbered" else "its native tool calling"
    return f"Use {use} for this model. A numbered question takes {ratio:.2f} times a native one (auto), mean over all."


def measure(address: str, sets: Sequence[str], most: int) -> list[Outcome]:
    """Ask everything, with a bar."""
    model = ChatOpenAI(
        model="local",
        base_url=address,
        api_key="none",
        temperature=0,
        max_tokens=MOST_TOKENS,
        max_retries=0,
        timeout=300,
    )
    blocks = [(name, size, way) for name in sets for size in (4, 12) for way in WAYS if way != "auto, text read"]
    outcomes: list[Outcome] = []
    for number, (name, size, way) in enumerate(blocks):
        for outcome in block(model, name, size, way, most):
            outcomes.append(outcome)
            done = "#" * (30 * number // len(blocks))
            told = f"\r[{done:<30}] {name}, {size} tools, {way}: {len(outcomes)} answers   "
            print(f"{told:<78}", end="", file=sys.stderr, flush=True)
    print(f"\r{'':<78}\r", end="", file=sys.stderr)
    return outcomes


def _publish(name: str, outcomes: Sequence[Outcome], folder: Path) -> None:
    head = (
        "questions",
        "tools",
        "way",
        "right tool [95 %]",
        "and arguments [95 %]",
        "mean s",
        "median s",
        "failures",
        "invented",
    )
    text = report.table(head, list(rows(outcomes))) + "\n\n" + verdict(outcomes)
    print(text)
    data = {"model": name, "outcomes": [asdict(one) for one in outcomes]}
    title = f"The prompt a weak model needs: {name}"
    report.publish(f"prompt_swap_{name}", title, text, data, folder=folder)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prompt_swap", description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="a GGUF file")
    parser.add_argument("--questions", type=int, default=0, help="of each set and number of tools (default: all)")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, help="(default: all)")
    parser.add_argument("--folder", type=Path, default=report.FOLDER, help="where RESULTS.md is (default: here)")
    options = parser.parse_args()
    with serving(options.model) as address:
        outcomes = measure(address, options.sets, options.questions)
    _publish(options.model.stem, outcomes, options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
