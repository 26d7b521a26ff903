"""`Tier`: one model of a chain, with the prompt, the settings and the limits that are its own (spec M1, M6)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.language_models import BaseChatModel

if TYPE_CHECKING:
    from langchain_core.prompts import ChatPromptTemplate

log = logging.getLogger("langgraph_degrade")

Ability = Literal["tools", "images", "json_schema"]

FIRST_TOKEN = 10.0
"""Seconds to the first token of a stream ○ (design section 2)."""
BETWEEN_TOKENS = 5.0
"""Seconds between two tokens ○ (design section 2)."""


@dataclass(frozen=True)
class Tier:
    """One model, best first in `degrader.chat_model([...])`.

    Example:
        >>> from langchain_core.language_models.fake_chat_models import FakeListChatModel
        >>> Tier("main", FakeListChatModel(responses=["hello"])).window is None
        True
    """

    name: str
    """Its target is `model:NAME`: the policy's entry, the breaker and the events go by that."""
    model: BaseChatModel
    prompt: ChatPromptTemplate | Literal["numbered"] | None = None
    """None: the request's own. `numbered`: the bound tools as a numbered menu, for models that call tools badly. A
    template replaces the system part; the dialogue stays, at its `messages` placeholder where it has one. `tools` and
    `facts` are filled in where it names them."""
    use: Literal["all", "wording"] = "all"
    """`wording`: puts what the tools found into a sentence; decides nothing and calls nothing. Asked only where that is one
    flat, live record; a sentence that says anything else is not shown (`grounding`)."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Keyword arguments of every call: `reasoning_effort`, `temperature`, a thinking budget, `extra_body`."""
    window: int | None = None
    """Tokens it takes, the answer included; None: what its profile says, else unknown."""
    abilities: frozenset[Ability] | Sequence[Ability] | None = None
    """None: `tools`, and what its profile says. `json_schema`: its server keeps to a `response_format`."""
    samples: Mapping[str, Sequence[Any]] | None = None
    """For `numbered`: example calls by tool name; made from the tools' schemas where none are given."""
    first_token: float = FIRST_TOKEN
    """Seconds a stream may be silent before it says anything."""
    between_tokens: float = BETWEEN_TOKENS
    """Seconds it may be silent in the middle."""

    def __post_init__(self) -> None:
        if not self.name or not _is_model(self.model):
            raise TypeError(f"Tier({self.name!r}): a name and a chat model are wanted, got {type(self.model).__name__}")
        if isinstance(self.prompt, str) and self.prompt != "numbered":
            raise ValueError(f"Tier({self.name!r}): prompt is a ChatPromptTemplate, 'numbered' or None")

    @property
    def most_tokens(self) -> int | None:
        """The window, declared or known of the model."""
        return self.window or (self.model.profile or {}).get("max_input_tokens")

    @cached_property
    def able(self) -> frozenset[str]:
        """What it takes requests for: `tools`, `images`, `json_schema`."""
        return frozenset(ability for ability in ("tools", "images", "json_schema") if self._can(ability))

    def can(self, ability: str) -> bool:
        """Whether it takes requests that need this."""
        return ability in self.able

    def _can(self, ability: str) -> bool:
        if self.use == "wording" and ability == "tools":
            return False
        if self.abilities is not None:
            return ability in self.abilities
        profile = self.model.profile or {}
        known = {"tools": profile.get("tool_calling", True), "images": profile.get("image_inputs", True)}
        return bool(known.get(ability, False))

    @cached_property
    def provider(self) -> str:
        """Whose model it is: `openai`, `anthropic`, … as LangChain's packages are called."""
        return type(self.model).__module__.partition(".")[0].removeprefix("langchain_")

    @property
    def origin(self) -> tuple[str, str]:
        """Provider and address: tiers that share both share an account, and its limits."""
        for name in ("openai_api_base", "base_url", "anthropic_api_url", "endpoint"):
            address = getattr(self.model, name, None)
            if isinstance(address, str) and address:
                return self.provider, address
        return self.provider, ""

    @property
    def account(self) -> tuple[tuple[str, str], str] | None:
        """Origin and key, where the model shows one; never to be written anywhere."""
        for name in ("openai_api_key", "api_key", "anthropic_api_key"):
            read: Any = getattr(getattr(self.model, name, None), "get_secret_value", None)
            if read is not None:
                return self.origin, read()
        return None


def _is_model(it: object) -> bool:
    return isinstance(it, BaseChatModel)


def check_tiers(tiers: Sequence[Tier]) -> None:
    """Raise where a chain cannot work: none, the same name twice, or nobody who may decide."""
    names = [tier.name for tier in tiers]
    if not tiers or len(set(names)) < len(names):
        raise ValueError(f"tiers need names of their own, and one at least: {names}")
    if tiers[0].use == "wording":
        raise ValueError(f"{names[0]}: the first tier decides; use='wording' is for the last")
    accounts = [tier.account for tier in tiers]
    shared = [tier.name for tier in tiers if tier.account is not None and accounts.count(tier.account) > 1]
    if shared:
        log.warning("tiers %s share an address and a key: one outage, or one spent quota, takes them all", shared)
