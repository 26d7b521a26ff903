"""The smallest use of a model: facts in, a sentence out. It decides nothing, so it can invent no call (spec M1)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langgraph_degrade.failures import Failure
from langgraph_degrade.stages.closing import facts
from langgraph_degrade.stages.messages import current_turn
from langgraph_degrade.stages.models.grounding import adds, foreign_number, stray
from langgraph_degrade.texts import one_line, text, verbatim

if TYPE_CHECKING:
    from langgraph_degrade.stages.models.request import Request

TOO_MUCH = Failure("schema", reason="wording: more than one live record, which nobody can check a sentence against")
SAYS_NOTHING = Failure("empty", reason="wording: none of the facts")
NO_TIER = "none"
"""`response_metadata["tier"]` of what no model chose or said."""


def worded(request: Request) -> Sequence[BaseMessage]:
    """Ask for a sentence about what the tools of this turn found out."""
    language = request.language
    say = partial(verbatim, lang=language, overrides=request.overrides)
    known = _facts(request) or say("wording.no_facts")
    form = say("wording.form", question=request.question, facts=known)
    return [SystemMessage(say("wording.task")), HumanMessage(form)]


def shown(message: AIMessage, request: Request) -> AIMessage:
    """A tier's sentence as the customer gets it: where code chose what was looked up, it may not be all that was asked."""
    chosen = (m for m in current_turn(request.messages) if isinstance(m, AIMessage) and m.tool_calls)
    if all(m.response_metadata.get("tier") != NO_TIER for m in chosen):
        return message
    words = f"{message.text}\n{text('answer.by_keywords', request.language, request.overrides)}"
    return message.model_copy(update={"content": words})


def made_up(sentence: str, request: Request) -> Failure | None:
    """Why the sentence of a tier that only words can't be shown: it says what the facts don't, or none of them."""
    record = request.record
    if record is None:
        return TOO_MUCH
    found = stray(sentence, record)
    if found is not None:
        return _not_a_fact(found)
    values = "\n".join(map(str, record.values()))
    return None if not record or adds(sentence, values, request.question) else SAYS_NOTHING


def ungrounded(sentence: str, request: Request) -> Failure | None:
    """Why a weak tier's answer can't be shown after its tools answered: a number of its own, or nothing of theirs."""
    known = _facts(request)
    said = [str(m.text) for m in request.messages if isinstance(m, HumanMessage)]
    found = foreign_number(sentence, known, *said)
    if found is not None:
        return _not_a_fact(found)
    return None if not known or adds(sentence, known, request.question) else SAYS_NOTHING


def _not_a_fact(found: str) -> Failure:
    return Failure("schema", reason=f"wording: {one_line(found, 40)!r} is not among the facts")


def _facts(request: Request) -> str:
    return "\n".join(facts(request.messages, request.language, request.overrides or {}))
