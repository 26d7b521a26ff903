"""Who made a message, and whose extras a provider understands.

Sources: `response_metadata["model_provider"]` as the installed langchain-core 1.8 and langchain-openai 1.7 set it, and
the shapes their block translators read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage

Block = Mapping[str, Any]

_FAMILIES: Mapping[str, str] = {
    "azure": "openai",
    "azure_openai": "openai",
    "anthropic_bedrock": "anthropic",
    "google_anthropic_vertex": "anthropic",
    "google": "google_genai",
    "mistral": "mistralai",
    "amazon_bedrock": "bedrock",
    "aws": "bedrock",
    "bedrock_converse": "bedrock",
}
"""Other names of the same: packages, `ls_provider` and `model_provider` don't agree on them."""

CLAUDES = frozenset({"anthropic", "bedrock"})
"""Where Anthropic's shapes are understood."""
_OPEN_REASONING = frozenset(
    {"deepseek", "xai", "groq", "ollama", "qwen", "qwq", "tongyi", "dashscope", "moonshot", "fireworks", "openrouter"}
)
_NOBODY: frozenset[str] = frozenset()

CACHE_MARKERS: Mapping[str, frozenset[str]] = {
    "cache_control": CLAUDES | {"openrouter", "litellm", "qwen", "tongyi", "dashscope"},
    "cachePoint": frozenset({"bedrock"}),
    "prompt_cache_breakpoint": frozenset({"openai"}),
}
"""Keys of a block that only ask for caching, and who understands them."""

REASONING = frozenset({"reasoning", "thinking", "redacted_thinking", "reasoning_content"})
"""Types of the blocks that hold what a model thought."""

_KWARGS: Mapping[str, frozenset[str]] = {
    "reasoning": frozenset({"openai"}),
    "tool_outputs": frozenset({"openai"}),
    "__openai_function_call_ids__": frozenset({"openai"}),
    "__gemini_function_call_thought_signatures__": frozenset({"google_genai", "google_vertexai"}),
    "reasoning_content": _OPEN_REASONING,
    "reasoning_details": frozenset({"openrouter"}),
}
"""Keys of `additional_kwargs` that tell who made a message."""

PROVIDER_ONLY = frozenset({*_KWARGS, "refusal", "parsed", "audio", "thinking", "citations"})
"""Keys of `additional_kwargs` that no other provider understands."""


def family_of(provider: str | None) -> str | None:
    """The one name a provider goes by here.

    Example:
        >>> family_of("azure_openai")
        'openai'
    """
    return None if provider is None else _FAMILIES.get(provider.replace("-", "_"), provider.replace("-", "_"))


def maker_of(message: AIMessage) -> str | None:
    """The family that says it made the message; None where it does not say."""
    told = message.response_metadata.get("model_provider")
    return family_of(told) if isinstance(told, str) and told else None


def is_own(message: AIMessage, family: str | None) -> bool:
    """Whether `family` made the message: as it says itself, else by the shape of its blocks and extras."""
    if family is None:
        return False
    maker = maker_of(message)
    if maker is not None:
        return maker == family
    signs = list(_signs(message))
    return bool(signs) and all(family in makers for makers in signs)


def _signs(message: AIMessage) -> Iterator[frozenset[str]]:
    """Who can have made each of the parts that tell."""
    yield from (_KWARGS[key] for key in message.additional_kwargs if key in _KWARGS)
    if isinstance(message.content, list):
        for block in message.content:
            if isinstance(block, dict) and block.get("type") in REASONING:
                yield _thinker(block)


def _thinker(block: Block) -> frozenset[str]:
    kind = block["type"]
    if kind == "redacted_thinking" or (kind == "thinking" and block.get("signature")):
        return CLAUDES
    if kind == "reasoning" and ("summary" in block or "encrypted_content" in block):
        return frozenset({"openai"})
    return frozenset({"bedrock"}) if kind == "reasoning_content" else _NOBODY
