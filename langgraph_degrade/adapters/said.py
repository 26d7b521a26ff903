"""What a runnable has said, and whether it may be shown: half a call must not be, and not what is no answer (spec M5)."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk

from langgraph_degrade.failures import Failure, classify
from langgraph_degrade.stages.models.calling import is_free, whole_of
from langgraph_degrade.stages.models.request import is_plainly_good


class Said:
    """What a stream has given so far, and whether it may be shown yet."""

    def __init__(self) -> None:
        self._whole: AIMessage | None = None
        self._is_empty = True
        self._has_spoken = False

    def may_show(self, chunk: Any) -> bool:
        """Take in one more chunk; True where it, and all before it, may be shown at once.

        A message begins with its first words, and goes no further than to its first call: half a call must not be
        shown. Of anything else the first chunk that is not blank counts.
        """
        self._is_empty = False
        if isinstance(chunk, AIMessage):
            self._whole = _joined(self._whole, chunk)
            return isinstance(self._whole, AIMessageChunk) and is_free(self._whole)
        self._has_spoken = self._has_spoken or not isinstance(chunk, str) or not (chunk == "" or chunk.isspace())
        return self._has_spoken

    def failure(self) -> Failure | None:
        """Say of a stream that has ended why it was no answer."""
        return Failure("empty", reason="no chunk") if self._is_empty else judged(self._whole)


def judged(value: Any) -> Failure | None:
    """Why it is no answer: a model's message is looked at closely, anything else is as it is."""
    if not isinstance(value, AIMessage) or is_plainly_good(value):
        return None
    return classify(whole_of(value) if isinstance(value, AIMessageChunk) else value, source="model")


def _joined(whole: AIMessage | None, chunk: AIMessage) -> AIMessage:
    if isinstance(whole, AIMessageChunk) and isinstance(chunk, AIMessageChunk):
        return whole + chunk
    return chunk
