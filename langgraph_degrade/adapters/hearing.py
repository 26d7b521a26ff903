"""What a streaming model wrote, before LangChain made a call of half of one (cases T01, T02).

Asked for a whole message, a model that streams, because somebody watches or because it is set to, has its chunks added
up: `{"amount": 12` comes out as a call with `{"amount": 12}`, and would be run. The ear hears the chunks, and gives such
a call up in the message, as it is given up where nothing is streamed.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.runnables.config import var_child_runnable_config

from langgraph_degrade.engine import ambient
from langgraph_degrade.stages.models.calling import whole_of

if TYPE_CHECKING:
    from uuid import UUID

    from langchain_core.outputs import LLMResult
    from langchain_core.runnables import RunnableConfig


class Ear(BaseCallbackHandler):
    """For one request; hears every model inside."""

    run_inline = True

    def __init__(self) -> None:
        self._calls: dict[UUID, AIMessageChunk] = {}

    def on_llm_new_token(self, *_: Any, chunk: Any = None, run_id: UUID, **__: Any) -> None:
        """Keep the parts of calls."""
        message = getattr(chunk, "message", None)
        if isinstance(message, AIMessageChunk) and message.tool_call_chunks:
            said = self._calls.get(run_id)
            self._calls[run_id] = message if said is None else said + message

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """Give up what was not written to its end; nobody has seen the message yet."""
        said = self._calls.pop(run_id, None)
        if said is None:
            return
        written = whole_of(said)
        for message in (getattr(one, "message", None) for choices in response.generations for one in choices):
            if written.invalid_tool_calls and isinstance(message, AIMessage):
                message.tool_calls = written.tool_calls
                message.invalid_tool_calls = written.invalid_tool_calls

    def on_llm_error(self, *_: Any, run_id: UUID, **__: Any) -> None:
        """Forget it."""
        self._calls.pop(run_id, None)


def heard(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The config, with an ear."""
    callbacks: Any = config.get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        callbacks = callbacks.copy()
        callbacks.add_handler(Ear())
    else:
        callbacks = [*(callbacks or ()), Ear()]
    return {**config, "callbacks": callbacks}


@contextmanager
def hearing() -> Generator[None]:
    """Whatever runs inside, and takes its config from here, is heard."""
    token = var_child_runnable_config.set(cast("RunnableConfig", heard(ambient.config())))
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)
