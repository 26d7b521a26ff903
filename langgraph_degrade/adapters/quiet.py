"""A runnable whose models make one request per call: their SDKs' own retries are off, or layers multiply (spec T2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableParallel, RunnableSequence, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.passthrough import RunnableAssign

from langgraph_degrade.adapters.known_models import without_retries

PARTS: Mapping[type[Runnable[Any, Any]], tuple[str, ...]] = {
    RunnableSequence: ("first", "middle", "last"),
    RunnableBindingBase: ("bound",),
    RunnableParallel: ("steps__",),
    RunnableAssign: ("mapper",),
    RunnableWithFallbacks: ("runnable", "fallbacks"),
}
"""Where LangChain's own compositions hold what they run; what a function closes over can't be seen."""


def quiet(runnable: Any) -> Any:
    """`runnable`, or a copy of it in which every model that can be seen makes one request per call."""
    names = next((names for kind, names in PARTS.items() if isinstance(runnable, kind)), None)
    if names is None:  # a binding lends its model's attributes: it is not asked for them
        return without_retries(runnable) if hasattr(runnable, "max_retries") else runnable
    changes: dict[str, Any] = {}
    for name in names:
        old = getattr(runnable, name)
        new = _each(old)
        if new is not old:
            changes[name] = new
    copied: Any = runnable
    return copied.model_copy(update=changes) if changes else runnable


def models_in(runnable: Any) -> Iterator[BaseChatModel]:
    """Every chat model that can be seen."""
    if isinstance(runnable, BaseChatModel):
        yield runnable
    names = next((names for kind, names in PARTS.items() if isinstance(runnable, kind)), ())
    for part in (getattr(runnable, name) for name in names):
        inner = part.values() if isinstance(part, Mapping) else part if isinstance(part, list | tuple) else (part,)
        for one in inner:
            yield from models_in(one)


def _each(part: Any) -> Any:
    """One runnable, a list of them, or a mapping to them; itself where nothing changed."""
    if isinstance(part, Mapping):
        held = {name: quiet(one) for name, one in part.items()}
        return held if any(held[name] is not part[name] for name in part) else part
    if isinstance(part, list | tuple):
        listed = [quiet(one) for one in part]
        return listed if any(new is not old for new, old in zip(listed, part, strict=True)) else part
    return quiet(part)
