"""Questions with the right tool and the right arguments, in Chinese and English: a shop, a hotel, a town.

The shop's were looked at while the menu was made. Of the hotel's and the town's only the counts were seen. The word
families of the hints were written after the hotel's questions and before the town's. One author wrote all three and the
families too, so strangers' questions will do worse.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

SETS = ("shop", "hotel", "town")
SEEN = frozenset({"shop"})


class Question(NamedTuple):
    """One question and what has to come of it."""

    language: Literal["zh", "en"]
    messages: list[BaseMessage]
    tool: str | None
    """None: no tool fits, or something it needs was not said."""
    arguments: Mapping[str, Any]
    """A value, or `{"any": [...]}`: one of these, or a text with one of them in it."""

    def is_right(self, arguments: Mapping[str, Any]) -> bool:
        """Tell whether these are the arguments, none missing and none too many."""
        return arguments.keys() == self.arguments.keys() and all(
            _fits(arguments[name], wanted) for name, wanted in self.arguments.items()
        )


def load(name: str, size: int) -> tuple[list[dict[str, Any]], list[Question]]:
    """Return a set's first four tools or all twelve, and the questions that can be asked with them."""
    data = json.loads((Path(__file__).parent / f"questions_{name}.json").read_text("utf-8"))
    tools = [tool for tool in data["tools"] if size > 4 or tool["function"]["name"] in data["four"]]
    names = {None, *(tool["function"]["name"] for tool in tools)}
    questions = [_question(given) for given in data["questions"] if given["tool"] in names]
    return tools, sorted(questions, key=lambda question: question.language)


def _question(given: Mapping[str, Any]) -> Question:
    turns = given.get("messages") or [["human", given["text"]]]
    messages = [HumanMessage(text) if role == "human" else AIMessage(text) for role, text in turns]
    return Question(given["language"], messages, given["tool"], given["arguments"])


def _fits(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, dict):
        return str(value).casefold() == str(wanted).casefold()
    return any(
        value == one or (isinstance(one, str) and one.casefold() in str(value).casefold()) for one in wanted["any"]
    )
