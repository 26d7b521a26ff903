"""Exceptions that have become text: LangGraph stores a failed node's error as its `repr` (`NodeError.error` after a resume)."""

from __future__ import annotations

import ast
import re
from typing import Final

from langgraph_degrade.failures import classes, reports, texts
from langgraph_degrade.failures.failure import Failure
from langgraph_degrade.failures.terms import Terms
from langgraph_degrade.failures.verdicts import Evidence, failed, judge

_REPR: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]{2,60})\((.*)\)", re.DOTALL)
_NAME: Final = re.compile(r"(?:Error|Exception|Timeout|Refused|Open|Spent|Exceeded|Overloaded|Outcome|Stream)$")
_PYDANTIC: Final = re.compile(r"\d+ validation errors? for \w")
_TRACEBACK: Final = "Traceback (most recent call last):"
_LAST_LINE: Final = re.compile(r"^(?:[\w.]{1,80}\.)?(\w{3,60})(?:: (.*))?$")
_BODY: Final = re.compile(r"\{.{1,4000}\}", re.DOTALL)


def classify_repr(text: str, terms: Terms) -> Failure | None:
    """Name the kind of an exception from its `repr`, or from a printed traceback; None for any other text."""
    if text.startswith(_TRACEBACK):
        found = _LAST_LINE.match(text.rstrip().rpartition("\n")[2])
        return _named(found[1], found[2] or "", terms) if found else failed("unknown", "traceback")
    if _PYDANTIC.match(text):
        return failed("schema", "breaks its schema")
    found = _REPR.fullmatch(text.strip())
    return _named(found[1], found[2], terms) if found and _NAME.search(found[1]) else None


def _named(name: str, arguments: str, terms: Terms) -> Failure | None:
    message = _unquoted(arguments)
    if name == "ValueError":
        said_no = terms.source == "tool"
        return (
            failed("business", "said by the tool", message=message) if said_no else failed("schema", "unusable answer")
        )
    if answered := _answered(message, terms):
        return answered
    fault = classes.fault_named(name)
    if fault is None:
        return failed("unknown", name)
    return failed(fault.kind, fault.reason, message=message, unsent=fault.unsent)


def _answered(message: str, terms: Terms) -> Failure | None:
    """Judge by the status and body that HTTP clients write into their messages."""
    status = texts.status_in(message)
    if status is None:
        return None
    body = _literal(_BODY.search(message))
    return judge(Evidence(reports.read(body or {}), status), terms)


def _literal(found: re.Match[str] | None) -> object:
    try:
        return ast.literal_eval(found[0]) if found else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _unquoted(arguments: str) -> str:
    value = _literal(re.match(r".{0,8000}", arguments, re.DOTALL))
    return value if isinstance(value, str) else arguments
