"""What an HTTP status means (spec F1; ○ where the spec gives none)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from langgraph_degrade.failures.failure import Kind
from langgraph_degrade.failures.terms import Source

_KINDS: Final[Mapping[int, Kind]] = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "not_found",
    407: "auth",
    408: "timeout",
    409: "business",  # the request was understood and clashes with the state of things: a rule said no
    410: "incompatible",
    412: "business",
    419: "auth",  # Laravel: session expired
    423: "business",
    424: "server_error",  # text-generation-inference: generation failed
    425: "overloaded",
    426: "incompatible",
    429: "rate_limit",
    440: "auth",  # IIS: login time-out
    498: "auth",  # invalid token
    499: "unknown",  # somebody between us and the target hung up
    503: "overloaded",
    504: "timeout",
    505: "incompatible",
    509: "rate_limit",
    511: "auth",
    522: "timeout",
    524: "timeout",
    529: "overloaded",
    598: "timeout",
    599: "timeout",
}
_MODEL_KINDS: Final[Mapping[int, Kind]] = {
    409: "bad_request",  # a model has no business rules
    412: "bad_request",
    413: "context_overflow",
    423: "bad_request",
}

_ERROR = 400
_SERVER_ERROR = 500
_REDIRECT = 300
_END = 600


def is_failure(status: int) -> bool:
    """Tell whether a final status says the request did not succeed; 304 and 1xx–2xx do not."""
    return _REDIRECT <= status < _END and status != 304


def is_error(status: object) -> bool:
    """Tell whether a number found somewhere is an HTTP error status."""
    return isinstance(status, int) and not isinstance(status, bool) and _ERROR <= status < _END


def kind_of(status: int, source: Source) -> Kind:
    """Name the kind of a failing status: 422 and unknown 4xx are `bad_request`, redirects `incompatible`."""
    if source == "model" and status in _MODEL_KINDS:
        return _MODEL_KINDS[status]
    if status in _KINDS:
        return _KINDS[status]
    if status >= _SERVER_ERROR:
        return "server_error"
    return "bad_request" if status >= _ERROR else "incompatible"
