"""The smallest use of a model: facts in, a sentence out. It decides nothing, so it can invent no call (spec M1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langgraph_degrade.stages.closing import facts
from langgraph_degrade.texts import template_of

if TYPE_CHECKING:
    from langgraph_degrade.stages.models.request import Request


def worded(request: Request) -> Sequence[BaseMessage]:
    """Ask for a sentence about what the tools of this turn found out."""
    language = request.language
    say = partial(template_of, lang=language, overrides=request.overrides)
    known = "\n".join(facts(request.messages, language, request.overrides or {})) or say("wording.no_facts")
    given = {"question": request.question, "facts": known}
    form = re.sub(r"\{(\w+)\}", lambda field: given.get(field[1], ""), say("wording.form"))
    return [SystemMessage(say("wording.task")), HumanMessage(form)]
