"""What a request needs of a model, and whether it fits its window (spec M6, C1)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from langgraph_degrade.stages.models.rendering.contents import Content
from langgraph_degrade.stages.models.rendering.media import kind_of

IMAGE = 1600
"""Tokens of one image ○: the most Anthropic counts for one; OpenAI's large models count less."""
BYTES_PER_TOKEN = 8
"""Of a recording, video or file in base64 ○: only its provider knows; at least as much as an image."""
FRAME = 8
"""Tokens around a message, a call or a tool ○; OpenAI counts 3 to 7."""

_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
_SIGNS = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_ASCII = bytes(range(0x80))
_CHINESE = bytes([*range(0xE2, 0xEA), 0xEF])
"""First of three bytes in UTF-8: Chinese and Japanese characters and punctuation."""


def estimated(text: str) -> int:
    """Tokens of a text, rather too many than too few in any language, without a tokenizer.

    Measured against five vocabularies (o200k, cl100k, DeepSeek, Qwen, Claude 2): 1.2 to 1.4 times their counts for
    English prose and code, 1.3 to 1.7 for JSON, 1.1 to 2 for Chinese. Too few, with some of them, for random letters and
    characters (0.5), emoji and hexadecimal ids (0.8). tiktoken is not asked: it would load its vocabulary from
    the network, and it knows only OpenAI's.

    Example:
        >>> estimated("order 12345"), estimated("订单在哪里")
        (7, 6)
    """
    raw = text.encode("utf-8", "surrogatepass")
    letters, signs, spaces = _counted(raw, _LETTERS), _counted(raw, _SIGNS), _counted(raw, b" ")
    beyond, chinese = (0, 0) if raw.isascii() else (len(raw.translate(None, _ASCII)), _counted(raw, _CHINESE))
    other = len(raw) - beyond - letters - signs - spaces  # digits, capitals, line ends: Qwen counts each digit
    return math.ceil(letters / 3.4 + signs * 0.75 + spaces / 10 + other + chinese * 1.2 + (beyond - 3 * chinese) * 0.6)


def _counted(raw: bytes, some: bytes) -> int:
    return len(raw) - len(raw.translate(None, some))


def fits(
    messages: Sequence[BaseMessage],
    tools: Sequence[Any],
    *,
    window: int | None,
    count: Callable[[str], int] = estimated,
    reserve: int = 0,
) -> bool:
    """Whether system part, dialogue and tools leave `reserve` tokens of the window for the answer.

    Errs on the side of no: what is said to fit does; what is said not to may still, just. Media are rough (`IMAGE`,
    `BYTES_PER_TOKEN`).

    Args:
        messages: the conversation, best as it is rendered for the tier.
        tools: what is bound: dicts as they go out, or whatever LangChain makes them of.
        window: tokens the tier takes in all; None, unknown, fits everything.
        count: tokens of a text.
        reserve: tokens kept for the answer.

    Example:
        >>> from langchain_core.messages import HumanMessage
        >>> fits([HumanMessage("你好" * 100)], [], window=200)
        False
    """
    if window is None:
        return True
    left = window - reserve
    for size in _sizes(messages, tools, count):
        left -= size
        if left < 0:
            return False
    return True


def needs(messages: Sequence[BaseMessage], tools: Sequence[Any]) -> frozenset[str]:
    """What the request takes to be answered unadapted: `tools`, `images` (as in `render`: media of any kind).

    Calls of earlier turns need no tools: they can be told in words.
    """
    found = {"tools"} if tools else set[str]()
    if any(kind_of(block) is not None for message in messages for block in _blocks(message.content)):
        found.add("images")
    return frozenset(found)


def _sizes(messages: Sequence[BaseMessage], tools: Sequence[Any], count: Callable[[str], int]) -> Iterator[int]:
    yield from (FRAME + count(_json(_as_sent(tool))) for tool in tools)
    for message in messages:
        content: Content = message.content
        yield FRAME + (count(content) if isinstance(content, str) else 0)
        if not isinstance(content, str):
            yield from (_block(block, count) for block in content)
        if isinstance(message, AIMessage):
            calls = [*message.tool_calls, *message.invalid_tool_calls]
            yield from (FRAME + count(_json([call["name"], call["args"], call["id"]])) for call in calls)


def _block(block: str | dict[str, Any], count: Callable[[str], int]) -> int:
    if isinstance(block, str):
        return count(block)
    if block.get("type") == "text":
        return count(str(block.get("text") or ""))
    kind = kind_of(block)
    if kind is None:
        return FRAME + count(_json(block))
    return IMAGE if kind == "image" else max(IMAGE, len(_json(block)) // BYTES_PER_TOKEN)


def _blocks(content: Content) -> Iterator[Mapping[str, Any]]:
    if not isinstance(content, str):
        yield from (block for block in content if isinstance(block, dict))


def _as_sent(tool: Any) -> Any:
    if isinstance(tool, Mapping):
        return tool
    from langchain_core.utils.function_calling import convert_to_openai_tool

    return convert_to_openai_tool(tool)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
