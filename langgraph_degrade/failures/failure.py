"""`Failure`: what went wrong, as a value. Kinds are told apart to the end (spec F2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "timeout",
    "connection",
    "rate_limit",
    "overloaded",
    "server_error",
    "auth",
    "quota",
    "bad_request",
    "incompatible",
    "not_found",
    "context_overflow",
    "content_filter",
    "refusal",
    "schema",
    "empty",
    "malformed_call",
    "business",
    "unknown",
    # not the target's fault:
    "cancelled",
    "shed",
    "open",
    "budget",
    "deadline",
]

BLAMELESS: frozenset[Kind] = frozenset({"cancelled", "shed", "open", "budget", "deadline"})
"""Kinds that say nothing about the target: nobody's breaker moves."""

ANSWERS: frozenset[Kind] = frozenset({"business", "not_found", "bad_request"})
"""The target worked and said no: told to the caller as such, never degraded, never a breaker's business."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One classified failure.

    Example:
        >>> Failure("rate_limit", retry_after=30.0, status=429, reason="http 429").kind
        'rate_limit'
    """

    kind: Kind
    transient: bool = False
    """A moment later the same call may well succeed (spec T1: timeouts and connection faults)."""
    retry_after: float | None = None
    """Seconds the target asked to be left alone, never negative; None where it did not say."""
    status: int | None = None
    """HTTP status, where there was one (of the response, or of an error inside a 200 body)."""
    reason: str = ""
    """Short and safe to show operators: `http 503`, `data: required field missing at $.data.price`. Never an
    exception's text, never a secret."""
    message: str = ""
    """For `business`, `not_found` and `bad_request`: what the target said, for the model (capped, cleaned)."""
    limit: int | None = None
    """For `context_overflow`: the window in tokens, where the target told it."""
    unsent: bool = False
    """The request certainly never reached the target (connection refused, DNS, pool timeout)."""
    vague: bool = False
    """The kind rests on words or on an exception's class alone, not on a status, a code or a declared rule: enough to
    tell a reader, not enough to say of a write that it was not done."""
    cause: BaseException | None = field(default=None, compare=False, repr=False)
    """The original error, kept for `raise ... from` and for telemetry; never serialised."""
