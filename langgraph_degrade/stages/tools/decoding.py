"""Bytes made text, and text made JSON, with the schema as judge between charsets."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator

from langgraph_degrade.stages.tools.locating import schema_error

MAX_UNZIPPED = 32 * 1024 * 1024
"""○ Bytes a gzip body may unfold to."""
NOT_JSON = object()

_SAMPLE = 10_000  # ○ characters that show what language a text is in
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_GB = frozenset({"gb2312", "gbk", "cp936", "gb_2312-80", "gb18030", "x-gbk"})
_CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f]")
_THREE_BYTES = re.compile("[\u0800-\U0010ffff]")


def decode(data: bytes, content_type: str | None = None, *, judge: Callable[[object], bool] | None = None) -> object:
    """Return the JSON value in `data`, or its text where it holds none.

    The ladder: the charset declared in `content_type`, UTF-8 with or without a mark, GB18030. Of the readings that are
    JSON the first that `judge` accepts wins, else the first; then the first that is text at all.

    Raises:
        ToolSchemaError: not text in any of them, or a gzip body that does not unfold.

    Example:
        >>> decode('{"状态": "已发货"}'.encode("gbk"), "application/json; charset=utf-8")
        {'状态': '已发货'}
    """
    texts = list(_texts(_unzipped(data), _declared(content_type)))
    if not texts:
        raise schema_error("not text in any known charset")
    values = [value for text in texts if (value := parse(text)) is not NOT_JSON]
    if len(values) > 1 and judge:
        return next(filter(judge, values), values[0])
    return values[0] if values else texts[0]


def parse(text: str) -> object:
    """Return the JSON value in `text`, or `NOT_JSON`.

    Raises:
        ToolSchemaError: nested so deeply that Python itself cannot read it.
    """
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except ValueError:
        return NOT_JSON
    except RecursionError:
        raise schema_error("nested too deeply to be read") from None


def _declared(content_type: str | None) -> str:
    found = _CHARSET.search(content_type or "")
    name = found[1].lower() if found else "utf-8"
    return "gb18030" if name in _GB else name  # the superset of them all


def _unzipped(data: bytes) -> bytes:
    """Unfold a body that is still compressed, because its header did not say so or nobody looked."""
    if data[:2] != b"\x1f\x8b":
        return data
    stream = zlib.decompressobj(wbits=31)
    try:
        unzipped = stream.decompress(data, MAX_UNZIPPED)
    except zlib.error:
        raise schema_error("broken gzip body") from None
    if not stream.eof:
        raise schema_error("cut or oversized gzip body")
    return unzipped


def _texts(data: bytes, declared: str) -> Iterator[str]:
    utf8 = _strict(data, "utf-8-sig")
    if utf8 is not None and _THREE_BYTES.search(utf8):
        declared = "utf-8"  # Chinese that is valid UTF-8 is UTF-8, whatever the header says
    if declared not in ("utf-8", "utf8") and (text := _strict(data, declared)) is not None:
        yield text
    if utf8 is not None:
        yield utf8
    elif (text := _strict(data, "gb18030")) is not None and _plausible(text):
        yield text


def _strict(data: bytes, charset: str) -> str | None:
    try:
        return data.decode(charset)
    except (ValueError, LookupError):  # not in this charset; no such charset
        return None


def _plausible(text: str) -> bool:
    """Tell Chinese from bytes that merely decode: mostly everyday characters (GB2312 has them), no control characters."""
    sample = text[:_SAMPLE]
    foreign = sum(not char.isascii() for char in sample)
    everyday = len(sample.encode("gb2312", "ignore")) - (len(sample) - foreign)
    return not _CONTROL.search(text) and everyday >= foreign  # two bytes each: at least half of them
