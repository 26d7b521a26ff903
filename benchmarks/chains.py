"""What a chain of model tiers takes of a call that succeeds at once, over the bare model it wraps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from benchmarks.rows import MICRO, Row
from benchmarks.timing import more, time_calls, times


class Instant(BaseChatModel):
    """Answers at once."""

    @property
    def _llm_type(self) -> str:
        return "instant"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Yes, seven."))])


def chain(rounds: int) -> Iterator[Row]:
    from langgraph_degrade import Degrader, Tier

    bare = Instant()
    tiered = Degrader().chat_model([Tier("main", bare), Tier("backup", Instant())])
    variants = {
        "bare": lambda: bare.invoke("Is the blue kettle in stock?"),
        "chain": lambda: tiered.invoke("Is the blue kettle in stock?"),
        "with_fallbacks": lambda: bare.with_fallbacks([Instant()]).invoke("Is the blue kettle in stock?"),
    }
    taken = time_calls(variants, batch=10, rounds=rounds)
    note = f"{times(taken, 'chain', 'bare'):.1f} × the bare model; its hand-over to a worker included"
    yield Row("chain of two models, sync", more(taken, "chain", "bare") * MICRO, budget=150, note=note)
    ratio = more(taken, "chain", "bare") / more(taken, "with_fallbacks", "bare")
    yield Row("… against `with_fallbacks`", ratio, "×", note="no limit, breaker, quota or event")
