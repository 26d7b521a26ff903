"""How one tier is asked: the messages and options it gets, and how its words are read back (spec M1, M2, M6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.messages import AIMessage, BaseMessage

from langgraph_degrade.failures import Failure, Kind
from langgraph_degrade.stages.closing import facts
from langgraph_degrade.stages.models.numbered import menu, read_reply, reply_format
from langgraph_degrade.stages.models.rendering import is_plain, render, replace_system
from langgraph_degrade.stages.models.request import Reply
from langgraph_degrade.stages.models.wording import made_up, shown, ungrounded, worded
from langgraph_degrade.stages.selecting import faults, told

if TYPE_CHECKING:
    from langgraph_degrade.stages.models.request import Request
    from langgraph_degrade.stages.models.tier import Tier

Manner = Literal["own", "told", "numbered"]
"""How a tier is asked: as it is declared; once more, told what was wrong with its call; by the numbered menu."""

TO_BIND = ("tool_choice", "strict", "parallel_tool_calls", "response_format")
"""Options that a model's own `bind_tools` puts into its provider's words."""
REPEATED = Failure("malformed_call", reason="tool call: the same again, which was answered already")
"""Weak models go round. A capable one may mean it: an intentional second write is its own (case-W01)."""
ABOUT_TOOLS = frozenset({"tool_choice", "parallel_tool_calls"})


@dataclass(slots=True)
class Prompt:
    """What goes to one tier's model."""

    request: Request
    messages: Sequence[BaseMessage]
    options: Mapping[str, Any]
    is_numbered: bool = False
    is_wording: bool = False

    @property
    def is_held(self) -> bool:
        """The answer is shown whole or not at all."""
        return self.is_numbered or self.is_wording or self.must_call or self.request.must_hold

    @property
    def must_call(self) -> bool:
        """An answer in words is none, unless words are all it was asked for."""
        return self.request.must_call and not self.is_wording

    def reply(self, message: AIMessage) -> Reply:
        """The tier's answer as a message any tier could have given."""
        if self.is_wording:
            failure = made_up(str(message.text), self.request)
            return Reply(self.request, message if failure else shown(message, self.request), failure=failure)
        if not self.is_numbered:
            return Reply(self.request, message, must_call=self.must_call)
        reason = message.response_metadata.get("finish_reason")
        got = read_reply(
            str(message.text), self.request.choosable, finish_reason=reason, messages=self.request.messages
        )
        if isinstance(got, Failure):
            return Reply(self.request, message, failure=got)
        kept = {name: getattr(message, name) for name in ("id", "usage_metadata", "response_metadata")}
        return Reply(self.request, got.model_copy(update=kept), failure=self._doubt(got), must_call=self.must_call)

    def _doubt(self, got: AIMessage) -> Failure | None:
        """Why a well-formed reply of a weak model is not to be followed once the tools of this turn have answered."""
        if not self.request.must_hold:
            return None
        if not got.tool_calls:
            return ungrounded(str(got.text), self.request)
        return REPEATED if any(self.request.has_called(call["name"], call["args"]) for call in got.tool_calls) else None


def unfit(tier: Tier, request: Request) -> Failure | None:
    """Why this tier cannot take the request, even adapted; None where it can (spec M6)."""
    kind: Kind = "incompatible"
    if tier.use == "wording" and (request.must_call or (request.tools and not request.must_hold)):
        reason = "words only, and there is something to decide"
    elif tier.use == "wording" and request.record is None:
        reason = "words only, and there is more to tell than one live record"
    elif not request.fits(tier.most_tokens):
        kind, reason = "context_overflow", f"too long for a window of {tier.most_tokens} tokens"
    else:
        return None
    return Failure(kind, reason=reason, unsent=True, limit=tier.most_tokens)


def prompt_for(tier: Tier, request: Request, manner: Manner, bound: Mapping[str, Any] | None) -> Prompt:
    """The request as this tier is to get it.

    Args:
        tier: who is asked.
        request: what is asked.
        manner: how.
        bound: what binding the request's tools to the tier's model gave; None where it can't be bound.
    """
    if tier.use == "wording":
        return Prompt(request, worded(request), tier.settings, is_wording=True)
    if request.tools and (bound is None or manner == "numbered" or tier.prompt == "numbered"):
        return _numbered(tier, request)
    messages = _rendered(tier, request)
    if tier.prompt is not None and tier.prompt != "numbered":
        messages = _templated(tier, request, messages)
    if manner == "told" and request.wrong is not None:
        found = faults(request.wrong, request.tools)
        messages = [*messages, *told(found, request.wrong, request.language, request.overrides)]
    own = {name: value for name, value in request.options.items() if name not in TO_BIND}
    options = {**own, **(bound or {}), **_settings(tier, has_tools=bool(request.offered))}
    return Prompt(request, messages, options)


def _settings(tier: Tier, *, has_tools: bool) -> Mapping[str, Any]:
    """The tier's own; what is about tools is refused where none go along."""
    if has_tools:
        return tier.settings
    return {name: value for name, value in tier.settings.items() if name not in ABOUT_TOOLS}


def _numbered(tier: Tier, request: Request) -> Prompt:
    asked = menu(request.choosable, _rendered(tier, request), language=request.language, samples=tier.samples)
    stop = {name: value for name, value in request.options.items() if name == "stop"}
    form = {"response_format": reply_format(request.choosable, request.messages)} if tier.can("json_schema") else {}
    return Prompt(request, asked, {**stop, **form, **_settings(tier, has_tools=False)}, is_numbered=True)


def _rendered(tier: Tier, request: Request) -> list[BaseMessage]:
    if is_plain(request.messages, tier.provider):
        return list(request.messages)
    return render(
        request.messages,
        provider=tier.provider,
        tools=tier.can("tools") or tier.prompt == "numbered" or bool(request.tools),
        images=tier.can("images"),
        language=request.language,
        overrides=request.overrides,
    )


def _templated(tier: Tier, request: Request, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The tier's own template in place of the system part."""
    template: Any = tier.prompt
    dialogue = replace_system(messages, [])
    given = {
        "messages": dialogue,
        "tools": [tool["function"] for tool in request.tools],
        "facts": "\n".join(facts(request.messages, request.language, request.overrides or {})),
    }
    wanted = {name: value for name, value in given.items() if name in template.input_variables}
    made: list[BaseMessage] = template.invoke(wanted, {"callbacks": []}).to_messages()
    return made if "messages" in wanted else replace_system(messages, made)
