"""What a conversation says that arguments can be made of, and so which tools can be called at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage

from langgraph_degrade.stages.models.numbered.candidates import candidates
from langgraph_degrade.stages.models.numbered.glossary import is_mentioned
from langgraph_degrade.stages.models.numbered.identifiers import said
from langgraph_degrade.stages.models.numbered.numerals import holds_number, is_number
from langgraph_degrade.stages.models.numbered.offers import Offer, without_null
from langgraph_degrade.stages.tools.shapes import is_array


class Known(NamedTuple):
    """What the conversation says that arguments can be made of."""

    found: Mapping[tuple[int, str], list[Any]]
    """The candidates for every identifier."""
    numbers: bool
    """Somebody has said a number that is no identifier."""
    counted: bool = True
    """The same, and not merely 一 or `one`: what an argument needs that may be left out."""
    text: str = ""
    """What was said; empty where nothing is known of it."""

    @classmethod
    def of(cls, offers: Sequence[Offer], messages: Sequence[BaseMessage]) -> Known:
        """Read the conversation."""
        found, text = candidates(offers, messages), said(messages)
        taken = {str(value) for values in found.values() for value in values}
        return cls(found, holds_number(text, taken), holds_number(text, taken, counted=True), text)

    def is_possible(self, offer: Offer) -> bool:
        """Tell whether everything has been said that a call cannot do without and a model would have to make up."""
        return all(self.may_give(offer, name) for name in offer.required)

    def may_give(self, offer: Offer, name: str) -> bool:
        """Tell whether one argument may be known; texts and required choices always may.

        An optional choice has to be mentioned: weak models fill it in where nobody asked for it.
        """
        found = self.found.get((offer.number, name))
        if found is not None:
            return bool(found)
        part = without_null(offer.properties.get(name, {}))
        if name not in offer.required and self.text and is_array(choices := part.get("enum")):
            return any(is_mentioned(choice, self.text) for choice in choices)
        return (self.numbers if name in offer.required else self.counted) or not is_number(part)
