"""Reading an error body: whatever vendor wrote it, it comes down to codes, a number, a message and a wait."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from langgraph_degrade.failures import codes, statuses
from langgraph_degrade.failures.failure import Kind
from langgraph_degrade.failures.shapes import Body, is_array, is_object

_CODE_KEYS: Final = (
    "sub_code", "err_code", "code", "Code", "type", "status", "error_code", "errcode", "errorCode", "errCode",
    "errorcode", "infocode", "info", "reason", "__type",
)  # fmt: skip
_NUMBER_KEYS: Final = (*_CODE_KEYS, "status_code", "statusCode", "http_status", "httpStatus")
_MESSAGE_KEYS: Final = (
    "sub_msg", "message", "msg", "errmsg", "err_msg", "error_msg", "error_message", "errorMessage", "Message",
    "status_msg", "err_code_des", "return_msg", "error_description", "description", "faultstring", "detail", "info", "reason", "title", "error", "text",
)  # fmt: skip
_WAIT_KEYS: Final = ("retry_after", "retryAfter", "retry_after_seconds", "retryDelay", "estimated_time")
_NESTED: Final = frozenset((
    "error", "Error", "err", "fault", "error_response", "Response", "ResponseMetadata", "base_resp", "header",
    "innererror", "extensions", "errors", "detail", "details", "violations", "parameters", "content",
))  # fmt: skip
_LONGEST = 4000
"""Characters of a message that are looked at ○."""
_DEEPEST = 5
_WIDEST = 5
_EMBEDDED: Final = r"^(?:litellm\.(\w{3,60})|<\d{3}> ([A-Za-z.]{3,60}):)"
"""LiteLLM and DashScope's compatible mode put the real code in front of the message."""
_XML_CODE: Final = r"(?i)<(?:\w{1,20}:)?(?:Code|ErrorCode|faultcode)>\s*([\w.:-]{2,60})\s*</"
_XML_MESSAGE: Final = r"(?i)<(?:\w{1,20}:)?(?:Message|ErrorMessage|faultstring|Description)>([^<]{1,500})</"
_TITLE: Final = r"(?i)<(?:title|h1)[^>]{0,40}>\s*(\d{3})\b"


class Report(NamedTuple):
    """What an error body says."""

    codes: tuple[str, ...] = ()
    """Identifiers, the most specific first."""
    words: tuple[str, ...] = ()
    """Identifiers from places meant for text: good for anything but "no money", which is final (case P02)."""
    vendor: Kind | None = None
    """The meaning of a numeric code of a known vendor."""
    number: str = ""
    """That code."""
    status: int | None = None
    """A number that is an HTTP error status."""
    message: str = ""
    wait: object = None


class _Node(NamedTuple):
    place: str
    body: Body


def read(body: object) -> Report:
    """Read an error body: parsed JSON, or the text of an XML or HTML page, or a bare message."""
    if isinstance(body, str):
        return _read_text(body)
    nodes = list(_nodes(body, "", 0))
    vendor, number = _vendor(nodes)
    message = _message(nodes)
    return Report(
        codes=tuple(code for node in nodes for code in _codes(node.body)),
        words=tuple(_words(nodes, message)),
        vendor=vendor,
        number=number,
        status=next((status for node in nodes for status in _statuses(node.body)), None),
        message=message,
        wait=next((wait for node in nodes for wait in _waits(node.body)), None),
    )


def _read_text(text: str) -> Report:
    """Read a page by set phrases only: a parser would fetch entities, and pages are seldom well-formed."""
    if not text.lstrip().startswith("<"):
        return Report(message=text[:_LONGEST])
    head = text[:_LONGEST]
    code, message, title = re.search(_XML_CODE, head), re.search(_XML_MESSAGE, head), re.search(_TITLE, head)
    status = int(title[1]) if title and statuses.is_error(int(title[1])) else None
    return Report(codes=(code[1],) if code else (), message=message[1].strip() if message else "", status=status)


def _nodes(value: object, place: str, depth: int) -> Iterator[_Node]:
    """Walk the objects of a body, innermost first: the innermost code is the most specific."""
    if depth > _DEEPEST:
        return
    for key, inner in _inside(value, place):
        yield from _nodes(inner, key, depth + 1)
    if is_object(value):
        yield _Node(place, value)


def _inside(value: object, place: str) -> Iterator[tuple[str, object]]:
    if is_array(value):
        yield from ((place, item) for item in value[:_WIDEST])
    elif is_object(value):
        yield from ((key, value[key]) for key in value if key in _NESTED or str(key).endswith("_response"))


def _codes(body: Body) -> Iterator[str]:
    quota = body.get("quotaId")
    if isinstance(quota, str) and "PerDay" in quota:
        yield "daily_limit_exceeded"  # Gemini: the same RESOURCE_EXHAUSTED, but tomorrow
    for key in _CODE_KEYS:
        value = body.get(key)
        if isinstance(value, str) and codes.is_code(tail := re.split(r"[#/]", value)[-1]):
            yield tail


def _words(nodes: Sequence[_Node], message: str) -> Iterator[str]:
    for node in nodes:
        value = node.body.get("error")
        if isinstance(value, str) and codes.is_code(value):
            yield value
    if found := re.match(_EMBEDDED, message):
        yield found[1] or found[2]


def _vendor(nodes: Sequence[_Node]) -> tuple[Kind | None, str]:
    for node in nodes:
        for key in _NUMBER_KEYS:
            number = _number(node.body.get(key))
            kind = codes.VENDORS.get(_position(node.place, key), {}).get(str(number))
            if kind is not None:
                return kind, str(number)
    return None, ""


def _position(place: str, key: str) -> str:
    if key in {"error_code", "errorCode", "err_code"}:
        return "error_code"
    if key in {"errcode", "errCode"}:
        return "errcode"
    if place in {"error", "errors"}:
        return f"error.{key}"
    return f"{place}.{key}" if place else key


def _statuses(body: Body) -> Iterator[int]:
    for key in _NUMBER_KEYS:
        number = _number(body.get(key))
        if number is not None and statuses.is_error(number):
            yield number


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and len(value) < 10 and value.removeprefix("-").isdecimal():
        return int(value)
    return None


def _message(nodes: Sequence[_Node]) -> str:
    for node in nodes:
        for key in _MESSAGE_KEYS:
            value = node.body.get(key)
            if isinstance(value, str) and value.strip():
                return value[:_LONGEST]
        errors = node.body.get("errors")
        if is_array(errors) and errors and isinstance(errors[0], str):
            return errors[0][:_LONGEST]
    return ""


def _waits(body: Body) -> Iterator[object]:
    for key in _WAIT_KEYS:
        if body.get(key) is not None:
            yield body[key]
