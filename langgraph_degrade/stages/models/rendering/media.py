"""Images, recordings, videos and files in a message, in the many shapes they come in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import HumanMessage

from langgraph_degrade.stages.models.rendering.makers import CLAUDES
from langgraph_degrade.stages.models.rendering.reader import Reader
from langgraph_degrade.stages.models.rendering.records import quoted
from langgraph_degrade.texts import one_line

_KINDS: Mapping[str, str] = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "audio": "audio",
    "input_audio": "audio",
    "video": "video",
    "video_url": "video",
    "input_video": "video",
    "file": "file",
    "input_file": "file",
    "document": "file",
    "media": "file",
    "text-plain": "file",
}
"""LangChain's own blocks of both versions, OpenAI's, Anthropic's, Google's (`media`)."""
_OWN: Mapping[str, frozenset[str]] = {
    "document": CLAUDES,
    "text-plain": CLAUDES,  # langchain-openai raises on it
    "media": frozenset({"google_genai", "google_vertexai"}),
    "input_image": frozenset({"openai"}),
    "input_audio": frozenset({"openai"}),
    "input_file": frozenset({"openai"}),
}
"""Shapes that only some take as they are; the others are LangChain's, or OpenAI's that all know."""
LONGEST_NAME = 80
"""Characters of a file's name in a note ○."""


def kind_of(block: Mapping[str, Any]) -> str | None:
    """`image`, `audio`, `video` or `file`; None where the block is none of them."""
    kind = block.get("type")
    if kind is None:  # Bedrock's Converse blocks have no type: {"image": {"format": …, "source": …}}
        return next((_KINDS[key] for key in ("image", "video", "document") if isinstance(block.get(key), dict)), None)
    found = _KINDS.get(kind) if isinstance(kind, str) else None
    if found == "file":
        major = str(block.get("mime_type") or block.get("media_type") or "").partition("/")[0]
        return major if major in ("image", "audio", "video") else "file"
    return found


def shown(block: dict[str, Any], kind: str, reader: Reader) -> dict[str, Any]:
    """The block in a shape the reader takes; what has none, and what stands in another's storage, is told."""
    if reader.takes_media and reader.family in _takers(block, reader):
        return block
    found: Any = HumanMessage([block]).content_blocks[0] if reader.takes_media and not _words(block) else {}
    if found.get("url") or found.get("base64"):
        return {key: value for key, value in found.items() if key != "id"}
    return {"type": "text", "text": told(block, kind, reader)}


def _takers(block: Mapping[str, Any], reader: Reader) -> frozenset[str | None]:
    kind = block.get("type")
    if kind is None:
        return frozenset({"bedrock"})
    is_anthropics = kind == "image" and isinstance(block.get("source"), dict)
    return (CLAUDES if is_anthropics else _OWN.get(kind)) or frozenset({reader.family})


def told(block: Mapping[str, Any], kind: str, reader: Reader) -> str:
    """What stands in place of one: a note, or the words of a document that has nothing else."""
    name = _name(block)
    named = (f"「{name}」" if reader.language == "zh" else f" “{name}”") if name else ""
    words = _words(block)
    if words:
        return f"{reader.say('render.document', name=named)}\n{quoted(words)}"
    return reader.say(f"render.{kind}", name=named)


def _words(block: Mapping[str, Any]) -> str:
    """The text of a text document."""
    source = block.get("source")
    if block.get("type") == "text-plain" or block.get("source_type") == "text":
        found = block.get("text")
    elif isinstance(source, dict) and source.get("type") == "text":
        found = source.get("data")
    else:
        found = None
    return found if isinstance(found, str) else ""


def _name(block: Mapping[str, Any]) -> str:
    places = [block, *(block.get(key) for key in ("file", "document", "extras", "metadata"))]
    names = (
        place.get(key) for place in places if isinstance(place, dict) for key in ("filename", "title", "name") if place
    )
    return next((one_line(name, LONGEST_NAME) for name in names if isinstance(name, str) and name), "")
