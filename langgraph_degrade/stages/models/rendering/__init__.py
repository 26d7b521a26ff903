"""The same conversation, made fit for the tier that reads it next: adapted, not tried and failed (spec M6).

Pure functions: no message of the caller is changed, and one that needs no change is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from langgraph_degrade.stages.messages import is_whole, repair
from langgraph_degrade.stages.models.rendering.calls import identified, lawful
from langgraph_degrade.stages.models.rendering.contents import adapted, is_plain
from langgraph_degrade.stages.models.rendering.flattening import flattened
from langgraph_degrade.stages.models.rendering.makers import family_of
from langgraph_degrade.stages.models.rendering.order import ordered, replace_system
from langgraph_degrade.stages.models.rendering.reader import Reader
from langgraph_degrade.stages.models.rendering.roles import spoken
from langgraph_degrade.stages.models.rendering.sizing import estimated, fits, needs
from langgraph_degrade.texts import Language, Overrides

__all__ = ["estimated", "fits", "is_plain", "needs", "render", "replace_system"]


def render(
    messages: Sequence[BaseMessage],
    *,
    provider: str | None,
    tools: bool,
    images: bool,
    language: Language = "en",
    overrides: Overrides | None = None,
) -> list[BaseMessage]:
    """Return the conversation as a tier can take it.

    What another provider made loses what only that provider understands: reasoning and its signatures, item ids,
    built-in tools' items, metadata. Every tool call is answered right after it, under a name and an id that the
    provider accepts; a call that could not be read goes out as a note, never as a call. No message is empty.

    Args:
        messages: the conversation; not changed.
        provider: who serves the tier, as LangChain's packages are called (`openai`, `anthropic`, `google_genai`, …);
            None where it isn't known, and then nothing that only one provider understands goes out.
        tools: whether it takes tool calls; without, what was called and what was found is told in words, the roles
            alternate, and no tool id is left.
        images: whether it takes images, audio, video and files; without, a note stands in their place.
        language: of the notes.
        overrides: `Policy.texts`; the keys are `render` and `repaired`.

    Example:
        >>> from langchain_core.messages import AIMessage, HumanMessage
        >>> thought = AIMessage([{"type": "thinking", "thinking": "…", "signature": "s"}, {"type": "text", "text": "Hi"}])
        >>> render([HumanMessage("hello"), thought], provider="openai", tools=True, images=True)[-1].content
        'Hi'
    """
    reader = Reader(family_of(provider), tools, images, language, overrides)
    taken = identified([spoken(message, reader) for message in messages])
    if not is_whole(taken):
        taken = repair(taken, language, overrides)
    taken = [adapted(message, reader) for message in lawful(taken, reader)]
    if not tools:
        taken = flattened(taken, reader)
    return ordered(taken, messages, reader)
