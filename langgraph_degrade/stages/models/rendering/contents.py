"""What one message holds, without what the reader cannot take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langgraph_degrade.stages.models.rendering.makers import CACHE_MARKERS, PROVIDER_ONLY, family_of, is_own, maker_of
from langgraph_degrade.stages.models.rendering.media import kind_of, shown, told
from langgraph_degrade.stages.models.rendering.reader import Reader

Content = str | list[str | dict[str, Any]]
_PLAIN = frozenset({"type", "text", "cache_control"})
_ISSUED = ("msg_", "resp_", "rs_", "lc_")
"""Beginnings of the ids under which OpenAI and Anthropic keep a message; sent elsewhere, they are looked up in vain."""


def adapted(message: BaseMessage, reader: Reader) -> BaseMessage:
    """The message as the reader can take it; the same object where it can already."""
    foreign = False
    if isinstance(message, AIMessage) and not is_own(message, reader.family):
        message, foreign = plain(message), True
    if "cache_control" in message.additional_kwargs and not _understands("cache_control", reader):
        message = message.model_copy(update={"additional_kwargs": _without(message.additional_kwargs, "cache_control")})
    if isinstance(message.content, str):
        return message
    glue = "" if message.type.lower().startswith("ai") else "\n"
    content = fitted(message.content, reader, shows_media=reader.takes_media and not foreign, glue=glue)
    return message if content is message.content else message.model_copy(update={"content": content})


def is_plain(messages: Sequence[BaseMessage], provider: str | None) -> bool:
    """Whether `render` would change nothing, whatever else the provider takes: words alone, taking turns.

    True of most conversations before their first tool call; spares them everything else that is done here.
    """
    wanted: type[BaseMessage] = HumanMessage
    for place, message in enumerate(messages):
        kind = type(message)
        content = message.content
        if type(content) is not str or message.additional_kwargs or not content or content.isspace():
            return False
        if kind is SystemMessage and place == 0:
            continue
        if kind is not wanted or (
            isinstance(message, AIMessage) and not _is_plain_answer(message, family_of(provider))
        ):
            return False
        wanted = AIMessage if wanted is HumanMessage else HumanMessage
    return True


def _is_plain_answer(message: AIMessage, family: str | None) -> bool:
    if message.tool_calls or message.invalid_tool_calls:
        return False
    return is_own(message, family) or plain(message) is message


def fitted(content: Content, reader: Reader, *, shows_media: bool, glue: str = "\n") -> Content:
    """Without blank text and foreign cache markers, media noted where they can't be shown.

    Models that take no media often take no lists either: nothing but text becomes one text, joined by `glue`.
    """
    if isinstance(content, str):
        return content
    blocks = [kept for block in content if (kept := _fitted(block, reader, shows_media=shows_media)) is not None]
    is_same = same(blocks, content)
    if (is_same and reader.takes_media) or not blocks:
        return content if is_same else ""
    texts = [block["text"] for block in blocks if _is_text(block)]
    if len(texts) == len(blocks):
        return glue.join(texts)
    return content if is_same else [*blocks]


def same(blocks: Sequence[object], before: Sequence[object]) -> bool:
    """Whether nothing was changed, left out or put in."""
    return len(blocks) == len(before) and all(one is other for one, other in zip(blocks, before, strict=True))


def _is_text(block: dict[str, Any]) -> bool:
    return block.keys() == {"type", "text"} and block["type"] == "text"


def _fitted(block: str | dict[str, Any], reader: Reader, *, shows_media: bool) -> dict[str, Any] | None:
    """One block as it goes out; None where nothing of it does."""
    if isinstance(block, str):  # langchain-openai fails on it where it speaks the Responses API
        block = {"type": "text", "text": block}
    if block.get("type") == "text" and not str(block.get("text") or "").strip():
        return None
    kind = kind_of(block)
    if kind is not None:
        block = shown(block, kind, reader) if shows_media else {"type": "text", "text": told(block, kind, reader)}
    block = _unmarked(block, reader)
    inner = block.get("content")
    if isinstance(inner, list):  # results inside a block of another: Anthropic's `tool_result`, `search_result`
        held = fitted(cast("Content", inner), reader, shows_media=shows_media)
        return block if held is inner else {**block, "content": held}
    return block or None


def _unmarked(block: dict[str, Any], reader: Reader) -> dict[str, Any]:
    """Without the cache markers the reader would refuse."""
    for marker in CACHE_MARKERS:
        if _understands(marker, reader):
            continue
        if marker in block:
            block = _without(block, marker)
        extras = block.get("extras")
        if isinstance(extras, dict) and marker in extras:
            block = {**block, "extras": _without(cast("dict[str, Any]", extras), marker)}
    return block


def _understands(marker: str, reader: Reader) -> bool:
    return reader.family in CACHE_MARKERS[marker]


def _without(mapping: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in mapping.items() if name != key}


def plain(message: AIMessage) -> AIMessage:
    """What any provider understands of another's message: its words, its media and its tool calls.

    Reasoning, signatures, citations, items of built-in tools and ids are gone; a refusal stays as the words it has.
    """
    made_elsewhere = maker_of(message) is not None
    extras = message.additional_kwargs
    kept = {} if made_elsewhere else {key: value for key, value in extras.items() if key not in PROVIDER_ONLY}
    content = _plain(message.content) or _refusal(extras.get("refusal"))
    is_issued = str(message.id or "").startswith(_ISSUED)
    if content == message.content and kept == extras and not (made_elsewhere or is_issued):
        return message
    return AIMessage(
        content=content,
        tool_calls=message.tool_calls,
        invalid_tool_calls=message.invalid_tool_calls,
        additional_kwargs=kept,
        response_metadata={} if made_elsewhere else message.response_metadata,
        id=None if is_issued else message.id,
        name=message.name,
    )


def _plain(content: Content) -> Content:
    if isinstance(content, str):
        return content
    blocks = [kept for block in content if (kept := _plain_block(block)) is not None]
    if same(blocks, content):
        return content
    texts = [block["text"] for block in blocks if _is_text(block)]
    return "".join(texts) if len(texts) == len(blocks) else [*blocks]


def _plain_block(block: str | dict[str, Any]) -> dict[str, Any] | None:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    kind = block.get("type")
    if kind == "refusal":
        return {"type": "text", "text": _refusal(block.get("refusal"))}
    if kind in ("text", "output_text"):
        is_plain = kind == "text" and block.keys() <= _PLAIN
        return block if is_plain else {"type": "text", "text": str(block.get("text") or "")}
    return None if kind_of(block) is None else block


def _refusal(words: object) -> str:
    return words if isinstance(words, str) else ""


def is_blank(message: BaseMessage) -> bool:
    """Whether nothing is said in it."""
    if isinstance(message.content, str):
        return not message.content.strip()
    return not message.content or (isinstance(message, SystemMessage) and not str(message.text).strip())
