"""Bytes made text, and text made JSON."""

from __future__ import annotations

import json
from collections.abc import Callable


def decode(data: bytes, content_type: str | None = None, *, judge: Callable[[object], bool] | None = None) -> object:
    """Return the JSON value in `data`, or its text where it holds none.

    Raises:
        ToolSchemaError: not text in any charset that may be meant.
    """
    return json.loads(data)
