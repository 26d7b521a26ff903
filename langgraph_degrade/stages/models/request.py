"""One question to a chain of models, and one tier's reply to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.ai import UsageMetadata, add_usage

from langgraph_degrade.failures import Failure, classify
from langgraph_degrade.stages.messages import current_turn, turn_results
from langgraph_degrade.stages.models.rendering import fits
from langgraph_degrade.stages.selecting import as_failure, faults, mended
from langgraph_degrade.stages.tools.reading import Reading
from langgraph_degrade.stages.tools.result import ToolResult

if TYPE_CHECKING:
    from langgraph_degrade.stages.models.tier import Tier
    from langgraph_degrade.texts import Language, Overrides


FREE_CHOICES = (None, False, "", "auto", "none")
"""Values of `tool_choice` that leave it to the model."""
OPENINGS = ("<", "{", "[", "`")
"""How a call begins that is written as text."""
CALL_AS_TEXT = re.compile(
    r'"(?:name|tool|tool_name|function|action)"\s*:\s*"([^"]{1,64})"\s*,'
    r'\s*"(?:arguments|args|parameters|tool_input|action_input|input)"\s*:'
    r"|<tool_code>\W*(?:print\()?([\w-]{1,64})"
)


@dataclass
class Request:
    """What is asked, the same for every tier, and what was learned on the way down."""

    messages: Sequence[BaseMessage]
    offered: Sequence[dict[str, Any]]
    """Tools in OpenAI's form, the provider's own (a web search) included."""
    options: dict[str, Any]
    """The other keyword arguments of the call: `tool_choice`, `stop`, a response format."""
    find_language: Callable[[], Language]
    overrides: Overrides | None = None
    tier: Tier | None = None
    """Whom it was put to last."""
    wrong: AIMessage | None = None
    """The last reply whose tool calls were malformed."""
    usage: UsageMetadata | None = None
    """Tokens that went into replies nobody gets to see."""
    tools: Sequence[dict[str, Any]] = field(init=False)
    """Those the application runs; empty where the model is to decide nothing."""
    _fitting: dict[int, bool] = field(default_factory=dict[int, bool])

    def __post_init__(self) -> None:
        self.tools = [tool for tool in self.offered if "function" in tool]

    @cached_property
    def language(self) -> Language:
        """The customer's; found out only where a prompt is made in it."""
        return self.find_language()

    def fits(self, window: int | None) -> bool:
        """Whether a window of so many tokens takes it; counted once for all tiers that have the same."""
        if window is None:
            return True
        if window not in self._fitting:
            self._fitting[window] = fits(self.messages, self.tools, window=window)
        return self._fitting[window]

    @cached_property
    def must_hold(self) -> bool:
        """An answer that states facts is shown whole or not at all (spec M5): the tools of this turn found some."""
        return bool(turn_results(self.messages))

    @cached_property
    def record(self) -> Mapping[str, Any] | None:
        """What the tools of this turn found, where it is one flat record, live and whole; {} where none was asked.

        Only that is left to a model that words and decides nothing: of two records it would mix up the fields, and of
        what is old, missing or refused it would say nothing.
        """
        results = [*map(ToolResult.of, turn_results(self.messages))]
        if not results:
            return {}
        found = results[0]
        if len(results) > 1 or found is None or found.status != "ok":
            return None
        record: Any = found.data if isinstance(found.data, Mapping) else {"": found.data}
        is_flat = not any(isinstance(value, Mapping | list | tuple) for value in record.values())
        return {str(key): value for key, value in record.items()} if is_flat else None

    def has_called(self, name: str, args: Any) -> bool:
        """Whether this very call was made in this turn already."""
        made = (m for m in current_turn(self.messages) if isinstance(m, AIMessage))
        return any(call["name"] == name and call["args"] == args for message in made for call in message.tool_calls)

    @property
    def must_call(self) -> bool:
        """The application wants a call, so that an answer in words is none (case-F04)."""
        choice = self.options.get("tool_choice")
        choice = choice.get("type") if isinstance(choice, dict) else choice
        return bool(self.tools) and choice not in FREE_CHOICES

    @cached_property
    def wanted(self) -> str | None:
        """The one tool that is to be called, where the application names it."""
        choice = self.options.get("tool_choice")
        if isinstance(choice, dict):
            choice = choice.get("name") or (choice.get("function") or {}).get("name")
        return next((name for tool in self.tools if (name := tool["function"]["name"]) == choice), None)

    @property
    def choosable(self) -> Sequence[dict[str, Any]]:
        """The tools there is a choice of."""
        return [tool for tool in self.tools if self.wanted in (None, tool["function"]["name"])]

    @property
    def question(self) -> str:
        """What the customer asked last."""
        return next((str(m.text) for m in reversed(self.messages) if isinstance(m, HumanMessage)), "")


