"""What is found out about a model once: its name, and a copy of it whose SDK does not retry (layers never multiply, T2)."""

from __future__ import annotations

import logging
import weakref
from typing import Any

log = logging.getLogger("langgraph_degrade")

_CLIENTS = (("root_client", "client"), ("root_async_client", "async_client"))


class KnownModels:
    """One entry for each model object, for as long as it lives."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], Any, str]] = {}

    def look_up(self, model: Any) -> tuple[Any, str]:
        """`model`, or a copy of it whose SDK makes one request per call; and its name."""
        key = id(model)
        known = self._known.get(key)
        if known is None or known[0]() is not model:
            quiet, name = without_retries(model), _name(model)
            forget = weakref.ref(model, lambda _: self._known.pop(key, None))
            known = self._known[key] = (forget, None if quiet is model else quiet, name)
        return known[1] or model, known[2]


def _name(model: Any) -> str:
    called = getattr(model, "model_name", None) or getattr(model, "model", None) or type(model).__name__
    return f"model:{called}"


def without_retries(model: Any) -> Any:
    """`model`, or a copy of it whose SDK makes one request per call."""
    if getattr(model, "max_retries", 0) == 0:
        return model
    changes: dict[str, Any] = {"max_retries": 0}
    for root, leaf in _CLIENTS:
        client: Any = getattr(model, root, None)
        if client is not None and hasattr(client, "with_options"):
            quiet = client.with_options(max_retries=0)
            changes |= {root: quiet, leaf: quiet.chat.completions}
    if len(changes) == 1:
        if model.max_retries is not None:
            log.warning(
                "%s retries by itself (max_retries=%s): set it to 0, or layers multiply",
                type(model).__name__,
                model.max_retries,
            )
        return model
    return model.model_copy(update=changes)
