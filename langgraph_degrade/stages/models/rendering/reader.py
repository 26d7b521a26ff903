"""Who reads the conversation next, and the words it is told things in."""

from __future__ import annotations

from dataclasses import dataclass

from langgraph_degrade.texts import Language, Overrides, verbatim


@dataclass(frozen=True, slots=True)
class Reader:
    """What one tier takes."""

    family: str | None
    """Its provider, by the one name all of its packages go by; None where unknown."""
    takes_tools: bool
    takes_media: bool
    language: Language
    overrides: Overrides | None

    @property
    def is_lenient(self) -> bool:
        """Whether any order of roles is taken: a system message in the middle, an assistant's first."""
        return self.family == "openai" and self.takes_tools

    def say(self, key: str, **fields: str) -> str:
        """One of the `render` sentences in the reader's language, its fields filled in; a field nobody gave is left out."""
        return verbatim(key, self.language, self.overrides, **fields)