@dataclass(slots=True)
class Reply:
    """What one tier gave: a whole message, or the beginning of a stream of free text."""

    request: Request
    message: AIMessage
    rest: Any = None
    """The `Chunks` still to come; None where `message` is whole."""
    failure: Failure | None = None
    """What is known to be wrong with it already: a numbered reply that is none, a tier that can't take the request."""
    must_call: bool = False
    """An answer in words is none."""


def read(reply: Reply) -> Reading:
    """A reply is as good as its message; what it cost is counted, whatever it is worth."""
    failure = reply.failure
    if failure is None and reply.rest is None:
        reply.message, failure = judged(reply.message, reply.request)
        if failure is None and reply.must_call and not _calls_what_it_must(reply):
            reply.request.wrong, failure = None, NO_CALL
    if failure is not None:
        reply.request.usage = add_usage(reply.request.usage, reply.message.usage_metadata)
    return Reading(reply, None, failure)


def _calls_what_it_must(reply: Reply) -> bool:
    wanted = reply.request.wanted
    return any(wanted in (None, call["name"]) for call in reply.message.tool_calls)


NO_CALL = Failure("malformed_call", reason="tool call: none, though one is required")
AS_TEXT = Failure("malformed_call", reason="tool call: written as text")
PLAIN_ENDS = frozenset({None, "stop", "tool_calls"})
"""How an answer ends that is whole; anything else is looked at closely."""


def is_plainly_good(message: Any) -> bool:
    """Most answers: said or called something, and ended as they should. Spares them the classifier."""
    if type(message) is not AIMessage or message.invalid_tool_calls or message.additional_kwargs:
        return False
    told = message.response_metadata
    if told.get("finish_reason") not in PLAIN_ENDS or (told and "finish_reason" not in told) or "error" in told:
        return False
    return bool(message.tool_calls) or (
        type(message.content) is str and not message.content.isspace() and message.content != ""
    )


def judged(message: AIMessage, request: Request) -> tuple[AIMessage, Failure | None]:
    """The message with what is certain about its calls mended, and why it is no answer after all."""
    if is_plainly_good(message) and not message.tool_calls:
        return message, _call_as_text(message, request)
    failure = classify(message, source="model")
    if failure is not None and failure.kind != "malformed_call":
        return message, failure
    if failure is None and not (message.tool_calls or message.invalid_tool_calls):
        return message, _call_as_text(message, request)
    better = mended(message, request.tools)
    if better is not message:
        message, failure = better, classify(better, source="model")
    found = as_failure(faults(message, request.tools)) or failure
    return message, None if found is None else _blamed(message, found, request)


def _blamed(message: AIMessage, failure: Failure, request: Request) -> Failure:
    """Half a call is not the model's mistake where the line went dead in the middle of it (spec F2)."""
    ended = classify(AIMessage("x", response_metadata=message.response_metadata), source="model")
    if ended is not None and ended.kind == "connection":
        return ended
    request.wrong = message
    return failure


def may_be_a_call(text: str) -> bool:
    """Whether a text begins as a call does that is written as text; what has not begun to be shown can be refused."""
    return text.startswith(OPENINGS)


def _call_as_text(message: AIMessage, request: Request) -> Failure | None:
    """Refuse a call of an offered tool that a server passed on as text: nobody runs it, and no customer can read it.

    It is not run: the text may be one the customer pasted (case-T10).
    """
    text = str(message.text) if request.tools else ""
    found = CALL_AS_TEXT.search(text)
    if found is None or not (may_be_a_call(text.strip()) or "<tool" in text[: found.start() + 1]):
        return None
    name = found[1] or found[2]
    if all(name != tool["function"]["name"] for tool in request.tools if "function" in tool):
        return None
    request.wrong = None
    return AS_TEXT
