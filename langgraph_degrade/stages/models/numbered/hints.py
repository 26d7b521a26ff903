"""Which tools a question most likely means, by its words alone: a hint to the model, never a decision.

A model of half a billion parameters tells two tools apart poorly, and its attention is drawn by what stands near. A
name beside the question helps it more than anything in the menu does; every other tool stays on offer.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from langgraph_degrade.stages.models.numbered.known import Known
from langgraph_degrade.stages.models.numbered.likeness import scores
from langgraph_degrade.stages.models.numbered.offers import NONE, Offer

_CLEAR = 1.25
"""○ The best of two names stands alone if its score is this much higher."""


def likely(offers: Sequence[Offer], messages: Sequence[BaseMessage]) -> list[str]:
    """At most two names of tools; `none` where the words mean a tool that lacks what it needs; nothing if they mean none."""
    if not messages or messages[-1].type != "human":
        return []
    found = scores(str(messages[-1].text), [(offer.name, offer.description) for offer in offers])
    ranked = sorted(
        ((score, offer) for score, offer in zip(found, offers, strict=True) if score), key=lambda pair: -pair[0]
    )
    known = Known.of(offers, messages)
    ready = [(score, offer) for score, offer in ranked if known.is_possible(offer)]
    if not ready or ready[0][0] * 2 < ranked[0][0]:
        return [NONE] if ranked else []
    return [offer.name for score, offer in ready[:2] if score * _CLEAR > ready[0][0]]
