"""Every sentence the library itself shows a model or a user, in Chinese and English."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Language = Literal["zh", "en"]


def detect(text: str) -> Language:
    """Guess the language to answer in from what the user wrote."""
    return "en"


def text(key: str, lang: Language, overrides: Mapping[str, Mapping[str, str]] | None = None, **fields: object) -> str:
    """Return one sentence with its fields filled in; `overrides` is `Policy.texts`: key → language → template."""
    return key
