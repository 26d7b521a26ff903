"""Putting a request to one tier, whole or as a stream, with as much held back as must be (spec M5).

Written once over the engine's ports; a sync caller completes it in one step.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.utils import message_chunk_to_message

from langgraph_degrade.engine.ports import CallTimedOut
from langgraph_degrade.failures import classify
from langgraph_degrade.stages.models.prompts import Manner, Prompt, prompt_for, unfit
from langgraph_degrade.stages.models.request import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langchain_core.outputs import ChatResult

    from langgraph_degrade.engine.ports import Ports
    from langgraph_degrade.stages.models.request import Request
    from langgraph_degrade.stages.models.tier import Tier

QUIET: Any = {"callbacks": []}
"""The chain's own callbacks see every token; the model inside must not show it to them again."""
END: Any = object()
"""After the last chunk."""
PROBE_TOKENS = 16
"""Tokens a probe asks for ○: some servers refuse to give fewer."""
MOST_BOUND = 16
"""Lists of tools whose binding is remembered ○."""


class Silent(TimeoutError):
    """Raised when a stream said nothing for too long."""


class TierCalls:
    """Calls to one tier's model, which makes one request per call: its SDK's own retries are off (spec T2)."""

    def __init__(self, tier: Tier, model: Any) -> None:
        self.tier = tier
        self._model = model
        self._bound: dict[int, tuple[Any, Any, Mapping[str, Any] | None]] = {}

    async def ask(self, request: Request, manner: Manner, *, ports: Ports, is_async: bool) -> Reply:
        """Ask for the whole message at once."""
        prompt = self._prompt(request, manner)
        if isinstance(prompt, Reply):
            return prompt
        # Not `invoke`: its callbacks and tracing are the chain's own to have, and take as long as the whole chain may.
        call: Callable[..., Any] = self._model._agenerate_with_cache if is_async else self._model._generate_with_cache  # noqa: SLF001
        asked = partial(call, list(prompt.messages), **prompt.options)
        result: ChatResult = await ports.call(asked, is_async=is_async, timeout=None, own_thread=True)
        if not result.generations:
            return Reply(request, AIMessage(""), failure=classify(result, source="model"))
        return prompt.reply(result.generations[0].message)  # type: ignore[arg-type]

    async def listen(self, request: Request, manner: Manner, *, ports: Ports, is_async: bool) -> Reply:
        """Open a stream: free text begins at once, everything else is held back until it is whole."""
        prompt = self._prompt(request, manner)
        if isinstance(prompt, Reply):
            return prompt
        chunks = Chunks(self._model, prompt, self.tier, ports, is_async=is_async)
        got: AIMessageChunk | None = None
        try:
            while (chunk := await chunks.next(has_begun=got is not None)) is not END:
                got = chunk if got is None else got + chunk
                if got is not None and not prompt.is_held and _is_free(got):
                    return Reply(request, got, rest=chunks)
        except BaseException:
            await chunks.close()
            raise
        return prompt.reply(whole_of(got))

    def probe(self) -> Any:
        """One small request, past every guard."""
        few = {"max_tokens": PROBE_TOKENS} if hasattr(self._model, "max_tokens") else {}
        return self._model.invoke("ping", QUIET, **{**self.tier.settings, **few})

    def _prompt(self, request: Request, manner: Manner) -> Prompt | Reply:
        request.tier = self.tier
        failure = unfit(self.tier, request)
        if failure is not None:
            return Reply(request, AIMessage(""), failure=failure)
        return prompt_for(self.tier, request, manner, self._binding(request.tools, request.options))

    def _binding(self, tools: Sequence[Any], options: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What binding these tools to the model gives; None where it takes none."""
        if not tools:
            return {}
        choice = options.get("tool_choice")
        known = self._bound.get(id(tools))
        if known is None or known[0] is not tools or known[1] != choice:
            known = self._bound[id(tools)] = (tools, choice, self._bind(tools, choice))
            while len(self._bound) > MOST_BOUND:
                self._bound.pop(next(iter(self._bound)))
        return known[2]

    def _bind(self, tools: Sequence[Any], choice: Any) -> Mapping[str, Any] | None:
        if not self.tier.can("tools"):
            return None
        try:
            bound = (
                self._model.bind_tools(tools) if choice is None else self._model.bind_tools(tools, tool_choice=choice)
            )
        except NotImplementedError:
            return None
        return dict(getattr(bound, "kwargs", {}))


def _is_free(got: AIMessageChunk) -> bool:
    """There is text to show, and nothing yet that must not be shown in part."""
    return not got.tool_call_chunks and bool(str(got.text).strip())


def whole_of(got: AIMessageChunk | None) -> AIMessage:
    """The message a stream of chunks came to."""
    whole = AIMessage("") if got is None else message_chunk_to_message(got)
    return whole if isinstance(whole, AIMessage) else AIMessage("")


class Chunks:
    """The chunks of one model's stream, each within its time."""

    def __init__(self, model: Any, prompt: Prompt, tier: Tier, ports: Ports, *, is_async: bool) -> None:
        self._tier = tier
        self._ports = ports
        self._is_async = is_async
        make: Callable[..., Any] = model.astream if is_async else model.stream
        self._steps: Any = make(prompt.messages, QUIET, **prompt.options)

    async def next(self, *, has_begun: bool = True, most: float | None = None) -> Any:
        """The next chunk, or `END`; `Silent` when it does not come within its time, or within `most` seconds."""
        limit = self._tier.between_tokens if has_begun else self._tier.first_token
        limit = limit if most is None else min(limit, most)
        step = partial(anext, self._steps, END) if self._is_async else partial(next, self._steps, END)
        try:
            return await self._ports.call(step, is_async=self._is_async, timeout=limit, own_thread=False)
        except CallTimedOut as error:
            raise Silent(f"no {'further' if has_begun else 'first'} token within {limit:.3g} s") from error

    async def close(self) -> None:
        """Nobody wants the rest."""
        close = getattr(self._steps, "aclose" if self._is_async else "close", None)
        if close is None:
            return
        try:
            await self._ports.call(close, is_async=self._is_async, timeout=None, own_thread=True)
        except (RuntimeError, ValueError):  # it is at work still, on a step that was given up
            return
