"""Unfinished items: their names, and how they are told without giving secrets away."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from langgraph_degrade.engine.keys import canonical

LONGEST = 300
"""Characters of a description ○."""
REDACTED = "[redacted]"

_SECRET = re.compile(
    r"passw|pwd|secret|token|api[_-]?key|auth|credential|cvv|cookie|private[_-]?key|jwt|(?:^|_)(?:pin|otp|cvc)(?:$|_)"
    r"|card[_-]?(?:number|no)",
    re.IGNORECASE,
)


def item_id(target: str, named: Mapping[str, Any]) -> str:
    """One name for "the same thing asked again": equal targets and arguments give equal names."""
    text = canonical(named) or repr(sorted(named))
    return f"{target}#{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def describe(target: str, named: Mapping[str, Any]) -> str:
    """What was asked, for a person: `create_ticket(order_id="SO-1", title="…")`; secrets left out, capped."""
    name = target.partition(":")[2] or target
    if not named:
        return name
    text = ", ".join(f"{key}={_told(key, value)}" for key, value in named.items())
    whole = f"{name}({text})"
    return whole if len(whole) <= LONGEST else whole[: LONGEST - 1] + "…"


def redact(value: Any) -> Any:
    """JSON-like data with the values of secret-looking keys replaced, at any depth."""
    if isinstance(value, Mapping):
        return {key: REDACTED if _SECRET.search(str(key)) else redact(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact(item) for item in value]
    return value


def _told(key: str, value: Any) -> str:
    if _SECRET.search(key):
        return REDACTED
    try:
        text = json.dumps(redact(value), ensure_ascii=False, default=lambda item: f"<{type(item).__name__}>")
    except (ValueError, TypeError, RecursionError):
        return f"<{type(value).__name__}>"
    return text.encode("utf-8", "replace").decode()[:LONGEST]
