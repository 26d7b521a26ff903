"""Layers never multiply (spec T2): the retries of an SDK inside our budget are switched off, or at least said."""

from __future__ import annotations

import logging
import weakref
from typing import Any

log = logging.getLogger("langgraph_degrade")

_CLIENTS = (("root_client", "client"), ("root_async_client", "async_client"))


class SdkRetries:
    """Copies of models whose SDK does not retry by itself, one per model."""

    def __init__(self) -> None:
        self._copies: dict[int, tuple[weakref.ref[Any], Any]] = {}

    def off(self, model: Any) -> Any:
        """`model`, or a copy of it whose SDK makes one request per call."""
        key = id(model)
        known = self._copies.get(key)
        if known is not None and known[0]() is model:
            return known[1] or model
        copy = _without(model)
        self._copies[key] = (weakref.ref(model, lambda _: self._copies.pop(key, None)), None if copy is model else copy)
        return copy


def _without(model: Any) -> Any:
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
