"""Choosing a tool without a model: by the customer's words, or by asking for what is missing (spec L1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_core.messages import AIMessage

from langgraph_degrade.failures import Failure
from langgraph_degrade.stages.models.request import Reply
from langgraph_degrade.stages.selecting import KeywordTemplate, faults, from_keywords, question_for

if TYPE_CHECKING:
    from langgraph_degrade.stages.models.request import Request

NO_WISH = Failure("malformed_call", reason="no keyword template matches", unsent=True)


def by_keywords(request: Request, *, templates: Sequence[KeywordTemplate]) -> Reply:
    """Call the tool whose words the question holds, with what stands in it."""
    request.tier = None
    offered = {tool["function"]["name"] for tool in request.tools}
    message = from_keywords(request.question, [one for one in templates if one.tool in offered])
    return Reply(request, message or AIMessage(""), failure=None if message else NO_WISH)


def asked(request: Request) -> Reply:
    """Ask the customer for what no model could fill in."""
    request.tier = None
    found = faults(request.wrong, request.tools) if request.wrong is not None else []
    words = question_for(found, [], request.tools, request.language, request.overrides)
    return Reply(request, AIMessage(words, response_metadata={"degraded": True}))
