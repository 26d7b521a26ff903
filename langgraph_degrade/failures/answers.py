"""HTTP answers, whoever holds them: a client's response object, or an exception that carries one.

Nothing is imported and nothing is read from the network: a body that isn't in memory yet is left alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, cast

from langgraph_degrade.failures import classes, reports, statuses
from langgraph_degrade.failures.failure import Failure
from langgraph_degrade.failures.shapes import attribute, is_object
from langgraph_degrade.failures.terms import Terms
from langgraph_degrade.failures.verdicts import Evidence, judge

_STATUS_NAMES: Final = ("status_code", "status", "http_status", "code", "http_code")
_AIOHTTPS_OWN: Final = frozenset({"HttpProcessingError"})
_BODY_NAMES: Final = ("_content", "_body", "body", "details", "detail", "error", "description", "message")
"""`_content` and `_body` are where httpx, requests, aiohttp and urllib3 keep what they have read; their public
attributes would read the rest from the socket, or raise."""
LARGEST: Final = 256 * 1024
"""Bytes of a successful body that are looked into ○: an error report is never larger."""
_GRPC: Final[Mapping[str, int]] = {
    "CANCELLED": 499, "UNKNOWN": 500, "INVALID_ARGUMENT": 400, "DEADLINE_EXCEEDED": 504, "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409, "PERMISSION_DENIED": 403, "RESOURCE_EXHAUSTED": 429, "FAILED_PRECONDITION": 400,
    "ABORTED": 409, "OUT_OF_RANGE": 400, "UNIMPLEMENTED": 505, "INTERNAL": 500, "UNAVAILABLE": 503, "DATA_LOSS": 500,
    "UNAUTHENTICATED": 401,
}  # fmt: skip


class Answer(NamedTuple):
    """One HTTP answer, as far as it is known."""

    status: int | None
    headers: Mapping[str, str]
    body: object
    """Parsed JSON, text, bytes that are neither, or None where there is none in memory."""


def of_response(response: object) -> Answer | None:
    """Read a response object of httpx, httpx2, requests, urllib3, aiohttp or the standard library."""
    if not any(cls.__name__.endswith("Response") for cls in type(response).__mro__):
        return None  # anything else may have attributes that cost, or do, something
    status = _first_status(response, statuses_only=False)
    headers = _headers(response)
    if status is None or headers is None:
        return None
    content = _first(response, _BODY_NAMES[:2])
    too_large = isinstance(content, bytes) and len(content) > LARGEST and not statuses.is_failure(status)
    return Answer(status, headers, None if too_large else decoded(content))


def carried_by(error: BaseException) -> Answer | None:
    """Read the answer an exception was raised about; None where it carries none that failed."""
    if classes.is_a(error, "aiohttp", _AIOHTTPS_OWN):
        return None  # its `code` is what a server of aiohttp's would answer, nothing that came
    response = attribute(error, "response")
    if is_object(response):
        return _of_botocore(response)
    answer = of_response(response) if response is not None else None
    if answer is not None and statuses.is_failure(answer.status or 0):
        return answer if answer.body is not None else Answer(answer.status, answer.headers, _body_of(error))
    status = _first_status(error, statuses_only=True) or _grpc_status(error)
    return Answer(status, _headers(error) or {}, _body_of(error)) if status else None


def judge_answer(answer: Answer, terms: Terms) -> Failure:
    """Name the kind of an answer whose status says failure."""
    report = reports.read(answer.body)
    if aws := answer.headers.get("x-amzn-errortype"):
        report = reports.read({"error": answer.body, "code": aws.partition(":")[0]})
    return judge(Evidence(report, answer.status, answer.headers), terms)


def decoded(content: object) -> object:
    """Decode bytes to text and text to JSON where it is JSON; anything else is returned as it is."""
    if isinstance(content, bytes | bytearray):
        content = text_of(bytes(content))
    if not isinstance(content, str) or not content.lstrip().startswith(("{", "[")):
        return content
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content


def text_of(content: bytes) -> str | bytes:
    """Decode a body as UTF-8 or GB18030 (case X07); undecodable bytes are returned unchanged."""
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    return content


def _of_botocore(response: Mapping[str, Any]) -> Answer | None:
    metadata = response.get("ResponseMetadata", {})
    status = metadata.get("HTTPStatusCode")
    headers = {str(name).lower(): str(value) for name, value in metadata.get("HTTPHeaders", {}).items()}
    return Answer(status if statuses.is_error(status) else None, headers, {"Error": response.get("Error", {})})


def _first_status(holder: object, *, statuses_only: bool) -> int | None:
    for name in _STATUS_NAMES:
        value = attribute(holder, name)
        if isinstance(value, int) and not isinstance(value, bool) and (statuses.is_error(value) or not statuses_only):
            return int(value)
    return None


def _grpc_status(error: BaseException) -> int | None:
    code = attribute(error, "code")
    if not callable(code) or "grpc" not in classes.roots(error):
        return None
    name = attribute(cast("Callable[[], object]", code)(), "name")
    return _GRPC.get(name) if isinstance(name, str) else None


def _headers(holder: object) -> Mapping[str, str] | None:
    headers = attribute(holder, "headers")
    items = attribute(headers, "items")
    if not callable(items):
        return None
    return {str(name).lower(): str(value) for name, value in cast("Callable[[], Any]", items)()}


def _body_of(error: BaseException) -> object:
    return decoded(_first(error, _BODY_NAMES))


def _first(holder: object, names: tuple[str, ...]) -> object:
    values = (attribute(holder, name) for name in names)
    return next((value for value in values if value is not None and value is not False), None)
