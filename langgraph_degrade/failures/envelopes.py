"""Replies wrapped as `{code, msg, data}`: by the target's declared envelope, or recognised (case X02)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from langgraph_degrade.failures import reports, signs, texts
from langgraph_degrade.failures.failure import Failure, Kind
from langgraph_degrade.failures.shapes import Body
from langgraph_degrade.failures.terms import Envelope, Terms
from langgraph_degrade.failures.verdicts import Evidence, failed, judge

_NEVER_AGAIN: Final[frozenset[Kind]] = frozenset({"rate_limit", "overloaded", "quota", "auth"})
"""Spec T1 wins over a declaration: these are not tried again."""
_SHORT = 24


def classify_mapping(body: Body, terms: Terms) -> Failure | None:
    """Tell whether a mapping that came with a success is one; None for every ordinary value."""
    if terms.envelope is not None:
        return _declared(body, terms.envelope, terms)
    return recognised(body, terms)


def recognised(body: Body, terms: Terms) -> Failure | None:
    """Judge a mapping by its own signs, without a declared envelope."""
    if signs.SIGNS.isdisjoint(body):
        return None
    if signs.is_error_report(body):
        return reported(body, terms)
    if signs.is_null_data(body) and not terms.allow_empty:
        return failed("schema", "data: null")
    return None


def reported(body: object, terms: Terms) -> Failure:
    """Judge a body that is known to report an error.

    Without any code the target worked and said no: `business` from a tool, a bad response from a model.
    """
    default: Kind = "business" if terms.source == "tool" else "schema"
    return judge(Evidence(reports.read(body), default=default), terms)


def _declared(body: Body, envelope: Envelope, terms: Terms) -> Failure | None:
    if envelope.code not in body:
        return recognised(body, terms) or failed("schema", f"envelope: no {envelope.code!r}")
    code = body[envelope.code]
    if _among(code, envelope.success):
        return _opened(body, envelope, terms)
    if _among(code, envelope.business):
        return failed("business", _reason(code), message=_message(body, envelope))
    if _among(code, envelope.transient):
        return _transient(body, envelope, terms)
    return _judged(body, envelope, terms, "business")


def _opened(body: Body, envelope: Envelope, terms: Terms) -> Failure | None:
    missing = envelope.data in body and body[envelope.data] is None
    if missing and not (envelope.nullable or terms.allow_empty):
        return failed("schema", f"{envelope.data}: null")
    return None


def _transient(body: Body, envelope: Envelope, terms: Terms) -> Failure:
    failure = _judged(body, envelope, terms, "server_error")
    return replace(failure, transient=failure.kind not in _NEVER_AGAIN)


def _judged(body: Body, envelope: Envelope, terms: Terms, default: Kind) -> Failure:
    """Judge by the code's own meaning where it has one, else by what the declaration leaves."""
    report = reports.read({**body, "code": body[envelope.code]})
    report = report._replace(message=_message(body, envelope) or report.message)
    failure = judge(Evidence(report, default=default, label="envelope", declared=True), terms)
    return replace(failure, reason=_reason(body[envelope.code])) if failure.reason == "envelope" else failure


def _message(body: Body, envelope: Envelope) -> str:
    value = body.get(envelope.message)
    return value if isinstance(value, str) else ""


def _reason(code: object) -> str:
    return f"envelope: {texts.clean(code)[:_SHORT]}"


def _among(code: object, declared: Sequence[object]) -> bool:
    """Compare a code with declared ones; `0` is not `False`, `1` is not `True`, and words have no case."""
    return any(_same(code, one) for one in declared)


def _same(code: object, one: object) -> bool:
    if isinstance(code, str) and isinstance(one, str):
        return code.casefold() == one.casefold()
    return type(code) is type(one) and code == one
