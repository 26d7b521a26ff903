"""Putting a request to one tier, whole or as a stream, with as much held back as must be (spec M5).

Written once over the engine's ports; a sync caller completes it in one step.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import add_usage
from langchain_core.messages.utils import message_chunk_to_message
from pydantic import ValidationError

from langgraph_degrade.engine.ports import CallTimedOut
from langgraph_degrade.failures import Failure, classify
from langgraph_degrade.stages.models.joining import joined
from langgraph_degrade.stages.models.prompts import TO_BIND, Manner, Prompt, prompt_for, unfit
from langgraph_degrade.stages.models.request import Reply, may_be_a_call
from langgraph_degrade.stages.models.tier import BETWEEN_TOKENS, FIRST_TOKEN
from langgraph_degrade.stages.selecting.calls import calls_of, rewritten
from langgraph_degrade.stages.selecting.reading import arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langchain_core.outputs import ChatResult

    from langgraph_degrade.engine.ports import Ports
    from langgraph_degrade.engine.verdict import Verdict
    from langgraph_degrade.stages.models.request import Request
    from langgraph_degrade.stages.models.tier import Tier

QUIET: Any = {"callbacks": []}
"""The chain's own callbacks see every token; the model inside must not show it to them again."""
END: Any = object()
"""After the last chunk."""
PROBE_TOKENS = 16
"""Tokens a probe asks for ○: some servers refuse to give fewer."""
CALLS = frozenset({"tool_calls", "invalid_tool_calls", "tool_call_chunks"})
"""Where a message holds its calls."""
NOT_WHOLE = "not one whole JSON object"
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
        self._lock = threading.Lock()

    async def ask(self, request: Request, manner: Manner, *, ports: Ports, is_async: bool) -> Reply:
        """Ask for the whole message at once."""
        if streams(self._model):  # LangChain would add its chunks up, half a call to a whole one
            return await self._stream(request, manner, ports=ports, is_async=is_async, is_held=True)
        prompt = self._prompt(request, manner)
        if isinstance(prompt, Reply):
            return prompt
        # Not `invoke`: its callbacks and tracing are the chain's own to have, and take as long as the whole chain may.
        call: Callable[..., Any] = self._model._agenerate_with_cache if is_async else self._model._generate_with_cache  # noqa: SLF001
        asked = partial(call, list(prompt.messages), **prompt.options)
        try:
            result: ChatResult = await ports.call(asked, is_async=is_async, timeout=None, own_thread=True)
        except ValidationError as error:
            return _given_up(request, error)
        if not result.generations:
            return Reply(request, AIMessage(""), failure=classify(result, source="model"))
        return prompt.reply(result.generations[0].message)  # type: ignore[arg-type]

    async def listen(self, request: Request, manner: Manner, *, ports: Ports, is_async: bool) -> Reply:
        """Open a stream: free text begins at once, everything else is held back until it is whole."""
        return await self._stream(request, manner, ports=ports, is_async=is_async)

    async def _stream(
        self, request: Request, manner: Manner, *, ports: Ports, is_async: bool, is_held: bool = False
    ) -> Reply:
        prompt = self._prompt(request, manner)
        if isinstance(prompt, Reply):
            return prompt
        make: Callable[..., Any] = self._model.astream if is_async else self._model.stream
        steps = make(prompt.messages, QUIET, **prompt.options)
        idle = Idle(self.tier.first_token, self.tier.between_tokens)
        chunks = Chunks(steps, ports, is_async=is_async, idle=idle)
        got: AIMessageChunk | None = None
        try:
            while (chunk := await chunks.next(has_begun=got is not None)) is not END:
                got = chunk if got is None else got + chunk
                if got is not None and not (is_held or prompt.is_held) and _may_begin(got, request):
                    return Reply(request, got, rest=chunks)
        except ValidationError as error:
            await chunks.close()
            return _given_up(request, error)
        except BaseException:
            await chunks.close()
            request.usage = add_usage(request.usage, None if got is None else got.usage_metadata)
            raise
        return prompt.reply(whole_of(None if got is None else joined(got)))

    def probe(self, seconds: float) -> Any:
        """One small request, past every guard; it ends after `seconds` by itself where the model's client can do that."""
        few: dict[str, Any] = {"max_tokens": PROBE_TOKENS} if hasattr(self._model, "max_tokens") else {}
        if hasattr(self._model, "root_client"):  # what speaks to its provider through openai's client
            few["timeout"] = seconds
        return self._model.invoke("ping", QUIET, **{**self.tier.settings, **few})

    def _prompt(self, request: Request, manner: Manner) -> Prompt | Reply:
        request.tier = self.tier
        failure = unfit(self.tier, request)
        if failure is not None:
            return Reply(request, AIMessage(""), failure=failure)
        return prompt_for(self.tier, request, manner, self._binding(request))

    def _binding(self, request: Request) -> Mapping[str, Any] | None:
        """What binding the request's tools to the model gives; None where it takes none."""
        told = {name: request.options[name] for name in TO_BIND if name in request.options}
        if not request.offered:
            return told
        with self._lock:
            known = self._bound.get(id(request.offered))
            if known is None or known[0] is not request.offered or known[1] != told:
                known = self._bound[id(request.offered)] = (request.offered, told, self._bind(request.offered, told))
                while len(self._bound) > MOST_BOUND:
                    self._bound.pop(next(iter(self._bound)))
            return known[2]

    def _bind(self, tools: Sequence[Any], told: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if not self.tier.can("tools"):
            return None
        try:
            bound = self._model.bind_tools(tools, **told)
        except NotImplementedError:
            return None
        return dict(getattr(bound, "kwargs", {}))


def streams(model: Any) -> bool:
    """It is set to stream, whoever asks for the whole."""
    return getattr(model, "streaming", False) is True


def is_free(got: AIMessageChunk) -> bool:
    """There is text to show, and nothing yet that must not be shown in part."""
    return not got.tool_call_chunks and bool(str(got.text).strip())


def _may_begin(got: AIMessageChunk, request: Request) -> bool:
    """Free text, that can't turn out to be a call written as text."""
    return is_free(got) and not (request.tools and may_be_a_call(str(got.text).strip()))


def _given_up(request: Request, error: ValidationError) -> Reply:
    """LangChain gives a whole answer up where a call's arguments are no object, and keeps nothing of it (case-T05)."""
    places = {problem["loc"][0] for problem in error.errors(include_input=False, include_url=False)}
    if not places <= CALLS:
        raise error
    request.wrong = None
    failure = Failure("malformed_call", reason="tool call: arguments are no JSON object", cause=error)
    return Reply(request, AIMessage(""), failure=failure)


def whole_of(got: AIMessageChunk | None) -> AIMessage:
    """The message a stream of chunks came to; its calls count as they were written, not as they were completed.

    Adding chunks up makes `{"amount": 12` a whole call (cases T01, T02). Here it is what a request that is not streamed
    makes of it: a call given up.
    """
    whole = AIMessage("") if got is None else message_chunk_to_message(_as_written(got))
    return whole if isinstance(whole, AIMessage) else AIMessage("")


def _as_written(got: AIMessageChunk) -> AIMessageChunk:
    calls = calls_of(got)
    to = [
        call._replace(args=call.written, is_valid=False, source={"error": NOT_WHOLE})
        if call.is_valid and arguments(call) is None
        else call
        for call in calls
    ]
    return got if all(new is old for new, old in zip(to, calls, strict=True)) else rewritten(got, calls, to)


class Idle(NamedTuple):
    """Seconds a stream may be silent; infinite where only the whole of it has a limit."""

    before: float = FIRST_TOKEN
    between: float = BETWEEN_TOKENS


class Chunks:
    """The chunks of one stream, each within its time."""

    verdict: Verdict | None = None
    """On the call that opened it: to be told when it has ended."""

    def __init__(self, steps: Any, ports: Ports, *, is_async: bool, idle: Idle) -> None:
        self._steps = steps
        self._ports = ports
        self._is_async = is_async
        self._idle = idle

    async def next(self, *, has_begun: bool = True, most: float | None = None) -> Any:
        """The next chunk, or `END`; `Silent` when it does not come within its time, or within `most` seconds."""
        idle = self._idle.between if has_begun else self._idle.before
        limit = idle if most is None else min(idle, most)
        timeout = None if limit == float("inf") else limit
        step = partial(anext, self._steps, END) if self._is_async else partial(next, self._steps, END)
        try:
            return await self._ports.call(step, is_async=self._is_async, timeout=timeout, own_thread=False)
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


def awaits(begun: Any, verdict: Verdict) -> bool:
    """See `Plan.awaits`: of a `Reply`, or whatever else has a `rest` of `Chunks`."""
    if begun.rest is None:
        return False
    begun.rest.verdict = verdict
    return True
