"""Exceptions that have become text: LangGraph stores a failed node's error as its `repr` (`NodeError.error` after a resume)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from langgraph_degrade.failures import classes, reports, texts
from langgraph_degrade.failures.failure import Failure
from langgraph_degrade.failures.terms import Terms
from langgraph_degrade.failures.verdicts import Evidence, failed, judge

_LONGEST = 8000
_REPR: Final = r"(?s)([A-Za-z_][A-Za-z0-9_]{2,60})\((.*)\)"
_ENDINGS: Final = ("Error", "Exception")
_PYDANTIC: Final = r"\d+ validation errors? for \w"
_TRACEBACK: Final = "Traceback (most recent call last):"
_LAST_LINE: Final = r"^(?:[\w.]{1,80}\.)?(\w{3,60})(?:: (.*))?$"
_BODY: Final = r"(?s)\{.{1,4000}\}"


def classify_repr(text: str, terms: Terms) -> Failure | None:
    """Name the kind of an exception from its `repr`, or from a printed traceback; None for any other text.

    A text proves nothing of a write: who wrote it may have caught the error after having done something.
    """
    failure = _classify(text, terms)
    return replace(failure, vague=True, unsent=False) if failure else None


def _classify(text: str, terms: Terms) -> Failure | None:
    if text.startswith(_TRACEBACK):
        found = re.match(_LAST_LINE, text.rstrip().rpartition("\n")[2])
        return _named(found[1], found[2] or "", terms) if found else failed("unknown", "traceback")
    if len(text) > _LONGEST:
        return None
    if text[:1].isdigit() and re.match(_PYDANTIC, text):
        return failed("schema", "breaks its schema")
    found = re.fullmatch(_REPR, text) if text.endswith(")") else None
    if found and (found[1].endswith(_ENDINGS) or classes.fault_named(found[1])):
        return _named(found[1], found[2], terms)
    return None


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
    kind = texts.kind_told(message) if fault == classes.TOOLS_OWN_WORDS else fault.kind
    return failed(kind, fault.reason, message=message)


def _answered(message: str, terms: Terms) -> Failure | None:
    """Judge by the status and body that HTTP clients write into their messages."""
    status = texts.status_in(message)
    if status is None:
        return None
    body = re.search(_BODY, message)
    return judge(Evidence(reports.read(_literal(body[0]) if body else None), status), terms)


def _literal(text: str) -> object:
    import ast  # only for a client's error that has become text

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _unquoted(arguments: str) -> str:
    value = _literal(arguments)
    return value if isinstance(value, str) else arguments
