"""`Degrader`: one per application. It owns the clock, the breakers, the caches and the stores, and makes the adapters."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from langgraph_degrade.context import Event, Stage
from langgraph_degrade.engine.clock import Clock, SystemClock
from langgraph_degrade.engine.engine import Engine
from langgraph_degrade.engine.scope import ACTIVE, QueryClass, Scope
from langgraph_degrade.engine.steps import check_names
from langgraph_degrade.policy import Policy
from langgraph_degrade.store.memory import MemoryStore

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable
    from langchain_core.tools import BaseTool
    from langgraph.prebuilt.tool_node import ToolNode
    from pybreaker import CircuitBreaker

    from langgraph_degrade.adapters.chat_model import TieredChatModel
    from langgraph_degrade.adapters.middleware import DegradeMiddleware
    from langgraph_degrade.adapters.runnable import DegradingRunnable
    from langgraph_degrade.adapters.tools import ToolGuard
    from langgraph_degrade.engine.patrol import Leases
    from langgraph_degrade.engine.store import Store
    from langgraph_degrade.stages.models.tier import Tier
    from langgraph_degrade.stages.selecting import KeywordTemplate

G = TypeVar("G")
F = TypeVar("F", bound=Callable[..., Any])


class Degrader:
    """One per application; safe and useful without a policy.

    Example:
        >>> degrader = Degrader()
        >>> @degrader.guard("inventory")
        ... def stock(sku: str) -> int:
        ...     return 7
        >>> stock("A-1")
        7
    """

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        store: Store | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        listeners: Iterable[Callable[[Event], None]] = (),
        leases: Leases | None = None,
    ) -> None:
        """Make one.

        Args:
            policy: what is allowed; the defaults are safe.
            store: where claims on writes and unfinished items live; this process's memory by default.
            clock: where time comes from.
            rng: where chance comes from (pauses, ids).
            listeners: called with every event; their errors are logged and go no further.
            leases: where processes agree on who probes what (`store.leases_redis.RedisLeases(client)` for many
                machines); by default the store's file, where it is one.
        """
        _check_arguments(policy, store)
        self.policy = policy or Policy()
        self._callables: dict[str, Callable[..., Any]] = {}
        self._engine = Engine(
            self.policy,
            store=store or MemoryStore(),
            local=MemoryStore(),
            clock=clock or SystemClock(),
            rng=rng or random.Random(),  # noqa: S311 - jitter and ids, no secrets
            listeners=listeners,
            leases=_leases(store) if leases is None else leases,
        )

    def register(self, *callables: Callable[..., Any], **named: Callable[..., Any]) -> None:
        """Say which callables the policy means where it names one: `verify`, `offline`, `refresh`, `endpoints`.

        Example:
            >>> Degrader().register(find_ticket=lambda args, config: None)
        """
        self._callables |= {fn.__name__: fn for fn in callables} | named

    def guard(
        self,
        target: str,
        *,
        stage: Stage = "execute",
        scene: str | None = None,
        fallbacks: Sequence[Callable[..., Any]] = (),
    ) -> Callable[[F], F]:
        """Guard any callable, sync or async: `@degrader.guard("inventory", fallbacks=[cached_stock])`.

        The fallbacks take the same arguments and are tried in order, each behind breakers and a quota of its own. With
        nothing left the call raises: the original error where nothing was tried instead of it (a `TimeoutError` where its
        time was over), `CircuitOpen`, `Overloaded`, … where it was refused, `LadderExhausted` otherwise, `UnknownOutcome`
        for a declared write that may have happened.
        """
        from langgraph_degrade.adapters.guard import guarded

        def decorate(fn: F) -> F:
            made = self._engine.target(target, stage=stage, scene=scene)
            return guarded(self._engine, made, fn, fallbacks=fallbacks, callables=self._callables)

        return decorate

    def tool(self, tool: BaseTool | Callable[..., Any]) -> BaseTool:
        """Guard a tool. Still a `BaseTool` of its own class.

        Invoked with a tool call it gives a message with an honest text and the typed result as its artifact
        (`ToolResult.of(message)`); with plain arguments the tool's own value when ok, else the `ToolResult`.
        """
        return self._guard_tool(tool)

    @cached_property
    def _guard_tool(self) -> ToolGuard:
        from langgraph_degrade.adapters.tools import ToolGuard

        return ToolGuard(self._engine, self._callables)

    def tool_node(self, tools: Sequence[BaseTool | Callable[..., Any]], **options: Any) -> ToolNode:
        """LangGraph's `ToolNode` whose calls degrade one by one: `builder.add_node("tools", degrader.tool_node([…]))`."""
        from langgraph_degrade.adapters.nodes import tool_node

        self._check_names()
        return tool_node(self._engine, self._guard_tool, tools, **options)

    def node(
        self,
        fn: Callable[..., Any] | Runnable[Any, Any],
        *,
        stage: Stage,
        name: str | None = None,
        scene: str | None = None,
        fallbacks: Sequence[Callable[..., Any]] = (),
    ) -> Any:
        """A node that degrades: `builder.add_node("plan", degrader.node(plan, stage="plan", fallbacks=[simple_plan]))`.

        The fallbacks are nodes too and are tried in order. With nothing left the node leaves the state as it is (an
        answer node adds an honest answer), and the context says what is missing; it does not raise.
        """
        from langgraph_degrade.adapters.guard import code_of, name_of
        from langgraph_degrade.adapters.nodes import node

        called = name or getattr(fn, "name", None) or name_of(cast("Callable[..., Any]", fn))
        twin = f"{stage} {called if name else code_of(fn)}"  # two nodes may well bear one name, `<lambda>` say
        target = self._engine.target(f"node:{called}", stage=stage, scene=scene, twin=twin)
        return node(self._engine, fn, target, fallbacks)

    def middleware(
        self,
        tiers: Sequence[Tier] | None = None,
        *,
        keywords: Sequence[KeywordTemplate] = (),
        on_refusal: Sequence[str] | None = None,
        name: str = "degrade",
    ) -> DegradeMiddleware:
        """For `create_agent`: `middleware=[degrader.middleware()]`. Put it first, so that it is the outermost.

        Args:
            tiers: models to step down through, each with its prompt and settings, in place of the agent's own; see
                `chat_model`.
            keywords: see `chat_model`.
            on_refusal: see `chat_model`.
            name: unique among an agent's middleware.
        """
        from langgraph_degrade.adapters.middleware import DegradeMiddleware

        self._check_names()
        model = None if tiers is None else self.chat_model(tiers, keywords=keywords, on_refusal=on_refusal)
        return DegradeMiddleware(self._engine, self._guard_tool, model=model, name=name)

    def chat_model(
        self,
        tiers: Sequence[Tier],
        *,
        keywords: Sequence[KeywordTemplate] = (),
        on_refusal: Sequence[str] | None = None,
    ) -> TieredChatModel:
        """A chat model that steps down, best tier first, when one dies, slows down, refuses or calls tools wrongly.

        Still a `BaseChatModel`: streams, batches, binds tools, gives structured output. Its inner models make one
        request per call; their SDKs' own retries are off.

        Args:
            tiers: the models, each with its own prompt, settings, window and abilities.
            keywords: where no model chooses a tool well, these recognise the customer's wish by its words.
            on_refusal: the tiers a refused or filtered request may go to, by name; None: all.
        """
        from langgraph_degrade.adapters.chain import Chain
        from langgraph_degrade.adapters.chat_model import TieredChatModel

        return TieredChatModel(Chain(self._engine, tiers, keywords=keywords, on_refusal=on_refusal))

    def runnable(
        self, runnables: Sequence[Runnable[Any, Any] | Callable[..., Any]], *, name: str | None = None
    ) -> DegradingRunnable:
        """Step down through runnables, best first: prompt and model swapped together, where `.with_fallbacks` was.

        `degrader.runnable([main_prompt | main_model, backup_prompt | backup_model])`. Each has breakers of its own and
        runs as a child run. A model's message that is empty, filtered or holds a malformed call is a failure too, other
        values are taken as they are. A stream goes to the next one only before anything of it was shown.

        Args:
            runnables: what is asked, in this order, with the same input.
            name: `runnable:NAME` and `runnable:NAME/1`, … are what the policy, the breakers and the events call them.
                The same name shares breakers: give one where it is made anew for every request.
        """
        from langgraph_degrade.adapters.runnable import degrading

        return degrading(self._engine, runnables, name)

    def wrap(self, graph: G, *, answer: Callable[[Any], Any] | None = None) -> G:
        """Give a compiled graph session and user time, and an honest answer where it would crash.

        Still a compiled graph of its own class: every stream mode, subgraphs, interrupts and `with_config` work.
        The answer shows in the modes `values`, `updates` and `messages`; a stream of `custom` alone just ends. It is
        kept in the thread, unless the saver takes more than 2 s. A sync node that outlives the user's time may still
        save its own step later, after and without the answer.

        Args:
            graph: any compiled graph. Where it has no `messages` and no `answer` is given, as with an `@entrypoint`,
                there is nowhere to put an answer: the run's own error is raised.
            answer: makes the state update that answers in the graph's stead, from its last known state (a dict by
                channel); by default an AI message is appended to `messages`. If it fails, the default is next.
        """
        from langgraph.pregel import Pregel

        from langgraph_degrade.adapters.wrap import wrap

        if not isinstance(graph, Pregel):
            raise TypeError("wrap takes a compiled graph: builder.compile(), or what create_agent returns")
        return wrap(self._engine, graph, answer)

    def _check_names(self) -> None:
        """Raise `PolicyError` now, not at some customer's first call, where a tool's policy names what nobody registered."""
        for name in self.policy.tools:
            check_names(f"tool:{name}", self.policy.target(f"tool:{name}"), self._callables)

    def breaker(self, target: str) -> CircuitBreaker:
        """The breaker of a target as a `pybreaker.CircuitBreaker`: its state, your listeners, your storage.

        `add_listener` and `use_storage` plug in what you have; `open`, `close` and `half_open` are an operator's hand.
        Calls don't go through it.

        Example:
            >>> Degrader().breaker("tool:get_stock").current_state
            'closed'
        """
        name = f"tool:{target}" if target in self.policy.tools and target not in self.policy.targets else target
        return self._engine.breaker(name)

    def close(self) -> None:
        """End the threads that listeners and shared storages run on. Calls still work afterwards."""
        for target in self._engine.targets().values():
            target.close_face()

    def __enter__(self) -> Self:
        """Start the probes of models and of tools that declare one, on a thread (spec M3)."""
        self._engine.probes.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.probes.stop()
        self.close()

    async def __aenter__(self) -> Self:
        """Start the probes as a task of this event loop."""
        await self._engine.probes.astart()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._engine.probes.astop()
        self.close()

    @contextmanager
    def scope(
        self,
        *,
        session: float | None = None,
        retries: int | None = None,
        thread: str | None = None,
        turn: str | None = None,
        identity: Mapping[str, Any] | None = None,
    ) -> Generator[Scope]:
        """One request for code outside a graph: everything guarded inside shares its time and its budget.

        Works around sync and async code alike.

        Args:
            session: seconds until the request's time is over; the policy's session tier by default.
            retries: retries for the whole request; the policy's by default.
            thread: the conversation it belongs to; writes are claimed under it.
            turn: the request within it, by an id that is the same when it is tried again after a crash (a message's id,
                a job's); without one every scope is a new request, and an unfinished write of an earlier one is not
                recognised.
            identity: whose values may be cached, by the names in `cache: {scope: [...]}`.
        """
        scope = self._engine.scopes.new()
        if session is not None:
            scope.deadline = scope.started + session
        if retries is not None:
            scope.budget = scope.budget.model_copy(update={"retries": retries})
        scope.thread = thread
        if turn is not None:
            scope.belong_to(turn)
        scope.identity = identity or {}
        token = ACTIVE.set(scope)
        try:
            yield scope
        finally:
            ACTIVE.reset(token)
            self._engine.scopes.end(scope)

    @contextmanager
    def query(self, kind: QueryClass) -> Generator[None]:
        """Say of the calls inside that they are `basic` or `complex`: which of a target's timeouts holds (spec T6)."""
        scope = self._engine.scopes.find()
        if scope is None:
            with self.scope() as scope:
                scope.query = kind
                yield
            return
        before, scope.query = scope.query, kind
        try:
            yield
        finally:
            scope.query = before


def _leases(store: Store | None) -> Leases | None:
    """Where processes that share a file agree on who probes what."""
    from langgraph_degrade.store.leases import SqliteLeases
    from langgraph_degrade.store.sqlite import SqliteStore

    return SqliteLeases(store) if isinstance(store, SqliteStore) else None


def _check_arguments(policy: object, store: object) -> None:
    if policy is not None and not isinstance(policy, Policy):
        raise TypeError("policy: a Policy is wanted; Policy.load(path) and Policy.model_validate(dict) make one")
    if isinstance(store, str | bytes | PathLike):
        raise TypeError("store: a store is wanted, not a path; SqliteStore(path) makes one")
