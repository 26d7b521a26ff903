"""From what an answer says to a `Failure`: codes before statuses, statuses before phrases (spec F1, cases P01–P14)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from langgraph_degrade.failures import codes, overflow, statuses, texts, wire
from langgraph_degrade.failures.failure import ANSWERS, Failure, Kind
from langgraph_degrade.failures.reports import Report
from langgraph_degrade.failures.terms import Terms

_TRANSIENT: Final[frozenset[Kind]] = frozenset({"timeout", "connection"})
"""Spec T1, and nothing else: 429, 503 and broken answers are not tried again."""
_WAITING: Final[frozenset[Kind]] = frozenset({"rate_limit", "quota", "overloaded"})
_MAY_OVERFLOW: Final[frozenset[Kind]] = frozenset({"bad_request", "server_error"})
_FINAL: Final[frozenset[Kind]] = frozenset({"bad_request", "auth"})
"""Never tried again as they are, so that a text may say why: Anthropic has no code for an empty account."""
_GENERAL: Final = frozenset({400, 500, 502})
"""Statuses that gateways put around anything; a number inside the body is nearer to the fault."""
_FORBIDDEN = 403


class Evidence(NamedTuple):
    """An answer that is known to be a failure."""

    report: Report = Report()
    status: int | None = None
    """The answer's own HTTP status, where that says failure."""
    headers: Mapping[str, str] = MappingProxyType({})
    """Lower-case names."""
    default: Kind = "unknown"
    """The kind where nothing in the answer tells."""
    label: str = "error in the body"
    """What the reason says where there is no status."""
    declared: bool = False
    """`default` is what the target's declaration says, no guess."""


class _Basis(NamedTuple):
    """A kind and what it rests on."""

    kind: Kind
    code: str = ""
    vague: bool = False


def failed(kind: Kind, reason: str, *, message: str = "", unsent: bool = False, vague: bool = False) -> Failure:
    """Make a failure; the one place that says which kinds are transient."""
    told = texts.clean(message) if kind in ANSWERS else ""
    return Failure(kind, transient=kind in _TRANSIENT, reason=reason, message=told, unsent=unsent, vague=vague)


def judge(evidence: Evidence, terms: Terms) -> Failure:
    """Name the kind of a failed answer, and read its wait, window and message."""
    report, status = evidence.report, _status(evidence)
    basis = _basis(report, status, evidence, terms)
    kind = _refined(basis.kind, evidence, terms)
    return Failure(
        kind,
        transient=kind in _TRANSIENT,
        retry_after=_wait(kind, evidence, terms),
        status=status,
        reason=_reason(status, basis.code, evidence.label),
        message=texts.clean(report.message) if kind in ANSWERS else "",
        limit=overflow.limit_in(report.message) if kind == "context_overflow" else None,
        vague=basis.vague and status is None,
    )


def _status(evidence: Evidence) -> int | None:
    inner = evidence.report.status
    return inner if inner and (evidence.status is None or evidence.status in _GENERAL) else evidence.status


def _basis(report: Report, status: int | None, evidence: Evidence, terms: Terms) -> _Basis:
    if coded := _coded(report):
        return coded
    if status is not None:
        return _Basis(statuses.kind_of(status, terms.source))
    if coded := _weakly_coded(report):
        return coded
    if kind := texts.phrase_kind(report.message):
        return _Basis(kind, vague=True)
    return _Basis(evidence.default, vague=not evidence.declared)


def _coded(report: Report) -> _Basis | None:
    if report.vendor:
        return _Basis(report.vendor, report.number)
    for code in report.codes:
        if kind := codes.strong(code):
            return _Basis(kind, code)
    for code in report.words:
        if (kind := codes.strong(code)) and kind != "quota":
            return _Basis(kind, code, vague=True)
    return None


def _weakly_coded(report: Report) -> _Basis | None:
    for code in (*report.codes, *report.words):
        if kind := codes.weak(code):
            return _Basis(kind, code, vague=code not in report.codes)
    return None


def _refined(kind: Kind, evidence: Evidence, terms: Terms) -> Kind:
    """Look behind a kind that one of several faults can hide under."""
    message = evidence.report.message
    if kind == "rate_limit" and overflow.is_larger_than_allowance(message):
        return "context_overflow"
    if kind in _MAY_OVERFLOW and overflow.is_overflow(message, anywhere=terms.source == "model"):
        return "context_overflow"
    if kind in _FINAL and terms.source == "model" and texts.says_no_money(message):
        return "quota"
    if evidence.status == _FORBIDDEN and kind == "auth" and _is_throttled(evidence.headers):
        return "rate_limit"
    return kind


def _is_throttled(headers: Mapping[str, str]) -> bool:
    return "retry-after" in headers or wire.is_exhausted(headers)


def _wait(kind: Kind, evidence: Evidence, terms: Terms) -> float | None:
    wait = wire.retry_after(evidence.headers, terms.moment)
    if wait is not None or kind not in _WAITING:
        return wait
    found = (
        wire.seconds(evidence.report.wait, terms.moment),
        wire.reset_after(evidence.headers, terms.moment),
        wire.wait_in(evidence.report.message, terms.moment),
    )
    return next((wait for wait in found if wait is not None), None)


def _reason(status: int | None, code: str, label: str) -> str:
    said = label if status is None else f"http {status}"
    return f"{said}: {texts.clean(code)}" if code else said
